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
	// Enabled are the optional platforms on which providers are installed.
	Enabled []string
	// AllowTags allows images that are named by a tag, for development.
	AllowTags bool
	// Version is the release, as the ClusterOperator shows it; "" for none.
	Version string
	// Resync is how often everything is compared even if no event reports a change; 0 means 10 minutes.
	Resync time.Duration
	// Poll is how often a gate that waits is checked again; 0 means 2 seconds.
	Poll time.Duration
	// Page is how many objects a pass rewrites when a storage version changes; 0 means 500.
	Page int64
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

const (
	defaultResync = 10 * time.Minute
	defaultPoll   = 2 * time.Second
	// requestTimeout limits each request if the client's configuration has no limit, so that a server that hangs leads to an error like any other.
	requestTimeout = 30 * time.Second
	// afterRival is the time after which the installer checks again whether OpenShift's own installer still runs.
	afterRival = time.Minute
)

// SetupWithManager adds the installer to the manager. Only one process may run the installer at a time, so it needs leader election.
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
	cfg.WarningHandler = rest.NoWarnings{} // otherwise each apply would log warnings about the providers' CRDs
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
		panic(err) // two types have one name: no input of a user leads to this
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
	// watched watches the kinds of the objects that the content has; nil in tests of single passes.
	watched *watched
	// memory counts failed passes.
	memory installation.Memory
	// lasting reports that passes have failed for so long that the failure is reported as one that does not pass.
	lasting  bool
	rendered rendered
	// intact has, by provider, the versions of the ConfigMaps of the content that became ready last, as they were found to be sound (isKept).
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
	const part = 10                                                              // a random part of Resync is added, so that installers do not all ask at once
	return reconcile.Result{RequeueAfter: r.Resync + rand.N(r.Resync/part)}, nil //nolint:gosec // no secret depends on it
}

// stops reports whether an error ends a pass at once, without another request, because the server asks the client to wait (429). A webhook, or a server for one
// kind of request, may answer so for ever. Once this has lasted for long (lasting), the error is like any other: it is reported, and delays nothing else.
func (r *reconciler) stops(err error) bool { return apierrors.IsTooManyRequests(err) && !r.lasting }

// after returns when the next pass runs after an error. If the server asked the client to wait, the pass waits as long as asked. After a conflict the installer
// polls, because another writer was faster.
func (r *reconciler) after(err error) (reconcile.Result, error) {
	if seconds, asks := apierrors.SuggestsClientDelay(err); asks && apierrors.IsTooManyRequests(err) {
		return reconcile.Result{RequeueAfter: time.Duration(max(seconds, 1)) * time.Second}, nil
	}
	if apierrors.IsConflict(err) && !installation.IsFinal(err) {
		return reconcile.Result{RequeueAfter: r.Poll}, nil
	}
	return reconcile.Result{}, err
}

// done is everything that a pass has found out.
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
