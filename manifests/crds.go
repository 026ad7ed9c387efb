// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/policies"
)

// The authority fields of the Machine. The overlays add them to the kinds whose published CRDs lack them.
var (
	specFields   = []string{"authoritativeAPI"}
	statusFields = []string{"authoritativeAPI", "synchronizedAPI", "synchronizedGeneration"}
)

// AuthorityPatch returns the JSON patch that adds the authority fields of the Machine's CRD to another CRD of the Machine API (target), with their validation.
// It also adds their default, unless bare is set. Both CRDs are JSON, and the Machine's must have the fields.
//
// A MachineHealthCheck gets no default. A release contains a MachineHealthCheck, and with a default the cluster-version-operator would see a difference
// forever.
func AuthorityPatch(machine, target []byte, bare bool) ([]policies.Operation, error) {
	from, err := versionSchema(machine)
	if err != nil {
		return nil, fmt.Errorf("the Machine's CRD: %w", err)
	}
	to, err := versionSchema(target)
	if err != nil {
		return nil, fmt.Errorf("the CRD to patch: %w", err)
	}
	spec, err := addFields(from.Properties["spec"], "spec", specFields)
	if err != nil {
		return nil, err
	}
	status, err := addFields(from.Properties["status"], "status", statusFields)
	if err != nil {
		return nil, err
	}
	if bare {
		if spec[0].Value, err = withoutDefault(spec[0].Value.(json.RawMessage)); err != nil {
			return nil, err
		}
	}
	rules, err := addRules(from.Properties["status"], to.Properties["status"])
	return slices.Concat(spec, status, rules), err
}

func withoutDefault(raw json.RawMessage) (json.RawMessage, error) {
	var field map[string]json.RawMessage
	if err := json.Unmarshal(raw, &field); err != nil {
		return nil, err
	}
	delete(field, "default")
	return json.Marshal(field)
}

const schemaPath = "/spec/versions/0/schema/openAPIV3Schema/properties/"

// schema is the part of a CRD's schema that this package reads. raw is the whole schema, as it is written.
type schema struct {
	Properties  map[string]schema `json:"properties"`
	Validations []any             `json:"x-kubernetes-validations"`

	raw json.RawMessage
}

func (s *schema) UnmarshalJSON(raw []byte) error {
	type plain schema
	s.raw = slices.Clone(raw)
	return json.Unmarshal(raw, (*plain)(s))
}

func versionSchema(crd []byte) (schema, error) {
	var content struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(crd, &content); err != nil {
		return schema{}, err
	}
	if n := len(content.Spec.Versions); n != 1 {
		return schema{}, fmt.Errorf("it has %d versions, the patch is made for one", n)
	}
	return content.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
}

func addFields(from schema, part string, names []string) ([]policies.Operation, error) {
	var out []policies.Operation
	for _, name := range names {
		field, ok := from.Properties[name]
		if !ok {
			return nil, fmt.Errorf("the Machine's %s has no field %s: a later version of the CRD keeps it elsewhere", part, name)
		}
		out = append(out, policies.Operation{Op: "add", Path: schemaPath + part + "/properties/" + name, Value: field.raw})
	}
	return out, nil
}

// addRules returns operations that copy the validations of status that are about the authority fields. They leave out the validation that forbids removing the
// fields, because controllers that do not know the fields replace the status without them in each pass. Poundlock's webhook restores the fields, and refuses
// their removal if something would be lost by it (authority/status-owned).
func addRules(from, to schema) ([]policies.Operation, error) {
	var rules []any
	for _, rule := range from.Validations {
		if !mentions(rule, statusFields) {
			continue
		}
		optional, err := whereSet(rule.(map[string]any))
		if err != nil {
			return nil, err
		}
		if optional != nil {
			rules = append(rules, optional)
		}
	}
	path := schemaPath + "status/x-kubernetes-validations"
	if len(to.Validations) == 0 {
		return []policies.Operation{{Op: "add", Path: path, Value: rules}}, nil
	}
	var out []policies.Operation
	for _, rule := range rules {
		out = append(out, policies.Operation{Op: "add", Path: path + "/-", Value: rule})
	}
	return out, nil
}

// whereSet returns a validation that is checked only if the new status has the field. It returns nil for a validation that only requires the field.
func whereSet(rule map[string]any) (map[string]any, error) {
	const asks, generation = "has(self.authoritativeAPI) || !has(oldSelf.authoritativeAPI)",
		"(has(self.synchronizedGeneration) && self.synchronizedGeneration >= oldSelf.synchronizedGeneration)"
	text, _ := rule["rule"].(string)
	if text == asks {
		return nil, nil
	}
	out := maps.Clone(rule)
	out["rule"] = strings.Replace(text, generation, "!has(self.synchronizedGeneration) || self.synchronizedGeneration >= oldSelf.synchronizedGeneration", 1)
	if out["rule"] == text {
		return nil, fmt.Errorf("a validation of the Machine's status asks for a field in words that are not known here: %s", text)
	}
	return out, nil
}

func mentions(rule any, names []string) bool {
	fields, ok := rule.(map[string]any)
	if !ok {
		return false
	}
	text := fmt.Sprint(slices.Collect(maps.Values(fields)))
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name) })
}
