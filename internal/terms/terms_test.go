// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package terms_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/terms"
	"github.com/poundlock/poundlock/test/embedded"
)

var plane *embedded.Plane

func TestMain(m *testing.M) {
	os.Exit(embedded.Main(m, embedded.Options{}, func(p *embedded.Plane) error {
		plane = p
		return nil
	}))
}

const patience = time.Minute

// process is a manager that copies the annotation "asked" of ConfigMaps to "done" while it has the Lease.
type process struct {
	manager.Manager
	ended chan error
	// began and cleared count terms; passes counts reconciliations, of all terms.
	began, cleared, passes atomic.Int32
	// heard is how many handlers were called because the third request was made.
	heard atomic.Int32
	// hang, where it is not nil, holds each reconciliation up, also after the end of its context.
	hang chan struct{}
	// late is what a write after the end of a term came to.
	late chan error
}

func start(t *testing.T, namespace string, p *process) (stop func()) {
	t.Helper()
	mgr, err := ctrl.NewManager(plane.Admin(), ctrl.Options{Scheme: clientgoscheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	err = terms.Add(mgr, terms.Options{
		Namespace: namespace, Name: "a", Lease: 6 * time.Second, Renew: 4 * time.Second, Retry: 200 * time.Millisecond,
		Setup: func(mgr ctrl.Manager) error { return p.setup(mgr, namespace) },
		After: func() { p.cleared.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.Manager, p.ended = mgr, make(chan error, 1)
	go func() { p.ended <- mgr.Start(ctx) }()
	return func() {
		cancel()
		if err := <-p.ended; err != nil {
			t.Error(err)
		}
	}
}

func (p *process) setup(mgr ctrl.Manager, namespace string) error {
	p.began.Add(1)
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.ConfigMap{}, "asked", func(o client.Object) []string {
		return []string{o.GetAnnotations()["asked"]}
	}); err != nil {
		return err
	}
	c := mgr.GetClient()
	hears := predicate.NewPredicateFuncs(func(o client.Object) bool {
		if o.GetNamespace() == namespace && o.GetAnnotations()["asked"] == "third" && o.GetAnnotations()["done"] == "second" {
			p.heard.Add(1)
		}
		return true
	})
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{},
		builder.WithPredicates(hears)).Complete(reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		o := &corev1.ConfigMap{}
		if err := c.Get(ctx, r.NamespacedName, o); err != nil || r.Namespace != namespace || o.Annotations["asked"] == o.Annotations["done"] {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		p.passes.Add(1)
		if p.hang != nil {
			<-p.hang
		}
		before := o.DeepCopy()
		o.Annotations["done"] = o.Annotations["asked"]
		if p.late == nil {
			return reconcile.Result{}, c.Patch(ctx, o, client.MergeFrom(before))
		}
		<-ctx.Done()
		p.late <- c.Patch(context.WithoutCancel(ctx), o, client.MergeFrom(before)) // as one that does not look at its context would
		return reconcile.Result{}, nil
	}))
}

func admin(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(plane.Admin(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t *testing.T, o client.Object) {
	t.Helper()
	if err := admin(t).Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, namespace, what string) {
	t.Helper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "it"}}
	if err := admin(t).Patch(t.Context(), o,
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"asked":"`+what+`"}}}`))); err != nil {
		t.Fatal(err)
	}
}

func done(t *testing.T, namespace string) string {
	t.Helper()
	o := &corev1.ConfigMap{}
	if err := admin(t).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "it"}, o); err != nil {
		t.Fatal(err)
	}
	return o.Annotations["done"]
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("never: %s", what)
	}
}

// holder is who has the Lease, "" for nobody.
func holder(t *testing.T, namespace string) string {
	t.Helper()
	o := &coordinationv1.Lease{}
	if err := admin(t).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a"}, o); err != nil || o.Spec.HolderIdentity == nil {
		return ""
	}
	return *o.Spec.HolderIdentity
}

// hand gives the Lease to somebody, who holds it for a long time.
func hand(t *testing.T, namespace, to string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		o := &coordinationv1.Lease{}
		if err := admin(t).Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a"}, o); err != nil {
			return false, err
		}
		o.Spec.HolderIdentity, o.Spec.LeaseDurationSeconds = &to, new(int32(3600))
		o.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		err := admin(t).Update(ctx, o)
		return err == nil, client.IgnoreNotFound(ignoreConflict(err))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func space(t *testing.T, name string) {
	t.Helper()
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "it"}})
	ask(t, name, "first")
}

func TestALostLeaseEndsTheControllersAndNotTheProcess(t *testing.T) {
	t.Parallel()
	const here = "lost"
	space(t, here)
	p := &process{}
	stop := start(t, here, p)
	eventually(t, "the first request is done", func() bool { return done(t, here) == "first" })

	hand(t, here, "somebody else")
	eventually(t, "the controllers have stopped", func() bool { return p.cleared.Load() == 1 })
	passes := p.passes.Load()
	ask(t, here, "second")
	eventually(t, "the cache of the process goes on", func() bool {
		o := &corev1.ConfigMap{}
		return p.GetCache().Get(t.Context(), client.ObjectKey{Namespace: here, Name: "it"}, o) == nil && o.Annotations["asked"] == "second"
	})
	if p.passes.Load() != passes || done(t, here) != "first" || holder(t, here) != "somebody else" {
		t.Errorf("%d passes without the Lease, done is %s, and %s has the Lease", p.passes.Load()-passes, done(t, here), holder(t, here))
	}

	hand(t, here, "")
	eventually(t, "the next term does what was asked for", func() bool { return done(t, here) == "second" })
	ask(t, here, "third")
	eventually(t, "and what is asked for in it", func() bool { return done(t, here) == "third" })
	if p.began.Load() != 2 || p.passes.Load() != 3 || p.heard.Load() != 1 {
		t.Errorf("%d terms, %d passes and %d handlers, want 2, 3 and 1: the former term's handler is to be gone", p.began.Load(), p.passes.Load(), p.heard.Load())
	}

	stop()
	if now := holder(t, here); now != "" || p.cleared.Load() != 2 {
		t.Errorf("the process has ended, and %q has the Lease", now)
	}
}

func TestADeletedLeaseEndsTheTerm(t *testing.T) {
	t.Parallel()
	const here = "deleted"
	space(t, here)
	p := &process{}
	defer start(t, here, p)()
	eventually(t, "the first request is done", func() bool { return done(t, here) == "first" })
	if err := admin(t).Delete(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: here, Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a second term", func() bool { return p.began.Load() == 2 })
	ask(t, here, "second")
	eventually(t, "the second request is done", func() bool { return done(t, here) == "second" })
}

func TestAWriteAfterTheTermIsNotSent(t *testing.T) {
	t.Parallel()
	const here = "late"
	space(t, here)
	p := &process{late: make(chan error, 1)}
	defer start(t, here, p)()
	eventually(t, "a pass", func() bool { return p.passes.Load() == 1 })
	hand(t, here, "somebody else")
	if err := <-p.late; err == nil || !strings.Contains(err.Error(), "no longer holds the Lease") {
		t.Errorf("the write of the former holder: %v", err)
	}
	if now := done(t, here); now != "" {
		t.Errorf("done is %q", now)
	}
}

func TestAProcessWhoseControllersDoNotStopEnds(t *testing.T) {
	t.Parallel()
	const here = "hangs"
	space(t, here)
	p := &process{hang: make(chan struct{})}
	defer close(p.hang)
	start(t, here, p)
	eventually(t, "a pass", func() bool { return p.passes.Load() == 1 })
	hand(t, here, "somebody else")
	if err := <-p.ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the process ended with %v", err)
	}
}

func TestTwoProcessesNeverActAtOnce(t *testing.T) {
	t.Parallel()
	const here = "two"
	space(t, here)
	a, b := &process{}, &process{}
	stop := start(t, here, a)
	eventually(t, "the first request is done", func() bool { return done(t, here) == "first" })
	defer start(t, here, b)()
	eventually(t, "the second process is ready", func() bool { return b.GetCache().WaitForCacheSync(t.Context()) })
	ask(t, here, "second")
	eventually(t, "the second request is done", func() bool { return done(t, here) == "second" })
	if b.began.Load() != 0 {
		t.Error("both act")
	}
	stop() // releases the Lease, so that nobody waits for it to expire
	ask(t, here, "third")
	eventually(t, "the other one takes over", func() bool { return done(t, here) == "third" })
	if a.began.Load() != 1 || a.cleared.Load() != 1 {
		t.Errorf("the first process had %d terms", a.began.Load())
	}
}
