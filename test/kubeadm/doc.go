// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeadm has no code. Its module pins kubeadm's bootstrap and control plane providers of Cluster API. `make proof WHAT=private` runs them behind the
// proxy.
//
// It is a Go module of its own for the same reason as test/clusterapi.
package kubeadm
