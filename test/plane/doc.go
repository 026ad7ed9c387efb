// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command plane is a Kubernetes control plane in one binary: etcd, kube-apiserver, kube-controller-manager and kubectl, chosen by
// the name under which it is called (through a link) or by its first argument.
//
// It is a Go module of its own, so that the product does not depend on k8s.io/kubernetes. One binary instead of four, because
// three quarters of their code are the same. test/build builds it, test/embedded runs it; it knows nothing of either,
// nor of Poundlock.
package main
