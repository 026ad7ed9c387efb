// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubectl/pkg/cmd/get"
)

// documentVersion is the apiVersion of output for programs. The fields of such output keep their names and meanings.
const documentVersion = "cli.poundlock.openshift.io/v1"

// OutputFlags are -o and the flags that depend on it.
type OutputFlags struct {
	Format    string
	NoHeaders bool
	SortBy    string

	known    []string
	template *genericclioptions.KubeTemplatePrintFlags
	columns  *get.CustomColumnsPrintFlags
}

// AddFlags adds -o with the known formats, and with kubectl's templates and columns. The first known format is the default.
func (o *OutputFlags) AddFlags(cmd *cobra.Command, known ...string) {
	o.known, o.template, o.columns = known, genericclioptions.NewKubeTemplatePrintFlags(), get.NewCustomColumnsPrintFlags()
	names := slices.Concat(known, o.templates())
	cmd.Flags().StringVarP(&o.Format, "output", "o", known[0], "write the output as one of "+strings.Join(names, ", "))
	o.template.AddFlags(cmd)
	CompleteFlag(cmd, "output", names...)
}

// AddTableFlags adds the flags of tables of objects.
func (o *OutputFlags) AddTableFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.NoHeaders, "no-headers", false, "leave out the headings of tables and of custom columns")
	cmd.Flags().StringVar(&o.SortBy, "sort-by", "", "sort the objects by a field of -o json, such as .name")
}

func (o *OutputFlags) templates() []string {
	return slices.Concat(o.template.AllowedFormats(), o.columns.AllowedFormats())
}

// Check returns an error for an unknown format.
func (o *OutputFlags) Check() error {
	if slices.Contains(o.known, o.Format) {
		return nil
	}
	if name, _, _ := strings.Cut(o.Format, "="); !slices.Contains(o.templates(), name) {
		return Usagef("--output %q: give one of %s", o.Format, strings.Join(slices.Concat(o.known, o.templates()), ", "))
	}
	if _, err := o.printer(); err != nil {
		return Usagef("--output %q: %v", o.Format, err)
	}
	return nil
}

// printer returns the printer of a format for programs; nil for a format for people.
func (o *OutputFlags) printer() (printers.ResourcePrinter, error) {
	switch name, _, _ := strings.Cut(o.Format, "="); {
	case o.Format == "json":
		return &printers.JSONPrinter{}, nil
	case o.Format == "yaml":
		return &printers.YAMLPrinter{}, nil
	case slices.Contains(o.columns.AllowedFormats(), name):
		o.columns.NoHeaders, o.columns.TemplateArgument = o.NoHeaders, *o.template.TemplateArgument
		return o.columns.ToPrinter(o.Format)
	case slices.Contains(o.template.AllowedFormats(), name):
		return o.template.ToPrinter(o.Format)
	}
	return nil, nil
}

// lists are the names that the list in a document may have. Custom columns are read from each item of that list.
var lists = []string{"objects", "items", "rows"}

// Document writes a value in a format for programs. done is false if the format is for people. Custom columns apply to the items of the value's list, if it has
// one.
func (p *Plugin) Document(o OutputFlags, kind string, value any) (done bool, err error) {
	printer, err := o.printer()
	if printer == nil || err != nil {
		return err != nil, err
	}
	content, err := contentOf(value)
	if err != nil {
		return true, err
	}
	if content["apiVersion"] == nil {
		content["apiVersion"], content["kind"] = documentVersion, kind
	}
	var document runtime.Object = &unstructured.Unstructured{Object: content}
	if strings.HasPrefix(o.Format, "custom-columns") {
		if at := slices.IndexFunc(lists, func(member string) bool { _, has := content[member]; return has }); at >= 0 {
			items, _ := content[lists[at]].([]any) // null is an empty list
			document = listOf(items)
		}
	}
	return true, printer.PrintObj(document, p.Out)
}

// Stream writes a value as one of several documents, each on its own line.
func (p *Plugin) Stream(kind string, value any) error {
	content, err := contentOf(value)
	if err != nil {
		return err
	}
	content["apiVersion"], content["kind"] = documentVersion, kind
	return json.NewEncoder(p.Out).Encode(content)
}

func contentOf(value any) (map[string]any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	u := map[string]any{}
	if strings.HasPrefix(string(raw), "[") {
		var items []any
		err = json.Unmarshal(raw, &items)
		u["items"] = items
		return u, err
	}
	return u, json.Unmarshal(raw, &u)
}

func listOf(objects []any) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, o := range objects {
		if content, ok := o.(map[string]any); ok {
			list.Items = append(list.Items, unstructured.Unstructured{Object: content})
		}
	}
	return list
}

// Sorted sorts objects by a field, as kubectl does.
func Sorted[T any](o OutputFlags, objects []T) ([]T, error) {
	if o.SortBy == "" || len(objects) < 2 {
		return objects, nil
	}
	field, err := get.RelaxedJSONPathExpression(o.SortBy)
	if err != nil {
		return nil, Usagef("--sort-by %q: %v", o.SortBy, err)
	}
	var all []runtime.Object
	for _, one := range objects {
		content, err := contentOf(one)
		if err != nil {
			return nil, err
		}
		all = append(all, &unstructured.Unstructured{Object: content})
	}
	order, err := get.SortObjects(scheme.Codecs.UniversalDecoder(), all, field)
	if err != nil {
		return nil, Usagef("--sort-by %q: %v", o.SortBy, err)
	}
	out := make([]T, 0, len(objects))
	for i := range objects {
		out = append(out, objects[order.OriginalPosition(i)])
	}
	return out, nil
}

// Headless returns the rows of a table without the headings, if --no-headers was given.
func (o *OutputFlags) Headless(rows [][]string) [][]string {
	if o.NoHeaders && len(rows) > 0 {
		return rows[1:]
	}
	return rows
}
