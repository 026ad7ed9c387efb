// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

// ControlPlanes reads the control plane whose Machines a selector selects in a namespace.
type ControlPlanes interface {
	ControlPlane(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error)
	// Resolved reads what a set's template for Cluster API stands for, from the set's JSON.
	Resolved(ctx context.Context, pair authority.Pair, set []byte) (controlplane.Resolved, error)
	// Try asks the API server with a dry run what it makes of Machines.
	Try(ctx context.Context, trials []controlplane.Trial) []policies.Trial
}

// ControlPlanesFunc is a ControlPlanes from a function, of sets that have no template for Cluster API.
type ControlPlanesFunc func(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error)

// ControlPlane calls f.
func (f ControlPlanesFunc) ControlPlane(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error) {
	return f(ctx, namespace, selector)
}

// Resolved has nothing to resolve with.
func (f ControlPlanesFunc) Resolved(context.Context, authority.Pair, []byte) (controlplane.Resolved, error) {
	return controlplane.Resolved{}, errors.New("there is nothing to read templates with")
}

// Try has nobody to ask.
func (f ControlPlanesFunc) Try(context.Context, []controlplane.Trial) []policies.Trial { return nil }

// controlPlane reads what the set under review is judged by.
func (l Lookups) controlPlane(ctx context.Context, c policies.Change) (*policies.ControlPlane, error) {
	out, err := l.controlPlaneOf(ctx, c, c.New, c.Old)
	if err != nil {
		return nil, err
	}
	if trials := admission.Asked(c, out); len(trials) > 0 {
		tried := *out // what was read of the set so far was read without them
		tried.Trials = l.ControlPlanes.Try(ctx, trials)
		return &tried, nil
	}
	return out, nil
}

// controlPlaneOf reads the control plane that a set selects, and what it and others have for templates. A set whose selector cannot be read selects nothing; a
// rule says so.
func (l Lookups) controlPlaneOf(ctx context.Context, c policies.Change, set *policies.Object, others ...*policies.Object) (*policies.ControlPlane, error) {
	selector := labels.Nothing()
	if set, err := admission.Read(set); err == nil {
		if s, err := controlplane.Selector(set); err == nil {
			selector = s
		}
	}
	out, err := l.ControlPlanes.ControlPlane(ctx, c.Namespace, selector)
	if err != nil {
		return nil, fmt.Errorf("reading the control plane: %w", err)
	}
	for _, o := range append([]*policies.Object{set}, others...) {
		if out.Templates, err = l.template(ctx, c, o, out.Templates); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// controlPlaneSet reads the stored set, and its control plane; nil where there is none.
func (l Lookups) controlPlaneSet(ctx context.Context, c policies.Change) (*policies.ControlPlane, error) {
	set, err := l.live(ctx, Ref{GroupVersionKind: machinev1.GroupVersion.WithKind(controlplane.Kind), Namespace: c.Namespace, Name: controlplane.Name})
	if err != nil || set == nil {
		return nil, err
	}
	out, err := l.controlPlaneOf(ctx, c, set)
	if err == nil {
		out.Set = set
	}
	return out, err
}

// template adds what a set's template for Cluster API stands for; there is nothing to look up for a set that has the other member, or that cannot be read.
func (l Lookups) template(ctx context.Context, c policies.Change, o *policies.Object, known []policies.Template) ([]policies.Template, error) {
	if o == nil {
		return known, nil
	}
	t, err := controlplane.Template(o.Raw())
	if err != nil || t == nil {
		return known, nil //nolint:nilerr // the API server's schema lets no other in
	}
	resolved, err := l.ControlPlanes.Resolved(ctx, pairOf(c), o.Raw())
	if err != nil {
		return nil, fmt.Errorf("reading the template of the control plane: %w", err)
	}
	return append(known, controlplane.Known(t, resolved)), nil
}

// liveControlPlane reads from the API server: sets are written so rarely, and so much depends on what is said of it, that nothing is gained by a cache
// that may lag.
type liveControlPlane struct {
	client.Reader
	creator  facts.Creator
	metrics  *metrics
	recreate bool
}

// ControlPlane reads within the review's deadline.
func (r liveControlPlane) ControlPlane(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error) {
	began := time.Now()
	defer r.metrics.lookup("live", began)
	out, err := facts.ControlPlane(ctx, r, namespace, selector, began)
	if err != nil {
		return nil, err
	}
	out.NoRecreate = !r.recreate
	return out, nil
}

// Resolved reads within the review's deadline.
func (r liveControlPlane) Resolved(ctx context.Context, pair authority.Pair, set []byte) (controlplane.Resolved, error) {
	defer r.metrics.lookup("live", time.Now())
	return facts.Resolved(ctx, r, &facts.Accounts{Reader: r}, pair, set)
}

// forTrials is how long a review waits for dry runs.
const forTrials = 2 * time.Second

// Try leaves out the owner: the set that a review is about may not be stored yet, and whether Poundlock may refer to it says nothing about the
// Machine. The answers say where there is none.
func (r liveControlPlane) Try(ctx context.Context, trials []controlplane.Trial) []policies.Trial {
	defer r.metrics.lookup("live", time.Now())
	ctx, cancel := context.WithTimeout(ctx, forTrials)
	defer cancel()
	for _, t := range trials {
		t.Machine.OwnerReferences = nil
	}
	out, _ := facts.Try(ctx, r.creator, trials)
	return out
}
