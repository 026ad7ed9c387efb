// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package privatetypes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/manifests/privatetypes"
)

// uninstallOptions are the flags of uninstall.
type uninstallOptions struct {
	*cli.Plugin
	dryRun string
	yes    bool
}

func newUninstall(p *cli.Plugin) *cobra.Command {
	o := &uninstallOptions{Plugin: p}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Delete the private definitions and the shim, unless objects of these definitions are left",
		Long: `Delete the private definitions and the shim, unless objects of these definitions are left:
the API server would delete the objects with the definitions, and the objects' controllers would then terminate the machines.

uninstall deletes only what install created.`,
		Example: `  kubectl poundlock private-types uninstall`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "Do not ask for a confirmation (false)")
	cli.AddDryRunFlag(cmd, &o.dryRun, "client: print what would be deleted; server: have the API server try each write; none")
	return cmd
}

// run deletes definitions first, because each may need the shim until it is deleted.
func (o *uninstallOptions) run(ctx context.Context) error {
	if err := cli.CheckDryRun(o.dryRun); err != nil {
		return err
	}
	client, err := o.Client(nil)
	if err != nil {
		return err
	}
	types, err := privateTypes(ctx, client)
	if err != nil {
		return err
	}
	var left []string
	for _, t := range types {
		switch {
		case t.unknown != nil:
			return fmt.Errorf("listing objects of %s: %w. Nothing was changed", t.Name, t.unknown)
		case t.objects > 0:
			left = append(left, fmt.Sprintf("%s (%d)", t.Name, t.objects))
		}
	}
	if len(left) > 0 {
		return cli.Exit(cli.CodeNo, "there are still objects of "+strings.Join(left, ", ")+". Nothing was changed. Delete them first, while their controllers run")
	}
	installed, err := o.installed(ctx, client, types)
	if err != nil {
		return err
	}
	for _, i := range installed {
		_, name, _ := resourceOf(client, i)
		if o.dryRun == "client" || o.dryRun == "none" && !o.yes {
			fmt.Fprintf(o.Out, "%s is to be deleted\n", name)
		}
	}
	if len(installed) == 0 {
		fmt.Fprintln(o.Out, "Nothing is installed.")
	}
	if o.dryRun == "client" || len(installed) == 0 {
		return nil
	}
	if o.dryRun == "none" {
		if err := o.Confirm(ctx, o.yes, "Delete these objects?"); err != nil {
			return err
		}
	}
	for _, i := range installed {
		if err := o.remove(ctx, client, i); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object. For a definition it waits until the definition is gone: the API server first lists the definition's objects, and may need the shim
// for that.
func (o *uninstallOptions) remove(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured) error {
	at, name, _ := resourceOf(client, object)
	uid := object.GetUID()
	options, done := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}, "deleted"
	dry := o.dryRun == "server"
	if dry {
		options.DryRun, done = []string{metav1.DryRunAll}, "deleted (server dry run)"
	}
	if err := at.Delete(ctx, object.GetName(), options); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", name, err)
	}
	if !dry && object.GetKind() == "CustomResourceDefinition" {
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := at.Get(ctx, object.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			return cli.Exit(cli.CodeTimeout, name+" is still being deleted. Run the same command again later")
		}
	}
	fmt.Fprintf(o.Out, "%s %s\n", name, done)
	return nil
}

// installed returns the existing objects that install has created, the definitions first.
func (o *uninstallOptions) installed(ctx context.Context, client dynamic.Interface, types []privateType) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, t := range types {
		if t.mine {
			out = append(out, t.object)
		}
	}
	selector := metav1.ListOptions{LabelSelector: privatetypes.PartOf + "=" + privatetypes.Name}
	for _, kind := range slices.Backward(privatetypes.Kinds) {
		var at dynamic.ResourceInterface = client.Resource(kind.GroupVersionKind.GroupVersion().WithResource(kind.Resource))
		if kind.Namespaced {
			at = client.Resource(kind.GroupVersionKind.GroupVersion().WithResource(kind.Resource)).Namespace(namespaceOf(o.Plugin))
		}
		list, err := at.List(ctx, selector)
		switch {
		case err == nil:
		case kind.Optional && apierrors.IsNotFound(err):
			continue
		default:
			return nil, fmt.Errorf("listing %s: %w", kind.Resource, err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind.GroupVersionKind)
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}
