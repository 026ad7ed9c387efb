// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooks answers the API server's admission reviews. For each review, it looks up the facts that the rules need,
// evaluates the rules, and returns one answer.
//
// The package lists every webhook (routes.go, from which the webhook configurations are generated). It decides how fresh a
// fact must be and how long its lookup may take (gather.go, lookup.go). It formats answers (respond.go, warnings.go).
//
//	AdmissionReview ─decode─▶ Change ─needs─▶ gather ─▶ Change with facts ─judge─▶ Judgement ─respond─▶ AdmissionReview
//
// A route that locks becomes up to three webhooks, and a request reaches one of them (parts, enforce.go):
//
//   - One fails closed: for requests that could let two controllers act.
//   - One fails open: for the other requests.
//   - One fails open: for the requests of the first, in a namespace for which no replica has answered through the API server yet.
//
// A review writes nothing, so a dry run gets the same answer as the request itself.
//
// Non-goals:
//   - which requests are allowed: see policies and conversion
package webhooks
