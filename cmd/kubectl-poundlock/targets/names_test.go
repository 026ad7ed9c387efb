// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"reflect"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestNamesOf(t *testing.T) {
	for text, want := range map[string][]string{
		"":     nil,
		"\n\n": nil,
		"machineset.machine.openshift.io/b\nmachine/a\n":                                    {"machineset.machine.openshift.io/b", "machine/a"},
		"apiVersion: machine.openshift.io/v1beta1\nkind: MachineSet\nmetadata: {name: c}\n": {"machineset/c"},
		"{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: z}}\n---\n{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: b}}\n---\n" +
			"{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}}\n": {"machine/z", "machineset/b", "machine/a"},
	} {
		if got, err := namesOf(text, authority.Pairs{inventory.DefaultPair}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
