// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeadm has no code: its module pins Cluster API's bootstrap and control plane providers of kubeadm, which `make proof WHAT=private`
// runs behind the proxy.
//
// It is a Go module of its own, as test/clusterapi is.
package kubeadm
