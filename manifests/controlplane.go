// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// TemplatePatch returns the JSON patch for the CRD of ControlPlaneMachineSet that adds a member for Cluster API to the template, with its value of the union's
// discriminator (machineType). The new member has the published member's failure domains and metadata, because they mean the same in both. The published member
// needs no change: it is required if the discriminator names it, and forbidden otherwise.
func TemplatePatch(target []byte) ([]policies.Operation, error) {
	crd, err := versionSchema(target)
	if err != nil {
		return nil, fmt.Errorf("the CRD to patch: %w", err)
	}
	template := crd.Properties["spec"].Properties["template"]
	published := template.Properties[string(controlplane.MachineAPIMember)]
	domains, metadata := published.Properties["failureDomains"], published.Properties["metadata"]
	if domains.raw == nil || metadata.raw == nil || len(template.Validations) == 0 {
		return nil, errors.New("the set's template is not the union that it was: a later version of the CRD has it otherwise")
	}
	member, err := memberSchema(domains, metadata)
	if err != nil {
		return nil, err
	}
	path := schemaPath + "spec/properties/template/"
	return []policies.Operation{
		{Op: "add", Path: path + "properties/machineType/enum/-", Value: string(controlplane.ClusterAPIMember)},
		{Op: "add", Path: path + "properties/" + string(controlplane.ClusterAPIMember), Value: member},
		{Op: "add", Path: path + "x-kubernetes-validations/-", Value: memberRule()},
	}, nil
}

// StrategyPatch returns the JSON patch for the CRD of ControlPlaneMachineSet that allows the strategy Recreate. The published Go types have this strategy, but
// the published CRD does not. Admission refuses the strategy unless a flag of Poundlock allows it.
func StrategyPatch(target []byte) ([]policies.Operation, error) {
	crd, err := versionSchema(target)
	if err != nil {
		return nil, fmt.Errorf("the CRD to patch: %w", err)
	}
	var kind struct {
		Enum []machinev1.ControlPlaneMachineSetStrategyType `json:"enum"`
	}
	if err := json.Unmarshal(crd.Properties["spec"].Properties["strategy"].Properties["type"].raw, &kind); err != nil || len(kind.Enum) == 0 {
		return nil, fmt.Errorf("the set's strategy is not the enum that it was: a later version of the CRD has it otherwise: %w", err)
	}
	if slices.Contains(kind.Enum, machinev1.Recreate) {
		return nil, nil
	}
	return []policies.Operation{{Op: "add", Path: schemaPath + "spec/properties/strategy/properties/type/enum/-", Value: string(machinev1.Recreate)}}, nil
}

// memberRule returns the CEL rule for the new member. Its wording is that of the published rule for the other member.
func memberRule() map[string]any {
	name := string(controlplane.ClusterAPIMember)
	return map[string]any{
		"rule":    fmt.Sprintf("has(self.machineType) && self.machineType == '%s' ?  has(self.%s) : !has(self.%s)", name, name, name),
		"message": fmt.Sprintf("%s configuration is required when machineType is %s, and forbidden otherwise", name, name),
	}
}

func memberSchema(domains, metadata schema) (map[string]any, error) {
	var all [2]map[string]any
	for i, s := range []schema{domains, metadata} {
		if err := json.Unmarshal(s.raw, &all[i]); err != nil {
			return nil, err
		}
	}
	all[0]["description"] = `failureDomains is the list of failure domains (sometimes called availability zones) ` +
		`in which the ControlPlaneMachineSet balances the control plane Machines.
The fields of a failure domain override the same fields of the infrastructure machine template.
This field is optional on platforms that do not require placement information.`
	all[1]["description"] = `metadata has the labels and annotations of the Machines that the set creates.
The set creates Machine API Machines, which are mirrored to Cluster API, so labels and annotations have the Machine API's names.
Labels are required to match the ControlPlaneMachineSet selector.`
	return object(`machines_v1beta2_cluster_x_k8s_io is the template for Machines for which Cluster API is authoritative.
It may only be used while spec.authoritativeAPI is ClusterAPI.`, map[string]any{
		"failureDomains": all[0],
		"metadata":       all[1],
		"spec": object("spec has the part of the Machines' spec that uses the fields of Cluster API.", map[string]any{
			"infrastructureRef": object("infrastructureRef names the infrastructure machine template from which the Machines are created. It is in "+
				"Cluster API's namespace.",
				map[string]any{
					"apiGroup": text("apiGroup is the template's API group, such as infrastructure.cluster.x-k8s.io.", subdomain, 253),
					"kind":     text("kind is the template's kind, such as AWSMachineTemplate.", "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", 63),
					"name":     text("name is the template's name.", subdomain, 253),
				}, "apiGroup", "kind", "name"),
			"bootstrap": object("bootstrap has the data with which an instance becomes a Node.", map[string]any{
				"dataSecretName": text("dataSecretName is the name of the Secret that holds the bootstrap data, such as master-user-data.", subdomain, 253),
			}, "dataSecretName"),
		}, "infrastructureRef", "bootstrap"),
	}, "metadata", "spec"), nil
}

const subdomain = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`

func object(description string, properties map[string]any, required ...string) map[string]any {
	return map[string]any{"type": "object", "description": description, "properties": properties, "required": required}
}

func text(description, pattern string, longest int) map[string]any {
	return map[string]any{"type": "string", "description": description, "pattern": pattern, "minLength": 1, "maxLength": longest}
}
