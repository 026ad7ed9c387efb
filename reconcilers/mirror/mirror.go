// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/facts/pairfacts"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring"
	"github.com/poundlock/poundlock/mirroring/answers"
	"github.com/poundlock/poundlock/mirroring/feedback"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// Options are the parameters of the mirror.
type Options struct {
	// Pairs are the pairs of namespaces that mirror each other.
	Pairs authority.Pairs
	// Now is the clock for the conditions; nil means time.Now.
	Now func() time.Time
	// Concurrency is how many pairs of a kind are mirrored at the same time; 0 means 10. Ten workers here and ten in the handoff mirrored 1,000 Machines on two
	// cores in 32.1 s; four and four took 43.4 s (docs/benchmarks.md).
	Concurrency int
	// Gate reads the feature gate from the API server; nil means that the gate is on and always was.
	Gate func(context.Context) (authority.Migration, error)
	// NodeSync is the configuration of Cluster API's manager that conversions need.
	NodeSync conversion.NodeSync
	// Compared is called for each pair that a pass has found or made equal, with the key of its Machine API object and the authority.Edition (a hash of what the
	// mirror is made from). It is also called for a pair whose Machine API object does not exist. nil means that nobody needs it.
	Compared func(kind string, key types.NamespacedName, edition uint64, exists bool)
}

// SetupWithManager adds one controller for each kind to the manager. The controllers read from the manager's cache (unstructured), and live through its API
// reader.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Concurrency == 0 {
		o.Concurrency = 10
	}
	if o.Gate == nil {
		o.Gate = func(context.Context) (authority.Migration, error) { return authority.Migration{}, nil }
	}
	if o.Compared == nil {
		o.Compared = func(string, types.NamespacedName, uint64, bool) {}
	}
	counted, err := newMeters()
	if err != nil {
		return fmt.Errorf("registering the mirror's metrics: %w", err)
	}
	if err := facts.IndexByRole(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	owners, environment := &sync.Mutex{}, facts.Environment{NodeSync: o.NodeSync, Accounts: &facts.Accounts{Reader: mgr.GetAPIReader()}, Masters: mgr.GetCache()}
	for _, kind := range authority.Kinds() {
		if kind.Infra == authority.InfraMachine {
			if err := errors.Join(facts.IndexByInfra(context.Background(), mgr.GetFieldIndexer(), kind.ClusterAPIGVK()),
				facts.IndexByOwner(context.Background(), mgr.GetFieldIndexer(), kind.MachineAPIGVK())); err != nil {
				return err
			}
		}
		r := &reconciler{
			kind: kind, meters: counted, owners: owners, writer: mgr.GetClient(), recorder: mgr.GetEventRecorder("poundlock-mirror"),
			now: o.Now, compared: o.Compared, kept: answers.NewKept(),
		}
		r.facts = pairfacts.Reader{
			Kind: kind, Pairs: o.Pairs, Cache: mgr.GetCache(), Live: mgr.GetAPIReader(),
			Environment: environment, Platform: r.watchPlatform, Gate: o.Gate, Kept: r.kept.Has,
		}
		if err := r.setup(mgr, o.Concurrency); err != nil {
			return fmt.Errorf("starting the mirror of %ss: %w", kind.Name, err)
		}
	}
	return nil
}

type reconciler struct {
	kind  authority.Kind
	facts pairfacts.Reader
	meters

	writer   client.Client
	recorder events.EventRecorder
	watcher  *served.Watcher
	refusals answers.Refusals
	kept     answers.Kept
	// owners is locked during a write that depends on whether a set and its Machine belong together. It is locked from the check of that condition until the API
	// server has answered the write.
	owners   *sync.Mutex
	now      func() time.Time
	compared func(kind string, key types.NamespacedName, edition uint64, exists bool)
}

// Reconcile makes one pair equal.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	s, err := r.facts.Read(ctx, r.facts.Cache, req.NamespacedName)
	if err != nil {
		return result(err)
	}
	if s.MachineAPI == nil {
		r.refusals.Forget(req.NamespacedName)
	}
	w := mirroring.Next(s, r.now())
	if left := r.refusals.Left(req.NamespacedName, w, r.now()); w == nil || left > 0 {
		if w == nil {
			r.isEqual(req, s)
		}
		r.show(req, s)
		if left == 0 {
			left = feedback.SparedLeft(s, r.now())
		}
		if left == 0 && (len(s.Adopters) > 0 || s.Full != "") {
			left = afterDoubt // no event of another set, or of another Machine, requeues this one
		}
		return reconcile.Result{RequeueAfter: left}, nil
	}
	// According to the cache, a write is needed. The cache may be out of date, so the API server decides: by a live read, or for a first write by refusing it.
	first := s.Begins(w)
	if first {
		err = r.facts.Cluster(ctx, s)
	} else {
		s, err = r.live(ctx, req)
	}
	if err != nil {
		return result(err)
	}
	defer func() { r.show(req, s) }()
	if mirroring.Next(s, r.now()) == nil {
		r.isEqual(req, s)
		return reconcile.Result{RequeueAfter: afterDoubt}, nil
	}
	p := &pass{State: s, first: first}
	defer r.record(p)
	err = r.converge(ctx, p)
	if err == nil {
		r.isEqual(req, p.State)
	}
	return result(err)
}

// live reads a pair from the API server, with its surroundings (namespaces, CRDs, Cluster) and the feature gate if these matter.
func (r *reconciler) live(ctx context.Context, req reconcile.Request) (*pairs.State, error) {
	s, err := r.facts.Read(ctx, r.facts.Live, req.NamespacedName)
	if err != nil {
		return nil, err
	}
	if err := r.facts.Surroundings(ctx, s); err != nil {
		return nil, err
	}
	return s, r.facts.Migration(ctx, s)
}

// isEqual reports to compared that a pair needs no write.
func (r *reconciler) isEqual(req reconcile.Request, s *pairs.State) {
	r.compared(r.kind.Name, req.NamespacedName, authority.Edition(s.Source(), s.MachineAPI, s.Core, s.Infra), s.MachineAPI != nil)
}

// show sets the metrics of the pair from its objects.
func (r *reconciler) show(req reconcile.Request, s *pairs.State) {
	r.since.Show(r.kind.Name, req.NamespacedName, s.MachineAPI)
	if r.kind.Scales {
		r.alone.Show(r.kind.Name, req.NamespacedName, s.Core)
	}
}

// afterDoubt is the time until the next pass if cache and API server disagreed about whether a write is needed. Usually the cache is out of date, and its next
// event requeues the pair. If the live read was out of date, no event comes.
const afterDoubt = 5 * time.Second

// result returns the result of a pass that ended with err, which may be nil. A pair that the API server has refused is requeued after the time that its
// refusals require.
func result(err error) (reconcile.Result, error) {
	again, err := requeue.Result(0, err)
	var rests refused
	if errors.As(err, &rests) {
		return reconcile.Result{RequeueAfter: rests.rest}, nil
	}
	return again, err
}

// most is more writes than any pair needs in one pass.
const most = 200

// converge performs one write after the other until the pair is equal.
func (r *reconciler) converge(ctx context.Context, p *pass) error {
	var last *pairs.Write
	for range most {
		w := mirroring.Next(p.State, r.now())
		if w == nil {
			return nil
		}
		if last != nil && w.Repeats(last) {
			return r.refused(ctx, p, w, answers.NotKept(w))
		}
		if err := r.perform(ctx, p, w); err != nil {
			return r.refused(ctx, p, w, err)
		}
		last = w
	}
	return fmt.Errorf("mirroring %s %s: no end after %d writes", p.Kind.Name, p.Name, most)
}

// pass is one pass over a pair, with what the pass has to report.
type pass struct {
	*pairs.State
	// first reports that the pass began with data from the cache only (pairs.State.Begins). Of the surroundings, only the Cluster was read live. The API server
	// itself refuses to create an object if its namespace or its CRD is being deleted.
	first bool
	// events are the events of the pass so far.
	events []mirroring.Event
}
