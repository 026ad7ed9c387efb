// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairfacts

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring/pairs"
)

// present reads objects for a state. If the API server does not serve a kind, present returns no object of that kind, and stores the kind in the state
// (Unserved).
type present struct {
	client.Reader
	state *pairs.State
}

// Get returns the error NotFound for an object of a kind that is not served.
func (p present) Get(ctx context.Context, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := p.Reader.Get(ctx, k, o, opts...)
	if !served.Missing(err) {
		return err
	}
	p.state.Lacks(o.GetObjectKind().GroupVersionKind())
	return apierrors.NewNotFound(schema.GroupResource{}, k.Name)
}

// List returns no object of a kind that is not served.
func (p present) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	err := p.Reader.List(ctx, l, opts...)
	if !served.Missing(err) {
		return err
	}
	p.state.Lacks(l.GetObjectKind().GroupVersionKind())
	return nil
}
