// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// pauseSeenAfter is how long an object must have been paused before Poundlock takes the pause for seen by a controller that never answers: a pass that
// was under way, with a cache that was behind, is over by then.
const pauseSeenAfter = 30 * time.Second

// untilPauseSeen is how long to wait yet until the controller of an object, which does not answer, has seen the pause; 0 for one that was not paused.
func untilPauseSeen(o *unstructured.Unstructured, now time.Time) time.Duration {
	if o == nil {
		return 0
	}
	if _, told := o.GetAnnotations()[authority.PausedAnnotation]; !told {
		return 0
	}
	return max(0, pauseSeenAfter-now.Sub(pausedAt(o)))
}

// pausedAt is when the pause annotation was last written, by the word of the API server. Who writes it again with something else begins anew: that is late,
// and never early.
func pausedAt(o *unstructured.Unstructured) time.Time {
	at := o.GetCreationTimestamp().Time
	for _, f := range o.GetManagedFields() {
		if f.Time != nil && f.FieldsV1 != nil && f.Time.After(at) && strings.Contains(f.FieldsV1.GetRawString(), `"f:`+authority.PausedAnnotation+`"`) {
			at = f.Time.Time
		}
	}
	return at
}
