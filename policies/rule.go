// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule is one row: a pure function, and how it is registered and documented.
type Rule struct {
	// ID is stable and public: it stands in messages, metrics and docs/rules.md. Rows may share one, where the
	// same rule is decided from different facts on different sides.
	ID string
	// Clause is the source that the rule enforces, by document and heading.
	Clause string
	// Description describes the rule in a sentence or two for docs/rules.md: what it does, and to whom.
	Description string
	// Remedy is what a person who meets the rule can do, for docs/rules.md and `kubectl poundlock explain`.
	Remedy string
	On     []Scope
	// Needs names the facts that Check reads for this change; nil: none, and the rule has a CEL twin.
	Needs func(Change) Need
	Check func(Change) Verdict
}

// Scope is which requests a rule sees. Empty Kinds or Operations match none: a scope is always written out.
type Scope struct {
	Side       Side
	Kinds      []string
	Operations []admissionv1.Operation
	// Subresource is exact: "" is the object itself.
	Subresource string
}

// Covers reports whether a request falls in the scope.
func (s Scope) Covers(c Change) bool {
	return s.Side == c.Side && s.Subresource == c.Subresource &&
		slices.Contains(s.Operations, c.Operation) && slices.Contains(s.Kinds, c.Kind)
}

// Verdict is the answer of one rule to one change. The zero value allows it.
type Verdict struct {
	Denials  field.ErrorList
	Warnings []string
}

// Deny is a verdict that refuses, one error per field.
func Deny(errs ...*field.Error) Verdict { return Verdict{Denials: errs} }

// Warn is a verdict that allows a change and warns.
func Warn(sentences ...string) Verdict { return Verdict{Warnings: sentences} }

// Set is a list of rules, in the order in which their answers are printed: the most important first.
type Set []Rule

// Applying returns the rules that see the change, in order.
func (s Set) Applying(c Change) Set {
	var out Set
	for _, r := range s {
		if slices.ContainsFunc(r.On, func(sc Scope) bool { return sc.Covers(c) }) {
			out = append(out, r)
		}
	}
	return out
}

// Needs is what must be looked up before Judge can be asked.
func (s Set) Needs(c Change) Need {
	var all Need
	for _, r := range s.Applying(c) {
		if r.Needs != nil {
			all |= r.Needs(c)
		}
	}
	return all
}

// Judge asks every rule that sees the change, so that a person repairs a request once.
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

// Judgement is every applying rule's finding, those without an objection included (metrics count them).
type Judgement []Finding

// Allowed reports whether no rule refuses.
func (j Judgement) Allowed() bool {
	return !slices.ContainsFunc(j, func(f Finding) bool { return len(f.Denials) > 0 })
}
