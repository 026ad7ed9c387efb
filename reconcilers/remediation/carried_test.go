// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// TestCarriedFromWhatWasRecreated: a restored check begins with generation 1 again. Until Poundlock has mirrored it, its mirror has the rules of the former
// check. Poundlock deletes no Machine by those.
func TestCarriedFromWhatWasRecreated(t *testing.T) {
	for name, c := range map[string]struct {
		record       string
		synchronized int64
		generation   int64
		want         bool
	}{
		"the mirror was made from it":                    {"", 4, 4, true},
		"it was edited since":                            {"", 4, 5, false},
		"it was recreated, and not mirrored yet":         {"", 4, 1, false},
		"it was recreated and mirrored":                  {"new/1", 4, 1, true},
		"it was recreated once more":                     {"former/1", 4, 1, false},
		"it was recreated, mirrored, and edited since":   {"new/1", 4, 2, false},
		"it was recreated, edited, and mirrored again":   {"new/2", 4, 2, true},
		"it has more edits than the former one ever had": {"new/3", 5, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &state{check: &unstructured.Unstructured{}, core: &unstructured.Unstructured{Object: map[string]any{}}}
			s.check.Object = map[string]any{}
			if c.record != "" {
				s.check.SetAnnotations(map[string]string{authority.CoreGenerationAnnotation: c.record})
			}
			s.core.SetUID("new")
			s.core.SetGeneration(c.generation)
			s.shape = authority.Shape{Current: authority.ClusterAPI, SynchronizedGeneration: c.synchronized,
				Conditions: []authority.Condition{{Type: authority.ConditionSynchronized, Status: metav1.ConditionTrue}}}
			if got := s.carried(); got != c.want {
				t.Errorf("carried over: %t", got)
			}
		})
	}
}
