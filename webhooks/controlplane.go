// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/reading"
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
	return reading.ControlPlane(ctx, r, namespace, selector, began)
}
