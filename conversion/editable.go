// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"slices"
	"strings"
)

// Editable lists the fields in the spec of an infrastructure machine, and of its template, that the provider lets a user change after the object's creation. A
// field includes all below it, and Everything includes all fields.
type Editable struct{ Machine, Template []string }

// Everything is all fields: the provider's CRD and webhooks accept any change.
const Everything = "*"

// WarnOfReplacement adds a remedy to each error below p's root, which is an infrastructure object's, if the field is immutable once the object is stored: the
// provider refuses the message's own remedy then, such as to remove the field.
func (p *Pass) WarnOfReplacement() {
	kind, editable := p.Env.Platform.InfraMachine.Kind, p.Env.Platform.Editable.Machine
	todo := "replace the Machine with one that has a corrected " + kind + ", or leave authority with Cluster API"
	if p.Core.Template {
		kind, editable = p.Env.Platform.InfraMachineTemplate.Kind, p.Env.Platform.Editable.Template
		todo = "refer to a corrected copy instead, or leave authority with Cluster API"
	}
	// A semicolon, because the text before it may end in a command that a person copies.
	note := fmt.Sprintf("; nobody can change this in a stored %s: %s", kind, todo)
	for _, e := range *p.errs {
		if path, ok := strings.CutPrefix(e.Field, p.root); ok && !editableAt(editable, strings.TrimPrefix(path, ".")) {
			e.Detail += note // not cut: the text before it is bounded, and may be a command
		}
	}
}

// editableAt reports whether one of the fields is at a path, or above it.
func editableAt(fields []string, path string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		rest, under := strings.CutPrefix(path, field)
		return field == Everything || under && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}
