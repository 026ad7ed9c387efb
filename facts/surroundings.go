// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// The kinds of surroundings that every pair has.
var (
	NamespaceKind  = schema.GroupVersionKind{Version: "v1", Kind: authority.Namespace}
	DefinitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: authority.Definition}
	ClusterKind    = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: authority.Cluster}
)

// Surrounding is an object that others live in: with it they are deleted (DESIGN §3.3, Deletion of the surroundings).
type Surrounding struct {
	GVK             schema.GroupVersionKind
	Namespace, Name string
	// UID is what an owner reference names; "" where any object of that name will do.
	UID types.UID
	// Since is when something that lived in it was created, so that one which was created later is another of its name; zero where it does not matter.
	Since metav1.Time
}

// Leaving returns a sentence about an object that is being deleted, or that is gone already; "": it stays.
func (s Surrounding) Leaving(ctx context.Context, from client.Reader) (why string, gone bool, err error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(s.GVK)
	err = from.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("%s %s does not exist", s.GVK.Kind, s.Name), true, nil
	case err != nil:
		return "", false, fmt.Errorf("reading %s %s: %w", s.GVK.Kind, s.Name, err)
	case o.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("%s %s is being deleted", s.GVK.Kind, s.Name), false, nil
	case s.UID != "" && s.UID != o.GetUID():
		return fmt.Sprintf("%s %s with the UID %s does not exist", s.GVK.Kind, s.Name, s.UID), true, nil
	case !s.Since.IsZero() && o.GetCreationTimestamp().After(s.Since.Time):
		return fmt.Sprintf("%s %s was deleted and recreated", s.GVK.Kind, s.Name), true, nil
	}
	return "", false, nil
}
