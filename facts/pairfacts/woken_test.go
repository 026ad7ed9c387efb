// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairfacts

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// lists answers each list with one Machine, and keeps whether a copy was asked for.
type lists struct {
	client.Reader
	copied []string
}

func (l *lists) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
		l.copied = append(l.copied, into.GetObjectKind().GroupVersionKind().Kind)
	}
	m := unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "m",
		"ownerReferences": []any{map[string]any{"kind": "MachineSet", "name": "set", "controller": true}}}}}
	into.(*unstructured.UnstructuredList).Items = []unstructured.Unstructured{m}
	return nil
}

// The names of a whole fleet are listed at each event of what all depends on. With a copy of each Machine that took more memory than the cache.
func TestAFleetIsListedWithoutCopies(t *testing.T) {
	kind, _ := authority.KindNamed("Machine")
	set := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "set", "namespace": "mapi"}}}
	cache := &lists{}
	r := Woken{Kind: kind, Pairs: authority.Pairs{{MachineAPI: "mapi", ClusterAPI: "capi"}}, Cache: cache}
	for what, got := range map[string]int{"everything": len(r.Everything(t.Context(), nil)), "children": len(r.ChildrenOf(t.Context(), set))} {
		if got != 2 {
			t.Errorf("%s: %d requests, want one of each API", what, got)
		}
	}
	if len(cache.copied) > 0 {
		t.Errorf("copied: %v", cache.copied)
	}
}

// TestMastersWakeOneAnother: what one Machine of the control plane needs of the infrastructure cluster is in the messages of the others.
func TestMastersWakeOneAnother(t *testing.T) {
	kind, _ := authority.KindNamed("Machine")
	r := Woken{Kind: kind, Pairs: authority.Pairs{{MachineAPI: "mapi", ClusterAPI: "capi"}}, Cache: &lists{}}
	for role, want := range map[string]int{"master": 1, "control-plane": 1, "worker": 0, "": 0} {
		m := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x", "namespace": "mapi",
			"labels": map[string]any{"machine.openshift.io/cluster-api-machine-role": role}}}}
		if got := r.Masters(t.Context(), m); len(got) != want {
			t.Errorf("a Machine of role %q wakes %v, want %d", role, got, want)
		}
	}
}

// A mirror that is not made because another Machine refers to its infrastructure machine waits for that Machine, and for no time of its own.
func TestAMachineWakesThePairWhoseInfrastructureMachineItRefersTo(t *testing.T) {
	for _, c := range []struct{ kind, namespace, refersTo, wakes string }{
		{"Machine", "capi", "w", "w"}, {"Machine", "capi", "m", ""}, {"Machine", "capi", "", ""}, {"Machine", "other", "w", ""},
	} {
		kind, _ := authority.KindNamed(c.kind)
		r := Woken{Kind: kind, Pairs: authority.Pairs{{MachineAPI: "mapi", ClusterAPI: "capi"}}, Cache: &lists{}}
		m := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "m", "namespace": c.namespace},
			"spec": map[string]any{"infrastructureRef": map[string]any{"kind": "AWSMachine", "name": c.refersTo}}}}
		wakes := ""
		for _, request := range r.Referred(t.Context(), m) {
			wakes += request.Name
		}
		if wakes != c.wakes {
			t.Errorf("%+v: it wakes %q", c, wakes)
		}
	}
}
