// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package capimanager runs Cluster API's real core manager beside an embedded control plane. Its controllers, admission
// webhooks and conversion run under the identity and the roles that they have in a cluster.
//
// In go a control plane and a namespace. Out comes a running manager, once it works.
//
// It installs what the module's own kustomization makes (config/default, read at run time). The module sigs.k8s.io/cluster-api is licensed under the Apache
// License 2.0. Two things differ. The namespace is the caller's. The API server calls each webhook at an address of this machine, not through a Service. The
// webhook configurations keep their names, because the API server sorts webhooks by the names of their configurations. So it calls these webhooks and those of
// others in the order of a real cluster.
//
// Non-goals:
//   - Poundlock
//   - the objects that the controllers reconcile, and the infrastructure that they wait for
package capimanager
