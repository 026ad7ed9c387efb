// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Editable lists the fields that the provider lets a user change after the object's creation, in the spec of an infrastructure machine and in the spec of its
// template. A listed field includes everything below it, and Everything includes all fields.
type Editable struct{ Machine, Template []string }

// Everything stands for all fields in Editable: the provider's CRD and webhooks accept any change.
const Everything = "*"

// replacement begins the remedy for a field that is immutable. It begins with a semicolon, because the text before it may end in a command that a person
// copies.
const replacement = "; no user can change this field of an existing "

// WarnOfReplacement adds a remedy to each error below p's root about a field of an infrastructure object that is immutable once the object is stored. For
// such a field the provider would refuse what the error asks for, such as removing the field.
func (p *Pass) WarnOfReplacement() {
	kind, editable := p.Env.Platform.InfraMachine.Kind, p.Env.Platform.Editable.Machine
	todo := "replace the Machine by one with a corrected " + kind + ", or leave Cluster API authoritative"
	if p.Core.Template {
		kind, editable = p.Env.Platform.InfraMachineTemplate.Kind, p.Env.Platform.Editable.Template
		todo = "create a corrected copy of the template, and name the copy in the MachineSet, or leave Cluster API authoritative"
	}
	note := fmt.Sprintf(replacement+"%s: %s", kind, todo)
	for _, e := range *p.errs {
		if path, ok := strings.CutPrefix(e.Field, p.root); ok && !editableAt(editable, strings.TrimPrefix(path, ".")) {
			e.Detail += note // not cut: the text before it is bounded, and may be a command
		}
	}
}

// editableAt reports whether fields lists the field at path, or a field that contains it.
func editableAt(fields []string, path string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		rest, under := strings.CutPrefix(path, field)
		return field == Everything || under && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// WithoutReplacement removes the remedy that WarnOfReplacement added, from each error about a field that a request changes. before and after are the specs
// before and after the request. The remedy is useless for such a request: if the field is immutable, the provider refuses the request with its own reason;
// otherwise the field can be changed.
func WithoutReplacement(errs field.ErrorList, before, after json.RawMessage) {
	was, is := infraMembers(before), infraMembers(after)
	for _, e := range errs {
		_, path, _ := strings.Cut(e.Field, ".spec.")
		name := strings.TrimPrefix(path, "template.spec.")
		if i := strings.IndexAny(name, ".["); i >= 0 {
			name = name[:i]
		}
		if detail, _, noted := strings.Cut(e.Detail, replacement); noted && !bytes.Equal(was[name], is[name]) {
			e.Detail = detail
		}
	}
}

// infraMembers returns the members of an infrastructure machine's spec. From a template's spec it returns the members of spec.template.spec.
func infraMembers(spec json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	var template struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	_ = json.Unmarshal(spec, &members)
	if err := json.Unmarshal(members["template"], &template); err == nil && template.Spec != nil { // vSphere's machine has a field template, too: a string
		return template.Spec
	}
	return members
}
