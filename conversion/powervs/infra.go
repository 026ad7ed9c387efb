// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineSpec is the spec of an IBMPowerVSMachine (infrastructure.cluster.x-k8s.io/v1beta2), and of the machines of an IBMPowerVSMachineTemplate.
type MachineSpec struct {
	// ServiceInstanceID is the older form of ServiceInstance.ID, and takes precedence. The CRD requires it, but it may be empty.
	ServiceInstanceID string `json:"serviceInstanceID"`
	// ServiceInstance is the machine's workspace. The provider reads only the ID of this reference. Without an ID it uses the workspace of the
	// IBMPowerVSCluster.
	ServiceInstance *ResourceReference `json:"serviceInstance,omitempty"`
	// SSHKey names a key of the workspace.
	SSHKey string `json:"sshKey,omitempty"`
	// Image and ImageRef exclude each other, and one of them is required. ImageRef names an IBMPowerVSImage.
	Image    *ResourceReference           `json:"image,omitempty"`
	ImageRef *corev1.LocalObjectReference `json:"imageRef,omitempty"`
	// SystemType, ProcessorType, Processors and MemoryGiB have these defaults, which the provider's webhook fills in: s922, Shared, "0.25" and 2.
	SystemType    string             `json:"systemType,omitempty"`
	ProcessorType string             `json:"processorType,omitempty"`
	Processors    intstr.IntOrString `json:"processors,omitempty"`
	MemoryGiB     int32              `json:"memoryGiB,omitempty"`
	// Network is the machine's network. If it is empty, the provider uses the network in the IBMPowerVSCluster's status.
	Network ResourceReference `json:"network"`
	// ProviderID is ibmpowervs://REGION/ZONE/WORKSPACE/INSTANCE.
	ProviderID *string `json:"providerID,omitempty"`
}

// ResourceReference finds a resource of a workspace by one of its three members. With a regular expression, it finds the first resource whose name matches.
type ResourceReference struct {
	ID    *string `json:"id,omitempty"`
	Name  *string `json:"name,omitempty"`
	RegEx *string `json:"regex,omitempty"`
}
