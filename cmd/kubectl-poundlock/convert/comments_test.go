// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/convert"
	"github.com/poundlock/poundlock/conversion"
)

func TestACommentStandsWhereSomethingChanged(t *testing.T) {
	lines := []conversion.Line{
		{MachineAPI: []string{"same"}, ClusterAPI: []string{"same"}, Expressible: conversion.Both},
		{MachineAPI: []string{"noted"}, ClusterAPI: []string{"noted"}, Expressible: conversion.Both, Note: "Absent is one."},
		{MachineAPI: []string{"old"}, ClusterAPI: []string{"new"}, Expressible: conversion.Both},
		{MachineAPI: []string{"list[].a", "list[].b"}, ClusterAPI: []string{"items[].a", "items[].b"}, Expressible: conversion.Both, Note: "In order."},
		{ClusterAPI: []string{"always"}, Expressible: conversion.Both, Note: "Always so."},
		{MachineAPI: []string{"zone"}, ClusterAPI: []string{"Machine: spec.domain"}, Expressible: conversion.Both},
		{MachineAPI: []string{"absent"}, ClusterAPI: []string{"missing"}, Expressible: conversion.Both, Note: "Nobody reads this."},
		{ClusterAPI: []string{"only"}, Expressible: conversion.OnlyClusterAPI, Note: "cannot go"},
	}
	source := map[string]any{"spec": map[string]any{"value": map[string]any{"same": "x", "noted": int64(1), "old": "y"}}}
	rows := convert.Rows(lines, conversion.OnlyClusterAPI, convert.Place{Name: "value", Source: "spec.value", Target: "spec"})
	for sentence, c := range map[string]struct {
		object map[string]any
		rows   []convert.Row
		want   string
	}{
		"the provider's object": {
			object: map[string]any{"spec": map[string]any{"same": "x", "noted": int64(1), "new": "y", "items": []any{map[string]any{"a": "1"}, map[string]any{"a": "2"}},
				"always": true, "only": "z"}},
			rows: rows,
			want: `# head
spec:
  always: true # Always so.
  # from value list[].a, value list[].b: In order.
  items:
    - a: "1"
    - a: "2"
  new: "y" # from value old
  noted: 1
  only: z
  same: x
`,
		},
		"a value that is another one": {
			object: map[string]any{"spec": map[string]any{"noted": int64(2)}}, rows: rows,
			want: "# head\nspec:\n  noted: 2 # from value noted: Absent is one.\n",
		},
		"the core object": {
			object: map[string]any{"spec": map[string]any{"domain": "a"}}, rows: convert.Core(rows),
			want: "# head\nspec:\n  domain: a # from value zone\n",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			var b bytes.Buffer
			if err := convert.Write(&b, "head", c.object, source, c.rows); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
