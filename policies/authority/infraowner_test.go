// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/policies"
	. "github.com/poundlock/poundlock/policies/authority"
)

// TestARequestBackByAnothersInfrastructureMachine: a Machine of Cluster API refers to the infrastructure machine of another Machine, and has the ID of that
// Machine's instance, or none. After a move, Machine API would act on the instance of the other Machine. So the move does not start, whatever Synchronized is,
// and the review says why.
func TestARequestBackByAnothersInfrastructureMachine(t *testing.T) {
	const (
		foo, m   = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, name: foo, uid: f}`, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, name: m, uid: m}`
		ofFoo    = `poundlock.openshift.io/mirror-of: Machine/foo`
		sentence = "the move will not start: AWSMachine other, to which the Cluster API Machine refers, belongs to Machine foo"
		runs     = "its instance keeps running"
	)
	kind, _ := KindNamed("Machine")
	for name, c := range map[string]struct {
		owners, annotations, id, current, synchronized string
		held, warned                                   bool
	}{
		"it is another's":                                  {owners: foo, id: "aws:///a/i-1", held: true, warned: true},
		"it is another's, and has no ID yet":               {owners: foo, held: true, warned: true},
		"the mirror has reported it":                       {owners: foo, id: "aws:///a/i-1", synchronized: "ForeignTwin", held: true},
		"nobody owns it, and it is another's mirror":       {annotations: ofFoo, id: "aws:///a/i-1", held: true, warned: true},
		"it is its own, by a name of its own":              {owners: m, id: "aws:///a/i-1"},
		"it is its own, and was another's mirror":          {owners: m, annotations: ofFoo, id: "aws:///a/i-1"},
		"both own it":                                      {owners: foo + ", " + m, id: "aws:///a/i-1"},
		"nobody owns it":                                   {id: "aws:///a/i-1"},
		"on the way to Cluster API it is a foreign object": {owners: foo, id: "aws:///a/i-1", current: "MachineAPI"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.current == "" {
				c.current = "ClusterAPI"
			}
			status, reason := "True", c.synchronized
			if reason != "" {
				status = "False"
			}
			machine := func(asked API) *policies.Object {
				return parsed(t, fmt.Sprintf(`{metadata: {name: m, generation: 1}, spec: {authoritativeAPI: %s, providerID: %q}, status: {authoritativeAPI: %s, synchronizedGeneration: 1, phase: Running,
					conditions: [{type: Synchronized, status: %q, reason: %q, message: said}, {type: Paused, status: 'True'}]}}`, asked, c.id, c.current, status, reason))
			}
			old, asked := machine(API(c.current)), machine(API(c.current).Other())
			twin := parsed(t, fmt.Sprintf(`{metadata: {name: m, generation: 1, annotations: {poundlock.openshift.io/mirror-of: Machine/m}}, spec: {providerID: %q, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: other}},
				status: {conditions: [{type: Paused, status: 'False'}]}}`, c.id))
			infra := parsed(t, fmt.Sprintf(`{kind: AWSMachine, metadata: {name: other, ownerReferences: [%s], annotations: {%s}}, spec: {providerID: %q}, status: {ready: true, conditions: [{type: Paused, status: 'False'}]}}`,
				c.owners, c.annotations, c.id))
			state := Objects{Kind: kind, Enabled: true, MachineAPI: asked, ClusterAPI: twin, Infra: infra}.State()
			if got := Next(state).Reason == ReasonInfraShared; got != (c.held && c.synchronized == "") || c.held && Next(state).Action != Wait {
				t.Errorf("the next step is %+v", Next(state))
			}
			warnings := strings.Join(RequestWarning(policies.Change{
				Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "mapi", Name: "m", TwinNamespace: "capi"}, Operation: "UPDATE",
				Old: old, New: asked, Facts: policies.Facts{Twin: twin, Infra: infra},
			}).Warnings, "\n")
			if strings.Contains(warnings, sentence) != c.warned || c.held && (strings.Contains(warnings, runs) || !strings.Contains(warnings, "the move will not start")) {
				t.Errorf("%s", warnings)
			}
		})
	}
}
