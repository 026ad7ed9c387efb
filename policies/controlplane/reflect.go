// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies/controlplane/platform"
)

// Place is where a set creates Machines: one of its failure domains or, if the set has none, the place in its template.
type Place struct {
	// Domain is the failure domain's name in the set, "" for none.
	Domain string
	// FailureDomain is the failure domain's name in Cluster API, which is the value of a Machine's spec.failureDomain; "" if Cluster API has none.
	FailureDomain string
	// ProviderSpec is the providerSpec of the Machines that are created in this place; nil if the set has none that can be read.
	ProviderSpec map[string]any
}

// Places returns the places in which a resolved set creates Machines, sorted by name: their order in the set does not matter. The errors, with their paths, are
// about failure domains that the Infrastructure does not describe.
func Places(set *machinev1.ControlPlaneMachineSet, i *configv1.Infrastructure) ([]Place, field.ErrorList) {
	t := TemplateOf(set)
	p := Plan{Platform: platform.Of(i), Row: platform.RowOf(t, i)}
	p.domains(t, i)
	spec := platform.ProviderSpec(t.Spec)
	if len(p.Domains) == 0 {
		return []Place{{ProviderSpec: spec}}, p.Invalid
	}
	var out []Place
	for _, d := range p.Domains {
		at := Place{Domain: d.Name, FailureDomain: d.ClusterAPI(p.Platform)}
		if spec != nil {
			at.ProviderSpec = d.In(spec)
		}
		out = append(out, at)
	}
	slices.SortStableFunc(out, func(a, b Place) int { return strings.Compare(a.Domain, b.Domain) })
	return out, p.Invalid
}
