// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/controlplane"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	policy "github.com/poundlock/poundlock/policies/controlplane"
)

func controlPlaneCommand(p *plugin) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "controlplane",
		Aliases: []string{"cp", "cpms"},
		Short:   "See what a ControlPlaneMachineSet would do, where it stands, and activate it",
		Long: `See what a ControlPlaneMachineSet would do, where it stands, and activate it.

What is said of a set is the plan that Poundlock's operator acts by, and that its webhook warns with.`,
		Example: `  # What does the set do next, and what after that?
  kubectl poundlock controlplane plan

  # What would a change do? Nothing is stored.
  kubectl poundlock controlplane plan -f set.yaml

  # Where is it?
  kubectl poundlock controlplane status --watch

  # Begin
  kubectl poundlock controlplane activate`,
		Args:                       oneOfItsCommands,
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(controlPlanePlanCommand(p), controlPlaneStatusCommand(p), controlPlaneActivateCommand(p))
	return cmd
}

// oneOfItsCommands refuses what is none, and says which one may be meant, as cobra does at the root alone.
func oneOfItsCommands(cmd *cobra.Command, args []string) error {
	err := cobra.NoArgs(cmd, args)
	if err == nil {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%w\n\nDid you mean this?\n\t%s", err, strings.Join(near, "\n\t"))
	}
	return err
}

// controlPlaneSets and clusterOperators are what is read beside the control plane itself.
var (
	controlPlaneSets = machinev1.GroupVersion.WithResource(policy.Resource)
	clusterOperators = configv1.GroupVersion.WithResource("clusteroperators")
)

// masters is the cluster's one set, and what it is about.
type masters struct {
	*plugin
	client dynamic.Interface
	// namespace is where the set is, or would be.
	namespace string
	// stored is the set; nil where there is none.
	stored *unstructured.Unstructured
}

// findMasters reads the set out of the first of the namespaces that has one.
func (p *plugin) findMasters(ctx context.Context, client dynamic.Interface) (*masters, error) {
	pairs, err := p.Pairs()
	if err != nil {
		return nil, err
	}
	m := &masters{plugin: p, client: client, namespace: pairs[0].MachineAPI}
	for _, pair := range pairs {
		found, err := m.set(ctx, pair.MachineAPI)
		if err != nil {
			return nil, err
		}
		if found != nil {
			m.namespace, m.stored = pair.MachineAPI, found
			return m, nil
		}
	}
	return m, nil
}

// set reads by a list: the answer distinguishes a cluster without the kind from one without the object.
func (m *masters) set(ctx context.Context, namespace string) (*unstructured.Unstructured, error) {
	list, err := m.client.Resource(controlPlaneSets).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + policy.Name})
	if apierrors.IsNotFound(err) {
		return nil, notServed(controlPlaneSets.GroupResource())
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s in %s: %w", controlPlaneSets.GroupResource(), namespace, err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return &list.Items[0], nil
}

func notServed(r schema.GroupResource) error {
	return fmt.Errorf("the cluster does not serve %s: is this an OpenShift cluster?", r)
}

// none is the error where a set is wanted and there is none.
func (m *masters) none() error {
	return fmt.Errorf("there is no ControlPlaneMachineSet %s in %s. Poundlock generates an Inactive one from the control plane's Machines where its manager runs with --control-plane; "+
		"why it does not, its events say: kubectl -n %s get events", policy.Name, m.namespace, m.namespace)
}

// sight is a set with what a plan of it is made from, and what rules judge it by.
type sight struct {
	in  policies.ControlPlane
	set *machinev1.ControlPlaneMachineSet
	// unresolved are the reasons why the set's template for Cluster API is none of Machine API's.
	unresolved field.ErrorList
	authority  authority.API
	// reflected is the stored set, where it is the one that is planned; nil: how Cluster API's side stands is not known of another.
	reflected *policies.Object
}

// reflected is the stored set if another says the same.
func (m *masters) reflected(set *unstructured.Unstructured) *policies.Object {
	if m.stored == nil || !equality.Semantic.DeepEqual(set.Object["spec"], m.stored.Object["spec"]) {
		return nil
	}
	raw, err := m.stored.MarshalJSON()
	if err != nil {
		return nil
	}
	o, _ := policies.ParseObject(raw) // what was read from an API server can be read
	return o
}

// see reads what a set is about. A template for Cluster API is put into Machine API's words, as the operator does it.
func (m *masters) see(ctx context.Context, source string, set *unstructured.Unstructured) (*sight, error) {
	if _, err := controlplane.Typed(source, set); err != nil {
		return nil, err
	}
	resolved, known, err := m.resolve(ctx, set)
	if err != nil {
		return nil, err
	}
	selector, err := policy.Selector(resolved.Set)
	if err != nil {
		selector = labels.Nothing()
	}
	in, err := facts.ControlPlane(ctx, liveReader{m.client}, m.namespace, selector, m.Now())
	if err != nil {
		return nil, fmt.Errorf("reading the control plane: %w", err)
	}
	in.MayRecreate, in.Templates = controlplane.MayRecreate(m.stored), known
	return &sight{*in, resolved.Set, resolved.Unresolved, currentOf(m.stored), m.reflected(set)}, nil
}

func currentOf(set *unstructured.Unstructured) authority.API {
	if set == nil {
		return authority.Unset
	}
	current, _, _ := unstructured.NestedString(set.Object, "status", "authoritativeAPI")
	return authority.API(current)
}

// view is what a plan is made from.
func (s *sight) view() policy.View {
	v := policy.ViewOf(s.set, s.in)
	v.Unresolved, v.Authority = s.unresolved, s.authority
	if s.reflected != nil {
		v.Reflects(authority.Read(s.reflected), s.reflected.Metadata.Generation)
	}
	return v
}

// resolve puts a set's template into Machine API's words, and passes to the rules what it found of the template for Cluster API, if the set has one.
func (m *masters) resolve(ctx context.Context, set *unstructured.Unstructured) (policy.Resolved, []policies.Template, error) {
	pairs, err := m.Pairs()
	if err != nil {
		return policy.Resolved{}, nil, err
	}
	pair, _ := pairs.Of(m.namespace) // it is one of them
	raw, err := set.MarshalJSON()
	if err != nil {
		return policy.Resolved{}, nil, fmt.Errorf("reading the ControlPlaneMachineSet: %w", err)
	}
	live := liveReader{m.client}
	resolved, err := facts.Resolved(ctx, live, &facts.Accounts{Reader: live}, pair, raw)
	if err != nil {
		return policy.Resolved{}, nil, fmt.Errorf("reading what the template refers to: %w", err)
	}
	t, err := policy.Template(raw)
	if err != nil || t == nil {
		return resolved, nil, err
	}
	return resolved, []policies.Template{policy.Known(t, resolved)}, nil
}

// largestSet is beyond what an API server stores.
const largestSet = 16 << 20

func sourceOf(path string) string {
	switch path {
	case "":
		return "cluster"
	case "-":
		return "standard input"
	}
	return path
}

// strategies are the words for --strategy.
var strategies = []string{string(machinev1.RollingUpdate), string(machinev1.OnDelete), string(machinev1.Recreate)}

// liveReader is a client.Reader of a dynamic client, for the kinds whose resource is their name's plural.
type liveReader struct{ dynamic.Interface }

func (r liveReader) resource(kind schema.GroupVersionKind) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind.GroupVersion().WithKind(strings.TrimSuffix(kind.Kind, "List")))
	return plural
}

// Get reads into an unstructured object.
func (r liveReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	u, err := r.Resource(r.resource(into.GetObjectKind().GroupVersionKind())).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if out, ok := into.(*unstructured.Unstructured); ok {
		u.DeepCopyInto(out)
		return nil
	}
	return fmt.Errorf("reading %s into %T: want an unstructured object", key, into)
}

// List reads into an unstructured list, or a typed one of Kubernetes itself.
func (r liveReader) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	kind, err := apiutil.GVKForObject(into, scheme.Scheme)
	if err != nil {
		return fmt.Errorf("listing into %T: %w", into, err)
	}
	resource := r.resource(kind)
	list, err := r.Resource(resource).Namespace(o.Namespace).List(ctx, *o.AsListOptions())
	if apierrors.IsNotFound(err) {
		return notServed(resource.GroupResource())
	}
	if err != nil {
		return err
	}
	if u, ok := into.(*unstructured.UnstructuredList); ok {
		list.DeepCopyInto(u)
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(list.UnstructuredContent(), into)
}
