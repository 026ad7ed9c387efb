// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLeftover(t *testing.T) {
	for name, c := range map[string]struct {
		wanted, live string
		want         []string
	}{
		"equal":                                {`{spec: {disks: [{size: 1}]}}`, `{spec: {disks: [{size: 1}]}}`, nil},
		"a field of an item":                   {`{spec: {disks: [{size: 1}]}}`, `{spec: {disks: [{size: 1, encrypted: true}]}}`, []string{"spec.disks[].encrypted"}},
		"a field below an item":                {`{spec: {disks: [{ebs: {size: 1}}]}}`, `{spec: {disks: [{ebs: {size: 1, key: k}}]}}`, []string{"spec.disks[].ebs.key"}},
		"of two items, once":                   {`{spec: {disks: [{}, {}]}}`, `{spec: {disks: [{key: k}, {key: k}]}}`, []string{"spec.disks[].key"}},
		"what is empty says nothing":           {`{spec: {disks: [{size: 1}]}}`, `{spec: {disks: [{size: 1, ebs: {}, tags: [], key: null}]}}`, nil},
		"a field of no item has its own owner": {`{spec: {disk: {size: 1}}}`, `{spec: {disk: {size: 1, key: k}}}`, nil},
		"a list of another length lacks":       {`{spec: {disks: [{size: 1}]}}`, `{spec: {disks: [{size: 1}, {size: 2}]}}`, nil},
		"status is somebody else's":            {`{spec: {}, status: {addresses: [{}]}}`, `{spec: {}, status: {addresses: [{address: a}]}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Leftover(parse(t, c.wanted), parse(t, c.live))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
