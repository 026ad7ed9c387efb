// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReasonsAreReadFromTablesAndParagraphs(t *testing.T) {
	text := "# Runbooks\n\n## A is False\n\n| reason | what it means | what to do |\n|---|---|---|\n| `One` | a | look at [fields](fields) |\n\n" +
		"## B is False\n\n`Two`: the message\ngoes on.\n`Three`: another.\n\nNot `Four`: this.\n"
	want := []Reason{
		{Name: "One", Section: "A is False", Means: "a", Do: "look at fields"},
		{Name: "Two", Section: "B is False", Means: "the message goes on."},
		{Name: "Three", Section: "B is False", Means: "another."},
	}
	if diff := cmp.Diff(want, reasonsIn(text)); diff != "" {
		t.Error(diff)
	}
}
