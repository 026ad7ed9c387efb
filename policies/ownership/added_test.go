// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAdded(t *testing.T) {
	for name, c := range map[string]struct {
		live, owners string
		want         []string
	}{
		"nothing":                             {`{a: 1, disks: [{size: 1}]}`, `[{manager: me, operation: Update, apiVersion: cluster.x-k8s.io/v1beta2, fieldsV1: {'f:spec': {'f:a': {}, 'f:disks': {}}}}]`, nil},
		"a default of the API server":         {`{a: 1, b: 2, disks: [{size: 1, encrypted: true}]}`, `[{manager: me, operation: Update, apiVersion: cluster.x-k8s.io/v1beta2, fieldsV1: {'f:spec': {'f:a': {}, 'f:b': {}, 'f:disks': {}}}}]`, nil},
		"a field of somebody's":               {`{a: 1, b: {c: 2}, disks: [{size: 1}]}`, `[{manager: you, operation: Update, apiVersion: cluster.x-k8s.io/v1beta2, fieldsV1: {'f:spec': {'f:b': {'f:c': {}}}}}]`, []string{"spec.b"}},
		"what somebody set as it is wanted":   {`{a: 1, disks: [{size: 1}]}`, `[{manager: you, operation: Apply, apiVersion: cluster.x-k8s.io/v1beta2, fieldsV1: {'f:spec': {'f:a': {}, 'f:disks': {}}}}]`, nil},
		"a field of an item, by its list":     {`{a: 1, disks: [{size: 1, key: k}]}`, `[{manager: you, operation: Update, apiVersion: cluster.x-k8s.io/v1beta2, fieldsV1: {'f:spec': {'f:disks': {}}}}]`, []string{"spec.disks[].key"}},
		"a default in an item of its own":     {`{a: 1, disks: [{size: 1, key: k}]}`, `[{manager: me, operation: Update, apiVersion: cluster.x-k8s.io/v1beta2, fieldsV1: {'f:spec': {'f:disks': {}}}}, {manager: you, operation: Update, apiVersion: cluster.x-k8s.io/v1beta2, fieldsV1: {'f:metadata': {'f:labels': {}}}}]`, nil},
		"what nobody owns":                    {`{a: 1, b: 2, disks: [{size: 1, key: k}]}`, `[]`, nil},
		"what was written in another version": {`{a: 1, b: 2, disks: [{size: 1}]}`, `[{manager: you, operation: Update, apiVersion: cluster.x-k8s.io/v1beta1, fieldsV1: {'f:spec': {'f:b': {}}}}]`, nil},
		"somebody's, that is gone":            {`{a: 1, disks: [{size: 1}]}`, `[{manager: you, operation: Update, apiVersion: cluster.x-k8s.io/v1beta2, fieldsV1: {'f:spec': {'f:b': {}}}}]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			live := parse(t, `{metadata: {managedFields: `+c.owners+`}, spec: `+c.live+`}`)
			if diff := cmp.Diff(c.want, Added("me", parse(t, `{spec: {a: 1, disks: [{size: 1}]}}`), live)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
