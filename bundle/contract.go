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
		return "", errors.New("metadata.yaml is no Metadata of clusterctl.cluster.x-k8s.io/v1alpha3: give the provider's own")
	}
	v, err := version.ParseSemantic(release)
	if err != nil {
		return "", fmt.Errorf("reading version %q: %w", release, err)
	}
	for _, series := range m.ReleaseSeries {
		if series.Major == v.Major() && series.Minor == v.Minor() {
			if series.Contract == "" {
				return "", fmt.Errorf("metadata.yaml: the release series %d.%d has no contract: add it", v.Major(), v.Minor())
			}
			if !contractName.MatchString(series.Contract) {
				return "", fmt.Errorf("metadata.yaml: the contract of the release series %d.%d is %q, which is no version of an API: use one such as v1beta1",
					v.Major(), v.Minor(), series.Contract)
			}
			return series.Contract, nil
		}
	}
	return "", fmt.Errorf("metadata.yaml has no release series %d.%d: add it with the contract that it keeps", v.Major(), v.Minor())
}
