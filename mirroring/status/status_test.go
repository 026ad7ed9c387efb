// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion/aws"
	"github.com/poundlock/poundlock/internal/jsonnumbers"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
)

func TestStatusPatch(t *testing.T) {
	c := Reporter{Now: time.Date(2026, 11, 21, 17, 0, 0, 0, time.UTC)}
	for _, x := range []struct {
		sentence     string
		wanted, live string
		want         string
	}{
		{"equal", `{phase: Running, conditions: [{type: A, status: "True"}]}`, `{phase: Running, other: 1, conditions: [{type: B, status: "True"}, {type: A, status: "True", lastTransitionTime: x}]}`, `{}`},
		{"a field differs", `{phase: Running}`, `{phase: Failed}`, `{phase: Running}`},
		{"what says which API is authoritative is not mirrored", `{authoritativeAPI: ClusterAPI, synchronizedGeneration: 3, conditions: [{type: Paused, status: "True"}]}`, `{}`, `{}`},
		{"what has ended ends", `{phase: Running}`, `{phase: Running, nodeRef: {name: n}, errorMessage: e, other: stays}`, `{nodeRef: null, errorMessage: null}`},
		{"what has ended ends in Cluster API's old place too", `{phase: Running}`, `{phase: Running, deprecated: {v1beta1: {failureMessage: e, conditions: []}}}`, `{deprecated: {v1beta1: {failureMessage: null}}}`},
		{"since when the phase is what it is ends too", `{phase: Pending}`, `{phase: Failed, lastUpdated: t}`, `{phase: Pending, lastUpdated: null}`},
		{"a source that says nothing ends nothing", `{}`, `{nodeRef: {name: n}}`, `{}`},
		{"a condition flips, the others keep their place", `{conditions: [{type: A, status: "False", reason: R}]}`, `{conditions: [{type: A, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}, {type: B, status: "True"}]}`,
			`{conditions: [{type: A, status: "False", reason: R, lastTransitionTime: "2026-11-21T17:00:00Z"}, {type: B, status: "True"}]}`},
		{"a message changes without a flip: the time stays", `{conditions: [{type: A, status: "True", message: n}]}`, `{conditions: [{type: A, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]}`,
			`{conditions: [{type: A, status: "True", message: n, lastTransitionTime: "2026-01-01T00:00:00Z"}]}`},
	} {
		var wanted, live, want map[string]any
		mirroringtest.Read(t, x.wanted, &wanted)
		mirroringtest.Read(t, x.live, &live)
		mirroringtest.Read(t, x.want, &want)
		if diff := cmp.Diff(want, c.statusPatch(wanted, live)); diff != "" {
			t.Errorf("%s: %s", x.sentence, diff)
		}
	}
}

// counted is an object whose generation is an integer, as an API server's is.
func counted(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := mirroringtest.Machine(t, text)
	generation, _ := jsonnumbers.Integer(pairs.Below(o.Object, "metadata")["generation"])
	o.SetGeneration(generation)
	return o
}

// TestTheObservedGenerationOfAMirror: `kubectl wait --for=condition=…` waits for it.
func TestTheObservedGenerationOfAMirror(t *testing.T) {
	c := Reporter{Now: time.Now()}
	for _, x := range []struct {
		sentence         string
		machineAPI, core string
		wanted           map[string]any
		want             any
	}{
		{"Cluster API has seen its set, so the mirror has been seen", `{metadata: {generation: 5}, status: {observedGeneration: 4}}`, `{metadata: {generation: 2}, status: {observedGeneration: 2}}`, map[string]any{}, int64(5)},
		{"Cluster API has yet to see its set", `{metadata: {generation: 5}, status: {observedGeneration: 4}}`, `{metadata: {generation: 2}, status: {observedGeneration: 1}}`, map[string]any{}, nil},
		{"it is said already", `{metadata: {generation: 5}, status: {observedGeneration: 5}}`, `{metadata: {generation: 2}, status: {observedGeneration: 2}}`, map[string]any{}, nil},
		{"a Machine of the Machine API does not count generations", `{metadata: {generation: 5}, status: {phase: Running}}`, `{metadata: {generation: 2}, status: {observedGeneration: 2}}`, map[string]any{}, nil},
		{"the Machine API authoritative says it itself", `{metadata: {generation: 5}, status: {observedGeneration: 4}}`, `{metadata: {generation: 2}, status: {observedGeneration: 2}}`, nil, nil},
	} {
		s := &pairs.State{MachineAPI: counted(t, x.machineAPI), Core: counted(t, x.core)}
		w := c.Synchronized(s, 2, x.wanted)
		status, _ := w.Patch["status"].(map[string]any)
		if diff := cmp.Diff(x.want, status["observedGeneration"]); diff != "" {
			t.Errorf("%s: %s", x.sentence, diff)
		}
	}
}

// TestWhatEndsWithAMoveToClusterAPI: a Machine API Machine that has failed, and what Cluster API's objects report of it.
func TestWhatEndsWithAMoveToClusterAPI(t *testing.T) {
	const failed = `phase: Failed, errorReason: InvalidConfiguration, errorMessage: no quota, lastUpdated: "2026-11-21T12:00:00Z"`
	for _, x := range []struct {
		sentence, text string
		reports        bool
	}{
		{"it is the Machine API's", `{spec: {}, status: {authoritativeAPI: MachineAPI, ` + failed + `}}`, true},
		{"it moves without an instance", `{spec: {}, status: {authoritativeAPI: Migrating, synchronizedAPI: MachineAPI, ` + failed + `}}`, false},
		{"it moves with an instance", `{spec: {providerID: "aws:///z/i-1"}, status: {authoritativeAPI: Migrating, synchronizedAPI: MachineAPI, ` + failed + `}}`, false},
		{"it is being deleted", `{metadata: {deletionTimestamp: "2026-11-21T12:00:00Z"}, spec: {}, status: {authoritativeAPI: Migrating, synchronizedAPI: MachineAPI, ` + failed + `}}`, true},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", MachineAPI: mirroringtest.Object(t, x.text)}
		s.MachineAPI.SetAPIVersion("machine.openshift.io/v1beta1")
		s.MachineAPI.SetKind("Machine")
		s.Env.Platform = aws.Platform()
		before := s.MachineAPI.DeepCopy()
		core, infra := ToClusterAPI(s)
		for message, got := range map[string]bool{
			"phase":        core["phase"] == "Failed",
			"lastUpdated":  core["lastUpdated"] != nil,
			"core failure": pairs.Under(core, "deprecated", "v1beta1")["failureReason"] != nil,
			"failure":      infra["failureReason"] != nil && infra["failureMessage"] != nil,
		} {
			if got != x.reports {
				t.Errorf("%s: %s is reported: %t", x.sentence, message, got)
			}
		}
		if diff := cmp.Diff(before, s.MachineAPI); diff != "" {
			t.Errorf("%s: the object is written to: %s", x.sentence, diff)
		}
	}
}

// TestWhatActsIsRecordedFirst: Poundlock was away when the pair was adopted, and may be away again after each write.
func TestWhatActsIsRecordedFirst(t *testing.T) {
	for _, c := range []struct {
		sentence, status, core string
		want                   bool
	}{
		{"Cluster API acts", `authoritativeAPI: ClusterAPI`, `{}`, true},
		{"it is paused: its first report comes before its release", `authoritativeAPI: ClusterAPI`, `{metadata: {annotations: {cluster.x-k8s.io/paused: "true"}}}`, false},
		{"it is recorded", `authoritativeAPI: ClusterAPI, synchronizedGeneration: 0`, `{}`, false},
		{"it was mirrored", `authoritativeAPI: ClusterAPI, synchronizedGeneration: 3`, `{}`, false},
		{"it is yet to be made", `authoritativeAPI: ClusterAPI`, "", false},
		{"it is asked back before that", `authoritativeAPI: Migrating, synchronizedAPI: ClusterAPI`, `{}`, true},
		{"Machine API is authoritative", `authoritativeAPI: MachineAPI`, `{}`, false},
		{"nothing is", ``, `{}`, false},
	} {
		s := &pairs.State{MachineAPI: mirroringtest.Machine(t, `{status: {`+c.status+`}}`)}
		if c.core != "" {
			s.Core = mirroringtest.Machine(t, c.core)
		}
		if got := Exists(s) != nil; got != c.want {
			t.Errorf("%s: %t", c.sentence, got)
		}
	}
}

// TestAReportRecordsThatTheAuthorityExists: a report that is not Synchronized=True has no generation, and says so with 0 where Cluster API's object is there.
func TestAReportRecordsThatTheAuthorityExists(t *testing.T) {
	const told = `conditions: [{type: Synchronized, status: "False", severity: Error, reason: R, message: m, lastTransitionTime: "2026-01-01T00:00:00Z"}]`
	for _, c := range []struct {
		sentence, status string
		there            bool
		want             any
	}{
		{"Cluster API's object is there", `authoritativeAPI: ClusterAPI`, true, 0},
		{"the condition is reported already", `authoritativeAPI: ClusterAPI, ` + told, true, 0},
		{"it is recorded", `authoritativeAPI: ClusterAPI, synchronizedGeneration: 0`, true, nil},
		{"it was mirrored", `authoritativeAPI: ClusterAPI, synchronizedGeneration: 3`, true, nil},
		{"it is yet to be made", `authoritativeAPI: ClusterAPI`, false, nil},
		{"Machine API is authoritative", `authoritativeAPI: MachineAPI`, true, nil},
	} {
		s := &pairs.State{MachineAPI: mirroringtest.Machine(t, `{status: {`+c.status+`}}`)}
		if c.there {
			s.Core = mirroringtest.Machine(t, `{}`)
		}
		var got any
		if w := (Reporter{}).Fails(s, "R", "m"); w != nil {
			got = pairs.Below(w.Patch, "status")["synchronizedGeneration"]
		}
		if got != c.want {
			t.Errorf("%s: %v, want %v", c.sentence, got, c.want)
		}
	}
}
