// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version is the command that prints the plugin's version, and how the cluster's Poundlock runs.
//
// In goes a cluster. Out comes text, JSON or YAML.
//
// Non-goals:
//   - reading Poundlock's Deployment and the feature gate: see presence
package version
