// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package coremanager runs Cluster API's core manager, the real one, beside an embedded control plane: its controllers, its admission
// webhooks and its conversion, under the identity and with the roles that it has in a cluster.
//
// It knows how that manager is installed and started, and what shows that it works. It refuses to know Poundlock, the objects that
// the controllers are given, and the infrastructure that they wait for.
//
// What is installed is what the module's own kustomization makes (config/default, read at run time; sigs.k8s.io/cluster-api is licensed under
// the Apache License 2.0), with two differences: the namespace is the caller's, and each webhook is called at an address of this
// machine instead of through a Service. The configurations keep their names, so the API server calls these webhooks and those of others in the order
// of a real cluster: it sorts by name.
package coremanager
