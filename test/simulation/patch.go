// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// patch writes metadata and spec where after differs from before; nothing is sent where they do not. A merge patch replaces lists
// whole, so it carries the resource version: another's finalizer or condition is never lost.
func patch(ctx context.Context, c client.Client, before, after client.Object) (bool, error) {
	return send(before, after, func(p client.Patch) error { return c.Patch(ctx, after, p) })
}

// patchStatus is patch for the status. It is a patch and no update, because a full update by one writer erases the fields
// of another.
func patchStatus(ctx context.Context, c client.Client, before, after client.Object) (bool, error) {
	return send(before, after, func(p client.Patch) error { return c.Status().Patch(ctx, after, p) })
}

func send(before, after client.Object, write func(client.Patch) error) (bool, error) {
	difference, err := client.MergeFrom(before).Data(after)
	if err != nil || string(difference) == "{}" {
		return false, err
	}
	if err := write(client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, fmt.Errorf("patching %s with %s: %w", before.GetName(), difference, err)
	}
	return true, nil
}
