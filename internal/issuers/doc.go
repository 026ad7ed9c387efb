// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package issuers names the annotations of two issuers of certificates, OpenShift's service CA and cert-manager. Some annotations ask an issuer for a
// certificate, and others mark what an issuer wrote. docs/decisions.md says why cert-manager's names are not taken from its module. The service CA's names are
// in no module.
//
// Non-goals:
//   - what an issuer does
package issuers
