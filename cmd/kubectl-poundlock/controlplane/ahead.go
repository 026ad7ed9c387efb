// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Wait is the verb of a step that the set does not take itself: a Machine becomes ready, or is deleted.
const Wait = "Wait"

// ForecastStep is one step, or one wait.
type ForecastStep struct {
	// Verb is Adopt, Amend, Create, Delete or Wait.
	Verb string `json:"verb"`
	// Index is the index that the step is about; absent for Wait.
	Index         *int   `json:"index,omitempty"`
	FailureDomain string `json:"failureDomain,omitempty"`
	// Machine is the Machine that the step is about. The name of a new Machine has xxxxx instead of its five random letters.
	Machine string `json:"machine,omitempty"`
	Why     string `json:"why"`
	// Now reports that the step is taken at once, and not after the steps before it.
	Now bool `json:"now,omitempty"`
}

// Ahead returns the set's steps from the current state to the end.
func Ahead(v controlplane.View) []ForecastStep {
	out := []ForecastStep{}
	for _, m := range controlplane.Ahead(v).Moments {
		out = append(out, stepOf(m))
	}
	return out
}

func stepOf(m controlplane.Moment) ForecastStep {
	if m.Waits != "" {
		return ForecastStep{Verb: Wait, Why: m.Waits, Now: m.Now}
	}
	out := ForecastStep{Verb: string(m.Verb), Index: &m.Index.Number, Machine: m.Name, Why: m.Why, Now: m.Now}
	if m.Index.Domain != nil {
		out.FailureDomain = m.Index.Domain.Name
	}
	return out
}
