// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// controlPlaneSets and clusterOperators are the resources that are read besides those of the control plane.
var (
	controlPlaneSets = machinev1.GroupVersion.WithResource(controlplane.Resource)
	clusterOperators = configv1.GroupVersion.WithResource("clusteroperators")
)

// masters has the cluster's only ControlPlaneMachineSet, and reads its control plane.
type masters struct {
	*cli.Plugin
	client dynamic.Interface
	// namespace is where the set is, or would be.
	namespace string
	// stored is the set, nil if there is none.
	stored *unstructured.Unstructured
}

// triedMasters returns the masters, and the trial that records the warnings about their dry runs.
func triedMasters(ctx context.Context, p *cli.Plugin) (*masters, *trial, error) {
	t := &trial{}
	client, err := p.Client(t)
	if err != nil {
		return nil, nil, err
	}
	m, err := findMasters(ctx, p, client)
	return m, t, err
}

// findMasters returns the masters with the set of the first namespace that has one.
func findMasters(ctx context.Context, p *cli.Plugin, client dynamic.Interface) (*masters, error) {
	pairs, err := p.Pairs()
	if err != nil {
		return nil, err
	}
	m := &masters{Plugin: p, client: client, namespace: pairs[0].MachineAPI}
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

// set returns the set in a namespace; nil for none. It lists sets, because the answer to a list distinguishes a cluster without the kind from a cluster without
// the object.
func (m *masters) set(ctx context.Context, namespace string) (*unstructured.Unstructured, error) {
	list, err := m.client.Resource(controlPlaneSets).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + controlplane.Name})
	if apierrors.IsNotFound(err) {
		return nil, notServed(controlPlaneSets.GroupResource())
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s in %s: %w", controlPlaneSets.GroupResource(), namespace, inventory.Allowed(err))
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return &list.Items[0], nil
}

// none returns the error for a command that requires a set if there is none.
func (m *masters) none() error {
	return fmt.Errorf("there is no ControlPlaneMachineSet %s in %s. If Poundlock's manager runs with --control-plane, it generates an Inactive set from the "+
		"control plane's Machines. "+
		"The manager's events show why there is no set: kubectl -n %s get events", controlplane.Name, m.namespace, m.namespace)
}

// sight has a set, and what its plan and the rules read.
type sight struct {
	in  policies.ControlPlane
	set *machinev1.ControlPlaneMachineSet
	// unresolved are the reasons why the set's template for Cluster API has no equivalent in Machine API.
	unresolved field.ErrorList
	authority  authority.API
	// reflected is the stored set if the planned set has an equal spec. Otherwise it is nil, because the state of Cluster API's side is unknown.
	reflected *policies.Object
}

// reflected returns the stored set if the given set has an equal spec; nil otherwise.
func (m *masters) reflected(set *unstructured.Unstructured) *policies.Object {
	if m.stored == nil || !equality.Semantic.DeepEqual(set.Object["spec"], m.stored.Object["spec"]) {
		return nil
	}
	raw, err := m.stored.MarshalJSON()
	if err != nil {
		return nil
	}
	o, _ := policies.ParseObject(raw) // an object from an API server can be read
	return o
}

// see reads a set's control plane. It converts a template for Cluster API to Machine API, as the operator does.
func (m *masters) see(ctx context.Context, source string, set *unstructured.Unstructured) (*sight, error) {
	if _, err := Typed(source, set); err != nil {
		return nil, err
	}
	resolved, known, err := m.resolve(ctx, set)
	if err != nil {
		return nil, err
	}
	selector, err := controlplane.Selector(resolved.Set)
	if err != nil {
		selector = labels.Nothing()
	}
	in, err := facts.ControlPlane(ctx, liveReader{m.client}, m.namespace, selector, m.Now())
	if err != nil {
		return nil, fmt.Errorf("reading the control plane: %w", inventory.Allowed(err))
	}
	in.MayRecreate, in.Templates, in.ClusterAPINamespace = MayRecreate(m.stored), known, m.clusterAPINamespace()
	return &sight{*in, resolved.Set, resolved.Unresolved, currentOf(m.stored), m.reflected(set)}, nil
}

// clusterAPINamespace returns Cluster API's namespace of the pair.
func (m *masters) clusterAPINamespace() string {
	pairs, err := m.Pairs()
	if err != nil {
		return ""
	}
	pair, _ := pairs.Of(m.namespace)
	return pair.ClusterAPI
}

func currentOf(set *unstructured.Unstructured) authority.API {
	if set == nil {
		return authority.Unset
	}
	current, _, _ := unstructured.NestedString(set.Object, "status", "authoritativeAPI")
	return authority.API(current)
}

// view returns the input of a plan.
func (s *sight) view() controlplane.View {
	v := controlplane.ViewOf(s.set, s.in)
	v.Unresolved, v.Authority = s.unresolved, s.authority
	if s.reflected != nil {
		v.Reflects(authority.Read(s.reflected), s.reflected.Metadata.Generation)
	}
	return v
}

// resolve converts a set's template to Machine API. For the rules it also returns what it read of a template for Cluster API, if the set has one.
func (m *masters) resolve(ctx context.Context, set *unstructured.Unstructured) (controlplane.Resolved, []policies.Template, error) {
	pairs, err := m.Pairs()
	if err != nil {
		return controlplane.Resolved{}, nil, err
	}
	pair, _ := pairs.Of(m.namespace) // always found, because the namespace is one of the pairs'
	raw, err := set.MarshalJSON()
	if err != nil {
		return controlplane.Resolved{}, nil, fmt.Errorf("reading the ControlPlaneMachineSet: %w", err)
	}
	live := liveReader{m.client}
	resolved, err := facts.Resolved(ctx, live, &facts.Accounts{Reader: live}, pair, raw)
	if err != nil {
		return controlplane.Resolved{}, nil, fmt.Errorf("reading what the template refers to: %w", inventory.Allowed(err))
	}
	t, err := controlplane.Template(raw)
	if err != nil || t == nil {
		return resolved, nil, err
	}
	return resolved, []policies.Template{controlplane.Known(t, resolved)}, nil
}

func sourceOf(path string) string {
	switch path {
	case "":
		return "cluster"
	case "-":
		return "standard input"
	}
	return path
}
