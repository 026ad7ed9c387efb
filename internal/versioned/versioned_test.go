// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package versioned

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A caller sends the same body again after a conflict, to an object that has another version by then.
func TestABodyStaysAsItIs(t *testing.T) {
	o := &unstructured.Unstructured{}
	o.SetResourceVersion("7")
	for _, c := range []struct {
		body map[string]any
		want string
	}{
		{map[string]any{"status": map[string]any{"a": 1}}, `{"metadata":{"resourceVersion":"7"},"status":{"a":1}}`},
		{map[string]any{"metadata": map[string]any{"labels": nil}}, `{"metadata":{"labels":null,"resourceVersion":"7"}}`},
		{map[string]any{"metadata": map[string]any(nil)}, `{"metadata":{"resourceVersion":"7"}}`},
		{nil, `{"metadata":{"resourceVersion":"7"}}`},
	} {
		patch, err := of(o, c.body)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := patch.Data(o)
		if err != nil || string(raw) != c.want {
			t.Errorf("%s (%v), want %s", raw, err, c.want)
		}
		if metadata, _ := c.body["metadata"].(map[string]any); metadata["resourceVersion"] != nil {
			t.Errorf("the body was written to: %v", c.body)
		}
	}
}
