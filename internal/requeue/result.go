// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package requeue

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/versioned"
)

// AfterConflict is the time until the requeue after a conflict. By then, the watch has usually delivered what the other writer wrote.
const AfterConflict = 200 * time.Millisecond

// Result returns the result of a pass. Without an error, the object is requeued after next, or only by an event if next is 0. A conflict is no failure, because
// somebody else wrote first: the object is requeued after AfterConflict, without an error in the log. passing adds tests for further errors that are no
// failures. NotFound is not one of them by default, because a namespace that does not exist would be retried forever without a log line.
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
// somebody else wrote first. If the object is not found, nothing more is done.
func Quietly(next time.Duration, result reconcile.Result, err error) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: next}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	}
	return result, err
}
