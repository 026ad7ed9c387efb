// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"slices"
	"strings"
)

// provider is Cluster API's provider for a platform.
type provider struct {
	// platform is the Infrastructure's name for it.
	platform string
	// bases is the folder of its CRDs in its module, prefix what the names of its kinds begin with.
	module, bases, prefix string
	// name and versions are the labels that its own kustomization gives: who it is, and which of its versions keep Cluster API's contract v1beta1.
	name, versions string
}

const bases = "config/crd/bases"

// providers lists them. All keep Cluster API's contract v1beta1, whatever their own versions are called; the names are alike by chance. Cluster API's core
// manager looks for its own contract, v1beta2, first, takes v1beta1 where that is not promised, and then reads the last version that the label names:
// status.ready, status.failureReason and conditions of the old kind. A label with v1beta2 in its name would be a lie, and the core manager would look
// for status.initialization.provisioned in vain.
func providers() []provider {
	return []provider{
		{"AWS", "sigs.k8s.io/cluster-api-provider-aws/v2", bases, "aws", "aws", "v1beta1_v1beta2"},
		{"Azure", "sigs.k8s.io/cluster-api-provider-azure", bases, "azure", "azure", "v1beta1"},
		{"GCP", "sigs.k8s.io/cluster-api-provider-gcp", bases, "gcp", "gcp", "v1beta1"},
		{"OpenStack", "sigs.k8s.io/cluster-api-provider-openstack", bases, "openstack", "openstack", "v1beta1"},
		{"VSphere", "sigs.k8s.io/cluster-api-provider-vsphere", "config/default/crd/bases", "vsphere", "vsphere", "v1beta1"},
		{"PowerVS", "sigs.k8s.io/cluster-api-provider-ibmcloud", bases, "ibmpowervs", "ibmcloud", "v1beta1_v1beta2"},
		{"Nutanix", "github.com/nutanix-cloud-native/cluster-api-provider-nutanix", bases, "nutanix", "nutanix", "v1beta1"},
	}
}

func (p provider) source() source {
	file := func(kind string) string {
		return p.bases + "/infrastructure.cluster.x-k8s.io_" + p.prefix + kind + ".yaml"
	}
	return source{
		module: p.module, files: []string{file("cluster*"), file("machines"), file("machinetemplates")},
		labels: map[string]string{"cluster.x-k8s.io/provider": "infrastructure-" + p.name, "cluster.x-k8s.io/v1beta1": p.versions},
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
