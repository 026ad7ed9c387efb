// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providers is the command that shows which providers of Cluster API are installed, what the installer waits for,
// and what differs from the release.
//
// In go the installer's ConfigMaps and objects. Out come a table, differences, or YAML. It writes nothing.
//
// Non-goals:
//   - what is installed, and when: see reconcilers/install and installation
package providers
