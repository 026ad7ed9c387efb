// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

const (
	// enforcer is the field manager that owns the label AdmissionLabel.
	enforcer = "poundlock-admission"
	// lookAgain is the interval for reading the namespaces' labels. A user may remove a label, and locks fail open until it is back.
	lookAgain = 10 * time.Second
	// tryAgain is the first delay after a probe without an answer.
	tryAgain = 500 * time.Millisecond
	// probeAgain is the delay after an answered probe. Later probes are needed, because a user may delete a configuration, and certificates expire.
	probeAgain = time.Minute
)

// probes returns the routes of the webhooks that answer the probe, one in each configuration. The probe is a Lease, because Poundlock may create Leases in
// these namespaces anyway, and no other webhook of Poundlock receives Leases.
func probes() []Route {
	lease := []Subject{{Kind: "Lease", GroupVersion: coordinationv1.SchemeGroupVersion, Resource: "leases", ObjectKind: "Lease"}}
	webhook := func(name string, mutating bool) Route {
		return Route{
			Name: name, Mutating: mutating, Probe: true, Own: true, Side: policies.SideClusterAPI, Subjects: lease, Operations: ops(create),
			FailurePolicy: admissionregistrationv1.Ignore,
			Conditions:    conditions("is-the-probe", fmt.Sprintf(`object.metadata.?name.orValue("") == %q && request.?dryRun.orValue(false)`, authority.ProbeName)),
		}
	}
	return []Route{webhook("probe-default", true), webhook("probe", false)}
}

// answer returns the warning with which a webhook answers the probe.
func (r Route) answer() string { return authority.ProbeAnswer + r.Path() }

// enforcement labels the namespaces once Poundlock's webhooks have answered through the API server. A webhook that fails closed does so only in a namespace
// with the label. So an installation whose replicas cannot start refuses nothing.
type enforcement struct {
	pairs  authority.Pairs
	reader client.Reader
	writer client.Writer
	// probe returns nil if the webhooks of both configurations have answered a request in a pair's Cluster API namespace.
	probe func(ctx context.Context, namespace string) error
	// ready returns nil if this replica would answer a review.
	ready    func(context.Context) error
	enforced prometheus.Gauge
	probes   *prometheus.CounterVec
	log      logr.Logger
	now      func() time.Time
	// answered is the time of the last answered probe.
	answered time.Time
	// failed is the text of the last error. An error is logged only if it differs from this one.
	failed string
}

func newEnforcement(c cluster.Cluster, o Options, m *metrics, ready func(context.Context) error) (*enforcement, error) {
	p, err := newProber(c)
	if err != nil {
		return nil, err
	}
	return &enforcement{
		pairs: o.Pairs, reader: c.GetAPIReader(), writer: c.GetClient(), probe: p.ask, ready: ready, enforced: m.enforced, probes: m.probes,
		log: o.Log.WithName("enforcement"), now: time.Now,
	}, nil
}

// NeedLeaderElection returns false: any replica that serves can find out that the API server reaches it.
func (e *enforcement) NeedLeaderElection() bool { return false }

// Start keeps the namespaces labelled until ctx is done, because a user may remove a label.
func (e *enforcement) Start(ctx context.Context) error {
	wait := tryAgain
	for {
		if err := e.pass(ctx); err != nil {
			e.logFailure(ctx, err)
			wait = min(2*wait, lookAgain)
		} else {
			wait = lookAgain
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

func (e *enforcement) logFailure(ctx context.Context, err error) {
	if ctx.Err() == nil && err.Error() != e.failed {
		e.failed = err.Error()
		e.log.Info("The API server does not reach Poundlock's webhooks. Meanwhile requests are admitted unchecked in each namespace without Poundlock's "+
			"label, and in all namespaces if a webhook configuration is missing",
			"reason", e.failed)
	}
}

// pass probes whether the API server reaches the webhooks, if a namespace has no label or the last answered probe is older than probeAgain. Then it labels the
// namespaces that have no label. It probes each pair separately, because a configuration may select only the namespaces of another pair. It removes no label
// when a probe fails: the locks must refuse requests while no webhook answers, and they do so because of the label.
func (e *enforcement) pass(ctx context.Context) error {
	missing, err := e.missing(ctx)
	if err != nil {
		return err
	}
	if len(missing) == 0 && e.now().Sub(e.answered) < probeAgain {
		return nil
	}
	if err := e.reached(ctx, missing); err != nil {
		e.enforced.Set(0)
		return err
	}
	e.answered, e.failed = e.now(), ""
	e.enforced.Set(1)
	return nil
}

// reached probes both webhook configurations for each pair, and labels the namespaces of each pair for which both answered. It returns nil if both answered for
// all pairs.
func (e *enforcement) reached(ctx context.Context, missing map[authority.Pair][]*metav1.PartialObjectMetadata) error {
	if err := e.ready(ctx); err != nil {
		return err
	}
	var failed []error
	for _, pair := range e.pairs {
		err := e.probe(ctx, pair.ClusterAPI)
		e.probes.WithLabelValues(strconv.FormatBool(err == nil)).Inc()
		if err == nil {
			err = e.label(ctx, missing[pair])
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func (e *enforcement) label(ctx context.Context, namespaces []*metav1.PartialObjectMetadata) error {
	for _, ns := range namespaces {
		body := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:%q}}}`, ns.UID, authority.AdmissionLabel, authority.Enforced)
		if err := e.writer.Patch(ctx, ns, client.RawPatch(types.MergePatchType, body), client.FieldOwner(enforcer)); err != nil {
			return fmt.Errorf("labelling Namespace %s: %w", ns.Name, err)
		}
		e.log.Info("Admission enforced", "namespace", ns.Name)
	}
	return nil
}

// missing returns, by pair, the namespaces that exist, are not being deleted and do not have the label.
func (e *enforcement) missing(ctx context.Context) (map[authority.Pair][]*metav1.PartialObjectMetadata, error) {
	out := map[authority.Pair][]*metav1.PartialObjectMetadata{}
	for _, pair := range e.pairs {
		for _, name := range []string{pair.MachineAPI, pair.ClusterAPI} {
			ns := &metav1.PartialObjectMetadata{}
			ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
			if err := e.reader.Get(ctx, client.ObjectKey{Name: name}, ns); client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("reading Namespace %s: %w", name, err)
			}
			if ns.UID != "" && ns.DeletionTimestamp == nil && ns.Labels[authority.AdmissionLabel] != authority.Enforced {
				out[pair] = append(out[pair], ns)
			}
		}
	}
	return out, nil
}

// prober creates a Lease in a dry run, and collects the warnings with which the webhooks answer.
type prober struct {
	client  client.Client
	mu      sync.Mutex
	answers []string
}

func newProber(c cluster.Cluster) (*prober, error) {
	p := &prober{}
	cfg := rest.CopyConfig(c.GetConfig())
	cfg.WarningHandler, cfg.WarningHandlerWithContext = p, nil
	var err error
	p.client, err = client.New(cfg, client.Options{Mapper: c.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("making the client of the probe: %w", err)
	}
	return p, nil
}

// HandleWarningHeader collects the API server's warnings.
func (p *prober) HandleWarningHeader(_ int, _ string, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = append(p.answers, text)
}

func (p *prober) ask(ctx context.Context, namespace string) error {
	p.mu.Lock()
	p.answers = nil
	p.mu.Unlock()
	// This is longer than the timeouts of both webhooks together, which are called one after the other (TimeoutSeconds: 5 s each). So the API server still answers
	// if neither webhook does, and the error names the silent ones.
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	lease := &unstructured.Unstructured{}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	lease.SetNamespace(namespace)
	lease.SetName(authority.ProbeName)
	err := p.client.Create(ctx, lease, client.DryRunAll)
	p.mu.Lock()
	defer p.mu.Unlock()
	var silent []string
	for _, webhook := range probes() {
		if !slices.Contains(p.answers, webhook.answer()) {
			silent = append(silent, webhook.Path())
		}
	}
	switch {
	case len(silent) == 0:
		return nil // both have answered, whatever else happened to the request
	case err != nil:
		return fmt.Errorf("trying to create the Lease %s in %s: %w", authority.ProbeName, namespace, err)
	}
	return fmt.Errorf("the API server has no answer from %s in namespace %s: check the webhook configurations, their namespaceSelector and caBundle, "+
		"the Service and network policies",
		strings.Join(silent, " and "), namespace)
}
