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

// Changes queues what of returns each time that a kind of c appears or disappears, until the controller stops. For a cache that New did not make, and that
// wraps no such cache, nothing is queued.
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
