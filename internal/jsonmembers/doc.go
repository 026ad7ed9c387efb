// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonmembers splits a JSON object into its members without decoding them.
//
// Each takes the JSON of an object, and returns the names of its members and their raw values. jsontext parses the JSON, with the options that make it accept
// just what encoding/json accepts. The caller decodes only the few members that it reads. An AdmissionReview is mostly managed fields and status, which no rule
// reads. The decoder of encoding/json would go through each of their bytes four times.
//
// Non-goals:
//   - the meaning of a member
package jsonmembers
