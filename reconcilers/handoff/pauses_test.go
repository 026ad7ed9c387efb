// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
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
	stories.Long(t)
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
	w.authoritative(authority.ClusterAPI)

	w.merge(w.mapi(), "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{authority.PausedAnnotation: nil}}})
	w.look()
	if !w.pausedSince(w.mapi()) {
		t.Error("its pause is not put back")
	}
	w.acknowledgeLater(authority.ClusterAPI, clock)

	w.request(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	w.authoritative(authority.MachineAPI)
	if n := w.pass(); n != 0 {
		t.Errorf("an idle pass wrote %d times", n)
	}
}

func (w *world) acknowledgeLater(on authority.API, clock *time.Duration) {
	w.Helper()
	for range 6 { // by then what is to pause is paused, and seen
		w.everybody()
		w.pass()
	}
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
	w.authoritative(authority.ClusterAPI)
}

// A request is taken back after each pass: nobody waits for an answer that does not come, and the check acts again.
func TestCancelOfABlindCheck(t *testing.T) {
	stories.Long(t)
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
			w.authoritative(from)
		}
	}
}

func TestWhenAProviderThatNeverAnswersCountsAsPaused(t *testing.T) {
	const (
		begin = `{kind: GCPMachine, metadata: {uid: u, creationTimestamp: "2025-01-01T00:00:00Z"`
		pause = `, annotations: {cluster.x-k8s.io/paused: ""}`
		field = `, managedFields: [{time: %q, fieldsV1: {"f:metadata": {"f:annotations": {"f:cluster.x-k8s.io/%s": {}}}}}]`
	)
	at := func(time string) string { return begin + pause + fmt.Sprintf(field, time, "paused") + `}}` }
	now := "2026-01-01T00:00:00Z"
	entry := func(manager, operation, time string) string {
		return fmt.Sprintf(`{manager: %s, operation: %s, time: %q, fieldsV1: {"f:metadata": {"f:annotations": {"f:cluster.x-k8s.io/paused": {}}}}}`, manager,
			operation, time)
	}
	by := func(entries ...string) string {
		return pause + `, managedFields: [` + strings.Join(entries, ",") + `]}}`
	}
	mirrors := func(time string) string { return entry("poundlock-mirror", "Apply", time) }
	both := func(mirror, handoff string) string {
		return begin + by(mirrors(mirror), entry("poundlock-handoff", "Update", handoff))
	}
	for sentence, c := range map[string]struct {
		before []string // what was seen 10 seconds earlier each
		object string
		wait   time.Duration // pauseSeenAfter where it is 0
		want   time.Duration
	}{
		"nothing":                                        {object: "", want: 0},
		"one that is not paused":                         {object: begin + `}}`, want: 0},
		"one that was paused now":                        {object: at(now), want: 30 * time.Second},
		"one that was seen before":                       {before: []string{at(now), at(now)}, object: at(now), want: 10 * time.Second},
		"one that was seen for long":                     {before: []string{at(now), at(now), at(now)}, object: at(now), want: 0},
		"one that was paused long ago":                   {object: at("2025-12-31T23:54:00Z"), want: 0},
		"a clock that is ahead of the API server's":      {object: at("2025-12-31T23:58:00Z"), want: 30 * time.Second},
		"a clock that is behind it":                      {before: []string{at("2026-01-01T00:04:00Z")}, object: at("2026-01-01T00:04:00Z"), want: 20 * time.Second},
		"managed fields that somebody has cleared":       {object: begin + pause + `}}`, want: 30 * time.Second},
		"cleared, and seen before":                       {before: []string{begin + pause + `}}`}, object: begin + pause + `}}`, want: 20 * time.Second},
		"an owner of other fields alone":                 {object: begin + pause + fmt.Sprintf(field, "2025-01-01T00:00:00Z", "other") + `}}`, want: 30 * time.Second},
		"one that was paused anew":                       {before: []string{at("2025-12-31T23:59:50Z")}, object: at(now), want: 30 * time.Second},
		"one whose pause the mirror repeats":             {before: []string{at(now)}, object: both("2026-01-01T00:00:08Z", now), want: 20 * time.Second},
		"one whose pause the mirror repeats, much later": {object: both(now, "2025-12-31T23:54:00Z"), want: 0},
		"one that the mirror made paused, and writes to": {object: begin + by(mirrors(now)), want: 0},
		"one that the mirror has just made":              {object: strings.Replace(begin, "2025-01-01T00:00:00Z", now, 1) + by(mirrors(now)), want: 30 * time.Second},
		"one that a person has paused, which the mirror repeats": {object: begin + by(entry("kubectl-annotate", "Update", now), mirrors(now)),
			want: 30 * time.Second},
		"one whose time somebody has put back while it waits": {before: []string{at(now)}, object: at("2020-01-01T00:00:00Z"), want: 20 * time.Second},
		"one that the handoff has paused again":               {before: []string{both(now, now)}, object: both(now, "2026-01-01T00:00:08Z"), want: 30 * time.Second},
		"a creation may be under way":                         {object: at(now), wait: creationEndsAfter, want: 15 * time.Minute},
		"the same, seen before":                               {before: []string{at(now)}, object: at(now), wait: creationEndsAfter, want: 15*time.Minute - 10*time.Second},
		"the same, paused before this process began":          {object: at("2025-12-31T23:41:00Z"), wait: creationEndsAfter, want: 15 * time.Minute},
		"the same, paused long ago":                           {object: at("2025-12-31T23:39:00Z"), wait: creationEndsAfter, want: 0},
		"one that was not paused between":                     {before: []string{at(now), begin + `}}`}, object: at(now), want: 30 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			p, clock := &pauses{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for _, o := range c.before {
				p.left(pausable(t, o), clock, pauseSeenAfter)
				clock = clock.Add(10 * time.Second)
			}
			if got := p.left(pausable(t, c.object), clock, cmp.Or(c.wait, pauseSeenAfter)); got != c.want {
				t.Errorf("waits for %s, want %s", got, c.want)
			}
		})
	}
}

func pausable(t *testing.T, object string) *unstructured.Unstructured {
	t.Helper()
	if object == "" {
		return nil
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(object), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWhatIsRememberedOfPausesIsBounded(t *testing.T) {
	p := &pauses{}
	for n := range mostPauses + 10 {
		o := pausable(t, `{metadata: {annotations: {cluster.x-k8s.io/paused: ""}}}`)
		o.SetUID(types.UID(strconv.Itoa(n)))
		p.left(o, time.Now(), pauseSeenAfter)
	}
	if n := len(p.seen); n > mostPauses {
		t.Errorf("%d", n)
	}
}
