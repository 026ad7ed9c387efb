// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machineapi

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// Labels of a Machine, or of a set's template.
const (
	// MachineSetLabel names the MachineSet that a Machine belongs to.
	MachineSetLabel = "machine.openshift.io/cluster-api-machineset"
	// RoleLabel and TypeLabel name the purpose of a Machine's Node, such as worker.
	RoleLabel = "machine.openshift.io/cluster-api-machine-role"
	TypeLabel = "machine.openshift.io/cluster-api-machine-type"
	// SystemLabel marks a Machine that does not run Red Hat's CoreOS. Its value names the Machine's operating system.
	SystemLabel = "machine.openshift.io/os-id"
)

// Labels that the Machine API's controllers write to a Machine, from the cloud's data.
const (
	InstanceTypeLabel = "machine.openshift.io/instance-type"
	RegionLabel       = "machine.openshift.io/region"
	ZoneLabel         = "machine.openshift.io/zone"
	// InterruptibleLabel marks a Machine whose instance the cloud may terminate at any time. The controllers also write it to the Machine's spec.metadata, so
	// that the Node gets it.
	InterruptibleLabel = "machine.openshift.io/interruptible-instance"
)

// Annotations of a Machine.
const (
	// DeleteAnnotation, with any value, makes a Machine the first to be deleted when its set is scaled down. OldDeleteAnnotation is the older name.
	DeleteAnnotation    = "machine.openshift.io/delete-machine"
	OldDeleteAnnotation = "machine.openshift.io/cluster-api-delete-machine"
	// ExcludeDrainAnnotation, with any value, makes the controllers delete a Machine without draining its Node.
	ExcludeDrainAnnotation = "machine.openshift.io/exclude-node-draining"
)

// Annotations of a MachineSet: the fewest and the most replicas that the autoscaler may ask for.
const (
	AutoscalerMinSizeAnnotation = "machine.openshift.io/cluster-api-autoscaler-node-group-min-size"
	AutoscalerMaxSizeAnnotation = "machine.openshift.io/cluster-api-autoscaler-node-group-max-size"
)

// AutoscalerOperatorAnnotations lists further annotations that the cluster-autoscaler-operator writes to a MachineSet of the Machine API, besides the limits:
// the set's MachineAutoscaler, and older names for the capacity of a machine.
func AutoscalerOperatorAnnotations() []string {
	return []string{
		"autoscaling.openshift.io/machineautoscaler",
		"capacity.cluster-autoscaler.kubernetes.io/cpu", "capacity.cluster-autoscaler.kubernetes.io/memory",
		"capacity.cluster-autoscaler.kubernetes.io/gpu-count", "capacity.cluster-autoscaler.kubernetes.io/gpu-type",
		"capacity.cluster-autoscaler.kubernetes.io/maxPods",
	}
}

// RemediationStrategyAnnotation of a MachineHealthCheck, or of a Machine, selects a remediation other than the Machine's deletion.
const RemediationStrategyAnnotation = "machine.openshift.io/remediation-strategy"

// NodeAnnotation of a Node names its Machine: namespace/name.
const NodeAnnotation = "machine.openshift.io/machine"

// Labels of a Node that name its role.
const (
	ControlPlaneRole = clusterv1.NodeRoleLabelPrefix + "/control-plane"
	// MasterRole is the older name of ControlPlaneRole. Nodes of OpenShift have both.
	MasterRole = clusterv1.NodeRoleLabelPrefix + "/master"
	// EdgeRole is the role of Nodes in AWS Local and Wavelength Zones.
	EdgeRole = clusterv1.NodeRoleLabelPrefix + "/edge"
)
