// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"testing"

	"github.com/poundlock/poundlock/policies"
)

func TestHowAProviderReportsAPause(t *testing.T) {
	const (
		told   = `"cluster.x-k8s.io/paused": ""`
		blocks = `"clusterctl.cluster.x-k8s.io/block-move": "true"`
		paused = `{"conditions": [{"type": "Paused", "status": "True"}]}`
		newer  = `{"v1beta2": {"conditions": [{"type": "Paused", "status": "False"}]}}`
	)
	for sentence, c := range map[string]struct {
		kind, annotations, status string
		unheard                   bool
		want                      AcknowledgedState
	}{
		"no condition where one is due":                        {"AWSMachine", told, `{}`, false, NotAcknowledged},
		"the condition":                                        {"AWSMachine", told, paused, false, AcknowledgedPaused},
		"the condition of the newer form":                      {"VSphereMachine", ``, newer, false, AcknowledgedUnpaused},
		"Azure's, which may not be moved yet":                  {"AzureMachine", told + ", " + blocks, `{}`, false, AcknowledgedUnpaused},
		"Azure's, which may":                                   {"AzureMachine", told, `{}`, false, AcknowledgedPaused},
		"Azure's, released and not looked at yet":              {"AzureMachine", ``, `{}`, false, AcknowledgedPaused},
		"Azure's of a later release, which has the condition":  {"AzureMachine", told + ", " + blocks, paused, false, AcknowledgedPaused},
		"GCP's, told a moment ago":                             {"GCPMachine", told, `{}`, true, NotAcknowledged},
		"GCP's, told long enough ago":                          {"GCPMachine", told, `{}`, false, AcknowledgedPaused},
		"GCP's, not told":                                      {"GCPMachine", ``, `{}`, true, AcknowledgedUnpaused},
		"OpenStack's, told long enough ago":                    {"OpenStackMachine", told, `{"conditions": []}`, false, AcknowledgedPaused},
		"OpenStack's of a later release, which still works on": {"OpenStackMachine", told, newer, false, AcknowledgedUnpaused},
	} {
		t.Run(sentence, func(t *testing.T) {
			infra, err := policies.ParseObject([]byte(`{"kind": "` + c.kind + `", "metadata": {"annotations": {` + c.annotations + `}}, "status": ` + c.status + `}`))
			if err != nil {
				t.Fatal(err)
			}
			kind, _ := KindNamed("Machine")
			if got := (Objects{Kind: kind, Infra: infra, InfraPausedLately: c.unheard}).State().Infra.Acknowledged; got != c.want {
				t.Errorf("says %d, want %d", got, c.want)
			}
		})
	}
}

// A check of the Machine API acknowledges by the condition Paused if its controller looks at which API is authoritative, else by the annotation.
func TestAcknowledgementOfACheck(t *testing.T) {
	const (
		ours   = `"cluster.x-k8s.io/paused": "poundlock.openshift.io"`
		theirs = `"cluster.x-k8s.io/paused": ""`
		paused = `{"type": "Paused", "status": "True"}`
		acts   = `{"type": "Paused", "status": "False"}`
	)
	for sentence, c := range map[string]struct {
		kind, annotations, conditions string
		unheard                       bool
		want                          AcknowledgedState
		pauseRequested, blind         bool
	}{
		"nothing is known":                     {"MachineHealthCheck", ``, ``, false, AcknowledgedUnpaused, false, true},
		"told a moment ago":                    {"MachineHealthCheck", ours, ``, true, NotAcknowledged, true, true},
		"told long enough ago":                 {"MachineHealthCheck", ours, ``, false, AcknowledgedPaused, true, true},
		"a person's pause":                     {"MachineHealthCheck", theirs, ``, false, AcknowledgedUnpaused, false, true},
		"a controller that knows authority":    {"MachineHealthCheck", ``, paused, false, AcknowledgedPaused, false, false},
		"one that knows it, and an annotation": {"MachineHealthCheck", ours, acts, false, AcknowledgedUnpaused, true, false},
		"a set, with any annotation":           {"MachineSet", ours, ``, false, NotAcknowledged, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			check, err := policies.ParseObject([]byte(`{"kind": "` + c.kind + `", "metadata": {"annotations": {` + c.annotations +
				`}}, "status": {"conditions": [` + c.conditions + `]}}`))
			if err != nil {
				t.Fatal(err)
			}
			kind, _ := KindNamed(c.kind)
			s := Objects{Kind: kind, MachineAPI: check, MachineAPIPausedLately: c.unheard}.State()
			if s.MachineAPI.Acknowledged != c.want || s.MachineAPI.PauseRequested != c.pauseRequested || s.Blind != c.blind {
				t.Errorf("says %d, told %t, blind %t", s.MachineAPI.Acknowledged, s.MachineAPI.PauseRequested, s.Blind)
			}
		})
	}
}
