// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package issuers names the annotations by which OpenShift's service CA and cert-manager are asked for certificates, and by which they mark what they wrote.
// docs/decisions.md has why the ones of cert-manager are not taken from its module. The service CA's are in no module.
//
// Non-goals:
//   - what an issuer does
package issuers
