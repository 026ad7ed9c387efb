// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connections decides what TLS connections to Poundlock's servers are like: by the settings, by the cluster's profile (OpenShift's
// apiservers.config.openshift.io), and by what Poundlock never serves. In go settings and a profile, out come a least version and cipher suites.
//
// Non-goals:
//   - Certificates: package certs.
//   - Connections that Poundlock makes: client-go decides them.
//   - A profile's groups of key exchange: Go's defaults are those of OpenShift's own profiles.
package connections
