// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Get reads one object with any reader. It returns nil, without an error, if the object does not exist or its kind is not served.
func Get(ctx context.Context, from client.Reader, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	o, err := Read(ctx, from, kind, namespace, name)
	if Missing(err) {
		return nil, nil
	}
	return o, err
}

// Read does what Get does, but returns an error (see Missing) if the kind is not served.
func Read(ctx context.Context, from client.Reader, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	key := client.ObjectKey{Namespace: namespace, Name: name}
	switch err := from.Get(ctx, key, o); {
	case apierrors.IsNotFound(err) && !Missing(err):
		return nil, nil
	case err != nil && namespace == "":
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, key, err)
	}
	return o, nil
}

// List reads the objects of a namespace, by name. It returns an error (see Missing) if the kind is not served.
func List(ctx context.Context, from client.Reader, kind schema.GroupVersionKind, namespace string, only ...client.ListOption) ([]*unstructured.Unstructured,
	error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := from.List(ctx, l, append(only, client.InNamespace(namespace))...); err != nil {
		return nil, fmt.Errorf("listing %s in %s: %w", kind.Kind, namespace, err)
	}
	var out []*unstructured.Unstructured
	for i := range l.Items {
		out = append(out, &l.Items[i])
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out, nil
}
