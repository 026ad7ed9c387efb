// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Options are the parameters of the operator.
type Options struct {
	// Pairs are the pairs of namespaces that mirror each other. The set is in the Machine API namespace of the first pair, because a cluster has only one control
	// plane.
	Pairs authority.Pairs
	// MayRecreate allows the strategy Recreate, under which etcd lacks a member while a Machine is being replaced.
	MayRecreate bool
	// NotReadyGrace is how long a Node may be not ready before the set counts as unavailable.
	NotReadyGrace time.Duration
	// Version is the version that the ClusterOperator reports; "" for none.
	Version string
	// Now is the clock that measures how long Nodes take to join; nil means time.Now.
	Now func() time.Time
}

// SetupWithManager adds the operator to the manager. Only one process may run the operator at a time, so it needs leader election.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if len(o.Pairs) == 0 {
		return errors.New("starting the operator of ControlPlaneMachineSets: no namespaces were named")
	}
	counted, err := newMeters()
	if err != nil {
		return fmt.Errorf("registering the metrics of ControlPlaneMachineSets: %w", err)
	}
	r := o.reconciler()
	r.cache, r.writer, r.recorder, r.meters = mgr.GetCache(), mgr.GetClient(), mgr.GetEventRecorder("poundlock-rollout"), counted
	r.accounts = &facts.Accounts{Reader: mgr.GetAPIReader()}
	r.live = newForward(mgr.GetAPIReader(), r.now)
	if err := r.setup(mgr); err != nil {
		return fmt.Errorf("starting the operator of ControlPlaneMachineSets: %w", err)
	}
	return nil
}

// reconciler returns a reconciler with these options, and without clients.
func (o Options) reconciler() *reconciler {
	r := &reconciler{pair: o.Pairs[0], mayRecreate: o.MayRecreate, notReadyGrace: o.NotReadyGrace, version: o.Version, now: o.Now}
	if r.now == nil {
		r.now = time.Now
	}
	r.began = r.now()
	return r
}

type reconciler struct {
	pair        authority.Pair
	mayRecreate bool
	// notReadyGrace is how long a Node may be not ready.
	notReadyGrace time.Duration
	version       string
	now           func() time.Time
	// began is when the operator began to act.
	began time.Time

	cache    client.Reader
	live     *forward
	writer   client.Client
	recorder events.EventRecorder
	meters   meters
	trials   trials
	links    links
	accounts *facts.Accounts
}

// unwatched is how often the operator checks two things that no watch reports: whether objects exist now that a template for Cluster API lacked, and whether
// the API server still refuses a Machine.
const unwatched = 15 * time.Second

// mirrored is the time within which the mirror reconciler, which begins together with the operator, has seen each Machine.
const mirrored = 2 * time.Minute

// Reconcile performs the writes that the cache requires, if a live read requires writes too. With only a stale cache, it could create one Machine too many. It
// could also adopt a Machine for a set that is gone, and the garbage collector would delete that Machine.
func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	s, err := r.gather(ctx, r.cache, false)
	if err != nil {
		return requeue.Result(0, err)
	}
	r.meters.show(s.plan)
	if len(r.writes(s)) > 0 {
		if other, err := facts.OtherOperator(ctx, r.live, r.pair.MachineAPI); err != nil || other != "" {
			return r.standBack(ctx, s, other, err)
		}
		if s, err = r.gather(ctx, r.live, true); err != nil {
			return requeue.Result(0, err)
		}
		err = carryOut(ctx, r.writes(s))
	}
	return requeue.Result(r.next(s), err)
}

// afterOther is the time after which the operator checks again whether another operator still runs.
const afterOther = time.Minute

// standBack leaves the control plane to another operator, including the report, because two operators would overwrite each other's status.
func (r *reconciler) standBack(ctx context.Context, s *state, other string, err error) (reconcile.Result, error) {
	if err != nil {
		return requeue.Result(0, fmt.Errorf("reading whether another operator of ControlPlaneMachineSets runs: %w", err))
	}
	message := controlplane.OtherOperatorRuns(other)
	log.FromContext(ctx).Info(message)
	if s.set != nil {
		r.recorder.Eventf(s.set, nil, corev1.EventTypeWarning, "OtherOperator", "StandBack", "%s", eventnote.Cut(message, eventnote.Longest))
	}
	return requeue.Result(afterOther, nil)
}

// next returns after how long to requeue even if nothing changes; 0 to wait for the next change. Each pass sets this time anew, even a pass that an event
// started.
func (r *reconciler) next(s *state) time.Duration {
	switch {
	case s.plan == nil:
		return 0
	case s.held:
		return time.Second
	case s.unresolved:
		return unwatched
	case !s.plan.Next.IsZero():
		return max(s.plan.Next.Sub(r.now()), time.Second)
	}
	return 0
}

// write is one request to the API server.
type write func(context.Context) error

// carryOut sends all writes. A failed write does not prevent the others, so that above all the report is sent.
func carryOut(ctx context.Context, all []write) error {
	var failures error
	for _, w := range all {
		failures = errors.Join(failures, w(ctx))
	}
	return failures
}
