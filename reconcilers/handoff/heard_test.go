// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestWhenAProviderThatNeverAnswersHasHeard(t *testing.T) {
	const told = `annotations: {cluster.x-k8s.io/paused: ""}, creationTimestamp: "2026-01-01T00:00:00Z"`
	for sentence, c := range map[string]struct {
		object string
		want   time.Duration
	}{
		"nothing":                           {"", 0},
		"a provider that answers":           {`{kind: AWSMachine, metadata: {` + told + `}}`, 0},
		"one that was not told":             {`{kind: GCPMachine, metadata: {creationTimestamp: "2026-01-01T00:00:00Z"}}`, 0},
		"one that was made paused":          {`{kind: GCPMachine, metadata: {` + told + `}}`, 20 * time.Second},
		"one that was told later":           {`{kind: OpenStackMachine, metadata: {` + told + `, managedFields: [{time: "2026-01-01T00:00:08Z", fieldsV1: {"f:metadata": {"f:annotations": {"f:cluster.x-k8s.io/paused": {}}}}}]}}`, 28 * time.Second},
		"one that was told of other things": {`{kind: OpenStackMachine, metadata: {` + told + `, managedFields: [{time: "2026-01-01T00:00:08Z", fieldsV1: {"f:metadata": {"f:annotations": {"f:cluster.x-k8s.io/other": {}}}}}]}}`, 20 * time.Second},
		"one that was told long ago":        {`{kind: GCPMachine, metadata: {annotations: {cluster.x-k8s.io/paused: ""}, creationTimestamp: "2025-01-01T00:00:00Z"}}`, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			var infra *unstructured.Unstructured
			if c.object != "" {
				infra = &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(c.object), &infra.Object); err != nil {
					t.Fatal(err)
				}
			}
			if got := unheard(infra, time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)); got != c.want {
				t.Errorf("waits for %s, want %s", got, c.want)
			}
		})
	}
}
