// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build makes what the tests and `make run` need and nobody ships: the control plane's binary, Cluster API's core manager, and the folders of modules
// that carry CRDs and manifests. The modules are those of the product's go.mod, and those that test/providers pins.
//
// In go pinned modules. Out come paths of binaries and folders.
//
// It also builds the checkout's own programs for the stages (Own), in .cache/programs. The go tool links a program there once, and each stage takes a copy.
//
// The cache is os.UserCacheDir()/poundlock, or $POUNDLOCK_CACHE. An entry is named after everything that went into it: the sources and pinned modules of
// test/plane or test/clusterapi, the Go version and the platform. It is built in a folder beside its final name, and renamed when it is whole. Its SHA-256 is
// checked at each use. Processes take turns by a file lock, so packages that `go test` runs side by side build an entry once.
//
// $KUBEBUILDER_ASSETS, if set, is used instead. It is a folder with etcd and kube-apiserver. If it lacks
// kube-controller-manager and kubectl, they come from the built binary.
//
// Non-goals:
//   - running the binaries: see test/embedded
//   - what is tested with them
package build
