// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// fieldManager is the field manager of everything that the handoff writes, except finalizers.
const fieldManager = ownership.HandoffManager

// Options are the parameters of the handoff.
type Options struct {
	// Pairs are the pairs of namespaces that mirror each other.
	Pairs authority.Pairs
	// Enabled reports whether authority over a kind can move at all: the feature gate MachineAPIMigration must be on, and the kind's CRD must have the fields. nil
	// means yes. Objects of other kinds are not touched.
	Enabled func(authority.Kind) bool
	// Now is the clock for the conditions; nil means time.Now.
	Now func() time.Time
	// Compared reports whether the mirror of this process has found or made a pair equal in this authority.Edition (a hash of what the mirror is made from). key
	// names the pair's Machine API object. Until Compared returns true, no move begins or completes. nil means yes.
	Compared func(kind string, key types.NamespacedName, edition uint64) bool
	// Concurrency is how many pairs of a kind are reconciled at the same time; 0 means 10. Ten workers here and ten in the mirror mirrored 1,000 Machines on two
	// cores in 32.1 s; four and four took 43.4 s (docs/benchmarks.md).
	Concurrency int
}

// SetupWithManager adds one controller for each kind to the manager. The controllers read from the manager's cache (unstructured), and live through its API
// reader. Only one process may run them at a time, so they need leader election.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Concurrency == 0 {
		o.Concurrency = 10
	}
	if o.Enabled == nil {
		o.Enabled = func(authority.Kind) bool { return true }
	}
	if o.Compared == nil {
		o.Compared = func(string, types.NamespacedName, uint64) bool { return true }
	}
	m, err := newMeters()
	if err != nil {
		return fmt.Errorf("registering the handoff's metrics: %w", err)
	}
	for _, kind := range authority.Kinds() {
		r := &reconciler{
			kind: kind, pairs: o.Pairs, enabled: o.Enabled, compared: o.Compared, now: o.Now,
			cache: mgr.GetCache(), live: mgr.GetAPIReader(), writer: mgr.GetClient(), mapper: mgr.GetRESTMapper(),
			recorder: mgr.GetEventRecorder(fieldManager), meters: m,
		}
		if err := r.setup(mgr, o.Concurrency); err != nil {
			return fmt.Errorf("starting the handoff of %ss: %w", kind.Name, err)
		}
	}
	return nil
}

type reconciler struct {
	kind    authority.Kind
	pairs   authority.Pairs
	enabled func(authority.Kind) bool
	// compared is Options.Compared.
	compared func(kind string, key types.NamespacedName, edition uint64) bool
	now      func() time.Time

	cache, live client.Reader
	writer      client.Client
	mapper      meta.RESTMapper
	recorder    events.EventRecorder
	meters      meters
	// pauses are the pauses that no controller acknowledges, with their times.
	pauses pauses
	// indexed reports that the cache has the indexes of Machines by owner and by instance.
	indexed bool

	// follow starts a watch of a provider's kind when an object refers to the kind for the first time.
	follow func(schema.GroupVersionKind) error
	rested sync.Once
}

// The time until the next pass of a pair if no event comes before.
const (
	// afterStep is for a step that wrote something. Normally the event of this write starts the next pass earlier.
	afterStep = 5 * time.Second
	// afterWait is for a step that waits. The watches of the pair's objects (setup) normally start the next pass earlier. Other reasons to wait are not watched,
	// such as a namespace that is being deleted or a paused Cluster.
	afterWait = time.Minute
	// afterRest is for a CRD that lacks the fields that say which API is authoritative. The CRD may get them later.
	afterRest = 10 * time.Minute
	// afterStart is for a pair that the mirror of a new process has not compared yet.
	afterStart = time.Second
)

// longest is how long a pass may take. Without a limit, a provider's kind that Poundlock may not watch would block the pass forever.
const longest = time.Minute

// Reconcile reads one pair and takes at most one step.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p, step, err := r.decide(ctx, r.cache, req.NamespacedName)
	if err != nil {
		return result(r.blind(ctx, req.NamespacedName, err))
	}
	// An adoption for the Machine API depends only on the Machine API object, and the API server refuses its patches if that object has changed. So it needs no
	// live read. An adoption for Cluster API also stores whether the Cluster API object exists, so it needs one.
	doubt := step.Action.Acts() && (step.Action != authority.Adopt || step.To == authority.ClusterAPI)
	if doubt {
		// According to the cache, it must change which API may act. The cache may be out of date, so the API server decides.
		if p, step, err = r.decide(ctx, r.live, req.NamespacedName); err != nil {
			return result(err)
		}
	}
	again, err := r.apply(ctx, p, step)
	if err != nil {
		err = r.fails(ctx, p, step, fmt.Errorf("%s: %w", gerund(step), err))
	}
	r.show(req.NamespacedName, p, step)
	if err != nil {
		return result(err)
	}
	if doubt && !step.Action.Acts() {
		again = afterStep // cache and API server disagree: if the API server's answer was the stale one, no event follows
	}
	if step.Action == authority.Wait && p.pauseSeenIn > 0 {
		again = min(again, p.pauseSeenIn) // no event follows
	}
	if p.objects.Uncompared && (step.Reason == authority.ReasonCatchingUp || p.state().Decided) {
		again = min(again, afterStart) // no event follows a pass of the mirror that wrote nothing
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// decide reads a pair and decides its step. It also reads two things if they matter for the step. Before authority leaves one API, or while a twin is missing,
// it reads from the API server whether the surroundings (namespace, CRDs, Cluster) of the next authoritative API are being deleted. While Cluster API's
// controllers have not acknowledged, it reads whether the Cluster is paused.
func (r *reconciler) decide(ctx context.Context, from client.Reader, key types.NamespacedName) (*pair, authority.Step, error) {
	p, err := r.gather(ctx, from, key)
	if err != nil {
		return nil, authority.Step{}, err
	}
	step := authority.Next(p.state())
	if p.state().ClusterMatters(step) {
		if err := r.gatherCluster(ctx, from, p); err != nil {
			return nil, authority.Step{}, err
		}
		step = authority.Next(p.state())
	}
	deserted := p.state().Deserted(step)
	if !deserted && !(step.HandsOver() && from == r.live) {
		return p, step, nil
	}
	if err := r.gatherSurroundings(ctx, p, deserted); err != nil {
		return nil, authority.Step{}, err
	}
	return p, authority.Next(p.state()), nil
}

// blind reports that a move waits because an object that the move needs cannot be read. It does not report other read errors: these are transient, or would
// also prevent the report.
func (r *reconciler) blind(ctx context.Context, key types.NamespacedName, err error) error {
	var why *unreadable
	if !errors.As(err, &why) {
		return err
	}
	p := &pair{kind: r.kind, objects: authority.Objects{Kind: r.kind, Enabled: r.enabled(r.kind)}}
	var failed error
	if p.machineAPI, p.objects.MachineAPI, failed = get(ctx, r.live, r.kind.MachineAPIGVK(), key.Namespace, key.Name); failed != nil || p.machineAPI == nil {
		return errors.Join(err, failed)
	}
	if s := p.state(); s.Current != authority.Migrating && s.Requested.Other() != s.Current {
		return err
	}
	return errors.Join(err, r.report(ctx, p, authority.Step{Action: authority.Wait, Reason: reasonStepFailed, Message: retried + why.Error()}))
}

// show sets the metrics of the object after the pass. An object that Poundlock does not manage has no metrics.
func (r *reconciler) show(key types.NamespacedName, p *pair, step authority.Step) {
	o := p.machineAPI
	if step.Action == authority.Rest {
		o = nil
	}
	r.meters.since.Show(r.kind.Name, key, o)
}

// fails reports a step that the API server refuses, for example because Cluster API's webhooks are down. Otherwise nobody would see why the move does not
// continue. It does not report a conflict, because that only means that another writer was faster.
func (r *reconciler) fails(ctx context.Context, p *pair, step authority.Step, err error) error {
	if versioned.Outdated(err) || !step.Action.Acts() {
		return err
	}
	step.Action, step.Reason, step.On = authority.Wait, reasonStepFailed, 0
	step.Message = retried + eventnote.Cut(err.Error(), eventnote.Longest)
	return errors.Join(err, r.report(ctx, p, step))
}

// retried begins the message of a step that failed.
const retried = "A step of the move failed, and Poundlock retries it: "

// reasonStepFailed is the reason of the condition while the API server refuses a write of the handoff.
const reasonStepFailed = "StepFailed"

// result returns the result of a pass that ended with err, which may be nil.
func result(err error) (reconcile.Result, error) { return requeue.Result(0, err, versioned.Outdated) }

func gerund(step authority.Step) string { return "taking the step " + string(step.Action) }

// rest logs, once per kind, that Poundlock does nothing for the objects of the kind.
func (r *reconciler) rest(ctx context.Context, step authority.Step) {
	if step.Reason == authority.ReasonGone {
		return
	}
	r.rested.Do(func() {
		log.FromContext(ctx).Info("Handoff disabled", "kind", r.kind.Name, "reason", step.Reason, "message", step.Message)
	})
}
