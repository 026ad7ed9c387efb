// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policies is the rule kernel. It defines a request (Change), a rule (Rule), and how a list of rules (Set)
// becomes one answer (Judgement).
//
// In go a Change, with the Facts that its rules need. Out comes a Judgement. Rule.Needs names whatever a rule must look
// up. The shell fetches it before any rule runs, and passes it in Change.Facts. So the webhook, the reconcilers and the
// command line plugin get the same answer to the same question.
//
// Non-goals:
//   - the fields of any API: see the packages of rules beneath it
//   - clients, clocks, loggers and the environment: see webhooks
package policies
