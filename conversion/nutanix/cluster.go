// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/conversion"
)

// makeCluster is the function Platform.MakeInfraCluster. It makes a NutanixCluster's spec from the Infrastructure. The provider's own controller manages the
// new NutanixCluster, because nothing else manages it.
func makeCluster(e *conversion.Env) (spec map[string]any, who string) {
	var platform configv1.NutanixPlatformSpec
	value, _, _ := unstructured.NestedMap(e.Infrastructure, "spec", "platformSpec", "nutanix")
	if runtime.DefaultUnstructuredConverter.FromUnstructured(value, &platform) != nil {
		return nil, ""
	}
	vips, _, _ := unstructured.NestedStringSlice(e.Infrastructure, "status", "platformStatus", "nutanix", "apiServerInternalIPs")
	vip := e.PlatformStatus("apiServerInternalIP")
	if i := slices.IndexFunc(vips, func(ip string) bool { return ip != "" }); i >= 0 {
		vip = vips[i]
	}
	if vip == "" || platform.PrismCentral.Address == "" {
		return nil, ""
	}
	var domains []any
	for _, d := range platform.FailureDomains {
		domains = append(domains, legacy(d))
	}
	spec = map[string]any{
		"controlPlaneEndpoint": map[string]any{"host": vip, "port": int64(6443)},
		"prismCentral": map[string]any{
			"address": platform.PrismCentral.Address, "port": int64(platform.PrismCentral.Port),
			"credentialRef": map[string]any{"kind": "Secret", "name": e.Platform.CredentialsSecret, "namespace": e.ClusterAPINamespace},
		},
	}
	if len(domains) > 0 {
		spec["failureDomains"] = domains
	}
	return spec, "OpenShift does not create a NutanixCluster. Copy Secret " + e.Platform.CredentialsSecret + " to namespace " + e.ClusterAPINamespace + ", " +
		"then create the NutanixCluster"
}

// legacy converts a failure domain of the Infrastructure into an item of a NutanixCluster's spec.failureDomains.
func legacy(d configv1.NutanixFailureDomain) map[string]any {
	subnets := []any{}
	for _, s := range d.Subnets {
		subnets = append(subnets, written(s))
	}
	return map[string]any{"name": d.Name, "cluster": written(d.Cluster), "subnets": subnets, "controlPlane": true}
}

func written(id configv1.NutanixResourceIdentifier) map[string]any {
	value := ofInfrastructure(id)
	out := map[string]any{"type": string(value.Type)}
	if value.UUID != nil {
		out["uuid"] = *value.UUID
	}
	if value.Name != nil {
		out["name"] = *value.Name
	}
	return out
}
