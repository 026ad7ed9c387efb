// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package privatetypes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/manifests/privatetypes"
	"github.com/poundlock/poundlock/translation"
)

func newStatus(p *cli.Plugin) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the private types: versions, converter, objects, and whether the platform has their standard twin",
		Long: `Show the private types: versions (the stored one with a *), converter, objects, and whether the platform has their standard twin.

Exit code 3 means that a definition is not established, that its converter is not trusted, or that no shim is ready.`,
		Example: `  kubectl poundlock private-types status`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return status(cmd.Context(), p) },
	}
}

// privateType is a definition of a private group, and its state.
type privateType struct {
	apiextensionsv1.CustomResourceDefinition
	object  *unstructured.Unstructured
	mine    bool
	twin    bool // the cluster has the standard definition, too
	objects int64
	unknown error // why objects could not be counted
}

// privateTypes reads all definitions of private groups.
func privateTypes(ctx context.Context, client dynamic.Interface) ([]privateType, error) {
	list, err := client.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing definitions: %w", err)
	}
	there := map[string]bool{}
	for _, o := range list.Items {
		there[o.GetName()] = true
	}
	var out []privateType
	for i := range list.Items {
		o := &list.Items[i]
		standard := translation.ToStandard.Definition(o.GetName())
		if standard == o.GetName() {
			continue
		}
		t := privateType{object: o, mine: o.GetLabels()[privatetypes.PartOf] == privatetypes.Name, twin: there[standard]}
		o.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &t.CustomResourceDefinition); err != nil {
			return nil, fmt.Errorf("reading %s: %w", o.GetName(), err)
		}
		t.objects, t.unknown = t.count(ctx, client)
		out = append(out, t)
	}
	return out, nil
}

// count returns how many objects of the type exist. It lists one object in the stored version, which needs no converter, and reads how many remain.
func (t *privateType) count(ctx context.Context, client dynamic.Interface) (int64, error) {
	at := client.Resource(schema.GroupVersionResource{Group: t.Spec.Group, Version: t.stored(), Resource: t.Spec.Names.Plural})
	list, err := at.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	return int64(len(list.Items)) + ptr.Deref(list.GetRemainingItemCount(), 0), nil
}

func (t *privateType) stored() string {
	for _, v := range t.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

func (t *privateType) versions() string {
	var out []string
	for _, v := range t.Spec.Versions {
		switch {
		case v.Storage:
			out = append(out, v.Name+"*")
		case v.Served:
			out = append(out, v.Name)
		}
	}
	return strings.Join(out, ",")
}

// converter returns a description of the type's converter, and what is wrong with the converter.
func (t *privateType) converter() (text, problem string) {
	c := t.Spec.Conversion
	if c == nil || c.Strategy != apiextensionsv1.WebhookConverter || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		if len(t.Spec.Versions) > 1 {
			return "none", "the definition has several versions and no converter"
		}
		return "none", ""
	}
	config := c.Webhook.ClientConfig
	if len(config.CABundle) == 0 {
		problem = "the definition has no CA for its converter yet"
	}
	if config.Service != nil {
		return config.Service.Namespace + "/" + config.Service.Name, problem
	}
	return ptr.Deref(config.URL, ""), problem
}

// problems returns the reasons why requests for the type fail.
func (t *privateType) problems() []string {
	var out []string
	established := false
	for _, c := range t.Status.Conditions {
		switch {
		case c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue:
			established = true
		case c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse:
			out = append(out, c.Message)
		}
	}
	if !established && len(out) == 0 {
		out = append(out, "the definition is not established")
	}
	if _, problem := t.converter(); problem != "" {
		out = append(out, problem)
	}
	if t.unknown != nil {
		out = append(out, t.unknown.Error())
	}
	return out
}

func status(ctx context.Context, p *cli.Plugin) error {
	client, err := p.Client(nil)
	if err != nil {
		return err
	}
	types, err := privateTypes(ctx, client)
	if err != nil {
		return err
	}
	out := p.Printer()
	if len(types) == 0 {
		out.Linef("There are no private types in this cluster. To install them: kubectl poundlock private-types install")
		return cli.Exit(cli.CodeNo, "")
	}
	rows, problems, shim := [][]string{{"NAME", "VERSIONS", "CONVERTER", "OBJECTS", "PLATFORM'S TWIN"}}, []string(nil), false
	for _, t := range types {
		converter, _ := t.converter()
		shim = shim || t.Spec.Conversion != nil && t.Spec.Conversion.Webhook != nil && t.Spec.Conversion.Webhook.ClientConfig.Service != nil
		objects, twin := fmt.Sprint(t.objects), "no"
		if t.unknown != nil {
			objects = "?"
		}
		if t.twin {
			twin = "yes, hidden from clients"
		}
		rows = append(rows, []string{t.Name, t.versions(), converter, objects, twin})
		for _, problem := range t.problems() {
			problems = append(problems, t.Name+": "+problem)
		}
	}
	out.Table(rows)
	if shim {
		text, err := shimState(ctx, p, client)
		switch {
		case errors.Is(err, errNotReady):
			problems = append(problems, "the conversion shim: "+text)
		case err != nil:
			return err
		default:
			out.Linef("Conversion shim: %s.", text)
		}
	}
	for _, problem := range problems {
		out.Linef("%s %s.", out.Red("Problem:"), problem)
	}
	if len(problems) > 0 {
		return cli.Exit(cli.CodeNo, "")
	}
	return nil
}

var errNotReady = errors.New("not ready")

// shimState returns how many replicas of the shim are ready, in words.
func shimState(ctx context.Context, p *cli.Plugin, client dynamic.Interface) (string, error) {
	d, err := client.Resource(presence.Deployments).Namespace(namespaceOf(p)).Get(ctx,
		privatetypes.Shim, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "not installed in namespace " + namespaceOf(p), errNotReady
	}
	if err != nil {
		return "", err
	}
	ready, _, _ := unstructured.NestedInt64(d.Object, "status", "readyReplicas")
	wanted, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
	text := fmt.Sprintf("%d of %d replicas are ready", ready, wanted)
	if ready == 0 {
		return text, errNotReady
	}
	return text, nil
}
