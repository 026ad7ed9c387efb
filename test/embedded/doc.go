// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embedded runs a Kubernetes control plane as children of this process, on loopback. It consists of etcd,
// kube-apiserver and, on request, kube-controller-manager. Tests and `make run` use it.
//
// In go Options, with the CRDs that Poundlock works with. Out comes a Plane with clients, kubeconfigs, and an error when
// a child dies.
//
// Nearly every package wants one control plane for all its tests (a start takes 3 s and 350 MB):
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
// A test that kills parts starts a control plane for itself: ForTest. If only some tests of a package need one, the first of them starts it: Shared.
//
// Nothing of a control plane remains when its process is gone. Its children die with it, even by SIGKILL (Linux), and the lock of its folder is released. A
// later start removes a temporary folder that is left.
//
// It reads the CRDs at run time from the modules that go.mod pins, and copies none. For PowerVS and Nutanix,
// test/providers/go.mod pins them. All these modules are licensed under the Apache License 2.0: openshift/api,
// cluster-api and cluster-api-provider-{aws,azure,gcp,openstack,vsphere,ibmcloud,nutanix}.
//
// Non-goals:
//   - Poundlock: its policies, webhooks and manifests
//   - what is tested
package embedded
