// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/test/embedded"
)

// TestEachProvidersCRDsKeepTheContract: Cluster API's core manager reads the last version that the label names.
func TestEachProvidersCRDsKeepTheContract(t *testing.T) {
	for _, listed := range platforms.List() {
		platform, kind := listed.Name, listed.InfraMachine.Plural
		crds, err := embedded.CRDs(t.Context(), platform)
		if err != nil {
			t.Errorf("%s: %v", platform, err)
			continue
		}
		i := slices.IndexFunc(crds, func(c *apiextensionsv1.CustomResourceDefinition) bool {
			return c.Name == kind+".infrastructure.cluster.x-k8s.io"
		})
		if i < 0 {
			t.Errorf("%s: no %s", platform, kind)
			continue
		}
		versions := strings.Split(crds[i].Labels["cluster.x-k8s.io/v1beta1"], "_")
		if !slices.ContainsFunc(crds[i].Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == versions[len(versions)-1] && v.Name == listed.InfraMachine.Version && v.Served && v.Storage
		}) {
			t.Errorf("%s: of the versions %v the last is not the stored one, or not the one that is converted", platform, versions)
		}
	}
	if _, err := embedded.CRDs(t.Context(), "moon"); err == nil || !strings.Contains(err.Error(), "moon") {
		t.Errorf("the CRDs of a platform that nobody knows: %v", err)
	}
}
