// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonmembers splits a JSON object into its members without decoding them.
//
// In goes JSON. Out come the names of the members and their raw values. jsontext parses it, with the options that make it
// accept just what encoding/json accepts. A caller decodes the few members that it reads. A review is mostly managed
// fields and status, which no rule reads. The decoder of encoding/json would walk through each byte of them four times.
//
// Non-goals:
//   - the meaning of a member
package jsonmembers
