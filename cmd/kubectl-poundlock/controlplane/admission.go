// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	machinev1 "github.com/openshift/api/machine/v1"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

// Admission is the answer to a request before it is stored.
type Admission struct {
	// By is where the answer comes from. "rules" means the webhook's rules, which the plugin evaluates itself. "server" means a dry run.
	By string `json:"by"`
	// Operation is the request's operation: CREATE or UPDATE.
	Operation string    `json:"operation"`
	Allowed   bool      `json:"allowed"`
	Refusals  []Opinion `json:"refusals,omitempty"`
	Warnings  []Opinion `json:"warnings,omitempty"`
}

// Where an answer comes from.
const (
	ByRules  = "rules"
	ByServer = "server"
)

// Opinion is the answer of one rule. An opinion of the API server has no Rule and no Path, because its message contains both.
type Opinion struct {
	Rule    string `json:"rule,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// Forecasts is the rule whose warnings repeat the plan.
const Forecasts = "controlplane/forecast"

// Judge returns the answer of the webhook's rules to a request that stores a set. stored is the set that the cluster has, nil for none. Judge does not make the
// API server's own checks, by the CRD.
func Judge(stored, proposed *unstructured.Unstructured, in policies.ControlPlane) (*Admission, error) {
	before, err := object(stored)
	if err != nil {
		return nil, err
	}
	after, err := object(proposed)
	if err != nil {
		return nil, err
	}
	c := policies.Change{
		Subject: policies.Subject{
			Side: policies.SideMachineAPI, Kind: controlplane.Kind, Resource: machinev1.GroupVersion.WithResource(controlplane.Resource).GroupResource(),
			Namespace: proposed.GetNamespace(), Name: proposed.GetName(),
		},
		Operation: admissionv1.Update, DryRun: true, Old: before, New: after, Facts: policies.Facts{ControlPlane: &in},
	}
	if stored == nil {
		c.Operation = admissionv1.Create
	}
	return opinions(admission.Rules().Judge(c), c.Operation), nil
}

func opinions(j policies.Judgement, op admissionv1.Operation) *Admission {
	out := &Admission{By: ByRules, Operation: string(op), Allowed: j.Allowed()}
	for _, f := range j {
		for _, d := range f.Denials {
			out.Refusals = append(out.Refusals, Opinion{f.Rule, d.Field, d.ErrorBody()})
		}
		for _, w := range f.Warnings {
			out.Warnings = append(out.Warnings, Opinion{Rule: f.Rule, Message: w})
		}
	}
	return out
}
