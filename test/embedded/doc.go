// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embedded runs a Kubernetes control plane as children of this process, on loopback: etcd, kube-apiserver and, if asked
// for, kube-controller-manager. Tests use it, and `make run`.
//
// It knows the command lines of these programs, their keys, ports and folder, how to hear that one of them died, and where the CRDs
// are that Poundlock works with. It refuses to know Poundlock: neither its policies, webhooks and manifests, nor what is tested.
//
// One control plane for all tests of a package, which is what nearly every package wants (a start takes 3 s and 350 MB):
//
//	var plane *embedded.Plane // set once, by TestMain
//
//	func TestMain(m *testing.M) {
//		crds, err := embedded.CRDs(context.Background())
//		if err != nil { … }
//		os.Exit(embedded.Main(m, embedded.Options{CRDs: crds, ControllerManager: true}, func(p *embedded.Plane) error {
//			plane = p
//			return nil
//		}))
//	}
//
// A test that kills parts takes one for itself: ForTest.
//
// Of a control plane nothing is left when its process is gone: children die with it, even by SIGKILL (Linux), the folder's lock
// opens, and a temporary folder that could not be removed is removed by a later start.
//
// The CRDs are read at run time from the modules that go.mod (for PowerVS and Nutanix test/providers/go.mod) pins, and none is copied here.
// openshift/api, cluster-api and cluster-api-provider-{aws,azure,gcp,openstack,vsphere,ibmcloud,nutanix} are all licensed under the Apache License 2.0.
package embedded
