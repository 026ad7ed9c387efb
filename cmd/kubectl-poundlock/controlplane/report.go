// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Report is a set's effect on a control plane. docs/plugin.md documents its shape: fields keep their meaning.
type Report struct {
	// Source is where the set was read from: cluster, standard input, or a file's path.
	Source    string `json:"source"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is Active or Inactive. The Steps of an Inactive set are those that it would take once it is Active.
	State string `json:"state"`
	// Deleting reports that the set is being deleted, and takes no more steps.
	Deleting bool   `json:"deleting,omitempty"`
	Strategy string `json:"strategy"`
	Platform string `json:"platform,omitempty"`
	// AuthoritativeAPI is status.authoritativeAPI of the stored set.
	AuthoritativeAPI authority.API `json:"authoritativeAPI,omitempty"`
	// Replicas is the desired number.
	Replicas       int      `json:"replicas"`
	FailureDomains []string `json:"failureDomains,omitempty"`
	Numbers        Numbers  `json:"numbers"`
	Indexes        []Index  `json:"indexes"`
	// Steps are all steps from now to the end, in order.
	Steps []ForecastStep `json:"steps"`
	// Waits is what the next step waits for; empty if it waits for nothing.
	Waits string `json:"waits,omitempty"`
	// Problems prevent the set from doing anything.
	Problems []Problem `json:"problems,omitempty"`
	// Invalid are the fields of the set that prevent a plan. Problems has them too.
	Invalid []Field `json:"invalid,omitempty"`
	// Forecast has the webhook's sentences about the set's effect.
	Forecast []string `json:"forecast"`
	// Admission has the answers to a request that stores the file's set; nil if the set is as it is stored.
	Admission *Admission `json:"admission,omitempty"`
	// Away reports that Poundlock does not answer, or that no manager leads, and since when.
	Away string `json:"away,omitempty"`
}

// Numbers are the counts in a set's status.
type Numbers struct {
	Replicas    int `json:"replicas"`
	Ready       int `json:"ready"`
	Updated     int `json:"updated"`
	Unavailable int `json:"unavailable"`
}

// Index is an index of the control plane, and the Machines that have it.
type Index struct {
	Index         int       `json:"index"`
	FailureDomain string    `json:"failureDomain,omitempty"`
	Machines      []Machine `json:"machines"`
}

// Machine is a Machine at an index.
type Machine struct {
	Name  string `json:"name"`
	Phase string `json:"phase,omitempty"`
	Node  string `json:"node,omitempty"`
	// AuthoritativeAPI is the Machine's status.authoritativeAPI.
	AuthoritativeAPI string `json:"authoritativeAPI,omitempty"`
	Ready            bool   `json:"ready"`
	// Updated reports that the Machine has no difference for which the set replaces it.
	Updated  bool `json:"updated"`
	Deleting bool `json:"deleting,omitempty"`
	Failed   bool `json:"failed,omitempty"`
	// Adopted reports that the set is the Machine's controller.
	Adopted     bool         `json:"adopted"`
	Differences []Difference `json:"differences,omitempty"`
	// WaitsFor are the reasons, a sentence each, why the Machine is not ready yet, or not deleted yet.
	WaitsFor []string `json:"waitsFor,omitempty"`
}

// Difference is a field in which a Machine differs from the set's template.
type Difference struct {
	Path string `json:"path"`
	// Effect is what the set does because of the difference: Rollout, InPlace or Ignored.
	Effect string `json:"effect"`
	Have   string `json:"have"`
	Want   string `json:"want"`
}

// Problem is what prevents the set from acting, and the remedy.
type Problem struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Field is an invalid field.
type Field struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// ReportOf returns the report of a view, with all steps that the set would take.
func ReportOf(source string, v controlplane.View) Report {
	plan := controlplane.Make(v)
	r := Report{
		Source: source, Namespace: v.Set.Namespace, Name: v.Set.Name, State: stateOf(plan), Strategy: string(plan.Strategy), Platform: string(plan.Platform),
		AuthoritativeAPI: v.Authority, Replicas: plan.Replicas, Numbers: Numbers(plan.Numbers()), Waits: plan.Waits, Forecast: plan.Forecast(), Steps: Ahead(v),
		Indexes: indexes(v, plan), Invalid: fields(plan.Invalid),
	}
	if r.Deleting = v.Set.DeletionTimestamp != nil; r.Deleting {
		r.Steps, r.Waits = []ForecastStep{}, ""
		r.Forecast = []string{"the set is being deleted: it removes its owner reference from its Machines, which stay, and does nothing else"}
	}
	for _, d := range plan.Domains {
		r.FailureDomains = append(r.FailureDomains, d.Name)
	}
	for _, p := range plan.Problems {
		r.Problems = append(r.Problems, Problem{string(p.Reason), p.Message})
	}
	return r
}

// Stuck reports whether a person must fix something before the set can act, or whether admission would refuse the set.
func (r Report) Stuck() bool {
	return len(r.Problems)+len(r.Invalid) > 0 || r.Admission != nil && !r.Admission.Allowed
}

func stateOf(p controlplane.Plan) string {
	if p.Active {
		return "Active"
	}
	return "Inactive"
}

func indexes(v controlplane.View, plan controlplane.Plan) []Index {
	out := []Index{}
	for _, i := range plan.Indexes {
		at := Index{Index: i.Number, Machines: []Machine{}}
		if i.Domain != nil {
			at.FailureDomain = i.Domain.Name
		}
		for _, m := range i.Machines {
			o := machineOf(v, m)
			if len(plan.Invalid) > 0 {
				o.Differences = nil // nothing can be compared with an invalid set
			}
			at.Machines = append(at.Machines, o)
		}
		out = append(out, at)
	}
	return out
}

func machineOf(v controlplane.View, m controlplane.MachineState) Machine {
	o := m.Machine()
	out := Machine{
		Name: m.Name, Phase: phase(o), Node: nodeOf(o), AuthoritativeAPI: string(o.Status.AuthoritativeAPI),
		Ready: m.Ready, Updated: m.Updated(), Deleting: m.Deleting, Failed: m.Failed, Adopted: m.Adopted, WaitsFor: waitsFor(v, m),
	}
	for _, d := range m.Differences {
		out.Differences = append(out.Differences, Difference{d.Path, string(d.Effect), d.Have, d.Want})
	}
	return out
}

// In returns the differences with the given effect.
func (m Machine) In(e controlplane.Effect) []Difference {
	return slices.DeleteFunc(slices.Clone(m.Differences), func(d Difference) bool { return d.Effect != string(e) })
}

func fields(errs field.ErrorList) []Field {
	var out []Field
	for _, e := range errs {
		out = append(out, Field{e.Field, e.ErrorBody()})
	}
	return out
}
