// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies"
)

// A deletion of a set leaves the Machines of both objects of the pair without a set. A creation of a set adopts Machines that nobody owns in its API.
func TestMachinesThatOtherSetsMayAdopt(t *testing.T) {
	named := func(name string) []*policies.Object {
		o, err := policies.ParseObject([]byte(`{"metadata":{"name":"` + name + `","uid":"` + name + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return []*policies.Object{o}
	}
	l := Lookups{
		Sets: ListingFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error) {
			return named(gvk.Kind + " " + gvk.Group + " " + namespace), nil
		}),
		Owned: OwnedFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error) {
			return named(gvk.Kind + " " + gvk.Group + " " + namespace + " of " + string(owner)), nil
		}),
	}
	set, twin := named("own")[0], named("twin")[0]
	mapi := policies.Subject{Side: policies.SideMachineAPI, Kind: "MachineSet", Namespace: "m", TwinNamespace: "c", Name: "own"}
	capi := policies.Subject{Side: policies.SideClusterAPI, Kind: "MachineSet", Namespace: "c", TwinNamespace: "m", Name: "own"}
	const m, c = "machine.openshift.io m", "cluster.x-k8s.io c"
	for sentence, tt := range map[string]struct {
		change          policies.Change
		sets, adoptable []string
	}{
		"a creation": {policies.Change{Subject: capi, Operation: admissionv1.Create, New: set}, []string{"MachineSet " + m, "MachineSet " + c}, []string{"Machine " + c + " of nobody"}},
		"a deletion in the Machine API": {policies.Change{Subject: mapi, Operation: admissionv1.Delete, Old: set, Facts: policies.Facts{Twin: twin}},
			[]string{"MachineSet " + m, "MachineSet " + c}, []string{"Machine " + m + " of own", "Machine " + c + " of twin"}},
		"a deletion in Cluster API": {policies.Change{Subject: capi, Operation: admissionv1.Delete, Old: set, Facts: policies.Facts{Twin: twin}},
			[]string{"MachineSet " + c, "MachineSet " + m}, []string{"Machine " + c + " of own", "Machine " + m + " of twin"}},
		"a Machine that changes": {policies.Change{Subject: policies.Subject{Side: policies.SideClusterAPI, Kind: "Machine", Namespace: "c", TwinNamespace: "m", Name: "own"},
			Operation: admissionv1.Update, Old: set, New: set}, []string{"MachineSet " + c, "MachineSet " + m}, nil},
		"a deletion without a twin": {policies.Change{Subject: mapi, Operation: admissionv1.Delete, Old: set}, []string{"MachineSet " + m},
			[]string{"Machine " + m + " of own"}},
	} {
		change := tt.change
		if doubts := l.advisory(t.Context(), &change, policies.NeedSiblings); len(doubts) > 0 {
			t.Errorf("%s: %v", sentence, doubts)
		}
		for _, got := range []struct {
			want []string
			of   []*policies.Object
		}{{tt.sets, change.Facts.Siblings}, {tt.adoptable, change.Facts.Adoptable}} {
			var names []string
			for _, o := range got.of {
				names = append(names, o.Metadata.Name)
			}
			if diff := cmp.Diff(got.want, names); diff != "" {
				t.Errorf("%s (-want +got):\n%s", sentence, diff)
			}
		}
	}
}
