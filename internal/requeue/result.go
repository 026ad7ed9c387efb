// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package requeue

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/versioned"
)

// AfterConflict is how soon to look again when somebody was faster: a watch has brought what they wrote by then.
const AfterConflict = 200 * time.Millisecond

// Result is what a pass returns that wants to look again after next, 0 for not before something changes. A conflict is no failure: somebody
// was faster, what they wrote is news, and the object is looked at a moment later without a line in the log. More of what is none can be named
// by passing; an object that is not found is not among them by itself, since a namespace that is missing is not found for ever.
func Result(next time.Duration, err error, passing ...func(error) bool) (reconcile.Result, error) {
	for _, is := range append(passing, versioned.Overtaken) {
		if is(err) {
			return reconcile.Result{RequeueAfter: AfterConflict}, nil
		}
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: next}, nil
}

// Quietly returns the result and error of a pass, but for two errors that are no failures. After a conflict, the object is requeued after next: somebody else
// wrote first. An object that is gone needs nothing more.
func Quietly(next time.Duration, result reconcile.Result, err error) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: next}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	}
	return result, err
}
