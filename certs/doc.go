// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs keeps the webhook server in serving certificates that the API server trusts.
//
// It knows two sources behind one interface, [Source]:
//
//   - [SelfManaged] owns a CA in a Secret, signs the serving certificate with it, and writes the CA into the caBundle
//     of webhook configurations and of CRDs with a conversion webhook. Any number of replicas share one Secret.
//   - [Files] serves tls.crt and tls.key of a folder and follows their changes: what OpenShift's service CA and
//     cert-manager mount. Somebody else then fills in the caBundle.
//
// It refuses to know what the certificate serves, who calls, and which configurations exist: names are given to it.
//
// # How a CA is replaced without a refused handshake
//
//	         2/3 of the CA's life, or the CA is unusable
//	stable ──────────────────────────────────────────────▶ stored:   Secret has the new CA, a leaf of it, and the old
//	  ▲                                                      │        CA's certificate as "previous"
//	  │                                                      │ any replica patches the caBundles: new + previous
//	  │                                                      ▼
//	  │ the previous CA's last leaf has expired            trusted:  each replica still serves the old leaf
//	  │                                                      │ each replica sees the new CA in every caBundle for
//	  │                                                      ▼ [SelfManagedOptions].Settle
//	  └─────────────────────────────────────────────────── serving:  the new leaf; the old CA stays in the bundle
//
// A replica never serves a leaf before the CA that signed it has been in every caBundle for a while, unless it has
// nothing valid to serve; and a CA never leaves a caBundle while a leaf of it can be valid. Only the Secret is shared:
// what the replicas serve meanwhile is in their memory, so there is nothing to coordinate. Deleting the Secret is the
// way to ask for a new CA today; it runs through the same states. To distrust a replaced CA at once, set the Secret's
// annotation poundlock.openshift.io/previous-ca-retires to a date long past.
//
// Two replicas cannot undo each other: a pass reads the caBundles before the Secret and writes both only at the
// resourceVersions that it read. Whatever a caBundle already holds of a newer Secret, the Secret it then reads is at
// least as new. An idle pass writes nothing.
package certs
