// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/versioned"
)

// FieldOwner is the field manager of Poundlock's writes to Secrets and caBundles.
const FieldOwner = "poundlock"

// Lifetimes are the lifetimes of what SelfManaged signs. A CA or certificate is replaced when two thirds of its validity period have passed.
type Lifetimes struct {
	// CA is how long a CA is valid; a year by default.
	CA time.Duration
	// Serving is how long a serving certificate is valid, and how long a replaced CA stays in the caBundles; 30 days by default. It must be at most a third of CA,
	// so that a replaced CA outlives its last certificate.
	Serving time.Duration
}

// SelfManagedOptions say what to certify, and where the CA is kept and trusted. Client, Secret and Names are required.
type SelfManagedOptions struct {
	// Client must read from the API server and not from a cache, because a pass must never read an old version. If Client is a client.WithWatch, a change to the
	// Secret or to a target starts a pass at once. Otherwise the pass after the next Interval finds the change.
	Client client.Client
	// Secret holds the CA and the serving certificate of all replicas. It is created if it is absent.
	Secret types.NamespacedName
	// Names are what the API server calls: `name.namespace.svc`, or host names and addresses outside the cluster.
	Names Names
	// Targets are the objects whose caBundles are kept up to date.
	Targets []Target

	Lifetimes Lifetimes
	// TrustDelay is how long a new CA must have been in every caBundle before a certificate of that CA is served; 5 s by default. It must be longer than an API
	// server takes to see a change of its configuration.
	TrustDelay time.Duration
	// Interval is the time between two passes when nothing happens; 30 s by default.
	Interval time.Duration

	Clock   clock.Clock
	Events  events.EventRecorder // optional
	Metrics *Metrics
	Log     logr.Logger
}

// SelfManaged is a source of certificates that is its own CA. The package comment shows its states.
type SelfManaged struct {
	served
	o     SelfManagedOptions
	name  string // the common name of Poundlock's CAs for this Secret
	kicks chan struct{}

	// Only the goroutine of Start uses these two fields. kept is the material that the last pass served: that of the Secret, or that of this process only.
	trust trust
	kept  material

	condition atomic.Pointer[string] // why it is not ready; empty if it is
	reported  string                 // the last problem that was reported
}

// trust says since when a CA has been in every caBundle without a gap, as far as this replica has seen.
type trust struct {
	ca    *x509.Certificate
	since time.Time
}

// NewSelfManaged returns a source with these options, or an error if the options are invalid. It reads and writes nothing before Start.
func NewSelfManaged(o SelfManagedOptions) (*SelfManaged, error) {
	o.Lifetimes.CA = orDefault(o.Lifetimes.CA, 365*24*time.Hour)
	o.Lifetimes.Serving = orDefault(o.Lifetimes.Serving, 30*24*time.Hour)
	o.TrustDelay = orDefault(o.TrustDelay, 5*time.Second)
	o.Interval = orDefault(o.Interval, 30*time.Second)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	s := &SelfManaged{o: o, name: authorityName(o.Secret), kicks: make(chan struct{}, 1)}
	starting := "Poundlock has not checked the serving certificate and the caBundles yet"
	s.condition.Store(&starting)
	return s, o.validate()
}

// authorityName returns the common name of the CAs for a Secret. By this name, Poundlock's CAs can be removed from a caBundle without removing any other CA. It
// contains a hash, because a common name has at most 64 characters.
func authorityName(secret types.NamespacedName) string {
	return fmt.Sprintf("poundlock-ca@%x", sha256.Sum256([]byte(secret.String())))[:13+16]
}

func (o SelfManagedOptions) validate() error {
	switch {
	case o.Client == nil:
		return errors.New("self-managed certificates need a client")
	case o.Secret.Name == "" || o.Secret.Namespace == "":
		return errors.New("self-managed certificates need the namespace and name of a Secret")
	case o.Names.empty():
		return errors.New("self-managed certificates need a DNS name or an address that the API server calls")
	case o.Lifetimes.Serving > o.Lifetimes.CA/3:
		return fmt.Errorf("the lifetime of a serving certificate (%s) must be at most a third of the lifetime of its CA "+
			"(%s)", o.Lifetimes.Serving, o.Lifetimes.CA)
	}
	for _, target := range o.Targets {
		if err := target.validate(); err != nil {
			return err
		}
	}
	return nil
}

// Start runs a pass over the Secret and the caBundles at once, whenever one of them changes, and at intervals.
func (s *SelfManaged) Start(ctx context.Context) error {
	s.watch(ctx)
	for {
		timer := s.o.Clock.NewTimer(s.pass(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-s.kicks:
			timer.Stop()
		case <-timer.C():
		}
	}
}

// Ready returns nil if a valid certificate is served and its CA is in every caBundle. Otherwise it returns why not.
func (s *SelfManaged) Ready(*http.Request) error {
	held := s.current.Load()
	switch why := *s.condition.Load(); {
	case why != "":
		return errors.New(why)
	case held == nil:
		return errNoCertificate
	case !validAt(held.Leaf, s.o.Clock.Now()):
		return fmt.Errorf("the serving certificate expired at %s", held.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// pass takes the next step, and returns how long to wait for the next pass.
func (s *SelfManaged) pass(ctx context.Context) time.Duration {
	wait, err := s.once(ctx)
	if ctx.Err() != nil {
		return s.o.Interval
	}
	if cameSecond(err) {
		return 50 * time.Millisecond
	}
	s.reportOnce(err)
	s.o.Metrics.setReady(s.Ready(nil) == nil)
	if err != nil && (!isNotStored(err) || isNotTrusted(err)) {
		return min(s.o.Interval, 2*time.Second)
	}
	return wait
}

// once reads the state, decides what to change, and applies the change. It returns how long to wait for the next pass.
func (s *SelfManaged) once(ctx context.Context) (time.Duration, error) {
	now := s.o.Clock.Now()
	state, err := s.gather(ctx)
	m := material{}
	if err == nil {
		decided := decide(state.material, state.trusted(), s.name, s.o.Names, s.o.Lifetimes, now)
		m, err = s.store(ctx, state, decided, now)
	}
	var unstored error
	if isNotStored(err) {
		unstored = err
		m, err = s.unstored(state, now)
	}
	if err != nil {
		return 0, err
	}
	s.kept = m
	injected := s.inject(ctx, state.targets, writing{m, s.name, s.o.Lifetimes, now})
	return s.serve(m, injected.trusted, now), errors.Join(unstored, injected.err())
}

// unstored returns the material that this process serves from its memory while the Secret cannot exist: the material that it served before, or that of a new
// CA. Otherwise no webhook would answer while the Secret's namespace is being deleted, and webhooks that fail closed would prevent that deletion. The process
// adopts from the caBundles the CA of another replica or of an earlier process, in the same way as the CA of a deleted Secret.
func (s *SelfManaged) unstored(st state, now time.Time) (material, error) {
	p := decide(s.kept, st.trusted(), s.name, s.o.Names, s.o.Lifetimes, now)
	if !p.changed {
		return s.kept, nil
	}
	m, err := made(s.kept, p, s.name, s.o.Lifetimes.unstored(), now)
	if err != nil {
		return material{}, err
	}
	s.announce(p)
	return m, nil
}

// unstored returns short lifetimes for CAs that are not stored. Each process that starts adds such a CA to the caBundles, and the CA is removed when it
// expires.
func (l Lifetimes) unstored() Lifetimes {
	return Lifetimes{CA: min(l.CA, 3*time.Hour), Serving: min(l.Serving, time.Hour)}
}

// state is what one pass has read.
type state struct {
	targets  []target
	secret   *corev1.Secret // nil if absent
	material material
}

func (s state) trusted() []*x509.Certificate {
	var all []*x509.Certificate
	for _, t := range s.targets {
		all = distinct(all, t.row.trusted(t.object))
	}
	return all
}

// gather reads the targets and then the Secret. In this order, the Secret is at least as new as the CAs of the Secret that the targets hold.
func (s *SelfManaged) gather(ctx context.Context) (state, error) {
	targets, err := s.readTargets(ctx)
	if err != nil {
		s.o.Metrics.failed(reasonInject)
		return state{}, err
	}
	secret := &corev1.Secret{}
	switch err := s.o.Client.Get(ctx, s.o.Secret, secret); {
	case apierrors.IsNotFound(err):
		return state{targets: targets, material: material{}}, nil
	case apierrors.IsForbidden(err):
		s.o.Metrics.failed(reasonSecret)
		return state{targets: targets}, s.noPlace("reading", err)
	case err != nil:
		s.o.Metrics.failed(reasonSecret)
		return state{}, fmt.Errorf("reading Secret %s: %w", s.o.Secret, err)
	}
	return state{targets, secret, readMaterial(secret.Data, secret.Annotations[annotationRetire], s.name)}, nil
}

// serve replaces the certificate that is served by the one that the Secret offers, if this is allowed (mayServe). It returns how long to wait for the next
// pass.
func (s *SelfManaged) serve(m material, trusted bool, now time.Time) time.Duration {
	s.trust = s.trust.after(m.ca.cert, trusted, now)
	held, offered := s.current.Load(), m.serving
	s.o.Metrics.expires(certificateCA, m.ca.cert)
	if held != nil && held.Leaf.Equal(offered.Leaf) {
		return s.o.Interval
	}
	trustedFor := s.trust.lasted(now)
	if !mayServe(held, offered, m.ca.cert, trustedFor, s.o.TrustDelay, now) {
		return min(s.o.Interval, max(s.o.TrustDelay-trustedFor, time.Millisecond))
	}
	s.current.Store(offered)
	s.o.Metrics.expires(certificateServing, offered.Leaf)
	s.o.Metrics.rotated(certificateServing)
	s.o.Log.Info("Serving another certificate", "secret", s.o.Secret, "serial", offered.Leaf.SerialNumber.Text(16), "expires", offered.Leaf.NotAfter)
	return s.o.Interval
}

func (t trust) after(ca *x509.Certificate, trusted bool, now time.Time) trust {
	switch {
	case !trusted:
		return trust{}
	case t.ca != nil && t.ca.Equal(ca):
		return t
	}
	return trust{ca: ca, since: now}
}

// lasted returns how long the CA has been in every caBundle; negative if it is not in every one.
func (t trust) lasted(now time.Time) time.Duration {
	if t.ca == nil {
		return -1
	}
	return now.Sub(t.since)
}

// reasonTrouble is the reason of the event about a certificate that needs attention. longestTrouble is the maximum length of the problem in that event, so that
// the remedy fits in too.
const (
	reasonTrouble  = "CertificateTrouble"
	longestTrouble = 800
)

// reportOnce stores the outcome of a pass as the reason why the source is not ready, and reports the outcome once, in log and event.
func (s *SelfManaged) reportOnce(err error) {
	sentence, ready := "", ""
	if err != nil {
		sentence = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	switch {
	case s.current.Load() == nil || isNotTrusted(err) || sentence == "":
		s.condition.Store(&sentence)
	case isNotStored(err): // the certificate is served nevertheless
		s.condition.Store(&ready)
	}
	if sentence != "" && sentence != s.reported {
		s.o.Log.Info("Certificates need attention", "secret", s.o.Secret, "trouble", sentence)
		s.event(corev1.EventTypeWarning, reasonTrouble, troubleNote(sentence))
	}
	s.reported = sentence
}

// troubleNote returns the note of the event about a problem. It is short enough for an event, because an API server accepts notes of up to 1024 bytes.
func troubleNote(sentence string) string {
	return eventnote.Cut(sentence, longestTrouble) + ". Poundlock retries by itself. More: kubectl poundlock explain " + reasonTrouble
}

func (s *SelfManaged) event(kind, reason, note string) {
	if s.o.Events == nil {
		return
	}
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: s.o.Secret.Namespace, Name: s.o.Secret.Name}
	s.o.Events.Eventf(about, nil, kind, reason, "Certify", "%s", note)
}

// lostRace is the error that another replica wrote first. The next pass reads what that replica wrote.
type lostRace struct{ error }

// notTrusted is the error that the API server does not trust the certificate that Poundlock serves.
type notTrusted struct{ error }

func (n notTrusted) Unwrap() error { return n.error }

func isNotTrusted(err error) bool {
	var n notTrusted
	return errors.As(err, &n)
}

// notStored is the error that the Secret cannot exist.
type notStored struct{ error }

func (n notStored) Unwrap() error { return n.error }

func isNotStored(err error) bool {
	var n notStored
	return errors.As(err, &n)
}

// noPlace returns the error (notStored) that the Secret cannot exist. Its namespace is being deleted or is gone, or the Role that lets Poundlock write the
// Secret is gone with the namespace.
func (s *SelfManaged) noPlace(doing string, err error) error {
	return notStored{fmt.Errorf("%s Secret %s: %w. Until this replica can write the Secret, it serves a certificate that it keeps in memory. If the "+
		"namespace %s is not being "+
		"deleted, restore the Role that lets Poundlock write the Secret",
		doing, s.o.Secret, err, s.o.Secret.Namespace)}
}

func cameSecond(err error) bool {
	var l lostRace
	return errors.As(err, &l)
}

func conflicted(err error) error {
	if versioned.Overtaken(err) {
		return lostRace{err}
	}
	return err
}
