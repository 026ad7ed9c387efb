// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheretest

import (
	"fmt"
	"math/rand/v2"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

const tag = "urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL"

// pick returns a random one of the given values.
func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// ProviderValues returns makers of valid values for those fields of a providerSpec whose values must obey rules.
func ProviderValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	return conversiontest.Values{
		"kind": one(""), "apiVersion": one(""),
		"metadata":                        conversiontest.OneOf(metav1.ObjectMeta{Name: "x"}),
		"template":                        one("lock-7x2k9-rhcos", "/dc1/vm/lock-7x2k9/rhcos", "vm-42"),
		"cloneMode":                       one("", "fullClone", "linkedClone"),
		"numCPUs":                         conversiontest.OneOf[int32](2, 3, 16),
		"tagIDs[]":                        one(tag, "urn:vmomi:InventoryServiceTag:00000000-49f5-4667-b38c-b97e09dc9578:lock"),
		"userDataSecret":                  conversiontest.OneOf(&corev1.LocalObjectReference{Name: "worker-user-data"}),
		"credentialsSecret":               conversiontest.OneOf(corev1.LocalObjectReference{Name: "vsphere-cloud-credentials"}),
		"workspace":                       func(r *rand.Rand) any { return anyWorkspace(r) },
		"network.devices[].networkName":   one("VM Network", "segment-1", "50% of it"),
		"network.devices[].gateway":       one("", "10.0.0.1", "fd00::1"),
		"network.devices[].ipAddrs[]":     one("10.0.0.100/16", "fd00::100/64"),
		"network.devices[].nameservers[]": one("10.0.0.2", "fd00::2"),
		"network.devices[].addressesFromPools[].group": one("", "ipam.cluster.x-k8s.io"),
		"dataDisks[].sizeGiB":                          conversiontest.OneOf[int32](1, 100, 16384),
		"dataDisks[].provisioningMode":                 one("", "Thin", "Thick", "EagerlyZeroed"),
	}
}

func anyWorkspace(r *rand.Rand) *machinev1beta1.Workspace {
	w := &machinev1beta1.Workspace{
		Server: server, Datacenter: pick(r, "", "*", "dc1", "dc1"),
		Datastore: pick(r, "", "ds1", "/dc1/datastore/ds1"), ResourcePool: pick(r, "", "/dc1/host/cluster1/Resources"),
	}
	if w.Datacenter == "dc1" {
		w.Folder = pick(r, "", "/dc1/vm/lock-7x2k9")
	}
	return w
}

// RepairProvider changes a generated providerSpec so that it also obeys the rules about more than one field.
func RepairProvider(r *rand.Rand, m *machinev1beta1.VSphereMachineProviderSpec) {
	if m.CloneMode == machinev1beta1.LinkedClone && r.IntN(2) == 0 {
		m.DiskGiB = 0
	}
	if len(m.Network.Devices) == 0 {
		m.Network.Devices = []machinev1beta1.NetworkDeviceSpec{{NetworkName: "VM Network"}}
	}
	for i := range m.DataDisks {
		m.DataDisks[i].Name = fmt.Sprintf("%s_%d", m.DataDisks[i].Name, i)
	}
}

// NormalProvider changes a providerSpec into the form that it has after the round trip.
func NormalProvider(m *machinev1beta1.VSphereMachineProviderSpec) {
	m.CredentialsSecret = &corev1.LocalObjectReference{Name: "vsphere-cloud-credentials"}
	if m.CloneMode == "" {
		m.CloneMode = machinev1beta1.FullClone
	}
	if m.Workspace.Datacenter == "*" {
		m.Workspace.Datacenter = ""
	}
}
