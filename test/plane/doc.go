// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command plane is a Kubernetes control plane in one binary: etcd, kube-apiserver, kubectl, and those controllers of kube-controller-manager that tests need.
// The name under which it is called (through a link), or its first argument, chooses the program.
//
// It is a Go module of its own, so that the product does not depend on k8s.io/kubernetes. It is one binary instead of
// four, because the four share three quarters of their code. The package test/build builds it, and test/embedded runs
// it.
//
// Non-goals:
//   - test/build, test/embedded and Poundlock: it imports none of them
package main
