// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Defaulter is one row of what is filled in for a request: a pure function, and how it is registered and documented.
// It has a fixed point: asked again about the object that it has changed, it changes nothing.
type Defaulter struct {
	// ID is stable and public, as Rule.ID is.
	ID string
	// Clause is the source that asks for the default, by document and heading.
	Clause string
	// Description is the default in a sentence for docs/rules.md.
	Description string
	On          []Scope
	// Needs names the facts that Default reads; nil: none.
	Needs   func(Change) Need
	Default func(Change) []Patch
}

// Patch sets one member of the requested object. Members on the way that are absent are made.
type Patch struct {
	// Path is a JSON pointer (RFC 6901) to a member of an object, never into a list: /status/authoritativeAPI.
	Path string
	// Value is what json.Marshal takes.
	Value any
}

// Defaulters is a list of defaults. None of them reads what another one fills in.
type Defaulters []Defaulter

// Applying returns the defaulters that see the change, in order.
func (d Defaulters) Applying(c Change) Defaulters {
	var out Defaulters
	for _, row := range d {
		if slices.ContainsFunc(row.On, func(sc Scope) bool { return sc.Covers(c) }) {
			out = append(out, row)
		}
	}
	return out
}

// Needs is what must be looked up before Patches can be asked.
func (d Defaulters) Needs(c Change) Need {
	var all Need
	for _, row := range d.Applying(c) {
		if row.Needs != nil {
			all |= row.Needs(c)
		}
	}
	return all
}

// Patches asks every defaulter that sees the change.
func (d Defaulters) Patches(c Change) []Patch {
	var out []Patch
	for _, row := range d.Applying(c) {
		out = append(out, row.Default(c)...)
	}
	return out
}

// Operation is one operation of a JSON patch (RFC 6902), ready to marshal.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Operations spells patches as a JSON patch of the object: "add" for each member, preceded by one for each absent
// object on the way to it.
func Operations(o *Object, patches []Patch) ([]Operation, error) {
	var content map[string]any
	if err := json.Unmarshal(o.Raw(), &content); err != nil {
		return nil, fmt.Errorf("reading the object to fill in: %w", err)
	}
	var out []Operation
	for _, p := range patches {
		made, err := set(content, p)
		if err != nil {
			return nil, err
		}
		out = append(out, made...)
		out = append(out, Operation{Op: "add", Path: p.Path, Value: p.Value})
	}
	return out, nil
}

// Apply returns the object with the patches in it; the object itself stays as it is.
func Apply(o *Object, patches []Patch) (*Object, error) {
	var content map[string]any
	if err := json.Unmarshal(o.Raw(), &content); err != nil {
		return nil, fmt.Errorf("reading the object to fill in: %w", err)
	}
	for _, p := range patches {
		if _, err := set(content, p); err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("writing the object that was filled in: %w", err)
	}
	return ParseObject(raw)
}

// FixedPoint reports whether the defaulters have nothing left to do once they were asked: the error names the first
// path that a second run would set again. A shell may then be called twice for one request, as reinvocation does.
func (d Defaulters) FixedPoint(c Change) error {
	filled, err := Apply(c.New, d.Patches(c))
	if err != nil {
		return err
	}
	c.New = filled
	for _, row := range d.Applying(c) {
		if again := row.Default(c); len(again) > 0 {
			return fmt.Errorf("%s: a second run sets %s again", row.ID, again[0].Path)
		}
	}
	return nil
}

// set puts the patch's value into content and returns the operations that make what was absent on the way.
func set(content map[string]any, p Patch) ([]Operation, error) {
	names, err := pointed(p.Path)
	if err != nil {
		return nil, err
	}
	var made []Operation
	at := content
	for i, name := range names[:len(names)-1] {
		if at[name] == nil {
			at[name] = map[string]any{}
			made = append(made, Operation{Op: "add", Path: pointer(names[:i+1]), Value: map[string]any{}})
		}
		next, ok := at[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("default %s: %s is not an object", p.Path, pointer(names[:i+1]))
		}
		at = next
	}
	at[names[len(names)-1]] = p.Value
	return made, nil
}

var (
	pointerEscape   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
)

func pointed(path string) ([]string, error) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok || rest == "" {
		return nil, fmt.Errorf("default %q: want a JSON pointer to a member, such as /spec/authoritativeAPI", path)
	}
	names := strings.Split(rest, "/")
	for i := range names {
		names[i] = pointerUnescape.Replace(names[i])
	}
	return names, nil
}

func pointer(names []string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteByte('/')
		b.WriteString(pointerEscape.Replace(n))
	}
	return b.String()
}
