// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel writes the rules that need no lookup a second time, as ValidatingAdmissionPolicies. So the locks hold while Poundlock's webhook is down, or not
// installed yet.
//
// The input is the rows of policies/authority and policies/controlplane that need no lookup. Twins has, for each such row, the fields that the row denies and
// the words of its denial. Policies makes policies and bindings of these. One table of cases runs through both engines, Go and CEL.
//
// Non-goals:
//   - rules of its own: a rule's row has the name of the rule, the requests that it sees, and whether it needs a lookup
//
// # What a person sees
//
// An API server asks its policies before its webhooks, and shows only one denial of one policy. So there is one policy for each group of requests
// (admissionPolicies), with one validation for each rule. Every message has what all rules of the policy report, in the words of the webhook. A rule that only
// warns is bound to Audit: otherwise its warning would appear twice, from the policy and from the webhook. Such a rule protects nothing, so nothing is lost
// while the webhook is down.
//
// # Where the engines may differ
//
//   - Beneath MaxDepth levels of spec, CEL compares strictly: an absent and an empty value differ at that depth. Specs of
//     the Machine API have half of that depth. The stricter of the two engines' answers decides.
//   - Go names ten fields and counts the others. CEL names as many fields as fit into a message.
//   - A spec or status may be no JSON object, although no schema of the Machine API allows that. Go reads it as
//     empty, and CEL refuses it.
//   - A change of some thousand values at once may exceed the cost that an API server allows an expression. Then the API
//     server refuses the request with its own sentence instead of the rule's.
//   - In a message, Go sorts the fields by path. The order of CEL's fields is random.
//
// The expressions use comprehensions with two variables, so they need an API server of version 1.33 or newer.
package cel
