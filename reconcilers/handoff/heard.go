// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// heardAfter is how long a provider's object must have been told to pause before a controller that never answers is taken to have heard: a pass that
// was under way, with a cache that was behind, is over by then.
const heardAfter = 30 * time.Second

// unheard is how long to wait yet until the controller of the provider's object has heard that it is paused; 0 for one that answers, and one that was not told.
func unheard(infra *unstructured.Unstructured, now time.Time) time.Duration {
	if infra == nil || authority.Acknowledges(infra.GetKind()) != authority.ByPatience {
		return 0
	}
	if _, told := infra.GetAnnotations()[authority.PausedAnnotation]; !told {
		return 0
	}
	return max(0, heardAfter-now.Sub(toldAt(infra)))
}

// toldAt is when the pause annotation was last written, by the word of the API server. Who writes it again with something else begins anew: that is late,
// and never early.
func toldAt(infra *unstructured.Unstructured) time.Time {
	at := infra.GetCreationTimestamp().Time
	for _, f := range infra.GetManagedFields() {
		if f.Time != nil && f.FieldsV1 != nil && f.Time.After(at) && strings.Contains(f.FieldsV1.GetRawString(), `"f:`+authority.PausedAnnotation+`"`) {
			at = f.Time.Time
		}
	}
	return at
}
