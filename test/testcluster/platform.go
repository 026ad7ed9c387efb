// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"bytes"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/test/simulation"
)

// before is what a cluster on the kit's platform has before Poundlock comes.
func before(kit conversiontest.Kit) ([]*unstructured.Unstructured, error) {
	account, err := simulation.Account(kit.Platform.Name)
	if err != nil {
		return nil, err
	}
	all, err := objects(bytes.ReplaceAll(clusterYAML, []byte("PROVIDER"), []byte(account)))
	if err != nil {
		return nil, err
	}
	infrastructure := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": map[string]any{"name": "cluster"},
		"spec": kit.Infrastructure["spec"], "status": kit.Infrastructure["status"],
	}}
	credentials := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": kit.Platform.CredentialsSecret, "namespace": machineAPI},
	}}
	return append(all, infrastructure, credentials), nil
}

// clusterAPIObjects are what Cluster API has on the kit's platform. The infrastructure cluster is managed by somebody else: the installer.
func clusterAPIObjects(kit conversiontest.Kit) ([]*unstructured.Unstructured, error) {
	infra := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{
			"name": cluster, "namespace": clusterAPI,
			"labels":      map[string]any{"cluster.x-k8s.io/cluster-name": cluster},
			"annotations": map[string]any{"cluster.x-k8s.io/managed-by": "cluster-infrastructure-operator"},
		},
		"spec": kit.InfraCluster, "status": map[string]any{"ready": true},
	}}
	infra.SetGroupVersionKind(kit.Platform.InfraCluster.GroupVersionKind)
	all, err := objects(bytes.ReplaceAll(clusterAPIYAML, []byte("INFRACLUSTER"), []byte(kit.Platform.InfraCluster.Kind)))
	return append([]*unstructured.Unstructured{infra}, all...), err
}

// fleet is the fleet on the kit's platform. On AWS it is as fleet.yaml has it. Elsewhere the sets have the kit's providerSpec, worker-b with a name misspelt in
// it, and instead of the Machine of the control plane, which is another on each platform, there is one that no set owns.
func fleet(kit conversiontest.Kit) ([]*unstructured.Unstructured, error) {
	all, err := objects(fleetYAML)
	if err != nil || kit.Platform.Name == "AWS" {
		return all, err
	}
	for _, o := range all {
		spec := (&unstructured.Unstructured{Object: kit.ProviderSpec}).DeepCopy().Object
		path := []string{"spec", "template", "spec", "providerSpec", "value"}
		switch o.GetName() {
		case "worker-b":
			spec["colour"] = "blue"
		case "master-0":
			path = []string{"spec", "providerSpec", "value"}
			alone(o)
		}
		if err := unstructured.SetNestedField(o.Object, spec, path...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func alone(o *unstructured.Unstructured) {
	labels := o.GetLabels()
	labels["machine.openshift.io/cluster-api-machine-role"], labels["machine.openshift.io/cluster-api-machine-type"] = "infra", "infra"
	o.SetLabels(labels)
	o.SetName("infra-0")
}

// Alone is the name of the Machine that no set owns.
func (s *Stage) Alone() string {
	if s.kit.Platform.Name == "AWS" {
		return "master-0"
	}
	return "infra-0"
}

// WhyNot returns why worker-b cannot move.
func (s *Stage) WhyNot() string {
	if s.kit.Platform.Name == "AWS" {
		return "this set uses two things that Cluster API cannot express"
	}
	return "a field of this set is none of the providerSpec's"
}
