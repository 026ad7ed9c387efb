// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairfacts

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/status"
	"github.com/poundlock/poundlock/policies/authority"
)

// Woken finds the pairs of a kind that an event of an object must requeue. Its methods are handler.MapFuncs.
type Woken struct {
	Kind  authority.Kind
	Pairs authority.Pairs
	Cache client.Reader
}

// Same returns the pair with the name of the object.
func (w Woken) Same(_ context.Context, o client.Object) []reconcile.Request {
	return w.named(o.GetNamespace(), o.GetName())
}

// Referred returns the pair that a Cluster API Machine blocks: the Machine refers to an infrastructure machine with another name than its own, and the pair has
// that name. The mirror of the pair is not created before this Machine is gone or refers to another infrastructure machine. Because a handler maps an object
// before and after its change, Referred also gets the former reference.
func (w Woken) Referred(_ context.Context, o client.Object) []reconcile.Request {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	if name := pairs.Nested(u, (&pairs.State{Kind: w.Kind}).InfraRef()...); name != o.GetName() {
		return w.named(o.GetNamespace(), name)
	}
	return nil
}

// InstanceOf returns the pairs to which an object may belong that a provider keeps for an instance.
func (w Woken) InstanceOf(_ context.Context, o client.Object) []reconcile.Request {
	return w.named(o.GetNamespace(), mirroring.OfInfraInstance(o.GetObjectKind().GroupVersionKind().Kind, o)...)
}

// Everything returns all pairs, for an object on which all conversions depend. Such objects change rarely.
func (w Woken) Everything(ctx context.Context, _ client.Object) (out []reconcile.Request) {
	for _, pair := range w.Pairs {
		out = append(out, w.each(ctx, pair, func(*unstructured.Unstructured) bool { return true })...)
	}
	return out
}

// Marked returns the pairs of the Machines that a MachineHealthCheck of Cluster API has marked, for a check that may no longer act.
func (w Woken) Marked(ctx context.Context, check client.Object) []reconcile.Request {
	return w.those(ctx, w.Kind.ClusterAPIGVK(), check.GetNamespace(), status.Marked)
}

// ChildrenOf returns the pairs of the Machines that a MachineSet, of either API, owns. It is for a set that was created or deleted, or that has another
// authoritative API.
func (w Woken) ChildrenOf(ctx context.Context, parent client.Object) []reconcile.Request {
	pair, ok := w.Pairs.Of(parent.GetNamespace())
	if !ok {
		return nil
	}
	return w.each(ctx, pair, func(o *unstructured.Unstructured) bool {
		ref := pairs.ControllerOf(o)
		return ref != nil && ref.Kind == w.Kind.Parent && ref.Name == parent.GetName()
	})
}

// Masters returns, for a Machine of the control plane, the pairs of all Machines of the control plane: the messages of each one also name what the others need
// in the infrastructure cluster. For any other Machine it returns none.
func (w Woken) Masters(ctx context.Context, o client.Object) []reconcile.Request {
	if !authority.OfControlPlane(o.GetLabels()) {
		return nil
	}
	return w.those(ctx, w.Kind.MachineAPIGVK(), o.GetNamespace(), func(*unstructured.Unstructured) bool { return true }, facts.OfControlPlane())
}

// Behind returns the pairs to which an infrastructure object belongs, or to which it belonged before it changed.
func (w Woken) Behind(p conversion.Platform) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		names, template := mirroring.OfInfra(w.Kind, o.GetObjectKind().GroupVersionKind().Kind == p.InfraMachine.Kind, o)
		out := w.named(o.GetNamespace(), names...)
		if template != "" {
			out = append(out, w.usersOf(ctx, o.GetNamespace(), template, p)...)
		}
		return out
	}
}

// usersOf returns the pairs that now refer to a template, and the pair for which the mirror made the template.
func (w Woken) usersOf(ctx context.Context, namespace, template string, p conversion.Platform) []reconcile.Request {
	ref := (&pairs.State{Kind: w.Kind}).InfraRef()
	out := w.those(ctx, w.Kind.ClusterAPIGVK(), namespace, func(o *unstructured.Unstructured) bool { return pairs.Nested(o, ref...) == template })
	return append(out, w.madeFor(ctx, namespace, template, p)...)
}

// LentTo returns, for a MachineSet or MachineDeployment of Cluster API, the pair for which the mirror made the template to which the object refers. Such a
// template may outlive the set that it was made for, and no event of the template shows that the last reference to it is gone.
func (w Woken) LentTo(p conversion.Platform) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return nil
		}
		return w.madeFor(ctx, o.GetNamespace(), pairs.Nested(u, (&pairs.State{Kind: w.Kind}).InfraRef()...), p)
	}
}

// madeFor returns the pair for which the mirror made a template. It reads the template's annotation, because the template's label has only a shortened name if
// the set's name is too long for a label.
func (w Woken) madeFor(ctx context.Context, namespace, template string, p conversion.Platform) []reconcile.Request {
	if template == "" {
		return nil
	}
	t, err := served.Read(ctx, w.Cache, p.InfraMachineTemplate.GroupVersionKind, namespace, template)
	if err != nil || t == nil {
		return nil
	}
	return w.named(namespace, mirroring.MadeFor(w.Kind, t))
}

// named returns the pairs of these names. The namespace may be either namespace of a pair.
func (w Woken) named(namespace string, names ...string) (out []reconcile.Request) {
	pair, ok := w.Pairs.Of(namespace)
	for _, name := range names {
		if ok && name != "" {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: pair.MachineAPI, Name: name}})
		}
	}
	return out
}

// those returns the pairs of the wanted objects of a kind in a namespace. If the cache has not started yet, it returns none, and the cache's first list
// requeues all of them.
func (w Woken) those(ctx context.Context, gvk schema.GroupVersionKind, namespace string, wanted func(*unstructured.Unstructured) bool,
	only ...client.ListOption) (out []reconcile.Request) {
	found, err := served.List(ctx, w.Cache, gvk, namespace, append(only, uncopied)...)
	if err != nil {
		return nil
	}
	for _, o := range found {
		if wanted(o) {
			out = append(out, w.named(namespace, o.GetName())...)
		}
	}
	return out
}

// each returns the pairs of the wanted objects, of both APIs.
func (w Woken) each(ctx context.Context, pair authority.Pair, wanted func(*unstructured.Unstructured) bool) []reconcile.Request {
	return append(w.those(ctx, w.Kind.MachineAPIGVK(), pair.MachineAPI, wanted), w.those(ctx, w.Kind.ClusterAPIGVK(), pair.ClusterAPI, wanted)...)
}
