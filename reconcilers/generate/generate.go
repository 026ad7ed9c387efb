// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"fmt"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
)

// Options are the parameters of the generator.
type Options struct {
	// Pairs are the pairs of namespaces that mirror each other. The set is in the Machine API namespace of the first pair.
	Pairs authority.Pairs
	// Now is the clock for conditions; nil means time.Now.
	Now func() time.Time
}

// SetupWithManager adds the generator to the manager. Only one process may run the generator at a time, so it needs leader election.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if len(o.Pairs) == 0 {
		return nil
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	counted, err := newMeters()
	if err != nil {
		return fmt.Errorf("registering the generator's metrics: %w", err)
	}
	r := &reconciler{
		key: types.NamespacedName{Namespace: o.Pairs[0].MachineAPI, Name: controlplane.Name},
		now: o.Now, cache: mgr.GetCache(), live: mgr.GetAPIReader(), writer: mgr.GetClient(),
		recorder: mgr.GetEventRecorder("poundlock-generator"), meters: counted,
	}
	if err := r.setup(mgr); err != nil {
		return fmt.Errorf("starting the generator: %w", err)
	}
	return nil
}

type reconciler struct {
	key types.NamespacedName
	now func() time.Time

	cache, live client.Reader
	writer      client.Client
	recorder    events.EventRecorder
	meters      meters

	// lastRefusal is the message of the last event about a set that does not exist. There is one worker, so this field needs no lock.
	lastRefusal string
}

// Reconcile reconciles the one set, and sends at most one write.
func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	set, u, err := r.look(ctx, r.cache)
	if err == nil && (u.Write == generator.CreateSet || u.Write == generator.RecreateSet) {
		// According to the cache, a set must be created or deleted. The cache may be out of date, so the API server decides.
		set, u, err = r.look(ctx, r.live)
	}
	if served.Missing(err) {
		return reconcile.Result{}, nil // the API server does not serve sets, and an event starts a pass once it does
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if u.Write != "" {
		other, err := facts.OtherOperator(ctx, r.live, r.key.Namespace)
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("reading whether another operator of ControlPlaneMachineSets runs: %w", err)
		}
		if other != "" {
			log.FromContext(ctx).Info(controlplane.OtherOperatorRuns(other))
			return requeue.Result(afterOther, nil)
		}
	}
	return requeue.Result(0, r.apply(ctx, set, u))
}

// afterOther is the time after which the generator checks again whether another operator, which also generates sets, still runs.
const afterOther = time.Minute

// look reads everything that the decision needs, and decides. The set is nil if it does not exist.
func (r *reconciler) look(ctx context.Context, from client.Reader) (*unstructured.Unstructured, generator.Plan, error) {
	set := r.named()
	var content map[string]any
	err := from.Get(ctx, r.key, set)
	switch {
	case apierrors.IsNotFound(err) && !served.Missing(err):
		set = nil
	case err != nil:
		return nil, generator.Plan{}, fmt.Errorf("reading ControlPlaneMachineSet %s: %w", r.key, err)
	default:
		content = set.Object
	}
	w, err := facts.World(ctx, from, r.key.Namespace)
	if err != nil {
		return nil, generator.Plan{}, err
	}
	return set, generator.Next(content, w), nil
}

// named returns the set without its content.
func (r *reconciler) named() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(machinev1.GroupVersion.WithKind(controlplane.Kind))
	o.SetNamespace(r.key.Namespace)
	o.SetName(r.key.Name)
	return o
}
