// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel writes the rules that need no lookup a second time, as ValidatingAdmissionPolicies, so that the locks hold
// while Poundlock's webhook is down, or not installed yet.
//
// It knows, for each such row of policies/authority and policies/controlplane, which fields the row denies and in which words (Twins), and how
// these become policies and bindings (Policies). It refuses to know rules of its own: what a row is called, which
// requests it sees and whether it needs a lookup it reads from the row. One table of cases runs through both engines.
//
// # What a person sees
//
// An API server asks its policies before its webhooks, and shows one denial of one policy. So there is one policy for
// each door, with one validation for each rule, and every message holds what all rules of the door have to say, in the
// words of the webhook. A rule that only warns is bound to Audit: the webhook's warning would otherwise be told twice,
// and while the webhook is down there is nothing that such a rule protects.
//
// # Where the engines may differ
//
//   - Beneath MaxDepth levels of spec, CEL compares strictly: there an absent and an empty value differ. Specs of the
//     Machine API have half of that; the stricter of the two answers is the one that holds.
//   - Go names ten fields and counts the others; CEL names as many as fit into a message.
//   - A spec or status that is no JSON object, which no schema of the Machine API lets pass, is read as empty in Go and
//     refused in CEL.
//   - A change of more than some thousand values at once may use up the cost that an API server allows; then the request
//     is refused with its sentence instead of the rule's.
//   - The order of the fields in a message is Go's by path and CEL's by chance.
//
// The expressions use comprehensions of two variables: an API server of version 1.33 or newer.
package cel
