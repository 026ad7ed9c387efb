// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// An API server that fails for an hour does not keep an unhealthy Machine waiting for another quarter of one.
func TestPatienceHasAnEnd(t *testing.T) {
	limiter, check := patient(), reconcile.Request{}
	first := limiter.When(check)
	var last time.Duration
	for range 60 {
		last = limiter.When(check)
	}
	if first > 10*time.Millisecond || last > 15*time.Second || last < time.Second {
		t.Errorf("%s after the first failure, %s after many", first, last)
	}
}
