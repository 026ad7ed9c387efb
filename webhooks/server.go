// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/connections"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Options are the parameters of New.
type Options struct {
	Pairs      authority.Pairs
	Identities policies.Identities
	Catalog    Catalog
	// Converter tries conversions for warnings; nil means conversion/core.
	Converter Converter
	// Host and Port are the address that the server listens on; port 0 means 9443.
	Host string
	Port int
	// GetCertificate returns the current serving certificate, as in tls.Config.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// KeepCertificate, if set, renews the serving certificate until ctx is done. It starts with the server and does not wait for the caches. The cache of a kind
	// that Poundlock may not list never syncs, and the request that restores the right to list may be waiting for a webhook's answer.
	KeepCertificate func(ctx context.Context) error
	// TLS, if set, applies the TLS settings of the flags and of the cluster; nil uses connections.TLS's defaults.
	TLS func(*tls.Config)
	// MayRecreate allows ControlPlaneMachineSets the strategy Recreate.
	MayRecreate bool
	// NotReadyGrace is how long a Node of the control plane may be not ready before its set counts as unavailable, as the operator has it.
	NotReadyGrace time.Duration
	// NodeSync is the configuration of Cluster API's manager that conversions need.
	NodeSync conversion.NodeSync
	// Rival names the parts of OpenShift's own migration that run (authority.Rival), "" for none.
	Rival string
	// GateOff reports that the feature gate is off, so that nothing is mirrored or moved.
	GateOff bool
	// LookupTimeout limits one lookup; 0 means 1 s. All lookups of a review together have twice this time.
	LookupTimeout time.Duration
	// DrainDelay is how long the server still answers after it was asked to stop and has ceased to be ready. During this time, endpoints and API servers stop
	// using it.
	DrainDelay time.Duration
	// Registerer registers the metrics.
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// Server answers the requests of every route. controller-runtime's webhook server has the routes and their metrics; serve listens.
type Server struct {
	webhook.Server
	cluster             cluster.Cluster
	options             Options
	enforcement         *enforcement
	listening, draining atomic.Bool
}

// New makes the server of a cluster. The cluster's cache must not be started yet, because New adds indexes to it.
func New(ctx context.Context, c cluster.Cluster, o Options) (*Server, error) {
	if o.GetCertificate == nil {
		return nil, errors.New("webhooks: no source of a serving certificate")
	}
	if o.TLS == nil {
		o.TLS = connections.TLS{}.Apply
	}
	if o.LookupTimeout == 0 {
		o.LookupTimeout = time.Second
	}
	if err := index(ctx, c, o.Catalog.Platforms); err != nil {
		return nil, err
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	s := &Server{cluster: c, options: o, Server: webhook.NewServer(webhook.Options{})}
	shared := newLimits(mostReviews, mostBytes)
	for path, h := range handlers(o, lookups(c, o, m), m) {
		s.Register(path, h.guarded(shared, s.draining.Load))
	}
	s.enforcement, err = newEnforcement(c, o, m, s.ready)
	return s, err
}

// handlers returns a handler for each route, by path.
func handlers(o Options, l Lookups, m *metrics) map[string]*handler {
	out := map[string]*handler{}
	for _, route := range Routes(o.Catalog) {
		out[route.Path()] = &handler{
			route: route, reader: reader{pairs: o.Pairs, identities: o.Identities}, lookups: l,
			gather: 2 * o.LookupTimeout, metrics: m, log: o.Log,
		}
	}
	return out
}

// AddTo lets a manager run the server, and adds it to /healthz and /readyz. The manager's graceful shutdown must be longer than DrainDelay.
func (s *Server) AddTo(m manager.Manager) error {
	return errors.Join(
		m.Add(s),
		m.Add(drain{s}),
		m.Add(s.enforcement),
		m.AddHealthzCheck("webhooks", s.Healthy),
		m.AddReadyzCheck("webhooks", s.Ready),
	)
}

// Start serves until ctx is done, then for DrainDelay more, and returns once every review in progress is answered.
func (s *Server) Start(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() {
		select {
		case <-ctx.Done():
			s.draining.Store(true)
			time.AfterFunc(s.options.DrainDelay, stop)
		case <-serving.Done():
		}
	}()
	kept := make(chan error, 1)
	go func() {
		defer stop()
		kept <- s.keepCertificate(serving)
	}()
	err := s.serve(serving)
	stop()
	return errors.Join(err, <-kept)
}

func (s *Server) keepCertificate(ctx context.Context) error {
	if s.options.KeepCertificate != nil {
		return s.options.KeepCertificate(ctx)
	}
	<-ctx.Done()
	return nil
}

// Healthy returns nil as long as the process can answer at all.
func (s *Server) Healthy(*http.Request) error { return nil }

// Ready returns nil if a review would be answered: the certificate is loaded, the caches have synced, the server listens, and it was not asked to stop.
func (s *Server) Ready(r *http.Request) error {
	if err := s.ready(r.Context()); err != nil {
		return err
	}
	if !s.listening.Load() {
		return errors.New("the webhook server does not listen yet")
	}
	return nil
}

func (s *Server) ready(ctx context.Context) error {
	if s.draining.Load() {
		return errors.New("the webhook server is stopping")
	}
	if _, err := s.options.GetCertificate(&tls.ClientHelloInfo{}); err != nil {
		return fmt.Errorf("no serving certificate: %w", err)
	}
	return synced(ctx, s.cluster.GetCache(), s.options.Catalog.Platforms)
}

// drain marks the server as draining when the process is asked to stop. A manager stops its webhook servers last, so the server itself would notice too late.
// So that the manager stops drain early, drain must not have the methods by which a manager recognizes a webhook server.
type drain struct{ server *Server }

// Start waits until ctx is done, and then marks the server as draining.
func (d drain) Start(ctx context.Context) error {
	<-ctx.Done()
	d.server.draining.Store(true)
	return nil
}

// NeedLeaderElection returns false, because every replica serves.
func (drain) NeedLeaderElection() bool { return false }
