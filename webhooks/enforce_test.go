// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// The deletion of a webhook configuration is noticed within a minute and an interval. No answer of the API server removes a label.
func TestAnAnswerThatFailsToComeIsNoticed(t *testing.T) {
	var (
		clock    = time.Unix(1e9, 0)
		answer   error
		asked    int
		stopping error
	)
	e := &enforcement{
		log: logr.Discard(), now: func() time.Time { return clock }, enforced: prometheus.NewGauge(prometheus.GaugeOpts{Name: "enforced"}),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "probes"}, []string{"answered"}),
		probe:  func(context.Context, string) error { asked++; return answer },
		ready:  func(context.Context) error { return stopping },
		pairs:  authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}},
		reader: namespaces{"m": true, "c": true},
	}
	step := func(what string, after time.Duration, want float64, asks int) {
		t.Helper()
		clock, asked = clock.Add(after), 0
		err := e.pass(t.Context())
		if got := testutil.ToFloat64(e.enforced); got != want || asked != asks || (err == nil) != (want == 1) {
			t.Errorf("%s: enforced %v, asked %d times, error %v; want %v and %d", what, got, asked, err, want, asks)
		}
	}
	step("the first turn", 0, 1, 1)
	step("a turn right after an answer", lookAgain, 1, 0)
	answer = errors.New("no answer")
	step("a configuration is gone, and nobody has asked yet", lookAgain, 1, 0)
	step("a minute later", probeAgain, 0, 1)
	step("and at each turn from then on", tryAgain, 0, 1)
	answer = nil
	step("it is back", tryAgain, 1, 1)
	stopping = errors.New("stopping")
	step("a replica that stops asks nothing", probeAgain, 0, 0)
}

// A configuration may select the namespaces of one pair and not those of another. So each pair is reported, and fails closed, separately.
func TestEachPairIsAskedForItself(t *testing.T) {
	var (
		silent   = errors.New("no answer")
		asked    []string
		labelled = &patched{}
	)
	e := &enforcement{
		log: logr.Discard(), now: time.Now, enforced: prometheus.NewGauge(prometheus.GaugeOpts{Name: "enforced"}),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "probes"}, []string{"answered"}),
		pairs:  authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}, {MachineAPI: "m2", ClusterAPI: "c2"}, {MachineAPI: "m3", ClusterAPI: "c3"}},
		reader: namespaces{"m": false, "c": false, "m2": false, "c2": false, "m3": false, "c3": false}, writer: labelled,
		ready: func(context.Context) error { return nil },
		probe: func(_ context.Context, namespace string) error {
			asked = append(asked, namespace)
			if namespace == "c2" {
				return silent
			}
			return nil
		},
	}
	if err := e.pass(t.Context()); !errors.Is(err, silent) {
		t.Errorf("error %v, want the silence of the second pair", err)
	}
	if diff := cmp.Diff([]string{"c", "c2", "c3"}, asked); diff != "" {
		t.Errorf("asked in (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"m", "c", "m3", "c3"}, labelled.names); diff != "" {
		t.Errorf("labelled (-want +got):\n%s", diff)
	}
	if got := testutil.ToFloat64(e.enforced); got != 0 {
		t.Errorf("enforced %v although one pair has no answer", got)
	}
}

// namespaces are the namespaces that exist, and whether each has the label.
type namespaces map[string]bool

func (n namespaces) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	labelled, exists := n[key.Name]
	if !exists {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, key.Name)
	}
	o.SetName(key.Name)
	o.SetUID("u")
	if labelled {
		o.SetLabels(map[string]string{authority.AdmissionLabel: authority.Enforced})
	}
	return nil
}

func (namespaces) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// patched records the patches.
type patched struct {
	client.Writer
	names []string
}

func (l *patched) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	l.names = append(l.names, o.GetName())
	return nil
}
