// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// fleet returns the MachineSets a and b, and a Machine of each.
func fleet(t *testing.T) *inventory.Fleet {
	t.Helper()
	const set = `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: NAME, namespace: openshift-machine-api}, spec: {}}`
	const machine = `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: NAME, namespace: openshift-machine-api,
		ownerReferences: [{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: SET, uid: u, controller: true}]}, spec: {}}`
	documents := []string{
		strings.ReplaceAll(set, "NAME", "a"), strings.ReplaceAll(set, "NAME", "b"),
		strings.NewReplacer("NAME", "a-1", "SET", "a").Replace(machine), strings.NewReplacer("NAME", "b-1", "SET", "b").Replace(machine),
	}
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
	if err != nil || len(f.Pairs) != 4 {
		t.Fatal(err, f.Problems)
	}
	return f
}

// A set's Machines are found by the set that owns them, in its namespace.
func TestASetWithItsMachines(t *testing.T) {
	f := fleet(t)
	list, err := Parse([]string{"machineset/a"})
	if err != nil {
		t.Fatal(err)
	}
	f.Narrow(list.WithMachines(f.Pairs, func(inventory.Pair) bool { return true }))
	var got []string
	for _, p := range f.Pairs {
		got = append(got, p.Ref())
	}
	if want := []string{"machineset/a", "machine/a-1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a user names first moves first: a set before its Machines, and both before what is named next.
func TestTheOrderIsTheUsers(t *testing.T) {
	for asked, want := range map[string][]string{
		"machineset/b machineset/a": {"machineset/b", "machine/b-1", "machineset/a", "machine/a-1"},
		"machineset":                {"machineset/a", "machineset/b", "machine/a-1", "machine/b-1"},
		"machine/b-1 machineset/a":  {"machine/b-1", "machineset/a", "machine/a-1"},
	} {
		list, err := Parse(strings.Fields(asked))
		if err != nil {
			t.Fatal(err)
		}
		f := fleet(t)
		f.Narrow(list.WithMachines(f.Pairs, func(inventory.Pair) bool { return true }))
		list.InOrder(f.Pairs)
		var got []string
		for _, p := range f.Pairs {
			got = append(got, p.Ref())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", asked, got, want)
		}
	}
}
