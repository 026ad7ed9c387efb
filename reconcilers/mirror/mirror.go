// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// Options are the parameters of the mirror.
type Options struct {
	// Pairs are the namespaces that mirror each other.
	Pairs authority.Pairs
	// Now is the clock of the conditions; nil: the computer's.
	Now func() time.Time
	// Concurrency is how many pairs of a kind are mirrored at a time; 0: 4.
	Concurrency int
	// NodeSync is the configuration of Cluster API's manager that conversions need.
	NodeSync conversion.NodeSync
}

// SetupWithManager adds one controller per kind to the manager. It reads through the manager's cache (unstructured) and
// live through its API reader.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Concurrency == 0 {
		o.Concurrency = 4
	}
	counted, err := newMeters()
	if err != nil {
		return fmt.Errorf("registering the mirror's metrics: %w", err)
	}
	owners, environment := &sync.Mutex{}, facts.Environment{NodeSync: o.NodeSync, Accounts: &facts.Accounts{Reader: mgr.GetAPIReader()}}
	for _, kind := range authority.Kinds() {
		r := &reconciler{
			kind: kind, pairs: o.Pairs, meters: counted, owners: owners,
			cache: mgr.GetCache(), live: mgr.GetAPIReader(), writer: mgr.GetClient(),
			recorder: mgr.GetEventRecorder("poundlock-mirror"), informers: mgr.GetCache(),
			now: o.Now, environment: environment,
		}
		if err := r.setup(mgr, o.Concurrency); err != nil {
			return fmt.Errorf("starting the mirror of %ss: %w", kind.Name, err)
		}
	}
	return nil
}

type reconciler struct {
	kind        authority.Kind
	pairs       authority.Pairs
	environment facts.Environment
	meters

	cache, live client.Reader
	writer      client.Client
	recorder    events.EventRecorder
	informers   cache.Cache
	controller  controller.Controller
	watching    sync.Map // platforms whose kinds are watched
	refusals    refusals
	// owners is held by a write that depends on whether a set and its Machine belong together, from the look at that to the answer.
	owners *sync.Mutex
	now    func() time.Time
}

// decides is what decides now.
func (r *reconciler) decides() converting { return converting{now: r.now()} }

// Reconcile looks at one pair and makes it equal.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	s, err := r.gather(ctx, r.cache, req.NamespacedName)
	if err != nil {
		return result(err)
	}
	w := r.decides().next(s)
	if left := r.refusals.left(req.NamespacedName, w, r.now()); w == nil || left > 0 {
		r.show(req, s)
		return reconcile.Result{RequeueAfter: left}, nil
	}
	// The cache calls for a write. It may lag: the API server decides.
	if s, err = r.gather(ctx, r.live, req.NamespacedName); err != nil {
		return result(err)
	}
	if err := r.gatherSurroundings(ctx, s); err != nil {
		return result(err)
	}
	defer func() { r.show(req, s) }()
	if r.decides().next(s) == nil {
		return reconcile.Result{RequeueAfter: afterDoubt}, nil
	}
	defer r.record(s)
	return result(r.converge(ctx, s))
}

// show makes the metrics what the objects of the pair are.
func (r *reconciler) show(req reconcile.Request, s *state) {
	r.since.Show(r.kind.Name, req.NamespacedName, s.machineAPI)
	if r.kind.Scales {
		r.alone.Show(r.kind.Name, req.NamespacedName, s.core)
	}
}

// afterDoubt is when a pass follows one in which cache and API server disagreed on whether there is anything to do. As a rule the cache is behind, and
// its news wakes the pair anyway; if it was the answer of the server that was old, nothing else would.
const afterDoubt = 5 * time.Second

// result is that of a pass that ended so. What the API server refuses rests for as long as its refusals ask for.
func result(err error) (reconcile.Result, error) {
	again, err := requeue.Result(0, err)
	var rests refused
	if errors.As(err, &rests) {
		return reconcile.Result{RequeueAfter: rests.rest}, nil
	}
	return again, err
}

// most is more writes than any pair takes in one pass.
const most = 200

// converge performs one write after the other until the pair is equal.
func (r *reconciler) converge(ctx context.Context, s *state) error {
	var last *write
	for range most {
		w := r.decides().next(s)
		if w == nil {
			return nil
		}
		if last != nil && w.repeats(last) {
			return r.refused(ctx, s, w, &notKept{fmt.Errorf("%s does not keep what is written to it: %s", describe(w.object), brief(w.fields))})
		}
		if err := r.perform(ctx, s, w); err != nil {
			return r.refused(ctx, s, w, err)
		}
		last = w
	}
	return fmt.Errorf("mirroring %s %s: no end after %d writes", s.kind.Name, s.name, most)
}

// repeats reports whether w wants what was just written.
func (w *write) repeats(last *write) bool {
	return w.verb == last.verb && w.verb != remove && describe(w.object) == describe(last.object) && w.reason == last.reason &&
		reflect.DeepEqual(w.fields, last.fields) && len(w.fields) > 0
}

// refused reports on the Machine API object that the API server refuses the mirror; conflicts, timeouts and other
// errors that pass are not reported. The error is returned either way; after a reported one the pair rests.
func (r *reconciler) refused(ctx context.Context, s *state, w *write, err error) error {
	passing := apierrors.ReasonForError(err) != metav1.StatusReasonUnknown &&
		!apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !apierrors.IsBadRequest(err)
	if passing || w.failure || isNetwork(err) {
		return err
	}
	rest := r.refusals.note(key{Namespace: s.pair.MachineAPI, Name: s.name}, w, r.now())
	if report := r.decides().fails(s, "MirrorRefused", err.Error()); report != nil {
		if failed := r.perform(ctx, s, report); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return refused{err, rest}
}

// isNetwork reports whether no API server answered.
func isNetwork(err error) bool {
	var status apierrors.APIStatus
	var kept *notKept
	return !errors.As(err, &status) && !errors.As(err, &kept)
}

// perform sends one write and puts what came back into the state.
func (r *reconciler) perform(ctx context.Context, s *state, w *write) error {
	now := w.object.DeepCopy()
	err := r.send(ctx, s, w, now)
	r.count(s.kind.Name, w, err)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", w.verb, describe(w.object), err)
	}
	r.tell(ctx, s, w)
	if w.verb == remove || now.GetDeletionTimestamp() != nil && len(now.GetFinalizers()) == 0 {
		if now, err = get(ctx, r.live, w.object.GroupVersionKind(), w.object.GetNamespace(), w.object.GetName()); err != nil {
			return err
		}
	}
	if w.verb == create {
		s.made = now.GetUID()
	}
	s.store(w.object, now)
	return nil
}

func (r *reconciler) send(ctx context.Context, s *state, w *write, o *unstructured.Unstructured) error {
	if w.provided != (proviso{}) {
		r.owners.Lock()
		defer r.owners.Unlock()
		if err := r.holds(ctx, s, w); err != nil {
			return err
		}
	}
	switch w.verb {
	case create:
		if o.GroupVersionKind().Group == r.kind.MachineAPI.Group { // spec.authoritativeAPI is the user's from then on, and an apply would own it
			return r.writer.Create(ctx, o, client.FieldOwner(ownership.Manager), client.FieldValidation(metav1.FieldValidationStrict))
		}
		o.SetResourceVersion(ofNothing)
		return r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(ownership.Manager))
	case apply:
		return r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(ownership.Manager), client.ForceOwnership)
	case patch:
		return versioned.Patch(ctx, r.writer, o, w.patch, client.FieldOwner(cmp.Or(w.by, ownership.Manager)))
	case patchStatus:
		return versioned.PatchStatus(ctx, r.writer, o, w.patch, client.FieldOwner(ownership.Manager))
	}
	return client.IgnoreNotFound(r.writer.Delete(ctx, o, client.Preconditions{UID: uid(o)}, client.PropagationPolicy(w.propagation())))
}

// holds refuses a write, as a conflict, whose proviso is true no more.
func (r *reconciler) holds(ctx context.Context, s *state, w *write) error {
	if set := w.provided.stays; set != nil {
		now, err := get(ctx, r.live, set.GroupVersionKind(), set.GetNamespace(), set.GetName())
		if err == nil && (presence(now) != authority.Present || now.GetUID() != set.GetUID()) {
			err = changed(set)
		}
		return err
	}
	owned, err := owned(ctx, present{r.live, s}, s)
	if err == nil && len(owned) > 0 {
		err = changed(w.object)
	}
	return err
}

func changed(o *unstructured.Unstructured) error {
	what := schema.GroupResource{Group: o.GroupVersionKind().Group, Resource: o.GetKind()}
	return apierrors.NewConflict(what, o.GetName(), errors.New("it changed since it was read"))
}

// ofNothing is no object's resourceVersion: an apply with it makes what is absent, and meets a conflict with what somebody has made meanwhile.
const ofNothing = "1"

func uid(o *unstructured.Unstructured) *types.UID {
	u := o.GetUID()
	return &u
}

// propagation of a MachineSet's mirror orphans: its Machines follow their own twins, which the deletion of the
// MachineSet authoritative may well have left alone (--cascade=orphan).
func (w *write) propagation() metav1.DeletionPropagation {
	if w.object.GetKind() == "MachineSet" {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// tell logs every change, and keeps what a person asked for or must know of.
func (r *reconciler) tell(ctx context.Context, s *state, w *write) {
	log.FromContext(ctx).Info("Mirror changed", "verb", w.verb, "written", describe(w.object), "reason", w.reason, "fields", w.fields)
	about := s.machineAPI
	if about == nil {
		about = s.core
	}
	if about == nil || w.note == "" {
		return
	}
	now := news{about: about, severity: corev1.EventTypeNormal, reason: w.reason, notes: []string{w.note}}
	if w.failure || w.warning {
		now.severity = corev1.EventTypeWarning
	}
	s.news = joined(s.news, now)
}

// news is an event that is to be recorded.
type news struct {
	about            *unstructured.Unstructured
	severity, reason string
	notes            []string
}

// routine are the reasons of what a pass does to make a mirror, or to make it equal: one event has all of it, under the last of these reasons.
var routine = []string{"MirrorEnrolled", "MirrorCreated", "MirrorClaimed", "MirrorUpdated", "Synchronized"}

// joined adds what has happened to the events of the pass.
func joined(all []news, now news) []news {
	if last := len(all) - 1; last >= 0 && slices.Contains(routine, all[last].reason) && slices.Contains(routine, now.reason) &&
		all[last].severity == now.severity && all[last].about.GetUID() == now.about.GetUID() {
		now.notes = append(all[last].notes, now.notes...)
		return append(all[:last:last], now)
	}
	return append(all, now)
}

// record sends the events of a pass.
func (r *reconciler) record(s *state) {
	for _, n := range s.news {
		r.recorder.Eventf(n.about, nil, n.severity, n.reason, "Mirror", "%s", eventnote.Cut(strings.Join(n.notes, "; "), 1000))
	}
}

// notKept is what an API server does that takes a write and stores something else.
type notKept struct{ error }
