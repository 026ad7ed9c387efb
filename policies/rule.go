// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule is one row in a list of rules. It has a pure function that decides, and says how the function is registered and documented.
type Rule struct {
	// ID is stable and public: it is used in messages, in metrics and in docs/rules.md. Several rows may have one ID if the same rule is decided from different
	// facts on different sides.
	ID string
	// Clause names the source of what the rule enforces, by document and heading.
	Clause string
	// Description describes the rule in a sentence or two for docs/rules.md: what it does, and to whom.
	Description string
	// Remedy is what a person can do whose request the rule refuses or warns about. It is for docs/rules.md and `kubectl poundlock explain`.
	Remedy string
	On     []Scope
	// Needs returns the facts that Check reads for a change. If it is nil, Check reads no facts, and the rule also exists in CEL (its twin in package cel).
	Needs func(Change) Need
	Check func(Change) Verdict
}

// Scope selects the requests to which a rule applies. Empty Kinds or Operations match no request, so each scope lists them.
type Scope struct {
	Side       Side
	Kinds      []string
	Operations []admissionv1.Operation
	// Subresource has to equal the request's subresource. "" stands for the object itself.
	Subresource string
}

// Covers reports whether a request falls in the scope.
func (s Scope) Covers(c Change) bool {
	return s.Side == c.Side && s.Subresource == c.Subresource &&
		slices.Contains(s.Operations, c.Operation) && slices.Contains(s.Kinds, c.Kind)
}

// Verdict is the answer of one rule to one change. The zero Verdict allows the change.
type Verdict struct {
	Denials  field.ErrorList
	Warnings []string
}

// Deny returns a verdict that refuses the change, with one error for each refused field. Without errors the verdict allows the change.
func Deny(errs ...*field.Error) Verdict { return Verdict{Denials: errs} }

// Warn returns a verdict that allows the change, with these sentences as warnings.
func Warn(sentences ...string) Verdict { return Verdict{Warnings: sentences} }

// Set is a list of rules, most important first. Their answers are printed in this order.
type Set []Rule

// Applying returns the rules whose scopes cover the change, in order.
func (s Set) Applying(c Change) Set {
	var out Set
	for _, r := range s {
		if slices.ContainsFunc(r.On, func(sc Scope) bool { return sc.Covers(c) }) {
			out = append(out, r)
		}
	}
	return out
}

// Needs returns the facts that must be looked up before Judge is called for the change.
func (s Set) Needs(c Change) Need {
	var all Need
	for _, r := range s.Applying(c) {
		if r.Needs != nil {
			all |= r.Needs(c)
		}
	}
	return all
}

// Judge returns the findings of all rules whose scopes cover the change. It does not stop at the first refusal, so that a person can correct everything in one
// go.
func (s Set) Judge(c Change) Judgement {
	var j Judgement
	for _, r := range s.Applying(c) {
		v := r.Check(c)
		j = append(j, Finding{Rule: r.ID, Verdict: v})
	}
	return j
}

// Finding is one rule's verdict.
type Finding struct {
	Rule string
	Verdict
}

// Judgement has the finding of each rule that applies. Findings without an objection are included, because metrics count them too.
type Judgement []Finding

// Allowed reports whether no rule refuses.
func (j Judgement) Allowed() bool {
	return !slices.ContainsFunc(j, func(f Finding) bool { return len(f.Denials) > 0 })
}
