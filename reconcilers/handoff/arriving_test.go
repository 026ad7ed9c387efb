// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/authority"
)

// A deletion of the Cluster API object that is stored between the last look of a move and its end cancels the move. Without an announcement, Cluster API would
// become authoritative for an object that is being deleted, and the instances would end.
func TestADeletionBeforeTheEndOfAMoveCancelsIt(t *testing.T) {
	for _, kind := range []string{"Machine", "MachineSet"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, kind)
			w.machineAPI(authority.MachineAPI)
			w.waitSettled(authority.MachineAPI)
			w.merge(w.core(), "", map[string]any{"metadata": map[string]any{"finalizers": append(w.of(w.core()).GetFinalizers(), authority.SyncFinalizer)}})
			w.request(authority.ClusterAPI)
			p, step := w.untilTheEnd()
			if err := w.Delete(t.Context(), w.of(w.core())); err != nil {
				t.Fatal(err)
			}
			if _, err := w.r.apply(t.Context(), p, step); !versioned.Outdated(err) {
				t.Fatalf("the end of the move: %v", err)
			}
			for range 10 {
				if w.shape().Current == authority.MachineAPI {
					break
				}
				w.controllersAnswer()
				w.look()
			}
			if s := w.shape(); s.Current != authority.MachineAPI {
				t.Errorf("status %s", s.Current)
			}
		})
	}
}

func TestTheEndOfAMoveIsAnnounced(t *testing.T) {
	w := newWorld(t, "MachineSet")
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	value := func() string { return w.of(w.core()).GetAnnotations()[authority.PausedAnnotation] }

	w.request(authority.ClusterAPI)
	p, step := w.untilTheEnd()
	if err := w.r.announce(t.Context(), p, step); err != nil || value() != authority.Arriving(w.of(w.mapi()).GetGeneration()) {
		t.Errorf("the pause is %q: %v", value(), err)
	}
	writes := w.writes.Load()
	if err := w.r.announce(t.Context(), p, step); err != nil || w.writes.Load() != writes {
		t.Errorf("it is announced again: %v", err)
	}
	w.request(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	if value() != "true" {
		t.Errorf("after the move is cancelled, the pause is %q", value())
	}
	w.request(authority.ClusterAPI)
	w.waitSettled(authority.ClusterAPI)
	if value() != "" {
		t.Errorf("after the move, there is a pause, %q", value())
	}
}

// untilTheEnd lets everybody go on until the handoff's next step is the Switch, and returns that step with what it was decided from.
func (w *world) untilTheEnd() (*pair, authority.Step) {
	w.Helper()
	var steps []authority.Action
	for range 40 {
		w.everybody()
		p, step, err := w.r.decide(w.Context(), w.r.live, keyOf(w))
		if err != nil {
			w.Fatal(err)
		}
		if step.Action == authority.Switch {
			return p, step
		}
		steps = append(steps, step.Action)
		w.pass()
	}
	w.Fatalf("no move comes to its end: %v", slices.Compact(steps))
	return nil, authority.Step{}
}

// What Arriving relies on: if an object with finalizers has changed while a DELETE of it was under review, the API server asks for another review, of the object
// as it is then.
func TestADeletionIsReviewedAgainIfItsObjectHasChanged(t *testing.T) {
	w := newWorld(t, "MachineSet")
	w.makeTwin()
	core := w.of(w.core())
	w.merge(w.core(), "", map[string]any{"metadata": map[string]any{"finalizers": []string{authority.SyncFinalizer}}})
	var mu sync.Mutex
	var seen []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		review := &admissionv1.AdmissionReview{}
		if err := json.NewDecoder(in.Body).Decode(review); err != nil {
			t.Error(err)
			return
		}
		o := &unstructured.Unstructured{}
		if err := json.Unmarshal(review.Request.OldObject.Raw, o); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, o.GetAnnotations()[authority.PausedAnnotation])
		if len(seen) == 1 {
			w.merge(w.core(), "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{authority.PausedAnnotation: authority.Arriving(1)}}})
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: len(seen) == 1, Result: &metav1.Status{Message: "it arrives"}}
		_ = json.NewEncoder(out).Encode(review)
	}))
	t.Cleanup(server.Close)
	none, fail, all := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail, admissionregistrationv1.AllScopes
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.pair.ClusterAPI},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "review.example.com", SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.pair.ClusterAPI}},
			Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{"cluster.x-k8s.io"}, APIVersions: []string{"*"}, Resources: []string{"machinesets"}, Scope: &all}}},
		}}}
	if err := w.Create(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Delete(context.WithoutCancel(t.Context()), hook) })
	w.eventually("a deletion is reviewed", func() bool {
		err := w.Delete(t.Context(), core.DeepCopy(), client.DryRunAll)
		mu.Lock()
		defer mu.Unlock()
		return len(seen) > 0 && err != nil
	})
	mu.Lock()
	seen = nil
	mu.Unlock()
	w.merge(w.core(), "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{authority.PausedAnnotation: "true"}}})
	err := w.Delete(t.Context(), core.DeepCopy())
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"true", authority.Arriving(1)}; err == nil || !slices.Equal(seen, want) || w.of(w.core()).GetDeletionTimestamp() != nil {
		t.Errorf("reviewed %q, want %q: %v", seen, want, err)
	}
}
