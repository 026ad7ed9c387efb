// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// poll is how soon a controller reads again what no event reports: an instance that boots or shuts down.
const poll = 250 * time.Millisecond

var again = reconcile.Result{RequeueAfter: poll}

// quietly is a reconciler to whom a conflict is no news: somebody else wrote first, so it reads again. What was
// deleted under its hands needs nothing more.
func quietly(r reconcile.Func) reconcile.Func {
	return func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
		result, err := r(ctx, key)
		switch {
		case apierrors.IsConflict(err):
			return again, nil
		case apierrors.IsNotFound(err):
			return reconcile.Result{}, nil
		}
		return result, err
	}
}
