// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/eventnote"
)

// Pass is one run of a table over one object: what the rows may read besides their two sides, and where they report what does not convert.
type Pass struct {
	Env *Env
	// Core is the part of the core Machine that some platforms have in the providerSpec.
	Core *Core

	root string
	errs *field.ErrorList
}

// Core is the part of a Machine (or of a MachineSet's template) that Cluster API keeps in the core Machine and Machine API in the providerSpec. On the way to
// Cluster API a platform's rows set FailureDomain and BootstrapSecret; on the way back they read them. The other fields are given in both directions.
type Core struct {
	// Name is the Machine's; empty for a template.
	Name            string
	FailureDomain   string
	BootstrapSecret *string
	ProviderID      string
	// ControlPlane reports that the Machine is of the control plane.
	ControlPlane bool
	// Template is true for the template of a MachineSet.
	Template bool
	// Windows reports that the Machine runs Windows, by the Machine API's label.
	Windows bool
}

// BootsWindows reports whether a Machine runs Windows and has no instance yet. It would never start if the provider passes user data in another way.
func (c *Core) BootsWindows() bool { return c.Windows && (c.Template || c.ProviderID == "") }

// NewPass starts a pass over an object whose fields are below root, a JSON path as a person would write it.
func NewPass(env *Env, core *Core, root string) *Pass {
	return &Pass{Env: env, Core: core, root: root, errs: &field.ErrorList{}}
}

// At is the same pass deeper in the object: its paths are below path, its errors go to p.
func (p *Pass) At(path string) *Pass {
	sub := *p
	sub.root = join(p.root, path)
	return &sub
}

// Under is the same pass on another object of the same side: its paths are below root, its errors go to p.
func (p *Pass) Under(root string) *Pass {
	sub := *p
	sub.root = root
	return &sub
}

// Errors lists what does not convert, in the order of the table.
func (p *Pass) Errors() field.ErrorList { return *p.errs }

// Add adds errors with full paths that were made elsewhere.
func (p *Pass) Add(errs ...*field.Error) { *p.errs = append(*p.errs, errs...) }

// Unsupported reports a valid value that the other API has no place for.
func (p *Pass) Unsupported(path string, value any, reason string) {
	p.add(field.ErrorTypeNotSupported, path, value, reason)
}

// Invalid reports an invalid value.
func (p *Pass) Invalid(path string, value any, reason string) {
	p.add(field.ErrorTypeInvalid, path, value, reason)
}

// Required reports a missing value that the other API requires.
func (p *Pass) Required(path, reason string) {
	p.add(field.ErrorTypeRequired, path, "", reason)
}

// Differs reports a value that the other API has once for the whole cluster, with another content.
func (p *Pass) Differs(path string, value any, where string, there any) {
	p.Unsupported(path, value, fmt.Sprintf("must equal %s, which is %q", where, fmt.Sprint(there)))
}

func (p *Pass) add(t field.ErrorType, path string, value any, detail string) {
	*p.errs = append(*p.errs, &field.Error{Type: t, Field: eventnote.Cut(join(p.root, path), longestWords), BadValue: readable(value),
		Detail: eventnote.Cut(detail, longestWords)})
}

// How much of a text a message repeats, in bytes, since a field may have a megabyte, and so may a label's name: of a value, and of the words about it, which
// may end in a command.
const (
	longest      = 256
	longestWords = 4096
	// longestCommand is the maximum length of a command that changes an infrastructure cluster object, and longestWhy that of the words before it.
	longestCommand, longestWhy = 8192, 1024
)

// readable is a value in a message, shortened if it would fill the screen.
func readable(value any) any {
	v := reflect.ValueOf(value)
	if v.IsValid() {
		v = indirect(v)
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Invalid:
		return field.OmitValueType{}
	case reflect.String:
		if text := v.String(); len(text) > longest {
			return eventnote.Cut(text, longest)
		}
	}
	return v.Interface()
}

func (p *Pass) usable(broken error) bool {
	if broken != nil {
		p.add(field.ErrorTypeInternal, "", "", broken.Error())
	}
	return broken == nil
}

func put(at, v reflect.Value) {
	if at.Kind() == reflect.Pointer {
		at.Set(reflect.New(v.Type()))
		at = at.Elem()
	}
	at.Set(v)
}

func (p *Pass) refuse(s steps, from reflect.Value, reason string) {
	s.visit(from, func(path string, v reflect.Value) {
		if set(v) {
			p.Unsupported(path, v.Interface(), reason)
		}
	})
}
