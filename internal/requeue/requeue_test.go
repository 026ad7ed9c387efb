// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package requeue_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/requeue"
)

func TestNobodyWaitsLongerThanAQuarterOfAMinute(t *testing.T) {
	limiter := requeue.Patient()
	object := reconcile.Request{NamespacedName: types.NamespacedName{Name: "one"}}
	first := limiter.When(object)
	longest := first
	for range 100 {
		longest = limiter.When(object)
	}
	if first > 100*time.Millisecond || longest != 15*time.Second {
		t.Errorf("first %s, at last %s", first, longest)
	}
	if other := limiter.When(reconcile.Request{}); other != first {
		t.Errorf("another object waits %s", other)
	}
	if limiter.Forget(object); limiter.When(object) != first {
		t.Error("a success is not forgotten for")
	}
}

func TestAConflictIsNoFailure(t *testing.T) {
	failure := errors.New("out of order")
	one := schema.GroupResource{Resource: "machines"}
	for _, c := range []struct {
		name    string
		err     error
		passing []func(error) bool
		want    reconcile.Result
		fails   bool
	}{
		{"nothing went wrong", nil, nil, reconcile.Result{RequeueAfter: time.Minute}, false},
		{"a conflict", fmt.Errorf("patching: %w", apierrors.NewConflict(one, "a", failure)), nil, reconcile.Result{RequeueAfter: requeue.AfterConflict}, false},
		{"made by somebody else", apierrors.NewAlreadyExists(one, "a"), nil, reconcile.Result{RequeueAfter: requeue.AfterConflict}, false},
		{"not found", apierrors.NewNotFound(one, "a"), nil, reconcile.Result{}, true},
		{"not found, which passes", apierrors.NewNotFound(one, "a"), []func(error) bool{apierrors.IsNotFound}, reconcile.Result{RequeueAfter: requeue.AfterConflict}, false},
		{"a failure", failure, nil, reconcile.Result{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := requeue.Result(time.Minute, c.err, c.passing...); got != c.want || (err != nil) != c.fails {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestQuietly(t *testing.T) {
	failure, one := errors.New("out of order"), schema.GroupResource{Resource: "machines"}
	began := reconcile.Result{RequeueAfter: time.Minute}
	for _, c := range []struct {
		name  string
		err   error
		want  reconcile.Result
		fails bool
	}{
		{"nothing went wrong", nil, began, false},
		{"a conflict", fmt.Errorf("patching: %w", apierrors.NewConflict(one, "a", failure)), reconcile.Result{RequeueAfter: time.Second}, false},
		{"it is gone", apierrors.NewNotFound(one, "a"), reconcile.Result{}, false},
		{"made by somebody else", apierrors.NewAlreadyExists(one, "a"), began, true},
		{"a failure", failure, began, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := requeue.Quietly(time.Second, began, c.err); got != c.want || (err != nil) != c.fails {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}
