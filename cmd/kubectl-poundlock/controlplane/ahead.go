// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Wait is the verb of a step that is not the set's: a Machine becomes ready, or goes.
const Wait = "Wait"

// ForecastStep is one thing that is done, or waited for.
type ForecastStep struct {
	// Verb is Adopt, Amend, Create, Delete or Wait.
	Verb string `json:"verb"`
	// Index is where, none for Wait.
	Index         *int   `json:"index,omitempty"`
	FailureDomain string `json:"failureDomain,omitempty"`
	// Machine is the one that it is done to. The name of one that is made has xxxxx where five letters will be.
	Machine string `json:"machine,omitempty"`
	Why     string `json:"why"`
	// Now: it is done at once, and not after the steps before it.
	Now bool `json:"now,omitempty"`
}

// Ahead is what the set does from where things stand, to the end.
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
