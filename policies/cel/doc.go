// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel writes the rules that need no lookup a second time, as ValidatingAdmissionPolicies. So the locks hold
// while Poundlock's webhook is down, or not installed yet.
//
// In go the rows of policies/authority and policies/controlplane that need no lookup. Twins has, for each such row, the
// fields that it denies and the words of its denial. Policies makes policies and bindings of them. One table of cases
// runs through both engines.
//
// Non-goals:
//   - rules of its own: the row has the rule's name, the requests that it sees, and whether it needs a lookup
//
// # What a person sees
//
// An API server asks its policies before its webhooks, and shows one denial of one policy. So there is one policy for
// each group of requests (admissionPolicies), with one validation for each rule. Every message holds what all rules
// of the policy have to report, in the words of the webhook. A rule that only warns is bound to Audit, or its warning
// would appear twice. While the webhook is down, there is nothing that such a rule protects.
//
// # Where the engines may differ
//
//   - Beneath MaxDepth levels of spec, CEL compares strictly: there an absent and an empty value differ. Specs of
//     the Machine API have half of that depth. The stricter of the two answers holds.
//   - Go names ten fields and counts the others. CEL names as many as fit into a message.
//   - A spec or status may be no JSON object, although no schema of the Machine API allows that. Go reads it as
//     empty, and CEL refuses it.
//   - A change of some thousand values at once may use up the cost that an API server allows. Then the API server
//     refuses the request with its own sentence instead of the rule's.
//   - In a message Go sorts the fields by path, and CEL's order is random.
//
// The expressions use comprehensions of two variables: an API server of version 1.33 or newer.
package cel
