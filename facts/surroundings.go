// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
)

// The kinds of the surroundings (the objects that a pair lives in) that every pair has.
var (
	NamespaceKind  = schema.GroupVersionKind{Version: "v1", Kind: authority.Namespace}
	DefinitionKind = schema.GroupVersionKind{Group: apiextensionsv1.GroupName, Version: "v1", Kind: authority.Definition}
	ClusterKind    = clusterv1.GroupVersion.WithKind(authority.Cluster)
)

var surroundingKinds = map[string]schema.GroupVersionKind{
	authority.Namespace: NamespaceKind, authority.Definition: DefinitionKind, authority.Cluster: ClusterKind,
}

// ClusterPaused reports whether o is a Cluster that is paused (spec.paused), as authority.PausesAll does for the object of a review.
func ClusterPaused(o client.Object) bool {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	paused, _, _ := unstructured.NestedBool(u.Object, "spec", "paused")
	return paused
}

// Leaving returns a sentence about a surrounding that is being deleted, or that is gone already (gone); "" if it stays. Its kind must be one of those above.
func Leaving(ctx context.Context, from client.Reader, s authority.Surrounding) (why string, gone bool, err error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(surroundingKinds[s.Kind])
	err = from.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, o)
	switch {
	case apierrors.IsNotFound(err) || served.Missing(err): // Missing: the CRD of Clusters is gone, and the process has started since
		return fmt.Sprintf("%s %s does not exist", s.Kind, s.Name), true, nil
	case err != nil:
		return "", false, fmt.Errorf("reading %s %s: %w", s.Kind, s.Name, err)
	case o.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("%s %s is being deleted", s.Kind, s.Name), false, nil
	case s.UID != "" && s.UID != o.GetUID():
		return fmt.Sprintf("%s %s with the UID %s does not exist", s.Kind, s.Name, s.UID), true, nil
	case !s.Since.IsZero() && o.GetCreationTimestamp().After(s.Since.Time):
		return fmt.Sprintf("%s %s was deleted and recreated", s.Kind, s.Name), true, nil
	}
	return "", false, nil
}

// FirstLeaving returns the sentence about the first of the surroundings that is being deleted or gone and for which counts returns true; "" if there is none.
func FirstLeaving(ctx context.Context, from client.Reader, all []authority.Surrounding, counts func(s authority.Surrounding, gone bool) bool) (string, error) {
	for _, s := range all {
		why, gone, err := Leaving(ctx, from, s)
		if err != nil || why != "" && counts(s, gone) {
			return why, err
		}
	}
	return "", nil
}
