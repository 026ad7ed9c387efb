// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"
	"slices"

	"github.com/poundlock/poundlock/policies"
)

// reference is spec.infrastructureRef of a Machine; a MachineSet has it in its template.
type reference struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// infraRef is the provider's object that a Cluster API object of this kind refers to, of a platform that is known.
func infraRef(core *policies.Object, kind string, platforms []Platform) (Ref, bool) {
	r := readReference(core.Spec, kind)
	i := slices.IndexFunc(platforms, func(p Platform) bool {
		return p.subjectOf(kind).GroupVersion.Group == r.APIGroup && p.subjectOf(kind).ObjectKind == r.Kind
	})
	if i < 0 || r.Name == "" {
		return Ref{}, false
	}
	s := platforms[i].subjectOf(kind)
	return Ref{GroupVersionKind: s.GroupVersion.WithKind(s.ObjectKind), Namespace: core.Metadata.Namespace, Name: r.Name}, true
}

// subjectOf is the provider's half of a core kind.
func (p Platform) subjectOf(kind string) Subject {
	if kind == "Machine" {
		return p.Machine
	}
	return p.Template
}

func readReference(spec json.RawMessage, kind string) reference {
	var machine struct {
		InfrastructureRef reference `json:"infrastructureRef"`
	}
	if kind == "Machine" {
		_ = json.Unmarshal(spec, &machine) // unreadable: refers to nothing
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
