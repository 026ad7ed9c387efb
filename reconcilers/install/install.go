// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/installation"
)

// Options determine what the installer may do.
type Options struct {
	// Enabled are optional platforms to install on.
	Enabled []string
	// AllowTags accepts images that are named by a tag, in development.
	AllowTags bool
	// Version is the release, as the ClusterOperator shows it; "" for none.
	Version string
	// Resync is how often everything is compared although no event reports a change; 0 is 10 minutes.
	Resync time.Duration
	// Poll is how often a gate is looked at again; 0 is 2 seconds.
	Poll time.Duration
	// Page is how many objects a pass rewrites when a storage version changes; 0 is 500.
	Page int64
	// Now is the clock; nil is the computer's.
	Now func() time.Time
}

const (
	defaultResync = 10 * time.Minute
	defaultPoll   = 2 * time.Second
	// requestTimeout bounds each request, if the client's configuration does not: a server that hangs is an error like others.
	requestTimeout = 30 * time.Second
	// afterRival is how often to look whether OpenShift's own installer still runs.
	afterRival = time.Minute
)

// SetupWithManager adds the installer to the manager. It must run in one place at a time: behind leader election.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	counted, err := newMeters()
	if err != nil {
		return fmt.Errorf("registering the metrics of the installer: %w", err)
	}
	r, err := newReconciler(mgr.GetConfig(), o, mgr.GetEventRecorder("poundlock-install"), counted)
	if err != nil {
		return err
	}
	if err := r.setup(mgr); err != nil {
		return fmt.Errorf("starting the installer: %w", err)
	}
	return nil
}

func newReconciler(cfg *rest.Config, o Options, recorder events.EventRecorder, counted meters) (*reconciler, error) {
	cfg = rest.CopyConfig(cfg)
	if cfg.Timeout == 0 {
		cfg.Timeout = requestTimeout
	}
	cfg.WarningHandler = rest.NoWarnings{} // about the providers' definitions, at each apply
	c, err := client.New(cfg, client.Options{Scheme: scheme()})
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	lister, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	r := &reconciler{Options: o, client: c, lister: lister, recorder: recorder, meters: counted}
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Resync == 0 {
		r.Resync = defaultResync
	}
	if r.Poll == 0 {
		r.Poll = defaultPoll
	}
	if r.Page == 0 {
		r.Page = page
	}
	return r, nil
}

func scheme() *runtime.Scheme {
	sc := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(sc), configv1.Install(sc)); err != nil {
		panic(err) // two types under one name: nothing that a user can bring about
	}
	return sc
}

// lister is the part of the discovery client that the installer needs.
type lister interface {
	discovery.ServerGroupsInterface
	discovery.ServerResourcesInterface
}

type reconciler struct {
	Options
	client   client.Client
	lister   lister
	recorder events.EventRecorder
	meters   meters
	// watched watches the kinds that content brings along; nil in tests of single passes.
	watched *watched
	// memory counts failures.
	memory installation.Memory
	// lasting reports that passes have failed for so long that the failure is reported.
	lasting  bool
	rendered rendered
	// intact has, by provider, the version of the ConfigMaps of what became ready last that were found sound.
	intact map[string]string
	// waitsSince is when the set as a whole began to wait.
	waitsSince time.Time
	// announced is the reason in the last event about why the set as a whole was not applied.
	announced string
}

// Reconcile is one pass.
func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	rival, err := r.rival(ctx)
	if err != nil {
		return r.after(err)
	}
	r.meters.standsStill(rival != "")
	if rival != "" {
		log.FromContext(ctx).Info("Nothing is installed: OpenShift's own installer runs", "deployment", rival)
		return reconcile.Result{RequeueAfter: afterRival}, nil
	}
	r.lasting = r.memory.Lasts(r.Now())
	p := r.pass(ctx)
	if r.stops(p.Err) {
		r.memory = r.memory.Remember(p.Pass, r.Now())
		return r.after(p.Err)
	}
	r.announce(p)
	err = r.report(ctx, p)
	if err == nil {
		err = p.failure()
	}
	if err != nil {
		return r.after(err)
	}
	if p.waits() || len(p.Missing) > 0 && r.memory.Finals < installation.FinalPasses {
		return reconcile.Result{RequeueAfter: r.Poll}, nil
	}
	const part = 10                                                              // of the time between, so that installers do not ask all at once
	return reconcile.Result{RequeueAfter: r.Resync + rand.N(r.Resync/part)}, nil //nolint:gosec // no secret depends on it
}

// stops reports that an error ends a pass at once, without another request: the server asks for patience (429). A webhook, or a server for one kind of
// request, may answer so for ever. Once it has for long (lasting), the error is like any other: it is reported, and keeps nothing else waiting.
func (r *reconciler) stops(err error) bool { return apierrors.IsTooManyRequests(err) && !r.lasting }

// after turns an error into the time of the next pass. A server that asks for patience gets it. After a conflict the installer polls: another writer was
// faster.
func (r *reconciler) after(err error) (reconcile.Result, error) {
	if seconds, asks := apierrors.SuggestsClientDelay(err); asks && apierrors.IsTooManyRequests(err) {
		return reconcile.Result{RequeueAfter: time.Duration(max(seconds, 1)) * time.Second}, nil
	}
	if apierrors.IsConflict(err) && !installation.IsFinal(err) {
		return reconcile.Result{RequeueAfter: r.Poll}, nil
	}
	return reconcile.Result{}, err
}

// done is everything that a pass found out.
type done struct {
	installation.Pass
	all      []installation.Provider
	operator *configv1.ClusterOperator
	// transports are the ConfigMaps of the release.
	transports []corev1.ConfigMap
	records    map[string]*record
}

func (d *done) failure() error {
	all := []error{d.Err}
	for _, o := range d.Outcomes {
		all = append(all, o.Err)
	}
	return errors.Join(all...)
}

func (d *done) waits() bool {
	if d.Waits != "" || d.Platform.Waits != "" {
		return true
	}
	for _, o := range d.Outcomes {
		if o.Waits != "" {
			return true
		}
	}
	return false
}
