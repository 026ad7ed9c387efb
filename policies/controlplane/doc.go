// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane knows what a ControlPlaneMachineSet may say, and what it does to a control plane.
//
// Its heart is one pure function, Make: from a set, its Machines, the control plane's Nodes and the Infrastructure to a Plan, which says for each index
// the failure domain that it belongs to, which Machines differ from the template and in what, what keeps the set from acting, and what
// is done next, and later, in which order. The admission rules warn with it, the operator acts by it, the generator makes sets from which it
// follows that nothing is done, and the plugin prints it: they cannot answer differently.
//
// It refuses to know etcd, whose operator holds Machines by their hooks, and clouds: a failure domain is what it sets in a providerSpec.
package controlplane
