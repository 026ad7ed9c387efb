// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/requeue"
)

// poll is how soon a controller reads again what no event reports: an instance that boots or shuts down.
const poll = 250 * time.Millisecond

var again = reconcile.Result{RequeueAfter: poll}

// quietly is a reconciler that requeues after a conflict, and is done with an object that is gone, without an error.
func quietly(r reconcile.Func) reconcile.Func {
	return func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
		result, err := r(ctx, key)
		return requeue.Quietly(poll, result, err)
	}
}
