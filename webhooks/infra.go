// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// reference is the field spec.infrastructureRef of a Machine. A MachineSet has this field in its template.
type reference struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// infraRef returns a reference to the provider's object to which a Cluster API object of a kind refers. It returns false if the object refers to none, or if
// Poundlock does not support the platform.
func infraRef(core *policies.Object, kind string, platforms []conversion.Platform) (Ref, bool) {
	row, _ := authority.KindNamed(kind)
	if row.Infra == "" {
		return Ref{}, false
	}
	r := readReference(core.Spec, kind)
	for _, p := range platforms {
		s := infraSubject(p, row.Infra)
		if r.Name != "" && s.GroupVersion.Group == r.APIGroup && s.ObjectKind == r.Kind {
			return Ref{GroupVersionKind: s.GroupVersion.WithKind(s.ObjectKind), Namespace: core.Metadata.Namespace, Name: r.Name}, true
		}
	}
	return Ref{}, false
}

func readReference(spec json.RawMessage, kind string) reference {
	var machine struct {
		InfrastructureRef reference `json:"infrastructureRef"`
	}
	if kind == "Machine" {
		_ = json.Unmarshal(spec, &machine) // a spec that cannot be read refers to nothing
		return machine.InfrastructureRef
	}
	var set struct {
		Template struct {
			Spec struct {
				InfrastructureRef reference `json:"infrastructureRef"`
			} `json:"spec"`
		} `json:"template"`
	}
	_ = json.Unmarshal(spec, &set)
	return set.Template.Spec.InfrastructureRef
}
