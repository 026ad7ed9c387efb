// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcptest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

const account = "kms@" + Project + ".iam.gserviceaccount.com"

// ProviderValues returns makers of valid values for those fields of a providerSpec whose values must obey rules.
func ProviderValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	return conversiontest.Values{
		"kind": one(""), "apiVersion": one(""),
		"metadata":           conversiontest.OneOf(metav1.ObjectMeta{Name: "x"}),
		"userDataSecret":     conversiontest.OneOf(&corev1.LocalObjectReference{Name: "worker-user-data"}),
		"credentialsSecret":  conversiontest.OneOf(corev1.LocalObjectReference{Name: "gcp-cloud-credentials"}),
		"projectID":          one("", Project),
		"region":             one("", Region),
		"zone":               one(Zone),
		"machineType":        one("n2-standard-4", "e2-custom-4-16384", "a3-highgpu-8g"),
		"labels.key":         one("team", "cost-centre", "environment", clusterLabel),
		"provisioningModel":  one("Spot"),
		"onHostMaintenance":  one("", "Migrate", "Terminate"),
		"restartPolicy":      one("", "", "Always", "Never"),
		"disks[].autoDelete": conversiontest.OneOf(true),
		"disks[].labels":     func(*rand.Rand) any { return map[string]string(nil) },
		"disks[].type":       one("", "pd-standard", "pd-ssd", "hyperdisk-balanced"),
		"disks[].image": one("rhcos", "projects/rhcos-cloud/global/images/rhcos-9", "projects/rhcos-cloud/global/images/family/rhcos",
			"https://www.googleapis.com/compute/v1/projects/p/global/images/x"),
		"disks[].encryptionKey.kmsKey.projectID":     one("", Project, "keys"),
		"disks[].encryptionKey.kmsKeyServiceAccount": one("", account),
		"networkInterfaces[].network":                one(Network),
		"networkInterfaces[].projectID":              one("", Project),
		"gpus[].type":                                one("nvidia-tesla-t4", "nvidia-tesla-v100"),
		"resourceManagerTags[].parentID":             one("123456789012", Project),
		"confidentialCompute": one("", "", "Disabled", "Enabled", "AMDEncryptedVirtualization",
			"AMDEncryptedVirtualizationNestedPaging", "IntelTrustedDomainExtensions"),
		"shieldedInstanceConfig.secureBoot":                       one("", "Enabled", "Disabled"),
		"shieldedInstanceConfig.virtualizedTrustedPlatformModule": one("", "Enabled", "Disabled"),
		"shieldedInstanceConfig.integrityMonitoring":              one("", "Enabled", "Disabled"),
	}
}

const clusterLabel = "kubernetes-io-cluster-" + Cluster

// RepairProvider changes a generated providerSpec so that it also obeys the rules about more than one field.
func RepairProvider(r *rand.Rand, m *machinev1beta1.GCPMachineProviderSpec) {
	if _, there := m.Labels[clusterLabel]; there {
		m.Labels[clusterLabel] = "owned"
	}
	m.Metadata = slices.DeleteFunc(m.Metadata, func(d *machinev1beta1.GCPMetadata) bool { return d == nil })
	for i := range m.Metadata {
		m.Metadata[i].Key = fmt.Sprintf("%s-%d", m.Metadata[i].Key, i)
	}
	for i := range m.ResourceManagerTags {
		m.ResourceManagerTags[i].Key = fmt.Sprintf("%s-%d", m.ResourceManagerTags[i].Key, i)
	}
	m.NetworkInterfaces = slices.DeleteFunc(m.NetworkInterfaces, func(n *machinev1beta1.GCPNetworkInterface) bool { return n == nil })
	m.NetworkInterfaces = append(m.NetworkInterfaces, &machinev1beta1.GCPNetworkInterface{Network: Network})[:1]
	if n := m.NetworkInterfaces[0]; n.Subnetwork == "" {
		n.Subnetwork = "workers"
	}
	m.ServiceAccounts = append(m.ServiceAccounts, machinev1beta1.GCPServiceAccount{Email: "default"})[:1]
	if len(m.ServiceAccounts[0].Scopes) == 0 {
		m.ServiceAccounts[0].Scopes = []string{"https://www.googleapis.com/auth/cloud-platform"}
	}
	m.GPUs = m.GPUs[:min(len(m.GPUs), 1)]
	repairScheduling(m)
	repairDisks(r, m)
}

func repairScheduling(m *machinev1beta1.GCPMachineProviderSpec) {
	m.Preemptible = m.Preemptible && m.ProvisioningModel == nil
	switch fleeting := m.Preemptible || m.ProvisioningModel != nil; {
	case fleeting && m.RestartPolicy == "Always", !fleeting && m.RestartPolicy == "Never":
		m.RestartPolicy = ""
	}
	if s := series[string(m.ConfidentialCompute)]; s != "" {
		m.MachineType, m.OnHostMaintenance = s+"-standard-4", "Terminate"
	}
	if len(m.GPUs) > 0 {
		m.OnHostMaintenance = "Terminate"
	}
	if s := &m.ShieldedInstanceConfig; s.IntegrityMonitoring != "Disabled" && s.VirtualizedTrustedPlatformModule == "Disabled" {
		s.VirtualizedTrustedPlatformModule = ""
	}
}

// series maps each policy of confidential computing to one series of machine types that supports it.
var series = map[string]string{
	"Enabled": "c2d", "AMDEncryptedVirtualization": "c3d", "AMDEncryptedVirtualizationNestedPaging": "n2d", "IntelTrustedDomainExtensions": "c3",
}

func repairDisks(r *rand.Rand, m *machinev1beta1.GCPMachineProviderSpec) {
	m.Disks = slices.DeleteFunc(m.Disks, func(d *machinev1beta1.GCPDisk) bool { return d == nil })
	if len(m.Disks) == 0 {
		m.Disks = append(m.Disks, &machinev1beta1.GCPDisk{AutoDelete: true, Image: "rhcos"})
	}
	root := r.IntN(len(m.Disks))
	for i, d := range m.Disks {
		if d.Boot = i == root; !d.Boot {
			d.Image = ""
		}
		if d.SizeGB != 0 {
			d.SizeGB = max(d.SizeGB, 16)
		}
		if k := d.EncryptionKey; k != nil && k.KMSKey == nil {
			k.KMSKey = &machinev1beta1.GCPKMSKeyReference{Name: "key", KeyRing: "ring", Location: "global"}
		}
	}
	for _, d := range m.Disks {
		if d.EncryptionKey != nil {
			d.EncryptionKey = m.Disks[root].EncryptionKey.DeepCopy()
		}
	}
}

// NormalProvider changes a providerSpec of the kit's cluster into the form that it has after the round trip. Absent fields then have the values that Machine
// API's controllers would use.
func NormalProvider(m *machinev1beta1.GCPMachineProviderSpec) {
	m.CredentialsSecret = &corev1.LocalObjectReference{Name: "gcp-cloud-credentials"}
	m.ProjectID, m.Region, m.RestartPolicy = Project, Region, ""
	if m.NetworkInterfaces[0].ProjectID == Project {
		m.NetworkInterfaces[0].ProjectID = ""
	}
	if m.Labels == nil {
		m.Labels = map[string]string{}
	}
	m.Labels[clusterLabel] = "owned"
	for _, d := range m.Disks {
		normalDisk(d)
	}
	slices.SortStableFunc(m.Disks, func(a, b *machinev1beta1.GCPDisk) int {
		switch {
		case a.Boot && !b.Boot:
			return -1
		case !a.Boot && b.Boot:
			return 1
		}
		return 0
	})
}

func normalDisk(d *machinev1beta1.GCPDisk) {
	if d.Type == "" {
		d.Type = "pd-standard"
	}
	if d.Boot && !strings.Contains(d.Image, "/") {
		d.Image = "projects/" + Project + "/global/images/" + d.Image
	}
	if d.EncryptionKey != nil && d.EncryptionKey.KMSKey.ProjectID == "" {
		d.EncryptionKey.KMSKey.ProjectID = Project
	}
}
