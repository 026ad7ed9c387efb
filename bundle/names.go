// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Naming says which names the API server accepts for objects of a kind.
type Naming int

// The namings. A kind that neither a Row of Kinds nor a CustomResourceDefinition among the documents names has an unknown naming. For it, PathSegment refuses
// only the names that no path of a URL may contain.
const (
	Subdomain Naming = iota
	DNSLabel
	PathSegment
)

// mostAnnotations is how many bytes the API server accepts as the annotations of an object.
const mostAnnotations = 262_144

var namings = map[Naming]struct {
	check  func(string) []string
	remedy string
}{
	Subdomain:   {validation.IsDNS1123Subdomain, "use at most 253 lowercase letters, digits, hyphens and dots, and begin and end with a letter or digit"},
	DNSLabel:    {validation.IsDNS1123Label, "use at most 63 lowercase letters, digits and hyphens, and begin and end with a letter or digit"},
	PathSegment: {content.IsPathSegmentName, "do not use / or %, and do not use one or two dots as the whole name"},
}

// namingOf returns the naming of a document's kind.
func namingOf(d Document, all []Document) Naming {
	if row := rowOf(d.GroupKind()); row.Scope != UnknownScope {
		return row.naming
	}
	if slices.ContainsFunc(all, func(other Document) bool { return other.isDefinition() && definedKind(other) == d.GroupKind() }) {
		return Subdomain
	}
	return PathSegment
}

// checkNames returns an error for each name, label, annotation and key of a document that no API server accepts. A text with a variable is not checked yet, but
// after its evaluation.
func checkNames(d Document, all []Document) []error {
	c := nameCheck{id: d.ID()}
	c.name("metadata.name", d.Name(), namingOf(d, all))
	if d.isDefinition() {
		spec := at(d.Object, "spec")
		if want := text(at(spec, "names"), "plural") + "." + text(spec, "group"); d.Name() != want {
			c.refuse("metadata.name", d.Name(), "does not match spec.names.plural and spec.group of the CustomResourceDefinition: use "+want)
		}
	}
	c.metadata("metadata", at(d.Object, "metadata"))
	if d.IsWorkload() {
		c.metadata("spec.template.metadata", at(d.Object, "spec", "template", "metadata"))
		for _, list := range []string{"initContainers", "containers"} {
			for i, container := range objects(at(d.Object, "spec", "template", "spec"), list) {
				c.name(fmt.Sprintf("spec.template.spec.%s[%d].name", list, i), text(container, "name"), DNSLabel)
			}
		}
	}
	if d.is("", "ConfigMap") {
		c.data(d.Object)
	}
	return c.problems
}

type nameCheck struct {
	id       string
	problems []error
}

func (c *nameCheck) refuse(field, value, why string) {
	c.problems = append(c.problems, fmt.Errorf("%s: %s %q %s", c.id, field, value, why))
}

func (c *nameCheck) name(field, name string, naming Naming) {
	rule := namings[naming]
	if !open(name) && len(rule.check(name)) > 0 {
		c.refuse(field, name, "is not a valid name: "+rule.remedy)
	}
}

func (c *nameCheck) metadata(field string, metadata map[string]any) {
	same := func(key string) string { return key }
	c.each(field+".labels", metadata["labels"], same, func(at, value string) {
		if len(validation.IsValidLabelValue(value)) > 0 {
			c.refuse(at, value, "is not a valid label value: use at most 63 letters, digits, hyphens, underscores and dots, and begin and end with a "+
				"letter or digit")
		}
	})
	size := 0
	c.each(field+".annotations", metadata["annotations"], strings.ToLower, func(at, value string) { size += len(at) - len(field+".annotations[]") + len(value) })
	if size > mostAnnotations {
		c.problems = append(c.problems, fmt.Errorf("%s: %s.annotations has %d bytes, and an API server accepts at most %d: shorten the "+
			"annotations", c.id, field, size, mostAnnotations))
	}
}

// each calls visit for the values of a map of labels or annotations. It refuses keys that are no qualified names, and values that are no text. lowered changes
// a key before the check: the API server checks the keys of annotations in lower case, but not those of labels.
func (c *nameCheck) each(field string, value any, lowered func(string) string, visit func(at, value string)) {
	values, isMap := value.(map[string]any)
	if !isMap {
		if value != nil {
			c.problems = append(c.problems, fmt.Errorf("%s: %s must be a map: write lines of the form KEY: VALUE", c.id, field))
		}
		return
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !open(key) && len(validation.IsQualifiedName(lowered(key))) > 0 {
			c.refuse(field, key,
				"is not a valid key: use NAME or PREFIX/NAME. NAME has at most 63 letters, digits, hyphens, underscores and dots; PREFIX is a DNS name")
		}
		at := field + "[" + key + "]"
		if value, ok := c.asText(at, values[key]); ok {
			visit(at, value)
		}
	}
}

// asText returns a value and true if it is text without a variable. It records a problem for a value that is neither text nor absent.
func (c *nameCheck) asText(at string, value any) (string, bool) {
	text, ok := asText(value)
	if !ok && value != nil {
		c.problems = append(c.problems, fmt.Errorf("%s: %s is %v, but the value must be a string: put quotes around it", c.id, at, value))
	}
	return text, ok && !open(text)
}

// data checks the keys, values and size of a ConfigMap.
func (c *nameCheck) data(o map[string]any) {
	text, binary := at(o, "data"), at(o, "binaryData")
	size := 0
	for _, member := range []struct {
		field  string
		values map[string]any
		read   func(string) ([]byte, error)
	}{
		{"data", text, func(value string) ([]byte, error) { return []byte(value), nil }},
		{"binaryData", binary, base64.StdEncoding.DecodeString},
	} {
		for _, key := range slices.Sorted(maps.Keys(member.values)) {
			if !open(key) && len(validation.IsConfigMapKey(key)) > 0 {
				c.refuse(member.field, key, "is not a valid key: use at most 253 letters, digits, hyphens, underscores and dots")
			}
			at := member.field + "[" + key + "]"
			value, ok := c.asText(at, member.values[key])
			if !ok {
				continue
			}
			content, err := member.read(value)
			if err != nil {
				c.problems = append(c.problems, fmt.Errorf("%s: %s is not valid base64: encode the value, or move it to data", c.id, at))
			}
			size += len(content)
		}
	}
	if size > MaxConfigMap {
		c.problems = append(c.problems, fmt.Errorf("%s: data and binaryData have %d bytes, and an API server accepts at most %d: use several "+
			"ConfigMaps", c.id, size, MaxConfigMap))
	}
	for _, key := range slices.Sorted(maps.Keys(binary)) {
		if _, twice := text[key]; twice {
			c.refuse("binaryData", key, "is also a key of data: rename the key in data or in binaryData")
		}
	}
}

// open reports whether a text contains a variable, so that its final value is not known yet.
func open(text string) bool { return strings.Contains(text, "${") }
