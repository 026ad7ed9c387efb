// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
)

// blind is a world with a check of OpenShift's own controller, under a clock that starts with the real one.
func blind(t *testing.T, from authority.API) (w *world, clock *time.Duration) {
	w, clock = newWorld(t, "MachineHealthCheck"), new(time.Duration)
	w.blind = true
	w.r.now = func() time.Time { return time.Now().Add(*clock) }
	w.machineAPI(from)
	for range 6 {
		w.everybody()
		w.pass()
	}
	if from == authority.ClusterAPI {
		*clock += pauseSeenAfter + 2*time.Second // managed fields have whole seconds
	}
	w.waitSettled(from)
	return w, clock
}

// A check whose controller reads no authoritativeAPI is paused by the annotation, for longer than a pass of that controller takes before Cluster API's acts.
func TestACheckOfABlindController(t *testing.T) {
	w, clock := blind(t, authority.MachineAPI)
	w.request(authority.ClusterAPI)
	for range 6 {
		w.everybody()
		w.pass()
	}
	if s := w.shape(); s.Current != authority.Migrating || w.reason() != authority.ReasonNotPaused || !w.pausedSince(w.mapi()) {
		t.Fatalf("status %s, reason %s, paused %t", s.Current, w.reason(), w.pausedSince(w.mapi()))
	}
	if n := w.pass(); n != 0 {
		t.Errorf("waiting wrote %d times", n)
	}
	if message := w.shape().Condition(authority.ConditionSettled).Message; !strings.Contains(message, "30s") {
		t.Errorf("it says %q", message)
	}
	w.acknowledgeLater(authority.ClusterAPI, clock)
	w.inCharge(authority.ClusterAPI)

	w.merge(w.mapi(), "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{authority.PausedAnnotation: nil}}})
	w.look()
	if !w.pausedSince(w.mapi()) {
		t.Error("its pause is not put back")
	}
	w.acknowledgeLater(authority.ClusterAPI, clock)

	w.request(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	w.inCharge(authority.MachineAPI)
	if n := w.pass(); n != 0 {
		t.Errorf("an idle pass wrote %d times", n)
	}
}

func (w *world) acknowledgeLater(on authority.API, clock *time.Duration) {
	w.Helper()
	*clock += pauseSeenAfter + 2*time.Second
	w.waitSettled(on)
}

// A person's own pause, with any other value, is none of Poundlock's business before a move, and taken over by it.
func TestACheckThatAPersonHasPaused(t *testing.T) {
	w, clock := blind(t, authority.MachineAPI)
	w.merge(w.mapi(), "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{authority.PausedAnnotation: ""}}})
	w.everybody()
	w.waitSettled(authority.MachineAPI)
	if !w.pausedSince(w.mapi()) {
		t.Fatal("a person's pause is gone")
	}
	w.request(authority.ClusterAPI)
	for range 6 {
		w.everybody()
		w.pass()
	}
	w.acknowledgeLater(authority.ClusterAPI, clock)
	w.inCharge(authority.ClusterAPI)
}

// A request is taken back after each pass: nobody waits for an answer that does not come, and the check acts again.
func TestCancelOfABlindCheck(t *testing.T) {
	for _, from := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		w, clock := blind(t, from)
		for passes := 1; passes < 5; passes++ {
			*clock += pauseSeenAfter + 2*time.Second
			w.request(from.Other())
			for range passes {
				w.everybody()
				w.pass()
			}
			w.request(from)
			w.acknowledgeLater(from, clock)
			w.inCharge(from)
		}
	}
}

func TestWhenAProviderThatNeverAnswersHasHeard(t *testing.T) {
	const told = `annotations: {cluster.x-k8s.io/paused: ""}, creationTimestamp: "2026-01-01T00:00:00Z"`
	for sentence, c := range map[string]struct {
		object string
		want   time.Duration
	}{
		"nothing":                           {"", 0},
		"one that was not told":             {`{kind: GCPMachine, metadata: {creationTimestamp: "2026-01-01T00:00:00Z"}}`, 0},
		"one that was made paused":          {`{kind: GCPMachine, metadata: {` + told + `}}`, 20 * time.Second},
		"one that was told later":           {`{kind: OpenStackMachine, metadata: {` + told + `, managedFields: [{time: "2026-01-01T00:00:08Z", fieldsV1: {"f:metadata": {"f:annotations": {"f:cluster.x-k8s.io/paused": {}}}}}]}}`, 28 * time.Second},
		"one that was told of other things": {`{kind: OpenStackMachine, metadata: {` + told + `, managedFields: [{time: "2026-01-01T00:00:08Z", fieldsV1: {"f:metadata": {"f:annotations": {"f:cluster.x-k8s.io/other": {}}}}}]}}`, 20 * time.Second},
		"one that was told long ago":        {`{kind: GCPMachine, metadata: {annotations: {cluster.x-k8s.io/paused: ""}, creationTimestamp: "2025-01-01T00:00:00Z"}}`, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			var infra *unstructured.Unstructured
			if c.object != "" {
				infra = &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(c.object), &infra.Object); err != nil {
					t.Fatal(err)
				}
			}
			if got := untilPauseSeen(infra, time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)); got != c.want {
				t.Errorf("waits for %s, want %s", got, c.want)
			}
		})
	}
}
