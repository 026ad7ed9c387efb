// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// The members of the union in a set's template, which are also the values of its discriminator. The published types have only MachineAPIMember.
const (
	MachineAPIMember = machinev1.OpenShiftMachineV1Beta1MachineType
	ClusterAPIMember = machinev1.ControlPlaneMachineSetMachineType("machines_v1beta2_cluster_x_k8s_io")
)

// ClusterAPITemplate is the union's member for Cluster API, which Poundlock's overlay of the CRD adds to the published types.
type ClusterAPITemplate struct {
	FailureDomains *machinev1.FailureDomains `json:"failureDomains,omitempty"`
	// ObjectMeta has Machine API's names, as in the other member, because the Machines are created in Machine API.
	ObjectMeta machinev1.ControlPlaneMachineSetTemplateObjectMeta `json:"metadata"`
	Spec       ClusterAPIMachineSpec                              `json:"spec"`
}

// ClusterAPIMachineSpec has those fields of a Cluster API Machine's spec that a set's template has.
type ClusterAPIMachineSpec struct {
	InfrastructureRef TemplateReference `json:"infrastructureRef"`
	Bootstrap         Bootstrap         `json:"bootstrap"`
}

// TemplateReference names an infrastructure machine template in Cluster API's namespace.
type TemplateReference struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// Bootstrap names the Secret from which an instance becomes a Node.
type Bootstrap struct {
	DataSecretName string `json:"dataSecretName"`
}

// Resolved is a set whose template is in Machine API's form, whichever member of the union the set was written with. Plans are made from resolved sets only.
type Resolved struct {
	Set *machinev1.ControlPlaneMachineSet
	// Unresolved are the errors that keep the template from being converted to Machine API's form, by path. If there are any, Set has a template without a
	// providerSpec, from which no Machine can be created.
	Unresolved field.ErrorList
}

// Template returns the union's member for Cluster API from a set's JSON; nil if the set has the other member.
func Template(set []byte) (*ClusterAPITemplate, error) {
	var content struct {
		Spec struct {
			Template map[string]json.RawMessage `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(set, &content); err != nil {
		return nil, fmt.Errorf("reading a ControlPlaneMachineSet: %w", err)
	}
	raw, ok := content.Spec.Template[string(ClusterAPIMember)]
	if !ok || string(raw) == "null" {
		return nil, nil
	}
	out := &ClusterAPITemplate{}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("reading spec.template.%s of a ControlPlaneMachineSet: %w", ClusterAPIMember, err)
	}
	return out, nil
}

// Resolve returns the set with its template in Machine API's form. The template gets the providerSpec to which the infrastructure machine template converts. If
// that does not convert, the result has the errors. A set without the member for Cluster API (t is nil) needs no conversion.
func Resolve(set *machinev1.ControlPlaneMachineSet, t *ClusterAPITemplate, providerSpec []byte, errs field.ErrorList) Resolved {
	if t == nil {
		return Resolved{Set: set}
	}
	out := set.DeepCopy()
	member := &machinev1.OpenShiftMachineV1Beta1MachineTemplate{FailureDomains: t.FailureDomains.DeepCopy(), ObjectMeta: *t.ObjectMeta.DeepCopy()}
	if len(errs) == 0 && providerSpec != nil {
		member.Spec = machinev1beta1.MachineSpec{ProviderSpec: machinev1beta1.ProviderSpec{Value: &runtime.RawExtension{Raw: providerSpec}}}
	}
	out.Spec.Template = machinev1.ControlPlaneMachineSetTemplate{MachineType: MachineAPIMember, OpenShiftMachineV1Beta1Machine: member}
	return Resolved{Set: out, Unresolved: errs}
}

// key returns the template in a canonical form. Known stores it with a lookup's result, and ResolvedIn finds the result by it.
func (t *ClusterAPITemplate) key() string { return string(values.Raw(t)) }

// Known returns, as a fact for the rules, what a lookup found for a set's template for Cluster API. A set with the other member needs no such fact.
func Known(t *ClusterAPITemplate, r Resolved) policies.Template {
	out := policies.Template{Of: t.key(), Unresolved: r.Unresolved}
	if v := TemplateOf(r.Set).Spec.ProviderSpec.Value; v != nil {
		out.ProviderSpec = v.Raw
	}
	return out
}

// ResolvedIn returns the resolved set, with what the lookup found for its template. That is among the facts about the control plane. If the facts do not have
// it, the result has an error about the infrastructureRef.
func ResolvedIn(in *policies.ControlPlane, set *machinev1.ControlPlaneMachineSet, t *ClusterAPITemplate) Resolved {
	if t == nil {
		return Resolved{Set: set}
	}
	for _, known := range in.Templates {
		if known.Of == t.key() {
			return Resolve(set, t, known.ProviderSpec, known.Unresolved)
		}
	}
	ref := t.Spec.InfrastructureRef
	return Resolve(set, t, nil,
		field.ErrorList{field.Invalid(ClusterAPITemplatePath().Child("spec", "infrastructureRef"), ref.Name, "Poundlock has not read this "+ref.Kind)})
}

// ClusterAPITemplatePath is the path of a set's member for Cluster API.
func ClusterAPITemplatePath() *field.Path {
	return field.NewPath("spec", "template", string(ClusterAPIMember))
}
