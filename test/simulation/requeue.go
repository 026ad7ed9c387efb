// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/requeue"
)

// poll is how soon a controller reads again what causes no event: an instance that boots or shuts down.
const poll = 250 * time.Millisecond

var again = reconcile.Result{RequeueAfter: poll}

// quietly returns a reconciler that does what r does, but turns two errors into results: after a conflict it requeues, and for an object that is gone it is
// done.
func quietly(r reconcile.Func) reconcile.Func {
	return func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
		result, err := r(ctx, key)
		return requeue.Quietly(poll, result, err)
	}
}
