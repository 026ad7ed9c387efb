// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package requeue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Patient returns a rate limiter that doubles the wait after each failure of an object, up to 15 seconds. Failures usually concern the API server and not the
// object. The limit of 15 seconds keeps an object from waiting long after the API server has recovered from a long outage.
func Patient() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 15*time.Second)
}
