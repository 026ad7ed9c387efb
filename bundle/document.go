// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Document is one object of a provider's manifests. Its values are maps, lists, strings, int64, float64, bool and nil. A value is Plain if the YAML has a
// variable without quotes.
type Document struct{ Object map[string]any }

// Plain is a scalar that contains a variable and has no quotes in YAML. YAML decides on its type after evaluation: `replicas: ${N:=1}` becomes a number.
type Plain string

// Group returns the API group, which is empty for the core group.
func (d Document) Group() string {
	group, _, found := strings.Cut(text(d.Object, "apiVersion"), "/")
	if !found {
		return ""
	}
	return group
}

// Kind returns the kind.
func (d Document) Kind() string { return text(d.Object, "kind") }

// GroupKind returns group and kind.
func (d Document) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: d.Group(), Kind: d.Kind()}
}

// Name returns metadata.name.
func (d Document) Name() string { return text(at(d.Object, "metadata"), "name") }

// Namespace returns metadata.namespace.
func (d Document) Namespace() string { return text(at(d.Object, "metadata"), "namespace") }

// ID returns KIND/NAME, which names the document for a person, such as Deployment/capi-controller-manager.
func (d Document) ID() string { return d.Kind() + "/" + d.Name() }

// is reports whether the document has this group and kind.
func (d Document) is(group, kind string) bool { return d.Kind() == kind && d.Group() == group }

// Sort sorts documents into the order in which they are applied: by stage, then by turn (roles before their bindings, policies before theirs), kind, group,
// namespace and name.
func Sort(all []Document) {
	slices.SortStableFunc(all, func(a, b Document) int {
		rowA, rowB := rowOf(a.GroupKind()), rowOf(b.GroupKind())
		return cmp.Or(
			cmp.Compare(rowA.Stage, rowB.Stage),
			cmp.Compare(rowA.turn, rowB.turn),
			cmp.Compare(a.Kind(), b.Kind()),
			cmp.Compare(a.Group(), b.Group()),
			cmp.Compare(a.Namespace(), b.Namespace()),
			cmp.Compare(a.Name(), b.Name()),
		)
	})
}

// at returns the map at a path, nil if there is none.
func at(o map[string]any, path ...string) map[string]any {
	for _, key := range path {
		o, _ = o[key].(map[string]any)
	}
	return o
}

// ensure returns the map at a path. It creates the maps that are missing.
func ensure(o map[string]any, path ...string) map[string]any {
	for _, key := range path {
		next, ok := o[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			o[key] = next
		}
		o = next
	}
	return o
}

// text returns the text of a member, quoted or not; "" if the member is no text.
func text(o map[string]any, key string) string {
	switch value := o[key].(type) {
	case string:
		return value
	case Plain:
		return string(value)
	}
	return ""
}

// objects returns those items of a list that are maps. key is the list's name in o.
func objects(o map[string]any, key string) []map[string]any {
	list, _ := o[key].([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// texts returns those items of a list that are text. key is the list's name in o.
func texts(o map[string]any, key string) []string {
	list, _ := o[key].([]any)
	var out []string
	for _, item := range list {
		if s, ok := asText(item); ok {
			out = append(out, s)
		}
	}
	return out
}

func asText(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case Plain:
		return string(value), true
	}
	return "", false
}

// retype returns the text after, with the type of the text before that it replaces. So a value that had no quotes gets none.
func retype(before any, after string) any {
	if _, plain := before.(Plain); plain {
		return Plain(after)
	}
	return after
}

// deepCopy returns a copy of a value of a Document.
func deepCopy(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, member := range value {
			out[key] = deepCopy(member)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, member := range value {
			out[i] = deepCopy(member)
		}
		return out
	}
	return value
}

// selects reports whether a selector matches labels. An empty selector matches nothing.
func selects(selector, labels map[string]any) bool {
	for key := range selector {
		if text(selector, key) != text(labels, key) {
			return false
		}
	}
	return len(selector) > 0
}
