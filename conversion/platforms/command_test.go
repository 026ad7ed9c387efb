// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion/core"
)

// A command in a message is complete, whatever the words around it: half of one finds or changes something else. One that no message can hold is left out.
func TestACommandIsNeverCut(t *testing.T) {
	const folder = "testdata/corpus/"
	filters := func(length int) map[string]any {
		return map[string]any{"ami": map[string]any{"id": nil, "filters": []any{map[string]any{"name": "tag:Name", "values": []any{strings.Repeat("x", length) + "END"}}}}}
	}
	for sentence, c := range map[string]struct {
		of     string
		change map[string]any
		ends   string
	}{
		"an image of long filters":                    {"aws/worker-4.18.yaml", filters(4096), "xEND'"},
		"an image of filters that no message holds":   {"aws/worker-4.18.yaml", filters(9000), "Find the id with aws ec2 describe-images and the same filters"},
		"an image of a control plane Machine's":       {"aws/master-4.21.yaml", filters(4096), `xEND'; this is a control plane Machine`},
		"a vCenter of a long name":                    {"vsphere/worker-4.17.yaml", map[string]any{"workspace": map[string]any{"server": strings.Repeat("x", 4096) + "END"}}, "xEND"},
		"a vCenter of a name that a shell would read": {"vsphere/worker-4.17.yaml", map[string]any{"workspace": map[string]any{"server": "a;b"}}, "'poundlock.openshift.io/vcenters=a;b'"},
		"a region that a shell would read":            {"aws/worker-4.18.yaml", map[string]any{"ami": filters(1)["ami"], "placement": map[string]any{"region": "a;b"}}, "--filters 'Name=tag:Name,Values=xEND'"},
	} {
		t.Run(sentence, func(t *testing.T) {
			var c0 corpus
			load(t, filepath.Join(folder, filepath.Dir(c.of), "cluster.yaml"), &c0)
			o := read(t, folder+c.of)
			path := []string{"spec", "providerSpec", "value"}
			if o.GetKind() == "MachineSet" {
				path = append([]string{"spec", "template"}, path...)
			}
			for field, value := range c.change {
				if err := unstructured.SetNestedField(o.Object, value, append(path, field)...); err != nil {
					t.Fatal(err)
				}
			}
			_, errs := core.ToClusterAPI(o.GetKind(), o, c0.Env(t))
			for _, e := range errs {
				if strings.Contains(e.Detail, "--region a;b") {
					t.Error(e.Detail)
				}
				if strings.Contains(e.Detail, c.ends) {
					return
				}
			}
			t.Error(errs)
		})
	}
}
