// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policies is the rule kernel. It defines a request (Change), a rule (Rule), and how a list of rules (Set) becomes one answer (Judgement).
//
// The input is a Change, with the Facts that its rules need. The output is a Judgement. Rule.Needs names the facts that a rule reads. The caller of the rules
// (webhooks, a reconciler or the command line plugin) looks these facts up before any rule runs, and passes them in Change.Facts. So all callers get the same
// answer to the same question.
//
// Non-goals:
//   - the fields of any API: see the packages of rules beneath this one
//   - clients, clocks, loggers and the environment: see webhooks
package policies
