// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Defaulter is one row of the defaults that are filled in for a request: a pure function, and how it is registered and documented. The function has a fixed
// point, which means that it returns no patches for an object that it has already changed.
type Defaulter struct {
	// ID is stable and public, like Rule.ID.
	ID string
	// Clause is the source that asks for the default, by document and heading.
	Clause string
	// Description is a sentence for docs/rules.md: what is filled in.
	Description string
	On          []Scope
	// Needs returns the facts that Default reads for a change; nil: none.
	Needs   func(Change) Need
	Default func(Change) []Patch
}

// Patch sets one member of the requested object. Objects on the path to that member are created if they are absent.
type Patch struct {
	// Path is a JSON pointer (RFC 6901) to a member of an object, never into a list: /status/authoritativeAPI.
	Path string
	// Value is the member's new value, of any type that json.Marshal accepts.
	Value any
}

// Defaulters is a list of defaulters. No defaulter reads a value that another one fills in.
type Defaulters []Defaulter

// Applying returns the defaulters whose scopes cover the change, in order.
func (d Defaulters) Applying(c Change) Defaulters {
	var out Defaulters
	for _, row := range d {
		if slices.ContainsFunc(row.On, func(sc Scope) bool { return sc.Covers(c) }) {
			out = append(out, row)
		}
	}
	return out
}

// Needs returns the facts that must be looked up before Patches is called for the change.
func (d Defaulters) Needs(c Change) Need {
	var all Need
	for _, row := range d.Applying(c) {
		if row.Needs != nil {
			all |= row.Needs(c)
		}
	}
	return all
}

// Patches returns the patches of all defaulters whose scopes cover the change.
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

// Operations returns patches as a JSON patch of the object: an "add" for each member, and before it an "add" for each absent object on the path to that member.
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

// Apply returns a copy of the object with the patches applied.
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
		return nil, fmt.Errorf("encoding the object with its defaults: %w", err)
	}
	return ParseObject(raw)
}

// FixedPoint checks that the defaulters change nothing when they run a second time on what they have filled in. It returns an error that names the first path
// that a second run would set again. The check is needed because the API server may call a webhook twice for one request (reinvocation).
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

// set puts the patch's value into content. It returns the operations that create those objects on the path that were absent.
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
