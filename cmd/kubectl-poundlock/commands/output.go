// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

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

// documentVersion is the apiVersion of what programs read. A field of it keeps its name and its meaning.
const documentVersion = "cli.poundlock.openshift.io/v1"

// output is -o, and what belongs to it.
type output struct {
	format    string
	noHeaders bool
	sortBy    string

	known    []string
	template *genericclioptions.KubeTemplatePrintFlags
	columns  *get.CustomColumnsPrintFlags
}

// bind adds -o. Where it knows json, it takes kubectl's templates and columns too.
func (o *output) bind(cmd *cobra.Command, known ...string) {
	o.known, o.template, o.columns = known, genericclioptions.NewKubeTemplatePrintFlags(), get.NewCustomColumnsPrintFlags()
	names := slices.Concat(known, o.templates())
	cmd.Flags().StringVarP(&o.format, "output", "o", known[0], "write it as one of "+strings.Join(names, ", "))
	o.template.AddFlags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// bindTable adds the flags of tables of objects.
func (o *output) bindTable(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "leave out the headings of tables and of custom columns")
	cmd.Flags().StringVar(&o.sortBy, "sort-by", "", "sort the objects by a field of -o json, such as .name")
}

func (o *output) templates() []string {
	return slices.Concat(o.template.AllowedFormats(), o.columns.AllowedFormats())
}

func (o *output) check() error {
	if slices.Contains(o.known, o.format) {
		return nil
	}
	if name, _, _ := strings.Cut(o.format, "="); !slices.Contains(o.templates(), name) {
		return usage("--output %q: want one of %s", o.format, strings.Join(slices.Concat(o.known, o.templates()), ", "))
	}
	if _, err := o.printer(); err != nil {
		return usage("--output %q: %v", o.format, err)
	}
	return nil
}

// printer is nil for the formats that people read.
func (o *output) printer() (printers.ResourcePrinter, error) {
	switch name, _, _ := strings.Cut(o.format, "="); {
	case o.format == "json":
		return &printers.JSONPrinter{}, nil
	case o.format == "yaml":
		return &printers.YAMLPrinter{}, nil
	case slices.Contains(o.columns.AllowedFormats(), name):
		o.columns.NoHeaders, o.columns.TemplateArgument = o.noHeaders, *o.template.TemplateArgument
		return o.columns.ToPrinter(o.format)
	case slices.Contains(o.template.AllowedFormats(), name):
		return o.template.ToPrinter(o.format)
	}
	return nil, nil
}

// document writes a value for programs; done is false for the formats that people read. Columns are of its objects, where it has some.
func (p *plugin) document(o output, kind string, value any) (done bool, err error) {
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
	if objects, has := content["objects"].([]any); has && strings.HasPrefix(o.format, "custom-columns") {
		document = listOf(objects)
	}
	return true, printer.PrintObj(document, p.Out)
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

// sorted puts objects into the order of a field, as kubectl does.
func sorted[T any](o output, objects []T) ([]T, error) {
	if o.sortBy == "" || len(objects) < 2 {
		return objects, nil
	}
	field, err := get.RelaxedJSONPathExpression(o.sortBy)
	if err != nil {
		return nil, usage("--sort-by %q: %v", o.sortBy, err)
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
		return nil, usage("--sort-by %q: %v", o.sortBy, err)
	}
	out := make([]T, 0, len(objects))
	for i := range objects {
		out = append(out, objects[order.OriginalPosition(i)])
	}
	return out, nil
}

// headless takes the headings off a table.
func (o *output) headless(rows [][]string) [][]string {
	if o.noHeaders && len(rows) > 0 {
		return rows[1:]
	}
	return rows
}
