// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package requeue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Patient waits twice as long after each failure of an object, but never more than a quarter of a minute. What failed has nothing to do with the
// object as a rule, and once an API server is well again, nobody should have to wait for as long as it was not.
func Patient() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 15*time.Second)
}
