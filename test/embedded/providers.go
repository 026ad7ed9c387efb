// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// provider is Cluster API's provider for a platform.
type provider struct {
	// platform is the name that the Infrastructure has for the platform.
	platform string
	// bases is the folder of its CRDs in its module. prefix is what the names of its kinds begin with.
	module, bases, prefix string
	// beside are the suffixes of other kinds that its machine controller creates.
	beside []string
	// name and versions are the labels that its own kustomization adds: the provider's name, and which of its versions keep Cluster API's contract v1beta1.
	name, versions string
}

const bases = "config/crd/bases"

// providers returns the providers of all platforms. All keep Cluster API's contract v1beta1, whatever their own versions are called; that the names are alike
// is chance. Cluster API's core manager first looks for its own contract, v1beta2. If a provider does not promise that, the core manager takes v1beta1, and
// reads the last version that the label names: status.ready, status.failureReason and conditions of the old kind. A label with v1beta2 in its name would be
// false, and the core manager would look for status.initialization.provisioned in vain.
func providers() []provider {
	return []provider{
		{platform: "AWS", module: "sigs.k8s.io/cluster-api-provider-aws/v2", bases: bases, prefix: "aws", name: "aws", versions: "v1beta1_v1beta2"},
		{platform: "Azure", module: "sigs.k8s.io/cluster-api-provider-azure", bases: bases, prefix: "azure", name: "azure", versions: "v1beta1"},
		{platform: "GCP", module: "sigs.k8s.io/cluster-api-provider-gcp", bases: bases, prefix: "gcp", name: "gcp", versions: "v1beta1"},
		{platform: "OpenStack", module: "sigs.k8s.io/cluster-api-provider-openstack", bases: bases, prefix: "openstack", name: "openstack", versions: "v1beta1",
			beside: []string{"servers"}},
		{platform: "VSphere", module: "sigs.k8s.io/cluster-api-provider-vsphere", bases: "config/default/crd/bases", prefix: "vsphere", name: "vsphere",
			versions: "v1beta1", beside: []string{"vms"}},
		{platform: "PowerVS", module: "sigs.k8s.io/cluster-api-provider-ibmcloud", bases: bases, prefix: "ibmpowervs", name: "ibmcloud", versions: "v1beta1_v1beta2"},
		{platform: "Nutanix", module: "github.com/nutanix-cloud-native/cluster-api-provider-nutanix", bases: bases, prefix: "nutanix", name: "nutanix",
			versions: "v1beta1"},
	}
}

func (p provider) source() source {
	file := func(kind string) string {
		return p.bases + "/infrastructure.cluster.x-k8s.io_" + p.prefix + kind + ".yaml"
	}
	files := []string{file("cluster*"), file("machines"), file("machinetemplates")}
	for _, kind := range p.beside {
		files = append(files, file(kind))
	}
	return source{
		module: p.module, files: files,
		labels: map[string]string{clusterv1.ProviderNameLabel: "infrastructure-" + p.name, "cluster.x-k8s.io/v1beta1": p.versions},
	}
}

func providersOf(platforms []string) ([]source, error) {
	if len(platforms) == 0 {
		platforms = []string{"AWS"}
	}
	var out []source
	for _, name := range platforms {
		i := slices.IndexFunc(providers(), func(p provider) bool { return strings.EqualFold(p.platform, name) })
		if i < 0 {
			return nil, fmt.Errorf("reading the CRDs of platform %q: no provider is known for it: give it a row in test/embedded/providers.go", name)
		}
		out = append(out, providers()[i].source())
	}
	return out, nil
}
