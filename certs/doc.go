// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs provides the webhook server with serving certificates that the API server trusts.
//
// It has two sources behind one interface, [Source]:
//
//   - [SelfManaged] owns a CA in a Secret and signs the serving certificate with it. It writes the CA into the
//     caBundle of webhook configurations and of CRDs with a conversion webhook. Any number of replicas share one
//     Secret.
//   - [Files] serves tls.crt and tls.key of a folder and follows their changes. OpenShift's service CA and
//     cert-manager mount such folders. Somebody else then fills in the caBundle.
//
// The input is the names of the Secret, of the configurations and of the hosts. The output is the certificate to serve,
// and the patched caBundles.
//
// Non-goals:
//   - what is served with the certificate, and who calls
//   - finding the configurations: the caller names them
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
//	  │                                                      ▼ [SelfManagedOptions].TrustDelay
//	  └─────────────────────────────────────────────────── serving:  the new leaf; the old CA stays in the bundle
//
// A replica serves a leaf only after the CA that signed it has been in every caBundle for TrustDelay. The exception is
// a replica that has nothing valid to serve. A CA stays in the caBundles as long as a leaf of it can be valid. Replicas
// share only the Secret. What each of them serves in the meantime is in its memory, so there is nothing to coordinate.
//
// To get a new CA at once, delete the Secret: the replacement runs through the same states. To distrust a replaced CA
// at once, set the Secret's annotation poundlock.openshift.io/previous-ca-retires to a date long past.
//
// If the Secret cannot be written, for example because its namespace is being deleted, each replica keeps its CA in
// memory. It adopts the CAs of the other replicas from the caBundles, like the CAs of a Secret that was lost. The
// deletion of the namespace may wait for the webhooks to answer, so the webhooks must not wait for the namespace.
//
// Two replicas cannot undo each other's writes. A pass reads the caBundles before the Secret, and writes both only at
// the resourceVersions that it read. So the Secret that it reads is at least as new as anything in a caBundle. An idle
// pass writes nothing.
package certs
