// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import "github.com/poundlock/poundlock/policies"

// OpenShiftIdentities returns which user has which role (policies.Actor) in an OpenShift cluster, by exact user name. These names are the defaults of the
// manager's flags, and the generated policies and webhook configurations contain them. It has the accounts of all infrastructure providers, although a cluster
// has only one of them.
func OpenShiftIdentities() policies.Identities {
	const machineAPI, clusterAPI = "system:serviceaccount:openshift-machine-api:", "system:serviceaccount:openshift-cluster-api:"
	out := policies.Identities{
		policies.Poundlock:            {clusterAPI + "poundlock"},
		policies.MachineAPIController: {machineAPI + "machine-api-controllers"},
		policies.ClusterAPIController: {clusterAPI + "capi-manager"},
		policies.Autoscaler:           {machineAPI + "cluster-autoscaler"},
		policies.AutoscalerOperator:   {machineAPI + "cluster-autoscaler-operator"},
		policies.ControlPlaneOperator: {machineAPI + "control-plane-machine-set-operator"},
		policies.EtcdOperator:         {"system:serviceaccount:openshift-etcd-operator:etcd-operator"},
		policies.GarbageCollector:     {"system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager"},
		policies.NamespaceController:  {"system:serviceaccount:kube-system:namespace-controller"},
	}
	for _, p := range Providers() {
		if p.Account != "" {
			out[policies.InfrastructureController] = append(out[policies.InfrastructureController], clusterAPI+p.Account)
		}
	}
	return out
}
