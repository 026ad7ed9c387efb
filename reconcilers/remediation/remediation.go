// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine/health"
	"github.com/poundlock/poundlock/policies/authority"
)

// Options are the parameters of remediation.
type Options struct {
	// Pairs are the pairs of namespaces that mirror each other.
	Pairs authority.Pairs
	// Enabled reports whether authority over a kind can move at all; nil means yes. If authority over MachineHealthChecks cannot move, the controller is not
	// started.
	Enabled func(authority.Kind) bool
	// Now is the clock by which Machines are judged; nil means time.Now.
	Now func() time.Time
}

// SetupWithManager adds the controller to the manager. The controller reads from the manager's cache, and live through its API reader. Only one process may run
// it at a time, so it needs leader election.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Enabled != nil && !o.Enabled(checkKind()) {
		return nil
	}
	counted, err := newMeters()
	if err != nil {
		return fmt.Errorf("registering the metrics of remediation: %w", err)
	}
	r := &reconciler{
		pairs: o.Pairs, now: o.Now, cache: mgr.GetCache(), live: mgr.GetAPIReader(), writer: mgr.GetClient(),
		recorder: mgr.GetEventRecorder("poundlock-remediation"), meters: counted,
	}
	if err := r.setup(mgr); err != nil {
		return fmt.Errorf("starting remediation: %w", err)
	}
	return nil
}

type reconciler struct {
	pairs authority.Pairs
	now   func() time.Time

	cache, live client.Reader
	writer      client.Writer
	recorder    events.EventRecorder
	meters      meters
}

// Reconcile judges the Machines that one MachineHealthCheck selects, and remediates the unhealthy ones.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	j, _, err := r.judge(ctx, r.cache, req)
	if err != nil || len(j.Remediate) == 0 {
		return requeue.Result(j.Next, err)
	}
	// According to the cache, a Machine must be deleted. The cache may be out of date, so the API server decides.
	j, s, err := r.judge(ctx, r.live, req)
	if err != nil {
		return requeue.Result(0, err)
	}
	var failures error
	for _, v := range j.Remediate {
		failures = errors.Join(failures, r.carry(ctx, s, v))
	}
	return requeue.Result(j.Next, failures)
}

// judge returns the verdicts on the Machines of a check. It returns none if this controller does not act for the check (carried).
func (r *reconciler) judge(ctx context.Context, from client.Reader, req reconcile.Request) (health.Judgement, *state, error) {
	s, err := r.gather(ctx, from, req.NamespacedName)
	if err != nil || !s.carried() {
		return health.Judgement{}, s, err
	}
	j, err := health.Judge(&s.spec, s.targets, r.now(), s.ours)
	if err != nil {
		// A check that cannot be judged is not retried, because its next change requeues it.
		log.FromContext(ctx).Info("A check cannot be judged", "check", req.NamespacedName, "why", err.Error())
		return health.Judgement{}, s, nil
	}
	return j, s, nil
}

// carry deletes a Machine that was judged unhealthy, if the Machine is still unhealthy with the Node as the API server has it.
func (r *reconciler) carry(ctx context.Context, s *state, v health.Assessment) error {
	t, err := r.target(ctx, r.live, v.Machine)
	if err != nil {
		return err
	}
	if v = health.Of(&s.spec, t, r.now()); !v.Unhealthy() {
		return nil
	}
	v.Message = eventnote.Cut(v.Message, 600)
	o := s.authoritative(v.Machine)
	if s.spec.RemediationTemplate != nil && v.Machine.Status.AuthoritativeAPI != machinev1beta1.MachineAuthorityClusterAPI {
		r.recorder.Eventf(s.core, o, corev1.EventTypeWarning, "RemediationNotCarriedOver", "Remediate",
			"Machine %s is unhealthy: %s. Machine API is authoritative for it, so Cluster API creates no request from the remediation template. Remediate "+
				"the Machine by hand, or move the Machine to Cluster API: kubectl poundlock migrate machine/%[1]s --to clusterapi",
			o.GetName(), v.Message)
		return nil
	}
	err = versioned.Delete(ctx, r.writer, o)
	if apierrors.IsNotFound(err) {
		return nil // somebody else's deletion was faster
	}
	if err != nil {
		return fmt.Errorf("deleting Machine %s, which is unhealthy: %w", o.GetName(), err)
	}
	r.recordRemediation(ctx, s, v)
	return nil
}

// recordRemediation records events on the Machine and on the check: what was done, and why.
func (r *reconciler) recordRemediation(ctx context.Context, s *state, v health.Assessment) {
	o := s.authoritative(v.Machine)
	r.meters.remediations.WithLabelValues(string(v.Cause)).Inc()
	log.FromContext(ctx).Info("Remediation carried over", "machine", o.GetName(), "check", s.core.GetName(), "cause", v.Cause, "message", v.Message)
	current, why := "Machine API", "skips this Machine because Machine API is authoritative for it"
	if v.Machine.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityClusterAPI {
		current, why = "Cluster API", "leaves the deletion to the Machine's owner, whose controller is paused in Cluster API"
	}
	r.recorder.Eventf(o, s.core, corev1.EventTypeWarning, string(v.Cause), "Delete",
		"Deleted for Cluster API's MachineHealthCheck %s, which %s: %s", s.core.GetName(), why, v.Message)
	r.recorder.Eventf(s.core, o, corev1.EventTypeNormal, "RemediationCarriedOver", "Delete",
		"For this check, Poundlock deleted the unhealthy Machine %s, for which %s is authoritative: %s", o.GetName(), current, v.Message)
}
