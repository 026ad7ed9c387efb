// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule is one row in a list of rules: a pure function, and how it is registered and documented.
type Rule struct {
	// ID is stable and public: it is used in messages, in metrics and in docs/rules.md. Several rows may have one ID if the same rule is decided from different
	// facts on different sides.
	ID string
	// Clause is the source that the rule enforces, by document and heading.
	Clause string
	// Description describes the rule in a sentence or two for docs/rules.md: what it does, and to whom.
	Description string
	// Remedy is what a person who meets the rule can do, for docs/rules.md and `kubectl poundlock explain`.
	Remedy string
	On     []Scope
	// Needs returns the facts that Check reads for a change; nil: none, and the rule has a CEL twin.
	Needs func(Change) Need
	Check func(Change) Verdict
}

// Scope selects the requests for which a rule is asked. Empty Kinds or Operations match no request, so each scope lists them.
type Scope struct {
	Side       Side
	Kinds      []string
	Operations []admissionv1.Operation
	// Subresource has to equal the request's; "" is the object itself.
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

// Deny returns a verdict that refuses the change, with one error per field; without errors it allows the change.
func Deny(errs ...*field.Error) Verdict { return Verdict{Denials: errs} }

// Warn returns a verdict that allows the change, with these sentences as warnings.
func Warn(sentences ...string) Verdict { return Verdict{Warnings: sentences} }

// Set is a list of rules, in the order in which their answers are printed: the most important first.
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

// Judge returns the findings of all rules whose scopes cover the change. It does not stop at the first refusal, so that a person can correct everything at
// once.
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

// Judgement has the finding of each rule that applies, including those without an objection, which metrics count, too.
type Judgement []Finding

// Allowed reports whether no rule refuses.
func (j Judgement) Allowed() bool {
	return !slices.ContainsFunc(j, func(f Finding) bool { return len(f.Denials) > 0 })
}
