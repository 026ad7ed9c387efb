// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/cel"
)

// MachineAPIControllers is who the Machine API's controllers are to the API server.
const MachineAPIControllers = "system:serviceaccount:" + MachineAPINamespace + ":machine-api-controllers"

// NamespaceController is who Kubernetes' namespace controller is to the API server.
const NamespaceController = "system:serviceaccount:kube-system:namespace-controller"

// policyIdentities are the identities that the CEL policies and the webhooks' conditions name: Poundlock's, those that finish what is in flight, those of
// authority.Grants that write annotations of the Machine API's objects, and who makes Machines for Cluster API's sets. They are the defaults of the manager's flags.
func policyIdentities() policies.Identities {
	return policies.Identities{
		policies.Poundlock: {User()}, policies.MachineAPIController: {MachineAPIControllers},
		policies.Autoscaler:           {"system:serviceaccount:" + MachineAPINamespace + ":cluster-autoscaler"},
		policies.NamespaceController:  {NamespaceController},
		policies.GarbageCollector:     {"system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager"},
		policies.ClusterAPIController: {"system:serviceaccount:" + ClusterAPINamespace + ":capi-manager"},
		policies.AutoscalerOperator:   {"system:serviceaccount:" + MachineAPINamespace + ":cluster-autoscaler-operator"},
	}
}

// celPolicies are the CEL twins of the rules that need no lookup, and the policies of /scale, each followed by its binding.
func celPolicies() ([]any, error) {
	o := cel.Options{Identities: policyIdentities(), Pairs: authority.Pairs{Pair()}, Labels: Labels()}
	for _, p := range platforms.List() {
		o.InfraClusters = append(o.InfraClusters, p.InfraCluster.GroupVersion().WithResource(p.InfraCluster.Plural))
	}
	all, err := cel.Policies(o)
	var out []any
	for _, p := range append(all, cel.ScalePolicies(o)...) {
		out = append(out, p.Policy, p.Binding)
	}
	return out, err
}
