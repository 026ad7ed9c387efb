// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

// ProviderSpec returns the content of a Machine's providerSpec; nil if there is none, it is no object, or its numbers cannot be read.
func ProviderSpec(s machinev1beta1.MachineSpec) map[string]any {
	if s.ProviderSpec.Value == nil || jsonnumbers.Endless(s.ProviderSpec.Value.Raw) {
		return nil
	}
	var out map[string]any
	if json.Unmarshal(s.ProviderSpec.Value.Raw, &out) != nil {
		return nil
	}
	return out
}

// DomainsPath returns the path of a set's failure domains of a platform.
func DomainsPath(platform string) *field.Path {
	return TemplatePath().Child("failureDomains", platform)
}

// TemplatePath returns the path of a set's template for Machine API.
func TemplatePath() *field.Path {
	return field.NewPath("spec", "template", string(machinev1.OpenShiftMachineV1Beta1MachineType))
}

// ProviderSpecPath returns the path of that template's providerSpec.
func ProviderSpecPath() *field.Path { return TemplatePath().Child("spec", "providerSpec", "value") }

// Unreadable returns the refusal of a providerSpec that does not fit its type, with the field's path.
func Unreadable(path *field.Path, row Row, err error) *field.Error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
		return field.Invalid(path.Child(wrong.Field), "a "+wrong.Value, fmt.Sprintf("in %s this field must be a %s", row.Kind, goKind(wrong.Type)))
	}
	return field.Invalid(path, row.Kind, "cannot be read: "+err.Error())
}

// goKind returns the name that JSON has for a type of Go.
func goKind(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.Slice || k == reflect.Array:
		return "list"
	case k == reflect.Struct || k == reflect.Map:
		return "object"
	case k == reflect.Bool:
		return "boolean"
	case k == reflect.String:
		return "string"
	}
	return "number"
}

// MachinePath returns the path of a Machine's providerSpec.
func MachinePath() *field.Path { return field.NewPath("spec", "providerSpec", "value") }
