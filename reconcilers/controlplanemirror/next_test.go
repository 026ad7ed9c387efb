// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanemirror

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestATemplateIsPutRightOnceAndOnlyAfterAnEdit: what the API server adds is no edit, wherever it is.
func TestATemplateIsPutRightOnceAndOnlyAfterAnEdit(t *testing.T) {
	const ours = `[{manager: poundlock-reflection, operation: Update, apiVersion: v1, fieldsV1: {'f:spec': {'f:size': {}, 'f:disks': {}}}}]`
	const theirs = `[{manager: kubectl-edit, operation: Update, apiVersion: v1, fieldsV1: {'f:spec': {'f:disks': {}}}}]`
	for sentence, c := range map[string]struct {
		owners, spec string
		update       bool
	}{
		"as it was made":                      {owners: ours, spec: `{size: 1, spot: {}, disks: [{gb: 8}]}`},
		"with a default":                      {owners: ours, spec: `{size: 1, spot: {}, public: false, disks: [{gb: 8}]}`},
		"with a default in an item":           {owners: ours, spec: `{size: 1, spot: {}, disks: [{gb: 8, type: gp3}]}`},
		"with another value":                  {owners: ours, spec: `{size: 2, spot: {}, disks: [{gb: 8}]}`, update: true},
		"with another value in an item":       {owners: ours, spec: `{size: 1, spot: {}, disks: [{gb: 9}]}`, update: true},
		"with an item more":                   {owners: ours, spec: `{size: 1, spot: {}, disks: [{gb: 8}, {gb: 8}]}`, update: true},
		"without what is wanted empty":        {owners: ours, spec: `{size: 1, disks: [{gb: 8}], spot: null}`, update: true},
		"without a list":                      {owners: ours, spec: `{size: 1, spot: {}}`, update: true},
		"with what somebody added to an item": {owners: theirs, spec: `{size: 1, spot: {}, disks: [{gb: 8, type: gp2}]}`, update: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			read := func(text string) *unstructured.Unstructured {
				o := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
					t.Fatal(err)
				}
				return o
			}
			want := read(`{apiVersion: v1, kind: T, metadata: {name: t}, spec: {size: 1, spot: {}, disks: [{gb: 8}]}}`)
			live := read(`{apiVersion: v1, kind: T, metadata: {name: t, managedFields: ` + c.owners + `}, spec: ` + c.spec + `}`)
			w := (&state{template: want, templates: []*unstructured.Unstructured{live}}).reflectTemplate()
			if (w != nil) != c.update {
				t.Fatalf("writes %+v", w)
			}
			if w == nil {
				return
			}
			if entries := w.object.GetManagedFields(); len(entries) != 1 || entries[0].Manager != "" {
				t.Errorf("the update leaves fields to %v", entries)
			}
			if again := (&state{template: want, templates: []*unstructured.Unstructured{w.object}}).reflectTemplate(); again != nil {
				t.Errorf("and then %+v", again)
			}
		})
	}
}
