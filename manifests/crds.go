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

// The Machine's fields about authority, which the overlays give to the kinds whose published CRDs lack them.
var (
	specFields   = []string{"authoritativeAPI"}
	statusFields = []string{"authoritativeAPI", "synchronizedAPI", "synchronizedGeneration"}
)

// AuthorityPatch is the JSON patch that gives a CRD of the Machine API the authority fields of the Machine's, with
// their validation and, unless it is to go bare, their default. Both are the CRDs as JSON, and the Machine's must have the fields.
//
// A MachineHealthCheck has no default: a release has one, and the cluster-version-operator would see a difference for ever.
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
	return slices.Concat(spec, status, addRules(from.Properties["status"], to.Properties["status"])), nil
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

// schema is what is read of a CRD's schema; the rest stays as it is written.
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

// addRules carries over the validations of status that speak of the fields.
func addRules(from, to schema) []policies.Operation {
	var rules []any
	for _, rule := range from.Validations {
		if mentions(rule, statusFields) {
			rules = append(rules, rule)
		}
	}
	path := schemaPath + "status/x-kubernetes-validations"
	if len(to.Validations) == 0 {
		return []policies.Operation{{Op: "add", Path: path, Value: rules}}
	}
	var out []policies.Operation
	for _, rule := range rules {
		out = append(out, policies.Operation{Op: "add", Path: path + "/-", Value: rule})
	}
	return out
}

func mentions(rule any, names []string) bool {
	fields, ok := rule.(map[string]any)
	if !ok {
		return false
	}
	text := fmt.Sprint(slices.Collect(maps.Values(fields)))
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name) })
}
