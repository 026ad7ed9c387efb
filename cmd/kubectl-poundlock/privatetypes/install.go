// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package privatetypes

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/manifests/privatetypes"
)

// installOptions are the flags of install.
type installOptions struct {
	*cli.Plugin
	privatetypes.Options
	files       []string
	fromCluster bool
	caBundle    string
	takeOver    bool
	dryRun      string
}

func newInstall(p *cli.Plugin) *cobra.Command {
	o := &installOptions{Plugin: p}
	cmd := &cobra.Command{
		Use:   "install -f FILE|DIR… --upstream SUFFIX=URL…",
		Short: "Create the private twins of standard CustomResourceDefinitions, and the conversion shim",
		Long: `Create the private twins of standard CustomResourceDefinitions, and the conversion shim that converts their versions.

The definitions come from files (--filename), as Cluster API and its providers publish them, or from the cluster (--from-cluster).
Run the same command again to upgrade what install created. install never changes a standard definition, and ends once the API server serves the
private definitions.`,
		Example: `  kubectl poundlock private-types install -f ~/cluster-api/config/crd/bases -f ~/capa/config/crd/bases \
    --image REGISTRY/poundlock:TAG --upstream cluster.x-k8s.io=https://capi-webhook-service.capi-system.svc/convert \
    --upstream infrastructure.cluster.x-k8s.io=https://capa-webhook-service.capa-system.svc/convert

  # What would be applied?
  kubectl poundlock private-types install -f crds/ --image … --upstream … --dry-run=client`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "filename", "f", nil,
		"Read definitions from this file, folder (with its subfolders), or - for standard input. This flag may be repeated (none)")
	f.BoolVar(&o.fromCluster, "from-cluster", false,
		"Take the standard definitions that the cluster has. They may be the platform's, in a version that your controllers do not know (false)")
	f.StringArrayVar(&o.Upstreams, "upstream", nil,
		"SUFFIX=URL: the shim converts SUFFIX and all groups that end in .SUFFIX with the webhook at URL. This flag may be repeated (none)")
	f.StringVar(&o.Image, "image", "poundlock:unset", "Run the shim from this image")
	f.StringArrayVar(&o.Clients, "client", nil, "Give this ServiceAccount, NAMESPACE/NAME, all rights on the private types. This flag may be repeated (none)")
	f.StringVar(&o.URL, "shim-url", "", "Have the API server call a shim at this URL, and install no shim (none)")
	f.StringVar(&o.caBundle, "ca-bundle", "", "Trust a shim whose certificate this file's CA has signed (OpenShift's service CA)")
	f.BoolVar(&o.takeOver, "take-over", false, "Also change private definitions that something else created (false)")
	cli.AddDryRunFlag(cmd, &o.dryRun, "client: print the objects; server: have the API server try each write; none")
	return cmd
}

// run applies the shim first and the definitions last, because reads of an upgraded definition need the shim.
func (o *installOptions) run(ctx context.Context) error {
	if err := cli.CheckDryRun(o.dryRun); err != nil {
		return err
	}
	if (len(o.files) == 0) == !o.fromCluster {
		return cli.Usagef("give either --filename FILE|DIR or --from-cluster, to name the source of the definitions")
	}
	o.Namespace = namespaceOf(o.Plugin)
	if o.caBundle != "" {
		ca, err := os.ReadFile(o.caBundle)
		if err != nil {
			return cli.Usagef("--ca-bundle: %v", err)
		}
		o.CABundle = ca
	}
	var client dynamic.Interface
	if o.dryRun != "client" || o.fromCluster {
		var err error
		if client, err = o.Client(nil); err != nil {
			return err
		}
	}
	standard, err := o.standardDefinitions(ctx, client)
	if err != nil {
		return err
	}
	all, err := o.objects(standard)
	if err != nil {
		return err
	}
	if err := o.migrate(ctx, client, all); err != nil {
		return err
	}
	if o.dryRun == "client" {
		for _, object := range all {
			text, err := yaml.Marshal(object.Object)
			if err != nil {
				return err
			}
			fmt.Fprintf(o.Out, "---\n%s", text)
		}
		return nil
	}
	if err := o.place(ctx, client); err != nil {
		return err
	}
	if err := o.mine(ctx, client, all); err != nil {
		return err
	}
	for _, object := range all {
		if err := o.apply(ctx, client, object); err != nil {
			return err
		}
	}
	if o.dryRun == "server" {
		return nil
	}
	return o.served(ctx, all)
}

// served waits until the API server has all definitions in discovery. A controller that starts before that finds no such kind, and exits.
func (o *installOptions) served(ctx context.Context, all []*unstructured.Unstructured) error {
	config, err := o.RESTConfig(nil)
	if err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	missing := ""
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		missing = unserved(found, all)
		return missing == "", nil
	})
	if wait.Interrupted(err) {
		return cli.Exit(cli.CodeTimeout, fmt.Sprintf(
			"everything was applied, but the API server does not serve %s yet. To see why: kubectl get crd %[1]s -o yaml", missing))
	}
	return err
}

// unserved returns the name of the first definition that is not in discovery; "" if all are.
func unserved(found discovery.DiscoveryInterface, all []*unstructured.Unstructured) string {
	lists := map[string]*metav1.APIResourceList{}
	for _, o := range all {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if o.GetKind() != "CustomResourceDefinition" || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, crd) != nil {
			continue
		}
		for _, v := range crd.Spec.Versions {
			at := crd.Spec.Group + "/" + v.Name
			if lists[at] == nil {
				lists[at], _ = found.ServerResourcesForGroupVersion(at)
			}
			if v.Served && (lists[at] == nil ||
				!slices.ContainsFunc(lists[at].APIResources, func(r metav1.APIResource) bool { return r.Name == crd.Spec.Names.Plural })) {
				return crd.Name
			}
		}
	}
	return ""
}

// standardDefinitions reads the standard definitions, from which the private ones are made.
func (o *installOptions) standardDefinitions(ctx context.Context, client dynamic.Interface) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	if o.fromCluster {
		list, err := client.Resource(definitions).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			found = append(found, &list.Items[i])
		}
		fmt.Fprintln(o.ErrOut,
			"Warning: the cluster's definitions may be the platform's. Check that your controllers know these versions, or use "+
				"--filename with the definitions of your controllers' release.")
	}
	for _, name := range o.files {
		texts, err := manifestsAt(o.Plugin, name)
		if err != nil {
			return nil, err
		}
		for file, text := range texts {
			objects, err := privatetypes.Parse(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			found = append(found, objects...)
		}
	}
	found = slices.DeleteFunc(found, func(o *unstructured.Unstructured) bool { return !privatetypes.Standard(o) })
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	for i := 1; i < len(found); i++ {
		if found[i].GetName() == found[i-1].GetName() {
			return nil, cli.Usagef("the definition %s is given twice", found[i].GetName())
		}
	}
	if len(found) == 0 {
		return nil, cli.Exit(cli.CodeNo, "no CustomResourceDefinition of the group cluster.x-k8s.io or *.cluster.x-k8s.io was found: nothing was changed")
	}
	return found, nil
}

// objects returns all objects of an installation, in the order in which they are applied.
func (o *installOptions) objects(standard []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	all, err := privatetypes.Objects(o.Options)
	if err != nil {
		return nil, cli.Usagef("%v", err)
	}
	converted, without := false, []string(nil)
	for _, s := range standard {
		private, err := privatetypes.Definition(s, o.Options)
		if err != nil {
			return nil, err
		}
		if strategy, _, _ := unstructured.NestedString(private.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
			converted = true
		}
		if privatetypes.WithoutContract(private) {
			without = append(without, private.GetName())
		}
		all = append(all, private)
	}
	if converted && o.URL == "" && len(o.Upstreams) == 0 {
		return nil, cli.Usagef("these definitions have several versions, so the API server needs a converter. Name one: " +
			"--upstream cluster.x-k8s.io=https://SERVICE.NAMESPACE.svc/convert")
	}
	if !converted && o.URL == "" && len(o.Upstreams) == 0 { // a shim without upstreams does not start
		all = slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	}
	if len(without) > 0 {
		fmt.Fprintf(o.ErrOut,
			"Warning: %s: no label names a contract of Cluster API, so Cluster API's core manager will not find the versions: "+
				"add the label cluster.x-k8s.io/v1beta2=VERSION to the definitions, as the provider's release has it.\n",
			strings.Join(without, ", "))
	}
	return all, nil
}

// migrate gives the clients' ClusterRole the right to write into the definitions of this and of former installations, as privatetypes.Migrate explains.
func (o *installOptions) migrate(ctx context.Context, client dynamic.Interface, all []*unstructured.Unstructured) error {
	var names []string
	for _, object := range all {
		if object.GetKind() == "CustomResourceDefinition" {
			names = append(names, object.GetName())
		}
	}
	if o.dryRun != "client" {
		earlier, err := client.Resource(definitions).List(ctx, metav1.ListOptions{LabelSelector: privatetypes.PartOf + "=" + privatetypes.Name})
		if err != nil {
			return fmt.Errorf("listing definitions: %w", err)
		}
		for _, d := range earlier.Items {
			names = append(names, d.GetName())
		}
	}
	return privatetypes.Migrate(all, names)
}

// place returns an error if the namespace does not exist, before half of an installation is applied.
func (o *installOptions) place(ctx context.Context, client dynamic.Interface) error {
	_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(ctx, o.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return cli.Exit(cli.CodeNo, fmt.Sprintf(
			"the namespace %s does not exist. Nothing was changed. Create it, or name another with -n: kubectl create namespace %[1]s", o.Namespace))
	}
	return nil // a user who may not read namespaces may still write into this one
}

// mine returns an error if another program has created one of the definitions, unless --take-over is given.
func (o *installOptions) mine(ctx context.Context, client dynamic.Interface, all []*unstructured.Unstructured) error {
	for _, object := range all {
		if object.GetKind() != "CustomResourceDefinition" || o.takeOver {
			continue
		}
		is, err := client.Resource(definitions).Get(ctx, object.GetName(), metav1.GetOptions{})
		if err == nil && is.GetLabels()[privatetypes.PartOf] != privatetypes.Name {
			return cli.Exit(cli.CodeNo, fmt.Sprintf("the definition %s exists, and this command did not create it. Nothing was changed. "+
				"To change this definition all the same: --take-over",
				is.GetName()))
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// resourceOf returns the client for an object's resource, the object's name in messages, and whether a cluster may lack the kind.
func resourceOf(client dynamic.Interface, o *unstructured.Unstructured) (at dynamic.ResourceInterface, name string, optional bool) {
	if o.GetKind() == "CustomResourceDefinition" {
		return client.Resource(definitions), "customresourcedefinition/" + o.GetName(), false
	}
	for _, kind := range privatetypes.Kinds {
		if kind.GroupVersionKind != o.GroupVersionKind() {
			continue
		}
		resource := client.Resource(kind.GroupVersionKind.GroupVersion().WithResource(kind.Resource))
		if !kind.Namespaced {
			return resource, strings.ToLower(o.GetKind()) + "/" + o.GetName(), kind.Optional
		}
		return resource.Namespace(o.GetNamespace()), strings.ToLower(o.GetKind()) + "/" + o.GetName(), kind.Optional
	}
	return nil, "", false
}

func (o *installOptions) apply(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured) error {
	at, name, optional := resourceOf(client, object)
	if at == nil {
		return fmt.Errorf("%s %s: this command does not know the resource of this kind", object.GetKind(), object.GetName())
	}
	options, done := metav1.ApplyOptions{FieldManager: privatetypes.Name, Force: true}, "applied"
	if o.dryRun == "server" {
		options.DryRun, done = []string{metav1.DryRunAll}, "applied (server dry run)"
	}
	_, err := at.Apply(ctx, object.GetName(), object, options)
	switch {
	case err == nil:
		fmt.Fprintf(o.Out, "%s %s\n", name, done)
	case optional && (apierrors.IsNotFound(err) || meta.IsNoMatchError(err)):
		fmt.Fprintf(o.Out, "%s left out: this cluster does not serve the kind\n", name)
	default:
		return fmt.Errorf("applying %s: %w", name, err)
	}
	return nil
}
