// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/policies/authority"
)

// getter reads single objects by a function.
type getter struct {
	client.Reader
	get func(client.Object) error
}

func (g getter) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	return g.get(o)
}

// TestAnAdoptionReadsTheCacheAlone adopts without a live read, and by an old cache writes nothing.
func TestAnAdoptionReadsTheCacheAlone(t *testing.T) {
	w := newWorld(t, "Machine")
	cache := w.r.cache
	w.r.live = getter{get: func(client.Object) error { return errors.New("the API server was read") }}
	w.machineAPI(authority.MachineAPI)
	old := w.of(w.mapi())
	w.merge(w.mapi(), "", map[string]any{"metadata": map[string]any{"finalizers": []string{authority.MachineAPIMachineFinalizer}}})
	w.r.cache = getter{Reader: cache, get: func(o client.Object) error {
		u, ok := o.(*unstructured.Unstructured)
		if !ok || u.GroupVersionKind() != w.kind.MachineAPIGVK() {
			return cache.Get(t.Context(), client.ObjectKeyFromObject(old), o)
		}
		u.Object = old.DeepCopy().Object
		return nil
	}}
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: w.pair.MachineAPI, Name: name}}
	if again, err := w.r.Reconcile(t.Context(), request); err != nil || again.RequeueAfter != requeue.AfterConflict {
		t.Errorf("by an old cache: %v %v", again, err)
	}
	if now := w.of(w.mapi()); current(now) != "" || len(now.GetAnnotations()) > 0 {
		t.Errorf("by an old cache: %q, annotations %v", current(now), now.GetAnnotations())
	}
	w.r.cache = cache
	if _, err := w.r.Reconcile(t.Context(), request); err != nil {
		t.Error(err)
	}
	if now := w.of(w.mapi()); current(now) != string(authority.MachineAPI) {
		t.Errorf("authority %q", current(now))
	}
}
