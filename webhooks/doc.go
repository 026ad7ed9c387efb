// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooks is the door at the API server: it reads a review, looks up the facts that the rules ask for, puts
// them to the rules, and writes one answer.
//
// It knows every door (routes.go, from which the webhook configurations are generated), how fresh a fact must be
// and how long it may take (gather.go, lookup.go), and how an answer is spelled (respond.go, warnings.go). It refuses
// to know what is allowed: that is policies' and conversion's.
//
//	AdmissionReview ─decode─▶ Change ─needs─▶ gather ─▶ Change with facts ─judge─▶ Judgement ─respond─▶ AdmissionReview
//
// A door that locks is up to three webhooks, and a request comes to one of them: one that fails closed for what two controllers could come of, one that fails
// open for the rest, and one that fails open where no replica has answered through the API server yet (parts, enforce.go).
//
// A review writes nothing, so that a dry run is answered as the request itself would be.
package webhooks
