// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package operatorconditions

import (
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/config/clusteroperator/v1helpers"
)

// Merge replaces the conditions of the same types. lastTransitionTime changes with the status only. The list itself is not changed, because it may belong
// to a cache.
func Merge(now, want []configv1.ClusterOperatorStatusCondition, at time.Time) (merged []configv1.ClusterOperatorStatusCondition, changed bool) {
	merged = slices.Clone(now)
	for _, c := range want {
		v1helpers.SetStatusCondition(&merged, c, instant(at))
	}
	return merged, !slices.Equal(now, merged)
}

// instant is a clock with one time, for all conditions of one pass.
type instant time.Time

func (i instant) Now() time.Time                  { return time.Time(i) }
func (i instant) Since(t time.Time) time.Duration { return time.Time(i).Sub(t) }
