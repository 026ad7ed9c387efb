// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// ControlPlanes reads the control plane whose Machines a selector selects in a namespace.
type ControlPlanes interface {
	ControlPlane(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error)
}

// ControlPlanesFunc is a ControlPlanes from a function.
type ControlPlanesFunc func(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error)

// ControlPlane calls f.
func (f ControlPlanesFunc) ControlPlane(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error) {
	return f(ctx, namespace, selector)
}

// controlPlane reads what the set under review is judged by. One whose selector cannot be read selects nothing; a rule says so.
func (l Lookups) controlPlane(ctx context.Context, c policies.Change) (*policies.ControlPlane, error) {
	selector := labels.Nothing()
	if set, err := controlplane.Read(c.New); err == nil {
		if s, err := controlplane.Selector(set); err == nil {
			selector = s
		}
	}
	out, err := l.ControlPlanes.ControlPlane(ctx, c.Namespace, selector)
	if err != nil {
		return nil, fmt.Errorf("reading the control plane: %w", err)
	}
	return out, nil
}

// controlPlaneRoles are the labels of a control plane's Nodes, either of which tells one.
var controlPlaneRoles = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

// liveControlPlane reads from the API server: sets are written so rarely, and so much depends on what is said of it, that nothing is gained by a cache
// that may lag.
type liveControlPlane struct {
	client.Reader
	metrics *metrics
}

// ControlPlane reads within the review's deadline.
func (r liveControlPlane) ControlPlane(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error) {
	began := time.Now()
	defer r.metrics.lookup("live", began)
	out := &policies.ControlPlane{Now: began}
	machines := schema.GroupVersionKind{Group: machinev1beta1.GroupName, Version: "v1beta1", Kind: "Machine"}
	if err := listInto(ctx, r, &out.Machines, machines, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	if err := r.nodes(ctx, out); err != nil {
		return nil, err
	}
	return out, r.infrastructure(ctx, out)
}

func (r liveControlPlane) nodes(ctx context.Context, out *policies.ControlPlane) error {
	for _, role := range controlPlaneRoles {
		var found []corev1.Node
		if err := listInto(ctx, r, &found, corev1.SchemeGroupVersion.WithKind("Node"), client.HasLabels{role}); err != nil {
			return err
		}
		for _, n := range found {
			if !slices.ContainsFunc(out.Nodes, func(known corev1.Node) bool { return known.Name == n.Name }) {
				out.Nodes = append(out.Nodes, n)
			}
		}
	}
	return nil
}

func (r liveControlPlane) infrastructure(ctx context.Context, out *policies.ControlPlane) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(infrastructure.GroupVersionKind)
	err := r.Get(ctx, client.ObjectKey{Name: infrastructure.Name}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", infrastructure, err)
	}
	out.Infrastructure = &configv1.Infrastructure{}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out.Infrastructure)
}

// listInto lists objects of a kind as their Go type.
func listInto[T any](ctx context.Context, r client.Reader, into *[]T, kind schema.GroupVersionKind, options ...client.ListOption) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.List(ctx, list, options...); err != nil {
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
