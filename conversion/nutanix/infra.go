// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// MachineSpec is the spec of a NutanixMachine (infrastructure.cluster.x-k8s.io/v1beta1), and of the machines of a NutanixMachineTemplate.
type MachineSpec struct {
	// ProviderID is nutanix:// and the UUID of the VM.
	ProviderID string `json:"providerID,omitempty"`
	// These fields are the VM's size. The provider's controller accepts no less than 2Gi of memory and 20Gi of system disk.
	VCPUsPerSocket int32             `json:"vcpusPerSocket"`
	VCPUSockets    int32             `json:"vcpuSockets"`
	MemorySize     resource.Quantity `json:"memorySize"`
	SystemDiskSize resource.Quantity `json:"systemDiskSize"`
	// Image and ImageLookup exclude each other, and one of them is required.
	Image       *ResourceIdentifier `json:"image,omitempty"`
	ImageLookup *ImageLookup        `json:"imageLookup,omitempty"`
	// Cluster (the Prism Element) and Subnets are where the VM runs. If the Machine has a failure domain, the failure domain's values replace both.
	Cluster *ResourceIdentifier  `json:"cluster,omitempty"`
	Subnets []ResourceIdentifier `json:"subnet,omitempty"`
	// AdditionalCategories are the categories of the VM besides the category that the controller gives to all VMs of the cluster.
	AdditionalCategories []CategoryIdentifier `json:"additionalCategories,omitempty"`
	Project              *ResourceIdentifier  `json:"project,omitempty"`
	// BootType is legacy or uefi; absent means legacy.
	BootType  string   `json:"bootType,omitempty"`
	DataDisks []VMDisk `json:"dataDisks,omitempty"`
	// BootstrapRef refers to the Secret with the Machine's bootstrap data. The controller sets it.
	BootstrapRef *corev1.ObjectReference `json:"bootstrapRef,omitempty"`
	GPUs         []GPU                   `json:"gpus,omitempty"`
}

// ResourceIdentifier identifies an object of Prism Central by its UUID or its name, according to Type: uuid or name.
type ResourceIdentifier struct {
	Type string  `json:"type"`
	UUID *string `json:"uuid,omitempty"`
	Name *string `json:"name,omitempty"`
}

// ImageLookup finds an image by the pattern of its name.
type ImageLookup struct {
	Format *string `json:"format,omitempty"`
	BaseOS string  `json:"baseOS"`
}

// CategoryIdentifier is a category of Prism Central.
type CategoryIdentifier struct {
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
}

// GPU is a GPU for a VM. Type (name or deviceID) says whether it is identified by its name or by its device's ID.
type GPU struct {
	Type     string  `json:"type"`
	DeviceID *int64  `json:"deviceID,omitempty"`
	Name     *string `json:"name,omitempty"`
}

// VMDisk is a disk besides the system disk.
type VMDisk struct {
	DiskSize         resource.Quantity   `json:"diskSize"`
	DeviceProperties *DeviceProperties   `json:"deviceProperties,omitempty"`
	StorageConfig    *StorageConfig      `json:"storageConfig,omitempty"`
	DataSource       *ResourceIdentifier `json:"dataSource,omitempty"`
}

// DeviceProperties says where a disk is attached. If DeviceType is absent, the API server fills in Disk.
type DeviceProperties struct {
	DeviceType  string `json:"deviceType,omitempty"`
	AdapterType string `json:"adapterType"`
	DeviceIndex int32  `json:"deviceIndex,omitempty"`
}

// StorageConfig says where a disk is stored. If DiskMode is absent, the API server fills in Standard.
type StorageConfig struct {
	DiskMode         string              `json:"diskMode,omitempty"`
	StorageContainer *ResourceIdentifier `json:"storageContainer,omitempty"`
}
