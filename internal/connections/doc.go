// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connections decides the TLS parameters of connections to Poundlock's servers: the minimum version and the cipher suites. They follow from the
// settings, from the cluster's TLS security profile (OpenShift's apiservers.config.openshift.io), and from what Poundlock never serves.
// Non-goals:
//   - Certificates: package certs.
//   - Connections that Poundlock makes: client-go decides them.
//   - A profile's groups of key exchange: Go's defaults are those of OpenShift's own profiles.
package connections
