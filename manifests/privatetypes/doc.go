// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package privatetypes generates the objects that a cluster needs for private types of Cluster API.
//
// The functions take CustomResourceDefinitions of standard groups, and Deployments of clients. They return:
//
//   - definitions of the private groups, with the conversion shim as their webhook
//   - the shim's own objects, which are the files of this folder
//   - the Deployments, with the API proxy beside their containers
//
// Non-goals:
//   - It has no client: the plugin applies what it makes.
//   - It has no definitions of its own: which version of Cluster API is private is not Poundlock's choice.
package privatetypes
