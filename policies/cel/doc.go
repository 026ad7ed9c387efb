// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel has the rules that need no lookup a second time, as ValidatingAdmissionPolicies. So the locks hold while Poundlock's webhook is down, or not
// installed yet.
//
// The input is the rows of policies/authority and policies/controlplane that need no lookup. For each such row, Twins has the same rule in CEL (the twin of the
// row): the fields that the row denies and the words of its denial. Policies makes policies and bindings from the twins. One table of cases runs through both
// engines, Go and CEL.
//
// Non-goals:
//   - rules of its own: the row of a rule has the rule's name, the requests that the rule applies to, and whether the rule needs a lookup
//
// # What a person sees
//
// An API server asks its policies before its webhooks, and shows only one denial of one policy. So there is one policy for each group of requests
// (admissionPolicies), with one validation for each rule. Every message has the denials of all rules of the policy, in the words of the webhook. A rule that
// only warns is bound to Audit. Otherwise its warning would appear twice, from the policy and from the webhook. Such a rule protects nothing, so nothing is
// lost while the webhook is down.
//
// # Where the engines may differ
//
//   - Beneath the first MaxDepth levels of spec, CEL compares strictly: an absent and an empty value differ there. Specs of the Machine API have half as many
//     levels. The stricter of the two engines' answers decides.
//   - Go names ten fields and counts the others. CEL names as many fields as fit into a message.
//   - A spec or status may be something else than a JSON object, although no schema of the Machine API allows that. Go reads it as empty, and CEL refuses it.
//   - A change of some thousand values at once may exceed the cost that an API server allows an expression. Then the API server refuses the request with its
//     own sentence instead of the rule's.
//   - In a message, Go sorts the fields by path. CEL names them in random order.
//
// The expressions use comprehensions with two variables, so they need an API server of version 1.33 or newer.
package cel
