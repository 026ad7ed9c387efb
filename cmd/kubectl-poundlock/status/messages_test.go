// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/status"
)

func TestMessages(t *testing.T) {
	one := func(name, reason, message string) standing.Standing {
		return standing.Standing{Kind: "Machine", Name: name, Reason: reason, Message: message}
	}
	for sentence, c := range map[string]struct {
		all  []standing.Standing
		want []string
	}{
		"the same words": {[]standing.Standing{one("a", "R", "wait."), one("b", "R", "wait."), one("c", "S", "wait.")}, []string{"2 R: wait.", "1 S: wait."}},
		"but for the own name": {[]standing.Standing{one("a", "R", "Machine ns/a is paused, not a-b: patch a."), one("b", "R", "Machine ns/b is paused, not a-b: patch b.")},
			[]string{"2 R: Machine ns/NAME is paused, not a-b: patch NAME."}},
		"another's name is another sentence": {[]standing.Standing{one("a", "R", "Machine a."), one("b", "R", "Machine a.")}, []string{"1 R: Machine a.", "1 R: Machine a."}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			for _, m := range status.Messages(c.all) {
				got = append(got, fmt.Sprintf("%d %s: %s", len(m.Objects), m.Reason, m.Text))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
