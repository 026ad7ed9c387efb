// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// ControlPlane reads the control plane, whose Machines a selector selects in a namespace. now is the time of the reading.
func ControlPlane(ctx context.Context, r client.Reader, namespace string, selector labels.Selector, now time.Time) (*policies.ControlPlane, error) {
	out := &policies.ControlPlane{Now: now}
	machines := schema.GroupVersionKind{Group: machinev1beta1.GroupName, Version: "v1beta1", Kind: "Machine"}
	if err := listInto(ctx, r, &out.Machines, machines, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	if err := nodes(ctx, r, out); err != nil {
		return nil, err
	}
	if err := unselected(ctx, r, namespace, machines, out); err != nil {
		return nil, err
	}
	return out, infrastructure(ctx, r, out)
}

func nodes(ctx context.Context, r client.Reader, out *policies.ControlPlane) error {
	for _, role := range controlplane.Roles() {
		found := &corev1.NodeList{} // typed, so that the process has one cache of Nodes, which is kept small
		if err := r.List(ctx, found, client.HasLabels{role}); err != nil {
			return fmt.Errorf("listing Nodes: %w", err)
		}
		for _, n := range found.Items {
			if !slices.ContainsFunc(out.Nodes, func(known corev1.Node) bool { return known.Name == n.Name }) {
				out.Nodes = append(out.Nodes, n)
			}
		}
	}
	return otherNodes(ctx, r, out)
}

// otherNodes reads the Nodes without the role to which Machines refer. Usually there are none, and it reads nothing.
func otherNodes(ctx context.Context, r client.Reader, out *policies.ControlPlane) error {
	for _, m := range out.Machines {
		ref := m.Status.NodeRef
		if ref == nil || slices.ContainsFunc(out.Nodes, func(n corev1.Node) bool { return n.Name == ref.Name }) {
			continue
		}
		n := corev1.Node{}
		err := r.Get(ctx, client.ObjectKey{Name: ref.Name}, &n)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading Node %s of Machine %s: %w", ref.Name, m.Name, err)
		}
		if err == nil {
			out.OtherNodes = append(out.OtherNodes, n)
		}
	}
	return nil
}

// unselected reads the Machines of those Nodes to which no selected Machine refers. Usually there are none, and it reads nothing. A Node may name no Machine if
// Cluster API created its Machine.
func unselected(ctx context.Context, r client.Reader, namespace string, kind schema.GroupVersionKind, out *policies.ControlPlane) error {
	all := sync.OnceValues(func() (all []machinev1beta1.Machine, err error) {
		return all, listInto(ctx, r, &all, kind, client.InNamespace(namespace))
	})
	for _, n := range out.Nodes {
		name, own := strings.CutPrefix(n.Annotations[machineapi.NodeAnnotation], namespace+"/")
		refers := func(m machinev1beta1.Machine) bool { return m.Status.NodeRef != nil && m.Status.NodeRef.Name == n.Name }
		if slices.ContainsFunc(out.Machines, func(m machinev1beta1.Machine) bool { return refers(m) || own && m.Name == name }) {
			continue
		}
		if n.Annotations[machineapi.NodeAnnotation] == "" {
			machines, err := all()
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(machines, refers); i >= 0 {
				out.Unselected = append(out.Unselected, machines[i])
			}
			continue
		}
		if !own {
			continue
		}
		u, err := served.Get(ctx, r, kind, namespace, name)
		if err != nil {
			return err
		}
		if u == nil {
			continue
		}
		m := machinev1beta1.Machine{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &m); err != nil {
			return fmt.Errorf("reading Machine %s of Node %s: %w", name, n.Name, err)
		}
		if refers(m) {
			out.Unselected = append(out.Unselected, m)
		}
	}
	return nil
}

func infrastructure(ctx context.Context, r client.Reader, out *policies.ControlPlane) error {
	u, err := served.Get(ctx, r, configv1.GroupVersion.WithKind("Infrastructure"), "", "cluster")
	if err != nil || u == nil {
		return err
	}
	out.Infrastructure = &configv1.Infrastructure{}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out.Infrastructure)
}

// listInto lists objects of a kind, and appends them to into as values of their Go type.
func listInto[T any](ctx context.Context, r client.Reader, into *[]T, kind schema.GroupVersionKind, options ...client.ListOption) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.List(ctx, list, options...); err != nil && !served.Missing(err) {
		return fmt.Errorf("listing %s %s: %w", kind.Group, kind.Kind, err)
	}
	for _, item := range list.Items {
		var one T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &one); err != nil {
			return fmt.Errorf("reading %s %s: %w", kind.Kind, item.GetName(), err)
		}
		*into = append(*into, one)
	}
	return nil
}
