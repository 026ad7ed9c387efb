// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package members splits a JSON object into its members without decoding them.
//
// It knows the grammar of JSON (RFC 8259), all of it: what it accepts, encoding/json accepts. It refuses to know what a
// member means: a caller decodes the few that it reads. A review is mostly managed fields and status that no rule
// looks at; encoding/json walks through each byte of them four times before it lets go of them.
package members
