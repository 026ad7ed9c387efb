// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// pageSize is the largest number of objects in one answer of the API server.
const pageSize = 250

// infrastructures is the resource of OpenShift's Infrastructure, which describes the cluster's platform. Its only object is named cluster.
var infrastructures = schema.GroupVersionResource{Group: configGroup, Version: "v1", Resource: "infrastructures"}

// definitions is the resource of CustomResourceDefinitions.
var definitions = schema.GroupVersionResource{Group: apiextensionsv1.GroupName, Version: "v1", Resource: "customresourcedefinitions"}

// controlPlaneMachineSets is the resource of ControlPlaneMachineSets, in the version of the Machine API's group that has it.
var controlPlaneMachineSets = machinev1.GroupVersion.WithResource(controlplane.Resource)

// clusterAPIManager is the name of the Deployment of Cluster API's core manager in OpenShift.
const clusterAPIManager = "capi-controller-manager"

// Query describes what to read of a cluster.
type Query struct {
	Pairs authority.Pairs
	// Kinds restricts the query to these kinds; nil: all kinds.
	Kinds []authority.Kind
	// Parents also reads the kinds that own the requested ones, if the user may read them. Their objects are in Fleet.Beside.
	Parents bool
	// Sets also reads the ControlPlaneMachineSets.
	Sets bool
	// BootData also looks for the Secrets of boot data that objects need in Cluster API's namespace.
	BootData bool
	// WithoutInfrastructure reads a cluster without its Infrastructure, which is an error otherwise. Nothing converts then.
	WithoutInfrastructure bool
	// Selector applies to the labels of the Machine API object, or of the Cluster API object if there is no Machine API object; nil: all.
	Selector labels.Selector
}

func (q Query) kinds() []authority.Kind {
	if q.Kinds == nil {
		return authority.Kinds()
	}
	return q.Kinds
}

// parents returns the kinds that own the requested ones, except those that are requested themselves.
func (q Query) parents() []authority.Kind {
	var out []authority.Kind
	for _, kind := range q.kinds() {
		named := func(k authority.Kind) bool { return k.Name == kind.Parent }
		if parent, owned := authority.KindNamed(kind.Parent); q.Parents && owned && !slices.ContainsFunc(slices.Concat(q.kinds(), out), named) {
			out = append(out, parent)
		}
	}
	return out
}

// FromCluster lists what the query requests, in pages. It gets single objects only for facts about the cluster: the Infrastructure, the cloud provider's
// configuration, Cluster API's manager, Clusters, remediation templates, the policies of OpenShift's own migration, and the definitions of kinds that are not
// served.
func FromCluster(ctx context.Context, client dynamic.Interface, q Query) (*Fleet, error) {
	c := newCollection(q.Pairs)
	c.withoutInfrastructure = q.WithoutInfrastructure
	if err := c.infrastructure(ctx, client); err != nil {
		return nil, err
	}
	for _, pair := range q.Pairs {
		if err := c.namespacesOf(ctx, client, pair, q.kinds()); err != nil {
			return nil, err
		}
		if err := c.owners(ctx, client, pair, q.parents()); err != nil {
			return nil, err
		}
		if err := c.others(ctx, client, pair, q.kinds()); err != nil {
			return nil, err
		}
		if q.BootData {
			c.bootData(ctx, client, pair)
		}
		if !q.Sets {
			continue
		}
		if err := c.list(ctx, client, controlPlaneMachineSets, pair.MachineAPI); err != nil {
			return nil, err
		}
	}
	f := c.done()
	f.Narrow(q.Matches)
	return f, nil
}

func (c *collection) infrastructure(ctx context.Context, client dynamic.Interface) error {
	u, err := client.Resource(infrastructures).Get(ctx, "cluster", metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !c.withoutInfrastructure {
		return NotReadyError{environment.NoInfrastructure}
	}
	for _, pair := range c.pairs {
		if c.nodeSync(ctx, client, pair) {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		c.fleet.NoInfrastructure = environment.NoInfrastructure
		c.rival(ctx, client, &unstructured.Unstructured{})
		return nil
	}
	if apierrors.IsForbidden(err) {
		// Conversions need the Infrastructure. A user who has rights only in the two namespaces gets an answer without it.
		c.fleet.withheld = true
		c.rival(ctx, client, &unstructured.Unstructured{})
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the Infrastructure named cluster: %w", err)
	}
	c.account(ctx, client, u)
	c.rival(ctx, client, u)
	return c.take(u)
}

// rival records what runs of OpenShift's own migration. If the user may not read that, nothing is recorded.
func (c *collection) rival(ctx context.Context, client dynamic.Interface, infrastructure *unstructured.Unstructured) {
	var deployments []unstructured.Unstructured
	for _, pair := range c.pairs {
		if found, err := client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(pair.ClusterAPI).List(ctx,
			metav1.ListOptions{}); err == nil {
			deployments = append(deployments, found.Items...)
		}
	}
	var policies []string
	for _, name := range authority.RivalPolicies() {
		if _, err := client.Resource(admissionregistrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")).Get(ctx, name,
			metav1.GetOptions{}); err == nil {
			policies = append(policies, name)
		}
	}
	platform, _, _ := unstructured.NestedString(infrastructure.Object, "status", "platformStatus", "type")
	c.fleet.Rival = authority.Rival(platform, deployments, policies)
}

// bootData records which Secrets of boot data exist in Cluster API's namespace, of those that objects of Machine API need there (authority.BootSecret). If the
// user may not read Secrets, nothing is recorded.
func (c *collection) bootData(ctx context.Context, client dynamic.Interface, pair authority.Pair) {
	for _, p := range c.sides {
		name := types.NamespacedName{Namespace: pair.ClusterAPI, Name: authority.BootSecret(p.Kind.Name, p.MachineAPI)}
		if _, known := c.fleet.secrets[name]; known || name.Name == "" || p.Namespaces != pair {
			continue
		}
		_, err := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			c.fleet.secrets[name] = policies.Exists
		case apierrors.IsNotFound(err):
			c.fleet.secrets[name] = policies.Absent
		}
	}
}

// account reads the account from the cloud provider's configuration. If the user may not read that ConfigMap, the account may come from an instance's ID.
// Otherwise the conversion has no account.
func (c *collection) account(ctx context.Context, client dynamic.Interface, infrastructure *unstructured.Unstructured) {
	kind, _, _ := unstructured.NestedString(infrastructure.Object, "status", "platformStatus", "type")
	name, _, _ := unstructured.NestedString(infrastructure.Object, "spec", "cloudConfig", "name")
	key, _, _ := unstructured.NestedString(infrastructure.Object, "spec", "cloudConfig", "key")
	platform, ok := platforms.For(kind)
	if !ok || platform.Account == nil || name == "" {
		return
	}
	config, err := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(configNamespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return
	}
	text, _, _ := unstructured.NestedString(config.Object, "data", key)
	c.fleet.account = platform.Account(text)
}

// nodeSync reads the flags of OpenShift's Cluster API manager from its Deployment, and reports whether it could. If the user may not read the Deployment, or
// there is none, the conversion does without these flags.
func (c *collection) nodeSync(ctx context.Context, client dynamic.Interface, pair authority.Pair) (known bool) {
	u, err := client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(pair.ClusterAPI).Get(ctx, clusterAPIManager, metav1.GetOptions{})
	if err != nil {
		return false
	}
	var d appsv1.Deployment
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d) != nil {
		return false
	}
	for _, container := range d.Spec.Template.Spec.Containers {
		flags := pflag.NewFlagSet(container.Name, pflag.ContinueOnError)
		flags.ParseErrorsAllowlist.UnknownFlags = true
		labels := flags.StringSlice("additional-sync-machine-labels", nil, "")
		annotations := flags.StringSlice("additional-sync-machine-annotations", nil, "")
		gates := flags.StringSlice("feature-gates", nil, "")
		_ = flags.Parse(slices.Concat(container.Command, container.Args)) // unknown flags are ignored
		c.fleet.gates = Gates(c.fleet.gates, *gates)
		labelled, err := conversion.ParsePatterns(*labels)
		if err != nil {
			continue
		}
		annotated, err := conversion.ParsePatterns(*annotations)
		if err != nil {
			continue
		}
		c.fleet.nodeSync.Labels = append(c.fleet.nodeSync.Labels, labelled...)
		c.fleet.nodeSync.Annotations = append(c.fleet.nodeSync.Annotations, annotated...)
	}
	c.fleet.nodeSyncRead = true
	return true
}

// Gates returns the known feature gates with those of the texts added. Each text has a flag's form, Name=true. A gate whose value is neither true nor false is
// off.
func Gates(known map[string]bool, texts []string) map[string]bool {
	out := map[string]bool{}
	maps.Copy(out, known)
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		out[strings.TrimSpace(name)] = on && err == nil
	}
	return out
}

// owners lists the objects of the given owning kinds. Objects that the user may not list are left out.
func (c *collection) owners(ctx context.Context, client dynamic.Interface, pair authority.Pair, kinds []authority.Kind) error {
	for _, kind := range kinds {
		for namespace, resource := range map[string]schema.GroupVersionResource{
			pair.MachineAPI: kind.MachineAPI.WithResource(kind.Resource), pair.ClusterAPI: kind.ClusterAPI.WithResource(kind.Resource),
		} {
			if err := c.list(ctx, client, resource, namespace); err != nil && !apierrors.IsForbidden(err) {
				return err
			}
		}
	}
	return nil
}

func (c *collection) namespacesOf(ctx context.Context, client dynamic.Interface, pair authority.Pair, kinds []authority.Kind) error {
	for _, kind := range kinds {
		if err := c.list(ctx, client, kind.MachineAPI.WithResource(kind.Resource), pair.MachineAPI); err != nil {
			return err
		}
		if err := c.list(ctx, client, kind.ClusterAPI.WithResource(kind.Resource), pair.ClusterAPI); err != nil {
			return err
		}
	}
	c.guess()
	for _, resource := range c.fleet.providers(kinds) {
		if err := c.list(ctx, client, resource.Resource(), pair.ClusterAPI); err != nil {
			return err
		}
	}
	for _, resource := range c.fleet.instances(kinds) {
		// A user who may not list these objects gets an answer without them.
		if err := c.list(ctx, client, resource.Resource(), pair.ClusterAPI); apierrors.IsForbidden(err) {
			c.fleet.unlisted = append(c.fleet.unlisted, resource.Resource())
		} else if err != nil {
			return err
		}
	}
	c.definitions(ctx, client, kinds)
	c.masters(ctx, client, pair.ClusterAPI)
	c.remediations(ctx, client, pair)
	c.clusters(ctx, client, pair)
	return nil
}

// clusters reads each Cluster that the objects belong to, once, and records those that are paused. If an infrastructure cluster object must be created, it also
// records whether its Cluster exists, because that may be missing too. If the user may not read a Cluster, no pause is reported, and the command in the message
// creates both objects.
func (c *collection) clusters(ctx context.Context, client dynamic.Interface, pair authority.Pair) {
	c.fleet.listed = true
	own := c.lacksInfraCluster(pair.ClusterAPI)
	names := map[string]bool{own: true}
	for _, p := range c.sides {
		if p.Namespaces == pair {
			names[authority.ClusterOf(p.ClusterAPI)] = true
		}
	}
	delete(names, "")
	for name := range names {
		u, err := client.Resource(clusterv1.GroupVersion.WithResource("clusters")).Namespace(pair.ClusterAPI).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			continue
		}
		if name == own {
			c.fleet.clusters[pair.ClusterAPI] = true
		}
		if o, err := FromUnstructured(u); err == nil {
			c.addCluster(o)
		}
	}
}

// lacksInfraCluster returns the name of the cluster whose infrastructure cluster object a person must create; "" if that object exists, or if the provider
// creates it.
func (c *collection) lacksInfraCluster(namespace string) string {
	about := c.fleet.described()
	platform, known := platforms.For(about.Platform)
	if !known || platform.MakeInfraCluster == nil || c.fleet.infra[infraKey{platform.InfraCluster.Kind, namespace, about.Name}] != nil {
		return ""
	}
	return about.Name
}

// masters records the namespace if Cluster API finds no control plane Machine there, by the label that Cluster API reads. If the user may not list Machines,
// nothing is recorded.
func (c *collection) masters(ctx context.Context, client dynamic.Interface, namespace string) {
	machine, _ := authority.KindNamed("Machine")
	found, err := client.Resource(machine.ClusterAPI.WithResource(machine.Resource)).Namespace(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: clusterv1.MachineControlPlaneLabel})
	if err != nil {
		return
	}
	var all []*policies.Object
	for i := range found.Items {
		o, err := FromUnstructured(&found.Items[i])
		if err != nil {
			return
		}
		all = append(all, o)
	}
	if !authority.CountsMasters(all) {
		c.fleet.undrained = append(c.fleet.undrained, namespace)
	}
}

// remediations records for each health check with external remediation whether its template exists. If the user may not read a template, it stays unknown
// whether the template exists.
func (c *collection) remediations(ctx context.Context, client dynamic.Interface, pair authority.Pair) {
	for _, p := range c.sides {
		t := authority.RemediationTemplate(p.MachineAPI)
		gvk, whole := t.GroupVersionKind()
		if p.Kind.Name != "MachineHealthCheck" || p.Namespaces != pair || !whole {
			continue
		}
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		_, err := client.Resource(resource).Namespace(pair.ClusterAPI).Get(ctx, t.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			p.Remediation = policies.Exists
		case apierrors.IsNotFound(err):
			p.Remediation = policies.Absent
		}
	}
}

// definitions reads the definitions of kinds that the cluster does not serve. It records which of the kinds that Poundlock mirrors have no definition. It also
// records which of a provider's kinds have one, because objects of such a kind may exist although nobody can read them. If the user may not read definitions,
// it records nothing.
func (c *collection) definitions(ctx context.Context, client dynamic.Interface, kinds []authority.Kind) {
	for _, kind := range kinds {
		for _, api := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
			name, resource := kind.DefinitionIn(api), kind.GVKOf(api).GroupVersion().WithResource(kind.Resource)
			if !slices.Contains(c.fleet.absent, resource) || slices.Contains(c.fleet.undefined, name) {
				continue
			}
			if _, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
				c.fleet.undefined = append(c.fleet.undefined, name)
			}
		}
	}
	for _, resource := range slices.Concat(c.fleet.providers(kinds), c.fleet.instances(kinds)) {
		if !slices.Contains(c.fleet.absent, resource.Resource()) {
			continue
		}
		if _, err := client.Resource(definitions).Get(ctx, resource.Definition(), metav1.GetOptions{}); err == nil {
			c.fleet.notServed[resource.Kind] = authority.InfraNotServed(resource.Kind+"."+resource.Group, resource.Definition())
		}
	}
}

// guess describes the cluster by the objects if its Infrastructure was not read.
func (c *collection) guess() {
	if !c.fleet.withheld && c.fleet.NoInfrastructure == "" {
		return
	}
	var pairs []Pair
	for _, p := range c.sides {
		pairs = append(pairs, *p)
	}
	slices.SortFunc(pairs, order)
	c.fleet.guess = Cluster{}
	c.fleet.guess.guess(pairs, withheld)
}

// described returns the description of the cluster that the Infrastructure gives, or else the guess.
func (f *Fleet) described() Cluster {
	if f.infrastructure == nil {
		return f.guess
	}
	return describe(f.infrastructure)
}

// providers returns the provider's resources that belong to these kinds; none if the platform is not converted.
func (f *Fleet) providers(kinds []authority.Kind) []conversion.Resource {
	platform, known := platforms.For(f.described().Platform)
	behind := map[string]conversion.Resource{authority.InfraMachine: platform.InfraMachine, authority.InfraMachineTemplate: platform.InfraMachineTemplate}
	var out []conversion.Resource
	for _, kind := range kinds {
		if resource, has := behind[kind.Infra]; has && known {
			out = append(out, resource)
		}
	}
	if len(out) > 0 {
		out = append(out, platform.InfraCluster)
	}
	return out
}

// instances returns the resources in which a provider keeps one more object for each instance, besides the infrastructure machine.
func (f *Fleet) instances(kinds []authority.Kind) []conversion.Resource {
	platform, known := platforms.For(f.described().Platform)
	acts := slices.ContainsFunc(kinds, authority.Kind.InfraActs)
	if !known || !acts || platform.InfraInstance.Empty() {
		return nil
	}
	return []conversion.Resource{platform.InfraInstance}
}

// list reads all pages of a resource, as far as its objects match the label selectors. A resource that is not served is recorded as absent.
func (c *collection) list(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, namespace string, selectors ...string) error {
	start := metav1.ListOptions{Limit: pageSize, LabelSelector: strings.Join(selectors, ",")}
	options := start
	for {
		page, err := client.Resource(resource).Namespace(namespace).List(ctx, options)
		if apierrors.IsNotFound(err) {
			c.fleet.absent = append(c.fleet.absent, resource)
			return nil
		}
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			options = start // the continue token expired: list again from the start. An object that is already known counts once
			continue
		}
		if err != nil {
			return fmt.Errorf("listing %s in %s: %w", resource.GroupResource(), namespace, Allowed(err))
		}
		for i := range page.Items {
			if err := c.take(&page.Items[i]); err != nil {
				return err
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

func (c *collection) take(u *unstructured.Unstructured) error {
	o, err := FromUnstructured(u)
	if err != nil {
		return err
	}
	c.add(o)
	return nil
}

// FromUnstructured returns an object as policies read it, without the managed fields that no rule reads. It removes all managed fields from u.
func FromUnstructured(u *unstructured.Unstructured) (*policies.Object, error) {
	raw, err := json.Marshal(authority.ReduceManagedFields(u.Object))
	u.SetManagedFields(nil)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return policies.ParseCheckedObject(raw)
}

// Narrow keeps the pairs for which keep is true, and moves the others to Beside.
func (f *Fleet) Narrow(keep func(Pair) bool) {
	var kept []Pair
	for _, p := range f.Pairs {
		if keep(p) {
			kept = append(kept, p)
		} else {
			f.Beside = append(f.Beside, p)
		}
	}
	f.Pairs = kept
}

// Matches reports whether the query requests the pair, by the pair's kind and labels.
func (q Query) Matches(p Pair) bool {
	return (q.Kinds == nil || slices.ContainsFunc(q.Kinds, func(k authority.Kind) bool { return k.Name == p.Kind.Name })) &&
		(q.Selector == nil || q.Selector.Matches(labels.Set(p.Objects()[0].Metadata.Labels)))
}

// One reads a single pair by name, and what a conversion needs of the cluster. It also reads the sets and the control plane's Machines if the user may list
// them, because the mirror of a Machine depends on them.
func One(ctx context.Context, client dynamic.Interface, namespaces authority.Pair, kind authority.Kind, name string) (*Fleet, error) {
	c := newCollection(authority.Pairs{namespaces})
	if err := c.infrastructure(ctx, client); err != nil {
		return nil, err
	}
	if err := c.get(ctx, client, kind.MachineAPI.WithResource(kind.Resource), namespaces.MachineAPI, name); err != nil {
		return nil, err
	}
	if err := c.get(ctx, client, kind.ClusterAPI.WithResource(kind.Resource), namespaces.ClusterAPI, name); err != nil {
		return nil, err
	}
	c.guess()
	for _, p := range c.sides {
		for _, resource := range c.fleet.providers([]authority.Kind{kind}) {
			name := p.InfraRef().Name
			if resource.Kind != p.InfraRef().Kind {
				name = c.fleet.described().Name
			}
			if err := c.get(ctx, client, resource.Resource(), namespaces.ClusterAPI, name); err != nil {
				return nil, err
			}
		}
	}
	c.remediations(ctx, client, namespaces)
	if err := c.owners(ctx, client, namespaces, Query{Kinds: []authority.Kind{kind}, Parents: true}.parents()); err != nil {
		return nil, err
	}
	more := func() error { return c.others(ctx, client, namespaces, []authority.Kind{kind}) }
	if kind.InfraActs() {
		more = func() error { return c.controlPlane(ctx, client, namespaces, kind) }
	}
	if err := more(); err != nil {
		return nil, err
	}
	f := c.done()
	f.Narrow(func(p Pair) bool { return p.Kind.Name == kind.Name && p.Name == name })
	return f, nil
}

// others lists the Machines of both APIs if sets are requested without Machines. Whether a set can move depends on which Machines both sets count, and a
// conversion may read what these Machines have. If the user may not list the Machines of one API, the sets are not compared.
func (c *collection) others(ctx context.Context, client dynamic.Interface, pair authority.Pair, kinds []authority.Kind) error {
	counts := func(k authority.Kind) bool { _, has := k.Children(); return has }
	if !slices.ContainsFunc(kinds, counts) || slices.ContainsFunc(kinds, authority.Kind.InfraActs) {
		return nil
	}
	machine, _ := authority.KindNamed("Machine")
	for namespace, resource := range map[string]schema.GroupVersionResource{
		pair.MachineAPI: machine.MachineAPI.WithResource(machine.Resource), pair.ClusterAPI: machine.ClusterAPI.WithResource(machine.Resource),
	} {
		switch err := c.list(ctx, client, resource, namespace); {
		case apierrors.IsForbidden(err):
			c.fleet.uncountable = true
		case err != nil:
			return err
		}
	}
	return nil
}

// controlPlane lists the Machine API's control plane Machines, if the kind's conversion reads them. A user who may not list them gets an answer without them.
func (c *collection) controlPlane(ctx context.Context, client dynamic.Interface, pair authority.Pair, kind authority.Kind) error {
	machine, _ := authority.KindNamed("Machine")
	label, roles := authority.ControlPlaneRole()
	if kind.Infra == "" {
		return nil
	}
	err := c.list(ctx, client, machine.MachineAPI.WithResource(machine.Resource), pair.MachineAPI, fmt.Sprintf("%s in (%s)", label, strings.Join(roles, ",")))
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// get reads one object and adds it, if the object exists.
func (c *collection) get(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, namespace, name string) error {
	if name == "" {
		return nil
	}
	u, err := client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", resource.GroupResource(), Place(namespace, name), Allowed(err))
	}
	return c.take(u)
}

// Item is an object and its resource.
type Item struct {
	Resource schema.GroupVersionResource
	Object   *policies.Object
}

// Items lists every object that was read, also providers' objects to which no other object refers: the Machine API's first, then by resource and name.
func (f *Fleet) Items() []Item {
	var out []Item
	for _, p := range f.Pairs {
		if p.MachineAPI != nil {
			out = append(out, Item{p.Kind.MachineAPI.WithResource(p.Kind.Resource), p.MachineAPI})
		}
		if p.ClusterAPI != nil {
			out = append(out, Item{p.Kind.ClusterAPI.WithResource(p.Kind.Resource), p.ClusterAPI})
		}
	}
	for _, set := range f.Sets {
		out = append(out, Item{controlPlaneMachineSets, set.Object})
	}
	for _, resource := range slices.Concat(f.providers(authority.Kinds()), f.instances(authority.Kinds())) {
		for key, o := range f.infra {
			if key.kind == resource.Kind {
				out = append(out, Item{resource.Resource(), o})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Item) int {
		return cmp.Or(strings.Compare(b.Resource.Group, a.Resource.Group), strings.Compare(a.Resource.Resource, b.Resource.Resource),
			strings.Compare(a.Object.Metadata.Name, b.Object.Metadata.Name))
	})
	return out
}
