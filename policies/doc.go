// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policies is the rule kernel: what a request is (Change), what a rule is (Rule), and how a list of
// them (Set) becomes one answer (Judgement).
//
// It knows the shape of a request and nothing about any API's fields: those are the business of the packages of
// rules beneath it. It refuses to know a client, a clock, a logger or the environment. Whatever a rule must look
// up is named in its row (Rule.Needs), fetched by the shell before any rule runs, and handed over in Change.Facts,
// so that the webhook, the reconcilers and the command line plugin get the same answer to the same question.
package policies
