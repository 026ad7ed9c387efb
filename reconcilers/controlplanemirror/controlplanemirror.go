// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanemirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Options are the parameters of the reconciler.
type Options struct {
	// Pairs are the pairs of namespaces that mirror each other.
	Pairs authority.Pairs
	// Now is the clock for the conditions; nil means time.Now.
	Now func() time.Time
	// NodeSync is the configuration of Cluster API's manager that conversions need.
	NodeSync conversion.NodeSync
}

// SetupWithManager adds the controller to the manager. The controller reads from the manager's cache, and before it writes, live through the manager's API
// reader. Only one process may run it at a time, so it needs leader election.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &reconciler{
		pairs: o.Pairs, cache: mgr.GetCache(), live: mgr.GetAPIReader(), writer: mgr.GetClient(),
		environment: facts.Environment{NodeSync: o.NodeSync, Accounts: &facts.Accounts{Reader: mgr.GetAPIReader()}, Masters: mgr.GetCache()},
		recorder:    mgr.GetEventRecorder("poundlock-reflection"), reporting: reporting{now: o.Now},
	}
	if err := errors.Join(facts.IndexByRole(context.Background(), mgr.GetFieldIndexer()), r.setup(mgr)); err != nil {
		return fmt.Errorf("starting the reflection of ControlPlaneMachineSets: %w", err)
	}
	return nil
}

type reconciler struct {
	pairs       authority.Pairs
	environment facts.Environment
	cache, live client.Reader
	writer      client.Client
	recorder    events.EventRecorder
	watcher     *served.Watcher

	reporting
}

const (
	// afterDoubt is the time until the next pass if cache and API server disagreed. Usually the cache's next event starts a pass. If the live read was out of
	// date, no event comes.
	afterDoubt = 5 * time.Second
	// most is more writes than any pass needs.
	most = 20
)

// Reconcile reconciles the set of one pair. If a write is needed according to the cache, it reads the API server before each write, because the cache may be
// out of date.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	s, err := r.gather(ctx, r.cache, req.Namespace)
	if err != nil || r.next(s) == nil {
		return requeue.Result(0, err)
	}
	for n := range most {
		if s, err = r.gather(ctx, r.live, req.Namespace); err != nil {
			return requeue.Result(0, err)
		}
		w := r.next(s)
		if w == nil && n == 0 {
			return requeue.Result(afterDoubt, nil)
		}
		if w == nil {
			return requeue.Result(0, nil)
		}
		if err := r.perform(ctx, s, w); err != nil {
			return requeue.Result(0, err)
		}
	}
	return requeue.Result(0, fmt.Errorf("reflecting ControlPlaneMachineSet %s: not complete after %d writes", req.NamespacedName, most))
}

const fieldManager = "poundlock-reflection"

// perform sends one write. If the API server refuses a write on Cluster API's side, the set's conditions report this. They do not report errors that pass by
// themselves.
func (r *reconciler) perform(ctx context.Context, s *state, w *write) error {
	err := r.send(ctx, w)
	if err == nil {
		r.recordWrite(ctx, s, w)
		return nil
	}
	err = fmt.Errorf("%s of %s: %w", w.verb, describe(w.object), err)
	if s.set == nil || w.object.GetUID() == s.set.GetUID() || !refuses(err) {
		return err
	}
	s.refusal = problem{controlplane.ReflectionRefused, err.Error()}
	if report := r.report(s); report != nil {
		return errors.Join(err, r.perform(ctx, s, report))
	}
	return err
}

// refuses reports whether an error means that an API server has judged a write and refuses it, or does not store what was written.
func refuses(err error) bool {
	kept := (*notKept)(nil)
	return errors.As(err, &kept) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}

// notKept is the error of an API server that accepts a write and stores something else.
type notKept struct{ error }

func (r *reconciler) send(ctx context.Context, w *write) error {
	o := w.object.DeepCopy()
	switch w.verb {
	case create:
		return r.writer.Create(ctx, o, client.FieldOwner(fieldManager), client.FieldValidation(metav1.FieldValidationStrict))
	case update:
		return r.writer.Update(ctx, o, client.FieldOwner(fieldManager), client.FieldValidation(metav1.FieldValidationStrict))
	case remove:
		return client.IgnoreNotFound(versioned.Delete(ctx, r.writer, o))
	}
	err := r.patch(ctx, o, w.patch)
	if apierrors.IsInvalid(err) && w.otherwise != nil {
		err = r.patch(ctx, o, w.otherwise)
	}
	if err == nil && w.kept != nil && !w.kept(o) {
		return &notKept{errors.New("the API server does not store status.failureDomains that Poundlock wrote, because the CRD has no such field")}
	}
	return err
}

func (r *reconciler) patch(ctx context.Context, o *unstructured.Unstructured, patch map[string]any) error {
	return versioned.PatchStatus(ctx, r.writer, o, patch, client.FieldOwner(fieldManager))
}

// recordWrite logs every change, and records an event for a change that a user asked for or must act on.
func (r *reconciler) recordWrite(ctx context.Context, s *state, w *write) {
	log.FromContext(ctx).Info("Control plane reflected", "verb", w.verb, "written", describe(w.object), "reason", w.reason)
	if s.set == nil || w.note == "" {
		return
	}
	severity := corev1.EventTypeNormal
	if w.warning {
		severity = corev1.EventTypeWarning
	}
	r.recorder.Eventf(s.set, nil, severity, w.reason, "Reflect", "%s", eventnote.Cut(w.note, eventnote.Longest))
}
