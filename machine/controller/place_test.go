// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// place is a namespace of its own, and the test as everybody but the controllers.
type place struct {
	*testing.T
	client.Client
	namespace string
	requests  *requests
}

// newPlace begins a test that runs beside others.
func newPlace(t *testing.T) *place {
	t.Helper()
	t.Parallel()
	c, err := client.New(plane.Admin(), client.Options{Scheme: schemeOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "machines-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return &place{T: t, Client: c, namespace: ns.Name, requests: &requests{}}
}

func schemeOf(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, machinev1beta1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// run starts controllers as they run in a cluster, and returns what stops them. Their requests are written down.
func (p *place) run(add func(manager.Manager, Options) error, o Options) (stop func()) {
	p.Helper()
	m, err := ctrl.NewManager(p.requests.of(plane.Admin()), ctrl.Options{
		Scheme: schemeOf(p.T), Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{p.namespace: {}}},
	})
	if err != nil {
		p.Fatal(err)
	}
	o.AnyName = true
	if err := add(m, o); err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.Context())
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			p.Error(err)
		}
	})
	p.Cleanup(stop)
	return stop
}

// patience is for machines that are busy.
const patience = 30 * time.Second

// eventually polls until the state is reached.
func (p *place) eventually(what string, reached func() bool) {
	p.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if reached() {
			return
		}
		p.pause(20 * time.Millisecond)
	}
	p.Fatalf("%s passed before this: %s\nrequests: %v", patience, what, p.requests.changes())
}

// rests waits until the controllers have written nothing for a while, and reports what they wrote by then.
func (p *place) rests() []string {
	p.Helper()
	seen, since := p.requests.changes(), time.Now()
	for deadline := time.Now().Add(patience); time.Since(since) < 1500*time.Millisecond; {
		if now := p.requests.changes(); len(now) != len(seen) {
			seen, since = now, time.Now()
		}
		if time.Now().After(deadline) {
			p.Fatalf("the controllers never come to rest: %v", seen[max(0, len(seen)-10):])
		}
		p.pause(20 * time.Millisecond)
	}
	return seen
}

// idle checks that what wakes the controllers, and changes nothing, makes them write nothing.
func (p *place) idle(wake func()) {
	p.Helper()
	before := p.rests()
	wake()
	if after := p.rests(); len(after) != len(before) {
		p.Errorf("an idle pass wrote: %v", after[len(before):])
	}
}

func (p *place) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.Context().Done():
	}
}

// merge changes an object, or its status, as JSON has it.
func (p *place) merge(o client.Object, status bool, format string, args ...any) {
	p.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, format, args...))
	write := func() error { return p.Patch(p.Context(), o, patch) }
	if status {
		write = func() error { return p.Status().Patch(p.Context(), o, patch) }
	}
	if err := write(); err != nil {
		p.Fatal(err)
	}
}

// reasons are the reasons of the events in the namespace, of each as often as it happened.
func (p *place) reasons(of client.Object) map[string]int {
	p.Helper()
	l := &eventsv1.EventList{}
	if err := p.List(p.Context(), l, client.InNamespace(p.namespace)); err != nil {
		p.Fatal(err)
	}
	out := map[string]int{}
	for _, e := range l.Items {
		if e.Regarding.Name == of.GetName() {
			out[e.Reason]++
			if e.Series != nil {
				out[e.Reason] += int(e.Series.Count) - 1
			}
		}
	}
	return out
}

// requests are those of the controllers that change something, accepted or not, events left out.
type requests struct {
	mu  sync.Mutex
	all []string
}

func (r *requests) of(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.QPS = -1
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			if q.Method != http.MethodGet && !strings.Contains(q.URL.Path, "/events") {
				r.mu.Lock()
				r.all = append(r.all, q.Method+" "+q.URL.Path[strings.Index(q.URL.Path, "/namespaces/")+1:])
				r.mu.Unlock()
			}
			return next.RoundTrip(q)
		})
	})
	return c
}

func (r *requests) changes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.all...)
}

// count counts the requests of a method on a resource.
func (r *requests) count(method, resource string) int {
	n := 0
	for _, q := range r.changes() {
		if strings.HasPrefix(q, method+" ") && strings.Contains(q+"/", "/"+resource+"/") {
			n++
		}
	}
	return n
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
