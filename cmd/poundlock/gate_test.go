// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
)

// What changes which reconcilers run ends the process, in a sentence; an API server that does not answer changes nothing.
func TestModeWatch(t *testing.T) {
	const rival = "Deployment openshift-cluster-api/cluster-capi-operator"
	for _, c := range []struct {
		sentence string
		began    mode
		reads    []mode
		want     string
	}{
		{"the gate goes off", mode{gate: true}, []mode{{gate: true}, {}}, "the feature gate MachineAPIMigration is off"},
		{"the gate goes on", mode{}, []mode{{gate: true}}, "the feature gate MachineAPIMigration is on"},
		{"a rival comes", mode{gate: true}, []mode{{gate: true}, {gate: true, rival: rival}}, "OpenShift's own migration runs: " + rival},
		{"it goes", mode{gate: true, rival: rival}, []mode{{gate: true}}, "the feature gate MachineAPIMigration is on"},
		{"nothing changes", mode{gate: true}, nil, ""},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		n := 0
		read := func(context.Context) (mode, error) {
			n++
			if n%2 == 1 {
				return mode{}, errors.New("no answer")
			}
			if i := n/2 - 1; i < len(c.reads) {
				return c.reads[i], nil
			}
			return c.began, nil
		}
		err := modeWatch{read: read, began: c.began, period: time.Millisecond, soon: time.Millisecond}.Start(ctx)
		cancel()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.sentence, err, c.want)
		}
	}
	if (mode{gate: true, rival: rival}).moves() || (mode{}).moves() || !(mode{gate: true}).moves() {
		t.Error("only with the gate on, and nobody else, something moves")
	}
}

// News of the gate is looked at when it comes, whatever the period, and once more if the read fails.
func TestModeWatchLooksAtNews(t *testing.T) {
	n := 0
	read := func(context.Context) (mode, error) {
		if n++; n == 1 {
			return mode{gate: true}, errors.New("no answer")
		}
		return mode{}, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	w := modeWatch{read: read, began: mode{gate: true}, period: time.Hour, soon: time.Millisecond,
		onChange: func(_ context.Context, call func()) error { call(); call(); return nil }}
	if err := w.Start(ctx); err == nil || !strings.Contains(err.Error(), "the feature gate MachineAPIMigration is off") {
		t.Errorf("%v after %d reads", err, n)
	}
}

func TestGateNews(t *testing.T) {
	informers := &informertest.FakeInformers{Scheme: scheme()}
	gates := &unstructured.Unstructured{}
	gates.SetGroupVersionKind(configv1.GroupVersion.WithKind("FeatureGate"))
	informer, err := informers.FakeInformerFor(t.Context(), gates)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	inCluster, byFlag := settings{}, settings{}
	inCluster.gate, byFlag.gate = "cluster", "on"
	if err := gateChanges(informers, inCluster)(t.Context(), func() { n++ }); err != nil {
		t.Fatal(err)
	}
	informer.Add(gates)
	informer.Update(gates, gates)
	informer.Delete(gates)
	if n != 3 {
		t.Errorf("called %d times, want once for each write", n)
	}
	if gateChanges(informers, byFlag) != nil {
		t.Error("what a flag says, a FeatureGate does not change")
	}
}

// When the gate was turned on, nobody stores. Its status was not written before that since.
func TestLastWritten(t *testing.T) {
	gates := &configv1.FeatureGate{}
	if got := lastWritten(gates); !got.IsZero() {
		t.Errorf("without managed fields: %s", got)
	}
	at := func(minute int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)}
	}
	gates.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "old", Time: at(1), FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:featureGates":{}}}`)},
		{Manager: "operator", Time: at(2), FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:featureGates":{}}}`)},
		{Manager: "kubectl", Time: at(3), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:featureSet":{}}}`)},
		{Manager: "nobody"},
	}
	if got := lastWritten(gates); !got.Equal(at(2).Time) {
		t.Errorf("%s, want %s", got, at(2))
	}
	gates.CreationTimestamp = *at(1)
	if got := lastWritten(gates); !got.IsZero() {
		t.Errorf("written when the object was created: %s", got)
	}
	gates.CreationTimestamp = metav1.Time{Time: at(0).Add(-time.Hour)}
	if got := lastWritten(gates); !got.Equal(at(2).Time) {
		t.Errorf("of an older object: %s, want %s", got, at(2))
	}
}
