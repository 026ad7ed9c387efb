// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package operatorconditions

import (
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/config/clusteroperator/v1helpers"
)

// Merge returns the conditions now, with those in want replacing the ones of the same types. A condition's lastTransitionTime changes only if its status does.
// changed reports whether there is anything to write. Merge does not change the list now itself, because that may belong to a cache.
func Merge(now, want []configv1.ClusterOperatorStatusCondition, at time.Time) (merged []configv1.ClusterOperatorStatusCondition, changed bool) {
	merged = slices.Clone(now)
	for _, c := range want {
		v1helpers.SetStatusCondition(&merged, c, instant(at))
	}
	return merged, !slices.Equal(now, merged)
}

// instant is a clock that always shows one time. So all conditions of one pass get the same time.
type instant time.Time

func (i instant) Now() time.Time                  { return time.Time(i) }
func (i instant) Since(t time.Time) time.Duration { return time.Time(i).Sub(t) }
