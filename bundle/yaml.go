// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	yaml "go.yaml.in/yaml/v3"
)

// mostAliased and deepestValue limit how many values YAML aliases may expand to, and how deep. Aliases multiply, and an alias may even be inside of the value
// that it names. The output of kustomize has no aliases, and the schemas of providers are nested some 30 deep.
const (
	mostAliased  = 100_000
	deepestValue = 1_000
)

// reader turns YAML nodes into the values of a Document, within these limits.
type reader struct {
	// aliased counts the values beneath aliases. within is the number of aliases around the present value.
	aliased, within, depth int
}

// Decode returns the documents of a YAML stream. It skips empty documents, and replaces lists by their items. Each document must be an object with apiVersion,
// kind and name. A key that occurs twice is an error.
func Decode(stream []byte) ([]Document, error) {
	var all []Document
	var r reader
	decoder := yaml.NewDecoder(bytes.NewReader(stream))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading YAML: %w", err)
		}
		found, err := r.documents(&node)
		if err != nil {
			return nil, fmt.Errorf("reading the document that begins in line %d: %w", node.Line, err)
		}
		all = append(all, found...)
	}
}

func (r *reader) documents(node *yaml.Node) ([]Document, error) {
	value, err := r.value(node)
	if err != nil || value == nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the YAML document is not an object of Kubernetes: each document needs apiVersion, kind and metadata")
	}
	items, isList := object["items"].([]any)
	if !isList || !strings.HasSuffix(text(object, "kind"), "List") {
		items = []any{object}
	}
	var out []Document
	for _, item := range items {
		object, _ := item.(map[string]any)
		if err := identified(object); err != nil {
			return nil, err
		}
		out = append(out, Document{object})
	}
	return out, nil
}

func identified(o map[string]any) error {
	for _, key := range []string{"apiVersion", "kind"} {
		if s, ok := o[key].(string); !ok || s == "" {
			return fmt.Errorf("%s is missing in a YAML document: each document needs apiVersion, kind and metadata.name", key)
		}
	}
	if text(at(o, "metadata"), "name") == "" {
		return fmt.Errorf("metadata.name of this %s is missing: give it a name", text(o, "kind"))
	}
	return nil
}

func (r *reader) value(node *yaml.Node) (any, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.within > 0 {
		r.aliased++
	}
	switch {
	case r.aliased > mostAliased:
		return nil, fmt.Errorf("line %d: the YAML aliases expand to more than %d values: write the values out instead of using aliases", node.Line, mostAliased)
	case r.depth > deepestValue:
		return nil, fmt.Errorf("line %d: values are nested more than %d deep: check whether a YAML alias contains itself", node.Line, deepestValue)
	}
	switch node.Kind {
	case yaml.DocumentNode:
		return r.value(node.Content[0])
	case yaml.AliasNode:
		r.within++
		defer func() { r.within-- }()
		return r.value(node.Alias)
	case yaml.SequenceNode:
		return r.sequence(node)
	case yaml.MappingNode:
		return r.mapping(node)
	case yaml.ScalarNode:
		return scalar(node)
	}
	return nil, nil
}

func (r *reader) sequence(node *yaml.Node) (any, error) {
	list := make([]any, len(node.Content))
	for i, item := range node.Content {
		var err error
		if list[i], err = r.value(item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (r *reader) mapping(node *yaml.Node) (any, error) {
	out := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return nil, fmt.Errorf("line %d: a key is not a string: put quotes around it", key.Line)
		}
		if _, twice := out[key.Value]; twice {
			return nil, fmt.Errorf("line %d: the key %s occurs twice: remove one", key.Line, key.Value)
		}
		member, err := r.value(node.Content[i+1])
		if err != nil {
			return nil, err
		}
		out[key.Value] = member
	}
	return out, nil
}

const quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func scalar(node *yaml.Node) (any, error) {
	plain := node.Style&(quotes|yaml.TaggedStyle) == 0
	switch node.ShortTag() {
	case "!!str", "!!timestamp":
		if plain && strings.Contains(node.Value, "${") {
			return Plain(node.Value), nil
		}
		return node.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool", "!!int", "!!float":
		return number(node)
	}
	return nil, fmt.Errorf("line %d: the YAML type %s is not allowed in a Kubernetes object: write a string, a number or a boolean", node.Line, node.ShortTag())
}

func number(node *yaml.Node) (any, error) {
	var v any
	if err := node.Decode(&v); err != nil {
		return nil, fmt.Errorf("line %d: %w", node.Line, err)
	}
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case uint64: // the decoders of Kubernetes do the same
		return float64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("line %d: %s cannot be written as a number in JSON: put quotes around it, or write a finite number", node.Line, node.Value)
		}
	}
	return v, nil
}

// Encode returns documents as one YAML stream. Equal documents give equal bytes.
func Encode(all []Document) ([]byte, error) {
	var out bytes.Buffer
	for i, d := range all {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := d.YAML()
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// YAML returns one document as YAML, with sorted keys.
func (d Document) YAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(node(d.Object)); err != nil {
		return nil, fmt.Errorf("writing %s: %w", d.ID(), err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("writing %s: %w", d.ID(), err)
	}
	return out.Bytes(), nil
}

func node(value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			n.Content = append(n.Content, textNode(key), node(value[key]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range value {
			n.Content = append(n.Content, node(item))
		}
		return n
	case string:
		return textNode(value)
	case Plain:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(value)}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(value)}
	case float64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: float(value)}
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(value)}
}

func float(value float64) string {
	out := strconv.FormatFloat(value, 'g', -1, 64)
	if !strings.ContainsAny(out, ".e") {
		out += ".0"
	}
	return out
}

// sexagesimal and oldBools are texts that a reader of YAML 1.1 would mistake for a number or a bool.
var (
	sexagesimal = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
	oldBools    = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "="}
)

func textNode(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	switch {
	case strings.Contains(value, "\n"):
		n.Style = yaml.DoubleQuotedStyle
		if block(value) {
			n.Style = yaml.LiteralStyle
		}
	case strings.Contains(value, "${"), sexagesimal.MatchString(value), slices.Contains(oldBools, strings.ToLower(value)), value == "<<":
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// block reports whether a text may be written as a literal block. White space at its beginning would change the block's indentation, and white space at the end
// of a line would get lost.
func block(value string) bool {
	if strings.ContainsAny(value[:1], " \t\n") || strings.HasSuffix(value, "\n\n") {
		return false
	}
	for _, r := range value {
		if r != '\n' && !unicode.IsPrint(r) {
			return false
		}
	}
	return !strings.Contains(value, " \n") && !strings.HasSuffix(value, " ")
}
