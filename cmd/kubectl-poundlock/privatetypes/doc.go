// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package privatetypes is the command that installs Cluster API's types under private names, shows them, and uninstalls them.
//
// In go CustomResourceDefinitions and Deployments of files or of a cluster. Out come their private twins, the objects that
// convert their versions, and a proxy beside containers.
//
// Non-goals:
//   - how objects are made private: see manifests/privatetypes and translation
package privatetypes
