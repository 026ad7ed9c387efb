// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
)

// In a rollout the set's status is out of date for a moment at each step. That is no operator that does not run.
func TestAStatusThatIsOutOfDate(t *testing.T) {
	four, three := Numbers{4, 3, 1, 0}, Numbers{3, 3, 1, 0}
	state := func(now, reported Numbers) Standing {
		return Standing{Name: "cluster", Generation: 2, ObservedGeneration: 2, Numbers: now, Reported: reported}
	}
	unobserved, untried := state(four, three), state(Numbers{3, 3, 2, 0}, three)
	unobserved.ObservedGeneration, untried.untried = 1, true
	for sentence, c := range map[string]struct {
		before, now Standing
		lags        bool
	}{
		"as it was before":                        {state(four, three), state(four, three), true},
		"the first look":                          {Standing{}, state(four, three), false},
		"the operator has written meanwhile":      {state(four, three), state(three, four), false},
		"the Machines have changed meanwhile":     {state(Numbers{4, 4, 1, 0}, three), state(four, three), false},
		"it is not out of date any more":          {state(four, three), state(three, three), false},
		"an edit that the operator has not seen":  {unobserved, unobserved, false},
		"what admission writes has not been seen": {untried, untried, false},
	} {
		out := &bytes.Buffer{}
		roster{Output: printers.Output{Writer: out, Width: 400}, now: noon}.remarks(c.now.after(c.before))
		if strings.Contains(out.String(), "The set's status is out of date") != c.lags {
			t.Errorf("%s: %q", sentence, out)
		}
	}
}
