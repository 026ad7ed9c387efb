// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/eventnote"
)

// Pass is one run of a table over one object. It has what rows may read in addition to their two sides, and it collects the errors about what does not
// convert.
type Pass struct {
	Env *Env
	// Core is the part of the Cluster API Machine that the Machine API keeps in the providerSpec.
	Core *Core

	root string
	errs *field.ErrorList
	// notes is nil if the caller wants no notes.
	notes *[]Note
}

// Note is about a value that a conversion leaves out, although nothing is wrong: the source's API ignores the value.
type Note struct{ Path, Text string }

// Core is the part of a Machine (or of a MachineSet's template) that Cluster API keeps in the core Machine, while the Machine API keeps it in the
// providerSpec. In a conversion to Cluster API, a platform's rows set FailureDomain and BootstrapSecret; in a conversion to Machine API, the rows read both.
// The caller sets the other fields in both directions.
type Core struct {
	// Name is the Machine's name; empty for a template.
	Name            string
	FailureDomain   string
	BootstrapSecret *string
	ProviderID      string
	// ControlPlane reports that the Machine belongs to the control plane.
	ControlPlane bool
	// Template is true for the template of a MachineSet.
	Template bool
	// Windows reports that the Machine runs Windows, which the Machine API shows by a label.
	Windows bool
}

// BootsWindows reports whether a new instance with Windows will be created: the Machine runs Windows and has no instance yet, or this is a template for such
// Machines. That matters because the new instance would never start if Cluster API's provider passed user data in another way than Machine API.
func (c *Core) BootsWindows() bool { return c.Windows && (c.Template || c.ProviderID == "") }

// NewPass starts a pass over an object. root is the JSON path, as a person would write it, that precedes the paths of the object's fields in errors.
func NewPass(env *Env, core *Core, root string) *Pass {
	return &Pass{Env: env, Core: core, root: root, errs: &field.ErrorList{}}
}

// At returns a pass for a part of p's object. path is the path of that part below p's root, and the new pass's paths are relative to it. Errors are added to
// p.
func (p *Pass) At(path string) *Pass {
	sub := *p
	sub.root = join(p.root, path)
	return &sub
}

// Under returns a pass for another object of the same side. The new pass's paths are relative to root. Errors are added to p.
func (p *Pass) Under(root string) *Pass {
	sub := *p
	sub.root = root
	return &sub
}

// CollectNotes makes p, and the passes that are made from it later, collect notes. Without it a pass collects none, because most callers do not read them.
func (p *Pass) CollectNotes() { p.notes = &[]Note{} }

// Note adds a note about a value that the conversion leaves out. text says why, and needs no remedy.
func (p *Pass) Note(path, text string) {
	if p.notes != nil {
		*p.notes = append(*p.notes, Note{eventnote.Cut(join(p.root, path), longestWords), text})
	}
}

// Notes lists the notes, sorted by path. Equal notes occur once.
func (p *Pass) Notes() []Note {
	if p.notes == nil {
		return nil
	}
	out := slices.SortedFunc(slices.Values(*p.notes), func(a, b Note) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Text, b.Text)) })
	return slices.Compact(out)
}

// Errors lists what does not convert, in the order of the table.
func (p *Pass) Errors() field.ErrorList { return *p.errs }

// Add adds errors that the caller has made. Their paths must be full: p's root is not put before them.
func (p *Pass) Add(errs ...*field.Error) { *p.errs = append(*p.errs, errs...) }

// Unsupported adds an error about a value that is valid, but that the other API cannot express.
func (p *Pass) Unsupported(path string, value any, reason string) {
	p.add(field.ErrorTypeNotSupported, path, value, reason)
}

// Invalid adds an error about an invalid value.
func (p *Pass) Invalid(path string, value any, reason string) {
	p.add(field.ErrorTypeInvalid, path, value, reason)
}

// Required adds an error about a missing value that the other API requires.
func (p *Pass) Required(path, reason string) {
	p.add(field.ErrorTypeRequired, path, "", reason)
}

// Differs adds an error about a value that must equal a certain other value, because the other API has only that other value, for example one for the whole
// cluster. where describes the other value, and there is its content.
func (p *Pass) Differs(path string, value any, where string, there any) {
	p.Unsupported(path, value, fmt.Sprintf("must equal %s, which is %q", where, fmt.Sprint(there)))
}

// Incomparable reports a value that must equal a value (where) of the infrastructure cluster object, if that object does not exist, so that the other value is
// unknown.
func (p *Pass) Incomparable(path string, value any, where string) {
	p.Unsupported(path, value, fmt.Sprintf("cannot be compared with %s, because the %s does not exist: create the %[2]s", where, p.Env.Platform.InfraCluster.Kind))
}

func (p *Pass) add(t field.ErrorType, path string, value any, detail string) {
	*p.errs = append(*p.errs, &field.Error{Type: t, Field: eventnote.Cut(join(p.root, path), longestWords), BadValue: readable(value),
		Detail: eventnote.Cut(detail, longestWords)})
}

// These limits are the numbers of bytes of a text that a message repeats at most. They are necessary because a field, and even a label's name, may have a
// megabyte.
const (
	// longest is the limit for a value.
	longest = 256
	// longestWords is the limit for a path, and for the text about a value, which may end in a command.
	longestWords = 4096
	// longestCommand is the limit for a command that changes an infrastructure cluster object, and longestWhy the limit for the text before such a command.
	longestCommand, longestWhy = 8192, 1024
)

// readable returns a value in the form that a message shows. Long text is shortened. A struct, map or list is left out, because it would fill the screen.
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
