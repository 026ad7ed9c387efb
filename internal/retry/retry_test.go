// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package retry_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/retry"
)

func TestNobodyWaitsLongerThanAQuarterOfAMinute(t *testing.T) {
	limiter := retry.Patient()
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
