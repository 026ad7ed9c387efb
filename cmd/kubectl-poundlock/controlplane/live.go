// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
)

// liveReader is a client.Reader over a dynamic client, for kinds whose resource is the regular plural of their name.
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

// List reads into an unstructured list, or into a typed one of Kubernetes.
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

func notServed(r schema.GroupResource) error {
	return fmt.Errorf("the cluster does not serve %s: check that this is an OpenShift cluster", r)
}

// dryRunner creates Machines by dry runs.
type dryRunner struct{ dynamic.Interface }

// Create sends a dry run, and replaces the object's content by what the API server would store.
func (r dryRunner) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	u, is := o.(*unstructured.Unstructured)
	if !is {
		return fmt.Errorf("creating %T: want an unstructured object", o)
	}
	got, err := r.Resource(machinev1beta1.GroupVersion.WithResource("machines")).Namespace(u.GetNamespace()).Create(ctx, u,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: cli.FieldManager})
	if err == nil {
		u.Object = got.Object
	}
	return err
}
