// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Get reads one object through whatever reader. It is nil, without an error, where there is none or its kind is not served.
func Get(ctx context.Context, from client.Reader, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	key := client.ObjectKey{Namespace: namespace, Name: name}
	switch err := from.Get(ctx, key, o); {
	case apierrors.IsNotFound(err) || Missing(err):
		return nil, nil
	case err != nil && namespace == "":
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, key, err)
	}
	return o, nil
}
