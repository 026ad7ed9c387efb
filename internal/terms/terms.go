// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package terms

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	ctrlelection "sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Options are the parameters of Add.
type Options struct {
	// Namespace and Name are those of the Lease.
	Namespace, Name string
	// Lease is how long other processes wait before they take a Lease that is not renewed. Renew is how long its holder tries to renew it. Retry is the time
	// between two attempts.
	Lease, Renew, Retry time.Duration
	// Client has the options of a term's client: which objects it reads from the cache.
	Client client.Options
	// Setup adds the controllers of a term to its manager.
	Setup func(ctrl.Manager) error
	// After is called at the end of a term, when its controllers have stopped.
	After func()
}

// Add makes the manager compete for the Lease, and run the controllers of one term after the other.
func Add(mgr manager.Manager, o Options) error {
	lock, err := ctrlelection.NewResourceLock(mgr.GetConfig(), mgr, ctrlelection.Options{
		LeaderElection: true, LeaderElectionNamespace: o.Namespace, LeaderElectionID: o.Name, RenewDeadline: o.Renew,
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	return mgr.Add(&office{Options: o, mgr: mgr, lock: lock, lender: newLender(mgr.GetCache())})
}

type office struct {
	Options
	mgr    manager.Manager
	lock   resourcelock.Interface
	lender *lender
}

// NeedLeaderElection is false, because the office does the leader election itself.
func (*office) NeedLeaderElection() bool { return false }

// Start runs one term after the other, until ctx is done or a term fails.
func (o *office) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := o.term(ctx); err != nil {
			return err
		}
	}
	return nil
}

// term waits for the Lease, and then runs the controllers until ctx is done or the Lease is lost.
func (o *office) term(ctx context.Context) error {
	acting, end := context.WithCancel(ctx)
	defer end()
	won := make(chan struct{})
	lock := &watched{Interface: o.lock, end: end}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: o.Name, LeaseDuration: o.Lease, RenewDeadline: o.Renew, RetryPeriod: o.Retry,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(won) }, OnStoppedLeading: end},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	lock.leads = elector.IsLeader

	// Keep renewing the Lease until the controllers have stopped, even after ctx is done.
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		elector.Run(renewing)
	}()
	select {
	case <-acting.Done():
	case <-won:
		err = o.act(acting, o.held(elector, lock))
	}
	stop()
	<-over
	o.release()
	if err == nil && ctx.Err() == nil {
		o.mgr.GetLogger().Info("This replica lost the Lease. Its reconcilers have stopped, and start again when this replica gets the Lease; the "+
			"webhooks keep working",
			"lease", o.lock.Describe())
	}
	return err
}

// act runs the controllers of a term until ctx is done. Their client writes only while held returns true.
func (o *office) act(ctx context.Context, held func() bool) error {
	cfg := rest.CopyConfig(o.mgr.GetConfig())
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return fence{next: next, held: held} })
	reads := o.lender.lend()
	defer reads.giveBack()
	inTime := o.Lease - o.Renew
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: o.mgr.GetScheme(), Logger: o.mgr.GetLogger(), Client: o.Client,
		MapperProvider:          func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return o.mgr.GetRESTMapper(), nil },
		NewCache:                func(*rest.Config, cache.Options) (cache.Cache, error) { return reads, nil },
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		Controller:              config.Controller{SkipNameValidation: new(true)}, // the controllers of the previous term have the same names
		GracefulShutdownTimeout: &inTime,
	})
	if err != nil {
		return err
	}
	if err := o.Setup(mgr); err != nil {
		return err
	}
	defer o.After()
	err = mgr.Start(ctx)
	if ctx.Err() != nil && !errors.Is(err, context.DeadlineExceeded) { // DeadlineExceeded: a controller still runs
		return nil
	}
	return err
}

// held returns a function that reports whether this process holds the Lease now, so that no other process can hold it.
func (o *office) held(elector *leaderelection.LeaderElector, lock *watched) func() bool {
	return func() bool { return !lock.lost.Load() && elector.IsLeader() && elector.Check(o.Renew-o.Lease) == nil }
}

// release gives up the Lease, so that another process can get it at once. If that fails, the Lease expires.
func (o *office) release() {
	ctx, cancel := context.WithTimeout(context.Background(), o.Renew)
	defer cancel()
	record, _, err := o.lock.Get(ctx)
	if err != nil || record.HolderIdentity != o.lock.Identity() {
		return
	}
	record.HolderIdentity, record.LeaseDurationSeconds = "", 1
	if err := o.lock.Update(ctx, *record); err != nil {
		o.mgr.GetLogger().Info("This replica could not release the Lease, so the next replica can take it only after it "+
			"expires", "lease", o.lock.Describe(), "because", err.Error())
	}
}

// watched is a lock that ends the term as soon as a read shows that another process holds the Lease, or that the Lease is gone. The elector itself would try to
// renew the Lease until its deadline.
type watched struct {
	resourcelock.Interface
	leads func() bool
	end   func()
	// lost is set before end is called, because the elector relies on its former record until Get returns. Without lost, the term could still write in between.
	lost atomic.Bool
}

// Get reads the Lease, and ends the term if the Lease is lost.
func (w *watched) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := w.Interface.Get(ctx)
	if w.leads() && (apierrors.IsNotFound(err) || err == nil && record.HolderIdentity != w.Identity()) {
		w.lost.Store(true)
		w.end()
	}
	return record, raw, err
}

// fence is a RoundTripper that sends a request that changes something only while this process holds the Lease.
type fence struct {
	next http.RoundTripper
	held func() bool
}

// RoundTrip sends a GET always, and any other request only while the Lease is held.
func (f fence) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || f.held() {
		return f.next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, fmt.Errorf("the request %s %s is not sent, because this replica no longer holds the Lease", r.Method, r.URL.Path)
}
