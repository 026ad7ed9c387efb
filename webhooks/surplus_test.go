// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// surplus is a pair of MachineSets that has three Machines: a and b, which Machine API runs, and c, which Cluster API runs.
type surplus struct {
	twin, set *policies.Object
	// mirrors are Cluster API's Machines, each with its UID.
	mirrors     map[string]string
	run         []*policies.Object
	gets, lists int
	err         error
}

func asObject(t *testing.T, format string, args ...any) *policies.Object {
	t.Helper()
	o, err := policies.ParseObject(fmt.Appendf(nil, format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func newSurplus(t *testing.T, replicas int) *surplus {
	machine := `{"metadata":{"name":%q,"labels":{"set":"w"}%s,"ownerReferences":[{"kind":"MachineSet","name":"w","uid":"m","controller":true}]},"status":{"authoritativeAPI":%q}}`
	w := &surplus{
		twin:    asObject(t, `{"metadata":{"name":"w","uid":"m"},"spec":{"selector":{"matchLabels":{"set":"w"}}},"status":{"authoritativeAPI":"ClusterAPI"}}`),
		set:     asObject(t, `{"metadata":{"name":"w","uid":"s"},"spec":{"replicas":%d,"selector":{"matchLabels":{"set":"w"}}}}`, replicas),
		mirrors: map[string]string{"a": "1", "b": "2", "c": "3"},
	}
	for name, api := range map[string]string{"a": "MachineAPI", "b": "MachineAPI", "c": "ClusterAPI"} {
		w.run = append(w.run, asObject(t, machine, name, "", api))
	}
	w.run = append(w.run, asObject(t, machine, "leaves", `,"deletionTimestamp":"2026-01-01T00:00:00Z"`, "MachineAPI"),
		asObject(t, machine, "detached", `,"annotations":{"poundlock.openshift.io/detached":"true"}`, "MachineAPI"))
	return w
}

func (w *surplus) lookups(t *testing.T) Lookups {
	machines := func(of map[string]string) (out []*policies.Object) {
		for name, uid := range of {
			out = append(out, asObject(t, `{"metadata":{"name":%q,"uid":%q,"labels":{"set":"w"},"ownerReferences":[{"kind":"MachineSet","name":"w","uid":"s","controller":true}]}}`, name, uid))
		}
		return out
	}
	return Lookups{
		Cached: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			if ref.String() == "machine.openshift.io MachineSet m/w" {
				return w.twin, nil
			}
			return nil, nil
		}),
		Live: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			w.gets++
			switch {
			case w.err != nil:
				return nil, w.err
			case ref.String() == "cluster.x-k8s.io MachineSet c/w":
				return w.set, nil
			}
			return nil, nil
		}),
		Owned: OwnedFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error) {
			if gvk.Group == "machine.openshift.io" && namespace == "m" && owner == "m" {
				return w.run, nil
			}
			return nil, nil
		}),
		Selected: SelectedFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*policies.Object, error) {
			if w.lists++; gvk.Group != "cluster.x-k8s.io" || gvk.Kind != "Machine" || namespace != "c" || selector.String() != "set=w" {
				t.Errorf("listed %s in %s by %s", gvk, namespace, selector)
			}
			return machines(w.mirrors), w.err
		}),
	}
}

// Cluster API's set creates no Machine in the place of one that Machine API runs and whose mirror is gone. It creates what it lacks beside these.
func TestASetCreatesNoSurplus(t *testing.T) {
	const missing, full = "These have no Cluster API object in the set yet: ", "To get another Machine: kubectl -n c scale machinesets.cluster.x-k8s.io w --replicas=NUMBER"
	for what, c := range map[string]struct {
		replicas int
		created  string
		change   func(*surplus)
		refused  string
		// gets and lists are how often the API server is read.
		gets, lists int
	}{
		"the set was scaled up": {replicas: 4, gets: 1, lists: 1},
		"all Machines exist, and the controller does not see them": {replicas: 3, refused: full, gets: 1, lists: 1},
		"all mirrors are gone":                          {replicas: 3, change: func(w *surplus) { w.mirrors = map[string]string{"c": "3"} }, refused: missing + "a, b.", gets: 1, lists: 1},
		"all Machines of Cluster API are gone":          {replicas: 3, change: func(w *surplus) { w.mirrors = nil }, gets: 1, lists: 1},
		"one mirror is gone":                            {replicas: 3, change: func(w *surplus) { delete(w.mirrors, "b") }, refused: missing + "b.", gets: 1, lists: 1},
		"one mirror is gone, and the set was scaled up": {replicas: 4, change: func(w *surplus) { delete(w.mirrors, "b") }, gets: 1, lists: 1},
		"the mirror itself is restored":                 {replicas: 3, created: "b", change: func(w *surplus) { delete(w.mirrors, "b") }, gets: 1, lists: 1},
		"Machine API is authoritative for the set":      {replicas: 3, change: func(w *surplus) { w.twin.Status = []byte(`{"authoritativeAPI":"MachineAPI"}`); w.mirrors = nil }},
		"authority moves": {replicas: 2, change: func(w *surplus) {
			w.twin.Status = []byte(`{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"}`)
			w.mirrors = nil
		}, refused: missing + "a, b.", gets: 1, lists: 1},
		"a restored set, for which no API is authoritative yet": {replicas: 2, change: func(w *surplus) {
			w.twin.Status, w.twin.Spec = nil, []byte(`{"authoritativeAPI":"ClusterAPI","selector":{"matchLabels":{"set":"w"}}}`)
			w.mirrors = nil
		}, refused: missing + "a, b.", gets: 1, lists: 1},
		"Machine API runs none":                                       {replicas: 3, change: func(w *surplus) { w.run, w.mirrors = w.run[3:], nil }},
		"the set exists in Cluster API alone":                         {replicas: 3, change: func(w *surplus) { w.twin, w.mirrors = nil, nil }},
		"the set was recreated, and the Machine is of the former set": {replicas: 3, change: func(w *surplus) { w.set.Metadata.UID, w.mirrors = "new", nil }, gets: 1},
	} {
		w := newSurplus(t, c.replicas)
		if c.change != nil {
			c.change(w)
		}
		name := c.created
		if name == "" {
			name = "w-new"
		}
		change := policies.Change{Subject: policies.Subject{Side: policies.SideClusterAPI, Kind: "Machine", Namespace: "c", TwinNamespace: "m", Name: name},
			Operation: admissionv1.Create, Actor: policies.ClusterAPIController,
			New: asObject(t, `{"metadata":{"name":%q,"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","name":"w","uid":"s","controller":true}]}}`, name)}
		l := w.lookups(t)
		gathered, _, err := l.gather(t.Context(), change, policies.NeedOwnerCount)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		verdict := authority.CreateSurplus(gathered)
		if got := fmt.Sprint(verdict.Denials); (len(verdict.Denials) > 0) != (c.refused != "") || !strings.Contains(got, c.refused) {
			t.Errorf("%s: want %q, got %s", what, c.refused, got)
		}
		if w.gets != c.gets || w.lists != c.lists {
			t.Errorf("%s: %d reads and %d lists, want %d and %d", what, w.gets, w.lists, c.gets, c.lists)
		}
		if w.err = errors.New("no answer"); slices.Contains([]int{c.gets, c.lists}, 1) {
			if _, _, err := l.gather(t.Context(), change, policies.NeedOwnerCount); !errors.Is(err, errNotBegun) {
				t.Errorf("%s: of a failed lookup: %v", what, err)
			}
		}
	}
}
