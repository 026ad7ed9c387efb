// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"
	"slices"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Changes returns a source that calls "of" and queues its requests each time that a kind of the cache c appears or disappears, until the controller stops. If c
// is not a cache that New made, and does not wrap one, the source queues nothing.
func Changes(c cache.Cache, of func(context.Context) []reconcile.Request) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if w, ok := c.(interface{ Unwrap() cache.Cache }); ok {
			c = w.Unwrap()
		}
		s, ok := c.(*served)
		if !ok {
			return nil
		}
		onChange := &listener{func() {
			for _, r := range of(ctx) {
				queue.Add(r)
			}
		}}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed = append(s.changed, onChange)
		context.AfterFunc(ctx, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed = slices.DeleteFunc(slices.Clone(s.changed), func(l *listener) bool { return l == onChange })
		})
		return nil
	})
}
