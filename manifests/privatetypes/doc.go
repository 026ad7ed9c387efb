// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package privatetypes makes what a cluster is given to have private types of Cluster API.
//
// In go CustomResourceDefinitions of standard groups, and Deployments of clients; out come definitions of private groups with the conversion shim as their
// webhook, the shim's own objects (the files of this folder), and Deployments with the API proxy beside their containers.
//
// Non-goals:
//   - It has no client: the plugin applies what it makes.
//   - It has no definitions of its own: which version of Cluster API is private is not Poundlock's choice.
package privatetypes
