// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Changes queues what of returns each time that a kind of c appears or disappears. A cache that New did not make has no such changes.
func Changes(c cache.Cache, of func(context.Context) []reconcile.Request) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s, ok := c.(*served)
		if !ok {
			return nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed = append(s.changed, func() {
			for _, r := range of(ctx) {
				queue.Add(r)
			}
		})
		return nil
	})
}
