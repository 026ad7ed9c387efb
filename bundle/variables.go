// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Variable is a variable of the manifests, whose value the cluster sets.
type Variable struct {
	Name string `json:"name"`
	// Default is the text that the variable has without a value. If two places have different defaults, it is that of the first.
	Default string `json:"default,omitempty"`
	// Required means that at least one place has no default.
	Required bool `json:"required,omitempty"`
}

// Values are the values of variables by name. They are the only source: no value comes from the environment.
type Values map[string]string

// ErrNoValue is the error of a variable that has neither a value nor a default.
var ErrNoValue = errors.New("it has no value and no default")

// reference is a variable in a text: ${name}, ${name=fallback}, ${name:=fallback}, ${name-fallback} or ${name:-fallback}.
type reference struct {
	name string
	// optional means that there is a fallback. emptyIsUnset means that the fallback also replaces an empty value.
	optional, emptyIsUnset bool
	fallback               []part
}

// part is a part of a text: literal text, or a reference.
type part struct {
	literal string
	ref     *reference
}

const deepest = 8

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	operators    = []string{":=", ":-", "=", "-"}
)

// Evaluate returns a text with its variables replaced. $${ becomes the two characters ${. Every other dollar stays as it is, also in $(POD) and $$.
func Evaluate(text string, values Values) (string, error) {
	out, _, err := evaluate(text, values)
	return out, err
}

// evaluate does what Evaluate does. It also reports whether no part of the result comes from values: all of it is the manifest's own text and defaults.
func evaluate(text string, values Values) (out string, ownWords bool, err error) {
	parts, err := parse(text)
	if err != nil {
		return "", false, err
	}
	var b strings.Builder
	ownWords = true
	err = expand(parts, values, &b, &ownWords)
	return b.String(), ownWords, err
}

func expand(parts []part, values Values, out *strings.Builder, ownWords *bool) error {
	for _, p := range parts {
		if p.ref == nil {
			out.WriteString(p.literal)
			continue
		}
		value, set := values[p.ref.name]
		switch {
		case set && (value != "" || !p.ref.emptyIsUnset):
			*ownWords = false
			out.WriteString(value)
		case !p.ref.optional:
			return fmt.Errorf("variable %s: %w", p.ref.name, ErrNoValue)
		default:
			if err := expand(p.ref.fallback, values, out, ownWords); err != nil {
				return err
			}
		}
	}
	return nil
}

func parse(text string) ([]part, error) {
	parts, rest, err := parseUntil(text, false, 0)
	if err == nil && rest != "" {
		err = errors.New("unexpected text after the end of the variable")
	}
	return parts, err
}

// parseUntil parses a text into parts. Inside of a reference, it stops at the brace that closes the reference. It returns the rest of the text as well.
func parseUntil(text string, inside bool, depth int) ([]part, string, error) {
	var parts []part
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			parts = append(parts, part{literal: literal.String()})
			literal.Reset()
		}
	}
	for text != "" {
		switch {
		case strings.HasPrefix(text, "$${"):
			literal.WriteString("${")
			text = text[3:]
		case strings.HasPrefix(text, "${"):
			flush()
			ref, rest, err := parseReference(text, depth)
			if err != nil {
				return nil, "", err
			}
			parts = append(parts, part{ref: ref})
			text = rest
		case inside && text[0] == '}':
			flush()
			return parts, text, nil
		default:
			literal.WriteByte(text[0])
			text = text[1:]
		}
	}
	flush()
	return parts, "", nil
}

func parseReference(text string, depth int) (*reference, string, error) {
	if depth >= deepest {
		return nil, "", fmt.Errorf("more than %d variables are nested in each other's defaults: use fewer", deepest)
	}
	whole := text
	text = strings.TrimLeft(text[2:], " ")
	ref := &reference{name: variableName.FindString(text)}
	text = strings.TrimLeft(text[len(ref.name):], " ")
	if ref.name == "" {
		return nil, "", unsupported(whole)
	}
	for _, operator := range operators {
		if fallback, found := strings.CutPrefix(text, operator); found {
			ref.optional, ref.emptyIsUnset = true, operator[0] == ':'
			var err error
			if ref.fallback, text, err = parseUntil(fallback, true, depth+1); err != nil {
				return nil, "", err
			}
			break
		}
	}
	if !strings.HasPrefix(text, "}") {
		return nil, "", unsupported(whole)
	}
	return ref, text[1:], nil
}

func unsupported(text string) error {
	const most = 60
	if end := strings.IndexByte(text, '}'); end >= 0 {
		text = text[:end+1]
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return fmt.Errorf("%q is not a valid variable: use ${NAME}, ${NAME:=default}, ${NAME=default} or ${NAME:-default}. To write the characters ${ "+
		"themselves, use $${", text)
}

// hasVariables reports whether the variables of a document are evaluated. Those of a CustomResourceDefinition are not, because the dollars in its descriptions
// are examples. Those of a document that is dropped are not either, because providers' Secrets are full of variables that nobody needs to set.
func (d Document) hasVariables() bool {
	fate, _ := FateOf(d.GroupKind())
	return fate != Dropped && !d.isDefinition()
}

// Evaluate returns a copy of the document in which all variables are replaced, except for those in keys. The document itself does not change.
func (d Document) Evaluate(values Values) (Document, []error) {
	e := evaluation{values: values, verbatim: !d.hasVariables()}
	out, _ := e.walk(d.Object, "", false).(map[string]any)
	for i, err := range e.problems {
		e.problems[i] = fmt.Errorf("%s: %w", d.ID(), err)
	}
	return Document{out}, e.problems
}

type evaluation struct {
	values Values
	// verbatim means that all text stays as it is.
	verbatim bool
	problems []error
}

// areTexts are members whose values are text in the API, at any depth. A value there that looks like a number stays text.
var areTexts = []string{"labels", "annotations", "matchLabels", "nodeSelector", "data", "binaryData", "args", "command"}

func (e *evaluation) walk(value any, path string, isText bool) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		_, named := value["name"]
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if strings.Contains(key, "${") && !e.verbatim {
				e.problems = append(e.problems, openKey(path, key))
			}
			text := isText || slices.Contains(areTexts, key) || named && key == "value"
			out[key] = e.walk(value[key], strings.TrimPrefix(path+"."+key, "."), text)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = e.walk(item, fmt.Sprintf("%s[%d]", path, i), isText)
		}
		return out
	case string:
		out, _ := e.evaluate(value, path)
		return out
	case Plain:
		if e.verbatim {
			return string(value)
		}
		out, ownWords := e.evaluate(string(value), path)
		return resolve(out, isText, ownWords)
	}
	return value
}

func openKey(path, key string) error {
	return fmt.Errorf("%s: the key %q contains a variable, and variables are allowed only in values: write the key without it", cmpPath(path), key)
}

func cmpPath(path string) string {
	if path == "" {
		return "(top)"
	}
	return path
}

func (e *evaluation) evaluate(text, path string) (string, bool) {
	if e.verbatim {
		return text, true
	}
	out, ownWords, err := evaluate(text, e.values)
	if errors.Is(err, ErrNoValue) {
		err = fmt.Errorf("%w: set a value in ConfigMap %s", err, VariablesConfigMap)
	}
	if err != nil {
		e.problems = append(e.problems, fmt.Errorf("%s: %w", path, err))
	}
	return out, ownWords
}

// resolve returns an evaluated scalar that had no quotes in the manifest, with the type that YAML gives it. isText keeps it text. The result is always one
// scalar, whatever the values contain. Quotes are removed only if ownWords is true: they are then the manifest's own, as in ${ROLE:=""}. Quotes in a value
// stay.
func resolve(text string, isText, ownWords bool) any {
	var parsed yaml.Node
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil || len(parsed.Content) != 1 || parsed.Content[0].Kind != yaml.ScalarNode {
		return text
	}
	one := parsed.Content[0]
	if one.Anchor != "" || one.Style&yaml.TaggedStyle != 0 {
		return text
	}
	if quoted := one.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle); quoted != 0 {
		if ownWords && (strings.HasSuffix(text, `"`) || strings.HasSuffix(text, `'`)) {
			return one.Value
		}
		return text
	}
	if isText || one.Value != text {
		return text
	}
	if typed, err := scalar(one); err == nil {
		if plain, is := typed.(Plain); is {
			return string(plain)
		}
		return typed
	}
	return text
}

// Variables returns the variables of the documents, sorted by name.
func Variables(all []Document) ([]Variable, error) {
	found := map[string]Variable{}
	var problems []error
	for _, d := range all {
		if !d.hasVariables() {
			continue
		}
		eachKey(d.Object, "", func(path, key string) {
			if strings.Contains(key, "${") {
				problems = append(problems, fmt.Errorf("%s: %w", d.ID(), openKey(path, key)))
			}
		})
		eachText(d.Object, "", func(path, text string) {
			parts, err := parse(text)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %s: %w", d.ID(), path, err))
			}
			collect(parts, found)
		})
	}
	var out []Variable
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[name])
	}
	return out, errors.Join(problems...)
}

func collect(parts []part, found map[string]Variable) {
	for _, p := range parts {
		if p.ref == nil {
			continue
		}
		v, known := found[p.ref.name]
		if !known {
			v = Variable{Name: p.ref.name, Default: source(p.ref.fallback)}
		}
		v.Required = v.Required || !p.ref.optional
		found[p.ref.name] = v
		collect(p.ref.fallback, found)
	}
}

// source returns parts as text for a person. A variable in it is written as ${NAME}, without its fallback.
func source(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.ref != nil {
			b.WriteString("${" + p.ref.name + "}")
			continue
		}
		b.WriteString(p.literal)
	}
	return b.String()
}

func eachKey(value any, path string, visit func(path, key string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			visit(path, key)
			eachKey(value[key], strings.TrimPrefix(path+"."+key, "."), visit)
		}
	case []any:
		for i, item := range value {
			eachKey(item, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

func eachText(value any, path string, visit func(path, text string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			eachText(value[key], strings.TrimPrefix(path+"."+key, "."), visit)
		}
	case []any:
		for i, item := range value {
			eachText(item, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case string:
		visit(path, value)
	case Plain:
		visit(path, string(value))
	}
}
