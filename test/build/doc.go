// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build makes what the tests and `make run` need and nobody ships: the control plane's binary, Cluster API's core manager,
// and the folders of the modules that carry CRDs and manifests: those of the product's go.mod, and those that test/providers pins.
//
// It knows the go tool, a cache folder and how to check what lies in it. It refuses to know how the binaries are run
// (test/embedded) and what they are tested with.
//
// The cache is os.UserCacheDir()/poundlock, or $POUNDLOCK_CACHE. An entry of it is named after everything that went into it
// (the sources and pinned modules of test/plane or test/clusterapi, the Go version, the platform), is built in a folder beside it, renamed into place
// when it is whole, and checked by its SHA-256 each time that it is used. Processes take turns by a file lock, so that packages
// that `go test` runs side by side build once.
//
// $KUBEBUILDER_ASSETS, if set, is used instead: a folder with etcd and kube-apiserver; what it lacks of kube-controller-manager
// and kubectl comes from the built binary.
package build
