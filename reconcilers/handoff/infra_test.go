// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

// The provider is rolled back: its machines are no longer served in the version that Poundlock preferred. They exist, and its controller acts on them.
func TestAProvidersVersionThatIsNoLongerServed(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, "Machine")
	later := schema.GroupVersionKind{Group: w.infra.Group, Version: "v1beta3", Kind: w.infra.Kind}
	w.versions(func(all []any) []any {
		added := (&unstructured.Unstructured{Object: all[len(all)-1].(map[string]any)}).DeepCopy().Object
		added["name"], added["storage"], added["served"] = later.Version, false, true
		return append(all, added)
	})
	w.until(later, true)
	w.r = newWorld(t, "Machine").r // its mapper reads what is served now
	w.r.pairs = authority.Pairs{w.pair}
	if mapping, err := w.r.mapper.RESTMapping(later.GroupKind()); err != nil || mapping.GroupVersionKind != later {
		t.Fatalf("prefers %v: %v", mapping, err)
	}
	w.machineAPI(authority.ClusterAPI)
	w.waitSettled(authority.ClusterAPI)

	w.versions(func(all []any) []any {
		all[len(all)-1].(map[string]any)["served"] = false
		return all
	})
	w.until(later, false)
	w.request(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	w.authoritative(authority.MachineAPI)
}

// No version is served any more in which the provider's machine could be read: the move waits, and reports why.
func TestAProvidersMachineThatCannotBeRead(t *testing.T) {
	w := newWorld(t, "Machine")
	w.machineAPI(authority.ClusterAPI)
	w.waitSettled(authority.ClusterAPI)
	before := w.servedVersions()
	defer func() {
		w.versions(func(all []any) []any {
			for i, v := range all {
				v.(map[string]any)["served"] = before[i]
			}
			return all
		})
		w.until(w.infra, true)
	}()
	w.versions(func(all []any) []any {
		for _, v := range all {
			v.(map[string]any)["served"] = false
		}
		return all
	})
	w.until(w.infra, false)
	w.r = newWorld(t, "Machine").r // its mapper reads what is served now
	w.r.pairs = authority.Pairs{w.pair}
	w.request(authority.MachineAPI)
	if _, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: w.pair.MachineAPI, Name: name}}); err == nil {
		t.Error("no error")
	}
	s := w.shape()
	if message := s.Condition(authority.ConditionSettled).Message; s.Current != authority.ClusterAPI || w.reason() != reasonStepFailed ||
		!strings.Contains(message, "awsmachines.infrastructure.cluster.x-k8s.io exists") {
		t.Errorf("status %s, reason %s: %s", s.Current, w.reason(), message)
	}
}

// servedVersions are which versions of the provider's machines are served.
func (w *world) servedVersions() (out []any) {
	w.Helper()
	w.versions(func(all []any) []any {
		for _, v := range all {
			out = append(out, v.(map[string]any)["served"])
		}
		return all
	})
	return out
}

// versions changes the versions of the definition of the provider's machines.
func (w *world) versions(change func([]any) []any) {
	w.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := w.Get(w.Context(), client.ObjectKey{Name: "awsmachines." + infraGroup}, crd); err != nil {
		w.Fatal(err)
	}
	all, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	_ = unstructured.SetNestedSlice(crd.Object, change(all), "spec", "versions")
	if err := w.Update(w.Context(), crd); err != nil {
		w.Fatal(err)
	}
}

// until waits until the API server serves a kind, or no longer does, to everybody who asks.
func (w *world) until(kind schema.GroupVersionKind, serves bool) {
	w.Helper()
	err := wait.PollUntilContextTimeout(w.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		c, err := client.New(plane.Admin(), client.Options{})
		if err != nil {
			return false, err
		}
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		err = c.Get(ctx, client.ObjectKey{Namespace: w.pair.ClusterAPI, Name: "nobody"}, o)
		return err != nil && served.Missing(err) != serves, nil
	})
	if err != nil {
		w.Fatalf("%s: served is not %t: %v", kind, serves, err)
	}
}
