// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package requeue

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/versioned"
)

// AfterConflict is when to requeue after a conflict: by then a watch has brought what the other writer wrote.
const AfterConflict = 200 * time.Millisecond

// Result is the result of a pass that has to be requeued after next; 0 for not before an event. A conflict is no failure: somebody else wrote first, and
// the object is requeued shortly without an error in the log. passing adds further errors of this kind. An object that is not found is not one by default,
// because a namespace that does not exist would be retried forever without a log line.
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

// Quietly returns the result and error of a pass, except for two errors that are no failures. After a conflict, the object is requeued after next, because
// somebody else wrote first. For an object that is gone, nothing more is done.
func Quietly(next time.Duration, result reconcile.Result, err error) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: next}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	}
	return result, err
}
