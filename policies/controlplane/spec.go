// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

// providerSpec is the content of one, nil where there is none, it is no object, or nobody could read its numbers.
func providerSpec(s machinev1beta1.MachineSpec) map[string]any {
	if s.ProviderSpec.Value == nil || jsonnumbers.Endless(s.ProviderSpec.Value.Raw) {
		return nil
	}
	var out map[string]any
	if json.Unmarshal(s.ProviderSpec.Value.Raw, &out) != nil {
		return nil
	}
	return out
}

// domainsPath is where a set lists the failure domains of a platform.
func domainsPath(platform string) *field.Path {
	return templatePath().Child("failureDomains", platform)
}

func templatePath() *field.Path {
	return field.NewPath("spec", "template", string(machinev1.OpenShiftMachineV1Beta1MachineType))
}

func providerSpecPath() *field.Path { return templatePath().Child("spec", "providerSpec", "value") }
