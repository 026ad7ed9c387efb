// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/poundlock/poundlock/policies/authority"
)

// calm is how long events are gathered before the fleet is passed on, because one write to a pair is often followed by others.
const calm = 150 * time.Millisecond

// Follow calls each with the fleet, and again whenever the fleet changes or a tick has passed, until each reports done or ctx ends. After the first reading it
// only watches, and gets no single object.
func Follow(ctx context.Context, client dynamic.Interface, q Query, tick time.Duration, each func(*Fleet) (done bool, err error)) error {
	first, err := FromCluster(ctx, client, q)
	if err != nil {
		return err
	}
	if done, err := each(first); done || err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := watcher{q: q, cluster: first, changed: make(chan struct{}, 1)}
	if err := w.start(ctx, client, cancel); err != nil {
		return err
	}
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for now := first; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticks.C:
		case <-w.changed:
			pause(ctx, calm)
			if now, err = w.fleet(); err != nil {
				return err
			}
		}
		if done, err := each(now.copied()); done || err != nil {
			return err
		}
	}
}

// copied returns the fleet with its own list of pairs, so that the list may be narrowed.
func (f *Fleet) copied() *Fleet {
	out := *f
	out.Pairs = slices.Clone(f.Pairs)
	return &out
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

type watcher struct {
	q       Query
	cluster *Fleet
	stores  []cache.Store
	changed chan struct{}
}

func (w *watcher) start(ctx context.Context, client dynamic.Interface, fail context.CancelCauseFunc) error {
	var synced []cache.InformerSynced
	for _, pair := range w.q.Pairs {
		for namespace, resources := range w.resources(pair) {
			factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
			for _, resource := range resources {
				informer := factory.ForResource(resource).Informer()
				if err := w.add(informer, resource, fail); err != nil {
					return err
				}
				synced = append(synced, informer.HasSynced)
			}
			factory.Start(ctx.Done())
		}
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return context.Cause(ctx)
	}
	return nil
}

// resources returns what is watched in each namespace of a pair: the requested resources that the cluster serves and that the user may list.
func (w *watcher) resources(pair authority.Pair) map[string][]schema.GroupVersionResource {
	out := map[string][]schema.GroupVersionResource{}
	put := func(namespace string, r schema.GroupVersionResource) {
		if !slices.Contains(w.cluster.absent, r) && !slices.Contains(w.cluster.unlisted, r) {
			out[namespace] = append(out[namespace], r)
		}
	}
	for _, k := range w.q.kinds() {
		put(pair.MachineAPI, k.MachineAPI.WithResource(k.Resource))
		put(pair.ClusterAPI, k.ClusterAPI.WithResource(k.Resource))
	}
	for _, provider := range slices.Concat(w.cluster.providers(w.q.kinds()), w.cluster.instances(w.q.kinds())) {
		put(pair.ClusterAPI, provider.Resource())
	}
	return out
}

func (w *watcher) add(informer cache.SharedIndexInformer, resource schema.GroupVersionResource, fail context.CancelCauseFunc) error {
	w.stores = append(w.stores, informer.GetStore())
	notify := func(any) {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: notify, UpdateFunc: func(_, o any) { notify(o) }, DeleteFunc: notify})
	return errors.Join(err,
		informer.SetTransform(withoutManagedFields),
		informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if hopeless(err) { // else the server closed the watch, or is briefly unavailable: the reflector retries
				fail(fmt.Errorf("watching %s: %w", resource.GroupResource(), err))
			}
		}))
}

// hopeless reports whether a retry would not help.
func hopeless(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

func withoutManagedFields(o any) (any, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		u.SetManagedFields(nil)
	}
	return o, nil
}

// fleet returns the fleet of the stores' current objects.
func (w *watcher) fleet() (*Fleet, error) {
	c := newCollection(w.q.Pairs)
	c.fleet.circumstances = w.cluster.circumstances
	for _, store := range w.stores {
		for _, o := range store.List() {
			u, ok := o.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			if err := c.take(u.DeepCopy()); err != nil {
				return nil, err
			}
		}
	}
	f := c.done()
	f.Narrow(w.q.Matches)
	return f, nil
}
