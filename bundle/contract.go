// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/version"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"
)

var contractName = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// Contract returns the contract of Cluster API that a release of a provider supports, such as v1beta1. metadata is the provider's metadata.yaml.
func Contract(metadata []byte, release string) (string, error) {
	var m struct {
		APIVersion    string `json:"apiVersion"`
		Kind          string `json:"kind"`
		ReleaseSeries []struct {
			Major    uint   `json:"major"`
			Minor    uint   `json:"minor"`
			Contract string `json:"contract"`
		} `json:"releaseSeries"`
	}
	if err := yaml.Unmarshal(metadata, &m); err != nil {
		return "", fmt.Errorf("reading metadata.yaml: %w", err)
	}
	if m.Kind != "Metadata" || m.APIVersion != clusterctlv1.GroupVersion.String() {
		return "", errors.New("metadata.yaml is not an object of kind Metadata, clusterctl.cluster.x-k8s.io/v1alpha3: use the metadata.yaml of the " +
			"provider's release")
	}
	v, err := version.ParseSemantic(release)
	if err != nil {
		return "", fmt.Errorf("reading version %q: %w", release, err)
	}
	for _, series := range m.ReleaseSeries {
		if series.Major == v.Major() && series.Minor == v.Minor() {
			if series.Contract == "" {
				return "", fmt.Errorf("metadata.yaml: releaseSeries %d.%d has no contract: add the contract, such as v1beta1", v.Major(), v.Minor())
			}
			if !contractName.MatchString(series.Contract) {
				return "", fmt.Errorf("metadata.yaml: the contract of releaseSeries %d.%d is %q, which is not an API version: use one such as v1beta1",
					v.Major(), v.Minor(), series.Contract)
			}
			return series.Contract, nil
		}
	}
	return "", fmt.Errorf("metadata.yaml has no releaseSeries for %d.%d: add an entry with major, minor and the contract of Cluster API that these "+
		"releases support", v.Major(), v.Minor())
}
