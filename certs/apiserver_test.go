// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
)

// TestOnAnAPIServer plays its stories one after the other on one control plane. Each has a namespace and names of its own.
func TestOnAnAPIServer(t *testing.T) {
	embedded.LeaveOut(t)
	plane := embedded.ForTest(t, embedded.Options{})
	for name, tell := range map[string]func(*testing.T, *place){
		"two replicas start at once, and then rest":                             startTogether,
		"every CA and certificate is replaced, and no handshake fails":          rotateForMonths,
		"the API server calls through every rotation":                           rotateUnderReviews,
		"a caBundle that somebody empties is filled in again":                   repairBundle,
		"a Secret of somebody else is kept, and one of an issuer is left alone": meetForeignSecrets,
		"a replica without its configuration says so":                           missConfiguration,
		"a namespace that is being deleted takes no Secret":                     loseNamespace,
	} {
		t.Run(name, func(t *testing.T) { tell(t, newPlace(t, plane.Admin())) })
	}
}

// place is a corner of the cluster for one story.
type place struct {
	client.WithWatch
	name    string // of the namespace, and of the configurations
	targets []Target
}

func newPlace(t *testing.T, config *rest.Config) *place {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	api, err := client.NewWithWatch(config, client.Options{})
	must(t, err)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "certs-"}}
	must(t, api.Create(t.Context(), namespace))
	return &place{WithWatch: api, name: namespace.Name, targets: []Target{
		{Kind: ValidatingWebhooks, Name: namespace.Name},
		{Kind: MutatingWebhooks, Labels: client.MatchingLabels{"story": namespace.Name}},
	}}
}

func (p *place) secret() types.NamespacedName {
	return types.NamespacedName{Namespace: p.name, Name: "serving"}
}

func (p *place) names() Names { return Names{DNS: []string{"poundlock." + p.name + ".svc"}} }

// install makes a validating and a mutating configuration; the validating one holds an entry of somebody else too.
func (p *place) install(t *testing.T) {
	t.Helper()
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: "ours.example.com", ClientConfig: service(p.name, "poundlock")},
			{Name: "theirs.example.com", ClientConfig: service(p.name, "other")},
		},
	}
	validating.Webhooks[1].ClientConfig.CABundle = encodeCertificates(newCA(t, "theirs", epoch).cert)
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: p.name, Labels: map[string]string{"story": p.name}},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: "ours.example.com", ClientConfig: service(p.name, "poundlock")}},
	}
	none := admissionregistrationv1.SideEffectClassNone
	for i := range validating.Webhooks {
		validating.Webhooks[i].SideEffects, validating.Webhooks[i].AdmissionReviewVersions = &none, []string{"v1"}
	}
	mutating.Webhooks[0].SideEffects, mutating.Webhooks[0].AdmissionReviewVersions = &none, []string{"v1"}
	p.create(t, validating)
	p.create(t, mutating)
}

func (p *place) create(t *testing.T, object client.Object) {
	t.Helper()
	must(t, p.Create(t.Context(), object))
	t.Cleanup(func() {
		if err := p.Delete(context.WithoutCancel(t.Context()), object); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

func service(namespace, name string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name}}
}

// slowest is how long the API server of these stories may take to see a change of a configuration.
const slowest = 12 * time.Hour

func (p *place) replica(t *testing.T, with clock.Clock) *SelfManaged {
	t.Helper()
	s, err := NewSelfManaged(SelfManagedOptions{
		Client: p, Secret: p.secret(), Names: p.names(), Targets: p.targets, Clock: with,
		Lifetimes:  Lifetimes{CA: 30 * day, Serving: 6 * day},
		TrustDelay: slowest + time.Hour,
	})
	must(t, err)
	return s
}

func (p *place) validating(t *testing.T) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	must(t, p.Get(t.Context(), client.ObjectKey{Name: p.name}, configuration))
	return configuration
}

func (p *place) mutating(t *testing.T) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	must(t, p.Get(t.Context(), client.ObjectKey{Name: p.name}, configuration))
	return configuration
}

func (p *place) stored(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	must(t, p.Get(t.Context(), p.secret(), secret))
	return secret
}

// versions are what an idle replica must not move.
func (p *place) versions(t *testing.T) [3]string {
	t.Helper()
	return [3]string{p.stored(t).ResourceVersion, p.validating(t).ResourceVersion, p.mutating(t).ResourceVersion}
}

func ready(s Source) func() bool { return func() bool { return s.Ready(nil) == nil } }

func startTogether(t *testing.T, p *place) {
	p.install(t)
	theirs := p.validating(t).Webhooks[1].ClientConfig.CABundle
	clk := clocktesting.NewFakeClock(epoch)
	a, b := p.replica(t, clk), p.replica(t, clk)
	run(t, a)
	run(t, b)
	eventually(t, "both are ready", func() bool { return ready(a)() && ready(b)() })
	eventually(t, "both serve the same", func() bool { return a.current.Load().Leaf.Equal(b.current.Load().Leaf) })
	if made := rotations(a, certificateCA) + rotations(b, certificateCA); made != 1 {
		t.Errorf("%v CAs were made", made)
	}
	validating := p.validating(t)
	if ours := string(validating.Webhooks[0].ClientConfig.CABundle); ours != string(p.stored(t).Data[keyCA]) {
		t.Errorf("the caBundle is %q", ours)
	}
	if string(validating.Webhooks[1].ClientConfig.CABundle) != string(theirs) {
		t.Error("somebody else's entry was touched")
	}
	if len(p.mutating(t).Webhooks[0].ClientConfig.CABundle) == 0 {
		t.Error("the configuration that is named by label has no caBundle")
	}
	before := p.versions(t)
	for range 20 {
		idle(t, clk, 2)
		clk.Step(a.o.Interval)
	}
	idle(t, clk, 2)
	if after := p.versions(t); after != before {
		t.Errorf("twenty idle passes wrote: %v, before %v", after, before)
	}
}

func rotations(s *SelfManaged, certificate string) float64 {
	return testutil.ToFloat64(s.o.Metrics.rotations.WithLabelValues(certificate))
}

// idle waits until every replica sleeps on its clock.
func idle(t *testing.T, clk *clocktesting.FakeClock, replicas int) {
	t.Helper()
	eventually(t, "every replica sleeps", func() bool { return clk.Waiters() == replicas })
}

// rotateForMonths lets 80 days pass in steps of twelve hours over two replicas, with accidents, while clients that trust
// the caBundle of a moment ago and nothing else make requests, each with a handshake.
func rotateForMonths(t *testing.T, p *place) {
	p.install(t)
	clk := clocktesting.NewFakeClock(epoch)
	team := &team{t: t, p: p, time: clk}
	team.start(0)
	team.start(1)
	team.look()
	load := startLoad(t, 4, team.request)
	load.round(t, 1)
	accidents := map[int]func(){
		15:  func() { must(t, p.Delete(t.Context(), p.stored(t))) },
		30:  func() { p.spoil(t, keyCAKey, "no key") },
		45:  func() { team.start(0) },
		55:  func() { p.spoil(t, keyServing, "no certificate") },
		65:  func() { p.spoil(t, keyCA, "no certificate") },
		75:  func() { team.backup = p.stored(t) },
		125: func() { p.restore(t, team.backup) },
		126: func() { team.start(1) },
	}
	leaves, authorities := map[string]bool{}, map[string]bool{}
	for step := range 160 {
		if accident := accidents[step]; accident != nil {
			accident()
			eventually(t, "the accident is repaired", p.sound)
			load.round(t, 1)
			team.look()
		}
		clk.Step(slowest)
		idle(t, clk, 2)
		load.round(t, 1)
		team.look()
		for i := range team.replicas {
			leaves[team.replicas[i].Load().source.current.Load().Leaf.SerialNumber.String()] = true
		}
		authorities[string(p.stored(t).Data[keyCA])] = true
	}
	load.stop()
	if load.failed.Load() > 0 {
		t.Errorf("%d of %d requests failed, the first with: %v", load.failed.Load(), load.done.Load(), load.firstError())
	}
	bundle, err := readCertificates(p.validating(t).Webhooks[0].ClientConfig.CABundle)
	if err != nil || len(bundle) > 4 {
		t.Errorf("the caBundle holds %d CAs after all (%v)", len(bundle), err)
	}
	t.Logf("80 days, 8 accidents: %d serving certificates of %d CAs, %d requests, %d failed, %d CAs in the caBundle at the end",
		len(leaves), len(authorities), load.done.Load(), load.failed.Load(), len(bundle))
	if len(leaves) < 18 || len(authorities) < 5 {
		t.Errorf("%d certificates of %d CAs: too little happened to prove anything", len(leaves), len(authorities))
	}
}

func (p *place) spoil(t *testing.T, key, value string) {
	t.Helper()
	secret := p.stored(t)
	secret.Data[key] = []byte(value)
	must(t, p.Update(t.Context(), secret))
}

func (p *place) restore(t *testing.T, backup *corev1.Secret) {
	t.Helper()
	secret := p.stored(t)
	secret.Data, secret.Annotations = backup.Data, backup.Annotations
	must(t, p.Update(t.Context(), secret))
}

// sound reports whether Secret and caBundle are whole and name the same CAs.
func (p *place) sound() bool {
	secret, configuration := &corev1.Secret{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if p.Get(context.Background(), p.secret(), secret) != nil || p.Get(context.Background(), client.ObjectKey{Name: p.name}, configuration) != nil {
		return false
	}
	name := authorityName(p.secret())
	m := readMaterial(secret.Data, "", name)
	bundle, err := readCertificates(configuration.Webhooks[0].ClientConfig.CABundle)
	return err == nil && len(m.damage) == 0 && holds(bundle, m.ca.cert) && len(without(bundle, append(m.signing(), m.previous...))) == 0
}

// team is a Service with two replicas behind it.
type team struct {
	t        *testing.T
	p        *place
	time     *clocktesting.FakeClock
	replicas [2]atomic.Pointer[member]
	turn     atomic.Int64
	trusted  atomic.Pointer[x509.CertPool]
	backup   *corev1.Secret
}

type member struct {
	source  *SelfManaged
	address string
	stop    func()
}

// start puts a new replica in a place, and takes the old one out of service once the new one is ready.
func (m *team) start(place int) {
	m.t.Helper()
	source := m.p.replica(m.t, m.time)
	next := &member{source: source, address: listen(m.t, source), stop: run(m.t, source)}
	eventually(m.t, "a new replica is ready", ready(source))
	if old := m.replicas[place].Swap(next); old != nil {
		old.stop()
	}
}

// look is the API server's informer, which is slow: the caBundle of before a step is trusted until the end of the step.
func (m *team) look() {
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(m.p.validating(m.t).Webhooks[0].ClientConfig.CABundle)
	m.trusted.Store(trusted)
}

// request is what an API server does: it calls a ready replica and trusts what it knows of the configuration.
func (m *team) request() error {
	replica := m.replicas[m.turn.Add(1)%2].Load()
	return request(replica.address, &tls.Config{RootCAs: m.trusted.Load(), ServerName: m.p.names().DNS[0], Time: m.time.Now})
}

// rotateUnderReviews has lifetimes of seconds, real time, and the API server itself as the client: it refuses a request
// when a review fails.
func rotateUnderReviews(t *testing.T, p *place) {
	stories.Long(t)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: p.name}}
	p.targets = []Target{{Kind: ValidatingWebhooks, Name: p.name}}
	var replicas []*SelfManaged
	var reviews atomic.Int64
	for i := range 2 {
		source, err := NewSelfManaged(SelfManagedOptions{
			Client: p, Secret: p.secret(), Targets: p.targets,
			Names:      Names{IPs: []net.IP{net.IPv4(127, 0, 0, 1)}},
			Lifetimes:  Lifetimes{CA: 36 * time.Second, Serving: 12 * time.Second}, // a busy machine leaves a replica without a turn for some seconds
			TrustDelay: 500 * time.Millisecond, Interval: 100 * time.Millisecond,
		})
		must(t, err)
		replicas = append(replicas, source)
		configuration.Webhooks = append(configuration.Webhooks, p.calls(i, review(t, source, &reviews)))
	}
	p.create(t, configuration)
	for _, source := range replicas {
		run(t, source)
	}
	eventually(t, "both are ready", func() bool { return ready(replicas[0])() && ready(replicas[1])() })
	eventually(t, "the API server calls both", func() bool {
		return p.probe() == nil && reviews.Load() >= 2
	})
	reviews.Store(0)
	load := startLoad(t, 3, p.probe)
	eventually(t, "two CAs and five serving certificates are replaced", func() bool {
		return rotations(replicas[0], certificateCA)+rotations(replicas[1], certificateCA) >= 3 &&
			rotations(replicas[0], certificateServing) >= 6 && rotations(replicas[1], certificateServing) >= 6
	})
	load.round(t, 5)
	load.stop()
	if load.failed.Load() > 0 {
		t.Errorf("%d of %d requests failed, the first with: %v", load.failed.Load(), load.done.Load(), load.firstError())
	}
	if reviews.Load() < 2*load.done.Load() {
		t.Errorf("%d requests but only %d reviews", load.done.Load(), reviews.Load())
	}
	t.Logf("%v CAs made, %v and %v serving certificates in service, %d requests, %d reviews, each with its own handshake, %d failed",
		rotations(replicas[0], certificateCA)+rotations(replicas[1], certificateCA), rotations(replicas[0], certificateServing),
		rotations(replicas[1], certificateServing), load.done.Load(), reviews.Load(), load.failed.Load())
}

// calls is an entry that reviews the creation of ConfigMaps in this namespace, and refuses it if it cannot.
func (p *place) calls(i int, address string) admissionregistrationv1.ValidatingWebhook {
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	url := "https://" + address + "/review"
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    fmt.Sprintf("replica-%d.example.com", i),
		ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url},
		SideEffects:             &none,
		FailurePolicy:           &fail,
		AdmissionReviewVersions: []string{"v1"},
		NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": p.name}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
	}
}

// probe asks for something that is reviewed.
func (p *place) probe() error {
	asked := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.name, GenerateName: "probe-"}}
	return p.Create(context.Background(), asked, client.DryRunAll)
}

// review allows everything, on a connection for each review.
func review(t *testing.T, source Source, count *atomic.Int64) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := admissionv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer.Response = &admissionv1.AdmissionResponse{UID: answer.Request.UID, Allowed: true}
		answer.Request = nil
		_ = json.NewEncoder(w).Encode(answer)
		count.Add(1)
	})}
	server.SetKeepAlivesEnabled(false)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(tls.NewListener(listener, &tls.Config{GetCertificate: source.GetCertificate, MinVersion: tls.VersionTLS12}))
	}()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return listener.Addr().String()
}

func repairBundle(t *testing.T, p *place) {
	p.install(t)
	s := p.replica(t, clocktesting.NewFakeClock(epoch)) // its clock stands still: only the watch can wake it
	run(t, s)
	eventually(t, "ready", ready(s))
	for name, value := range map[string]string{"empty": "", "a placeholder": "Cg==", "words": base64.StdEncoding.EncodeToString([]byte("words"))} {
		configuration := p.validating(t)
		patch := client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":%q}]`, value))
		must(t, p.Patch(t.Context(), configuration, patch))
		eventually(t, "a caBundle that is "+name+" is filled in", func() bool {
			return string(p.validating(t).Webhooks[0].ClientConfig.CABundle) == string(p.stored(t).Data[keyCA])
		})
	}
}

func meetForeignSecrets(t *testing.T, p *place) {
	p.install(t)
	data := map[string][]byte{"tls.crt": []byte("theirs"), "password": []byte("hunter2")}
	issued := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.name, Name: "serving", Annotations: map[string]string{"cert-manager.io/certificate-name": "webhooks"}},
		Data:       data,
	}
	must(t, p.Create(t.Context(), issued))
	s := p.replica(t, clock.RealClock{})
	run(t, s)
	eventually(t, "the issuer is named", func() bool {
		err := s.Ready(nil)
		return err != nil && strings.Contains(err.Error(), "cert-manager.io/certificate-name")
	})
	if string(p.stored(t).Data["tls.crt"]) != "theirs" {
		t.Error("the Secret of an issuer was overwritten")
	}
	released := p.stored(t)
	released.Annotations = nil
	must(t, p.Update(t.Context(), released))
	eventually(t, "a Secret that nobody writes is taken over", ready(s))
	copied := &corev1.Secret{}
	must(t, p.Get(t.Context(), types.NamespacedName{Namespace: p.name, Name: copyName(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "serving"}, Data: data})},
		copied))
	if string(copied.Data["password"]) != "hunter2" {
		t.Errorf("the copy holds %v", copied.Data)
	}
	if testutil.ToFloat64(s.o.Metrics.errors.WithLabelValues(reasonSecret)) < 2 {
		t.Error("neither the issuer nor the takeover was counted")
	}
}

func missConfiguration(t *testing.T, p *place) {
	s := p.replica(t, clocktesting.NewFakeClock(epoch))
	run(t, s)
	eventually(t, "the missing configuration is named", func() bool {
		err := s.Ready(nil)
		return err != nil && strings.Contains(err.Error(), p.name)
	})
	p.install(t)
	eventually(t, "ready once it is there", ready(s))
}

// loseNamespace restarts replicas while the namespace of their Secret is being deleted, as long as what is in it waits for their webhooks.
func loseNamespace(t *testing.T, p *place) {
	p.install(t)
	clk := clocktesting.NewFakeClock(epoch)
	former := p.replica(t, clk)
	run(t, former)
	eventually(t, "ready before", ready(former))
	served := former.current.Load().Leaf
	must(t, p.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name}}))
	must(t, p.Delete(t.Context(), p.stored(t))) // as the namespace controller does

	a, b := p.replica(t, clk), p.replica(t, clk)
	run(t, a)
	run(t, b)
	eventually(t, "those that start now are ready", func() bool { return ready(a)() && ready(b)() })
	clk.Step(former.o.Interval)
	idle(t, clk, 3)
	if !former.current.Load().Leaf.Equal(served) || !ready(former)() {
		t.Errorf("the replica that ran on serves another certificate, or is not ready: %v", former.Ready(nil))
	}
	bundle := p.validating(t).Webhooks[0].ClientConfig.CABundle
	for name, s := range map[string]*SelfManaged{"former": former, "a": a, "b": b} {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(bundle)
		if _, err := s.current.Load().Leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: clk.Now(), DNSName: p.names().DNS[0]}); err != nil {
			t.Errorf("the API server does not trust %s: %v", name, err)
		}
		if !strings.Contains(s.reported, p.name) {
			t.Errorf("%s does not report that there is no Secret: %q", name, s.reported)
		}
	}
	before := p.validating(t).ResourceVersion
	for range 5 {
		clk.Step(a.o.Interval)
		idle(t, clk, 3)
	}
	if after := p.validating(t).ResourceVersion; after != before {
		t.Errorf("idle replicas wrote: %s, before %s", after, before)
	}
}
