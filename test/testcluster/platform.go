// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// fleet returns the fleet on the kit's platform. On AWS it is the one in fleet.yaml. Elsewhere the sets have the kit's providerSpec, and worker-b's has a
// misspelt name in it. A Machine of the control plane differs from platform to platform, so a Machine that no set owns takes its place.
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

// Alone returns the name of the Machine that no set owns.
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
