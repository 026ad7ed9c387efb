// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// TestAFinalizerComesBackToItsPlace: the order of the finalizers after one was added again.
func TestAFinalizerComesBackToItsPlace(t *testing.T) {
	const own, sync = "machine.machine.openshift.io", authority.SyncFinalizer
	for _, c := range []struct{ has, want []string }{
		{[]string{sync}, []string{own, sync}},
		{[]string{"other", sync, "more"}, []string{"other", own, sync, "more"}},
		{[]string{"other"}, []string{"other", own}},
		{nil, []string{own}},
		{[]string{sync, own}, []string{own, sync}},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetFinalizers(c.has)
		got := order(authority.Step{Action: authority.AddFinalizer}, object{live: o, finalizer: own})["finalizers"]
		if list, _ := got.([]string); !slices.Equal(list, c.want) {
			t.Errorf("%v becomes %v, want %v", c.has, got, c.want)
		}
	}
}
