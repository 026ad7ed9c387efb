// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
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

// lagging is a cache that shows something else of Cluster API's object than what is stored; nil: that there is none.
type lagging struct {
	client.Reader
	gvk   schema.GroupVersionKind
	shows *unstructured.Unstructured
}

func (l lagging) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	u, ok := o.(*unstructured.Unstructured)
	switch {
	case !ok || u.GroupVersionKind() != l.gvk:
		return l.Reader.Get(ctx, key, o, options...)
	case l.shows == nil:
		return apierrors.NewNotFound(schema.GroupResource{Group: l.gvk.Group, Resource: l.gvk.Kind}, key.Name)
	}
	u.Object = l.shows.DeepCopy().Object
	return nil
}

// TestAnAdoptionStoresThatTheObjectExists: what Cluster API has already existed, whatever the cache shows of it. Poundlock may die after each of its writes,
// and the object be deleted before it is back.
func TestAnAdoptionStoresThatTheObjectExists(t *testing.T) {
	for _, c := range []struct {
		sentence          string
		to                authority.API
		was, is, recorded bool
	}{
		{"Cluster API has it already", authority.ClusterAPI, true, true, true},
		{"and the cache does not show it yet", authority.ClusterAPI, false, true, true},
		{"it is new", authority.ClusterAPI, false, false, false},
		{"it is new, and the cache shows one that is gone", authority.ClusterAPI, true, false, false},
		{"Machine API has it", authority.MachineAPI, false, false, false},
	} {
		for _, kind := range authority.Kinds() {
			t.Run(kind.Name+": "+c.sentence, func(t *testing.T) {
				w := newWorld(t, kind.Name)
				w.makeTwin()
				w.merge(w.core(), "", map[string]any{"metadata": map[string]any{"annotations": nil}})
				made := w.of(w.core())
				if !c.is {
					if err := w.Delete(t.Context(), made.DeepCopy()); err != nil {
						t.Fatal(err)
					}
				}
				w.machineAPI(c.to)
				cache := lagging{Reader: w.r.cache, gvk: w.kind.ClusterAPIGVK()}
				if c.was {
					cache.shows = made
				}
				w.r.cache = cache
				stored := 0
				writes := rest.CopyConfig(plane.Admin())
				writes.Wrap(func(next http.RoundTripper) http.RoundTripper {
					return roundTripper(func(r *http.Request) (*http.Response, error) {
						answer, err := next.RoundTrip(r)
						if s := w.shape(); r.Method == http.MethodPatch && s.Current == c.to {
							stored++
							if s.Recorded != c.recorded {
								t.Errorf("%s is authoritative, and that the object exists is stored: %t", c.to, s.Recorded)
							}
						}
						return answer, err
					})
				})
				var err error
				if w.r.writer, err = client.New(writes, client.Options{Scheme: w.Scheme()}); err != nil {
					t.Fatal(err)
				}
				w.look()
				if stored != 1 {
					t.Errorf("%d writes since %s is authoritative", stored, c.to)
				}
			})
		}
	}
}
