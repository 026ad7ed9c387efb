// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"slices"
	"testing"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestWhomAnInfrastructureObjectWakes(t *testing.T) {
	for sentence, c := range map[string]struct {
		kind, object string
		isMachine    bool
		names        []string
		template     string
	}{
		"a mirror's machine wakes the Machine of its mark, of its owner, and of its name": {
			"Machine", `{metadata: {name: a, annotations: {poundlock.openshift.io/mirror-of: Machine/b}, ownerReferences: [{kind: Machine, name: c}]}}`, true, []string{"b", "c", "a"}, ""},
		"a person's machine stands in the way of the Machine of its name":          {"Machine", `{metadata: {name: a}}`, true, []string{"a"}, ""},
		"a machine wakes no set of its name, but those that refer to its template": {"MachineSet", `{metadata: {name: a, annotations: {cluster.x-k8s.io/cloned-from-name: t}}}`, true, nil, "t"},
		"a machine that was made from no template wakes no set":                    {"MachineSet", `{metadata: {name: a}}`, true, nil, ""},
		"a template wakes the set of its mark, and those that refer to it":         {"MachineSet", `{metadata: {name: t, annotations: {poundlock.openshift.io/mirror-of: MachineSet/s}}}`, false, []string{"s"}, "t"},
		"a template wakes no Machine":                                              {"Machine", `{metadata: {name: t, annotations: {poundlock.openshift.io/mirror-of: MachineSet/s}}}`, false, nil, ""},
		"the mark of another kind is none, nor is an owner of another kind":        {"Machine", `{metadata: {name: a, annotations: {poundlock.openshift.io/mirror-of: Machines/b}, ownerReferences: [{kind: Cluster, name: c}]}}`, false, nil, ""},
		"a check has no infrastructure object":                                     {"MachineHealthCheck", `{metadata: {name: a}}`, true, nil, ""},
	} {
		kind, _ := authority.KindNamed(c.kind)
		names, template := OfInfra(kind, c.isMachine, mirroringtest.Machine(t, c.object))
		if !slices.Equal(names, c.names) || template != c.template {
			t.Errorf("%s: %v and the users of %q, want %v and those of %q", sentence, names, template, c.names, c.template)
		}
	}
}

func TestWhomWhatIsKeptForAnInstanceWakes(t *testing.T) {
	o := mirroringtest.Machine(t, `{metadata: {name: a, ownerReferences: [{kind: VSphereMachine, name: b}, {kind: VSphereMachine, name: a}, {kind: Cluster, name: c}]}}`)
	if got, want := OfInfraInstance("VSphereVM", o), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
