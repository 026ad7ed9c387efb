// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion/core"
)

const machineStatus = `
metadata: {creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {providerID: aws:///us-east-1a/i-1}
status:
  authoritativeAPI: MachineAPI
  synchronizedAPI: MachineAPI
  synchronizedGeneration: 3
  phase: Running
  lastUpdated: "2026-01-01T00:01:00Z"
  nodeRef: {kind: Node, name: ip-10-0-0-1, uid: x}
  addresses: [{type: InternalIP, address: 10.0.0.1}]
  errorReason: CreateError
  errorMessage: no capacity
  conditions:
  - {type: InstanceExists, status: "True", lastTransitionTime: "2026-01-01T00:02:00Z"}
  - {type: Paused, status: "False", reason: AuthoritativeAPIMachineAPI, lastTransitionTime: "2026-01-01T00:02:00Z"}
  - {type: Synchronized, status: "True", reason: ResourceSynchronized, lastTransitionTime: "2026-01-01T00:02:00Z"}
  providerStatus: {kind: AWSMachineProviderStatus, apiVersion: machine.openshift.io/v1beta1, instanceId: i-1, instanceState: running, dedicatedHost: {id: h-1}}
`

func TestTheStatusOfAMachine(t *testing.T) {
	m := object(t, machineStatus)
	c, i := core.StatusToClusterAPI("Machine", m, env())
	diff(t, fields(t, `
phase: Running
lastUpdated: "2026-01-01T00:01:00Z"
nodeRef: {name: ip-10-0-0-1}
addresses: [{type: InternalIP, address: 10.0.0.1}]
initialization: {infrastructureProvisioned: true, bootstrapDataSecretCreated: true}
deprecated: {v1beta1: {failureReason: CreateError, failureMessage: no capacity}}
conditions:
- {type: BootstrapConfigReady, status: "True", reason: DataSecretProvided, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: InfrastructureReady, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:02:00Z"}
- {type: Ready, status: "True", reason: Ready, message: "", lastTransitionTime: null}
- {type: Available, status: "True", reason: Available, message: "", lastTransitionTime: null}
`), c)
	diff(t, fields(t, `
ready: true
addresses: [{type: InternalIP, address: 10.0.0.1}]
failureReason: CreateError
failureMessage: no capacity
instanceState: running
dedicatedHost: {id: h-1}
`), i)

	twin := core.Twin{Core: wrap(map[string]any{"status": c}), Infra: wrap(map[string]any{"spec": map[string]any{"instanceID": "i-1"}, "status": i})}
	want := object(t, machineStatus).Object["status"].(map[string]any)
	for _, own := range []string{"authoritativeAPI", "synchronizedAPI", "synchronizedGeneration"} {
		delete(want, own)
	}
	drainable := map[string]any{"type": "Drainable", "status": "True", "lastTransitionTime": nil}
	want["conditions"] = append(want["conditions"].([]any)[:1], any(drainable))
	want["nodeRef"] = map[string]any{"kind": "Node", "name": "ip-10-0-0-1"}
	diff(t, want, core.StatusToMachineAPI("Machine", twin, env()))
}

func TestAHookThatIsRemovedHoldsNoDrain(t *testing.T) {
	machine := wrap(map[string]any{"metadata": map[string]any{}})
	for _, c := range []struct{ annotation, status, message string }{
		{"pre-drain.delete.hook.machine.cluster.x-k8s.io/etcd", "False", "The drain of the Node waits until the owner of each hook removes the hook: etcd " +
			"(owner clusteroperator/etcd)"},
		{"pre-terminate.delete.hook.machine.cluster.x-k8s.io/etcd", "True", ""},
		{"", "True", ""},
	} {
		machine.SetAnnotations(map[string]string{c.annotation: "clusteroperator/etcd"})
		status := core.StatusToMachineAPI("Machine", core.Twin{Core: machine}, env())
		got := status["conditions"].([]any)[0].(map[string]any)
		message, _ := got["message"].(string)
		if got["type"] != "Drainable" || got["status"] != c.status || message != c.message {
			t.Errorf("%q: %v", c.annotation, got)
		}
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	m := object(t, `{"status": {"addresses": [{"type": "InternalIP", "address": ""}, {"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Other", "address": "x"}, {"type": "Hostname", "address": "`+strings.Repeat("a",
		257)+`"}]}}`)
	c, i := core.StatusToClusterAPI("Machine", m, env())
	for what, status := range map[string]map[string]any{"the core Machine's": c, "the infrastructure's": i} {
		if d := cmp.Diff([]any{map[string]any{"type": "InternalIP", "address": "10.0.0.1"}}, status["addresses"]); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
}

func TestAMachineWithoutAnInstanceIsNotProvisioned(t *testing.T) {
	for phase, want := range map[string]string{"": "Pending", "Provisioning": "Provisioning", "Failed": "Failed", "Deleting": "Deleting"} {
		c, i := core.StatusToClusterAPI("Machine", wrap(map[string]any{"status": map[string]any{"phase": phase}}), env())
		diff(t, want, c["phase"].(string))
		diff(t, map[string]any{"bootstrapDataSecretCreated": true}, c["initialization"].(map[string]any))
		diff(t, map[string]any{"ready": false}, i)
	}
}

func TestAMachineWhoseInfrastructureObjectIsGoneIsNotFailedForEver(t *testing.T) {
	const gone = "Machine infrastructure resource AWSMachine openshift-cluster-api/a has been deleted after provisioning was completed, do not delete infrastructure"
	for name, c := range map[string]struct {
		contains string
		node     bool
		phase    string
		fails    bool
	}{
		"with a Node":               {gone, true, "Running", false},
		"without":                   {gone, false, "Provisioned", false},
		"in an older release":       {`Machine infrastructure resource AWSMachine with name "a" has been deleted after being ready`, true, "Running", false},
		"failed for another reason": {"the image does not exist", true, "Failed", true},
	} {
		t.Run(name, func(t *testing.T) {
			status := map[string]any{"phase": "Failed",
				"deprecated": map[string]any{"v1beta1": map[string]any{"failureReason": "InvalidConfiguration", "failureMessage": c.contains}}}
			if c.node {
				status["nodeRef"] = map[string]any{"name": "a"}
			}
			got := core.StatusToMachineAPI("Machine", core.Twin{Core: wrap(map[string]any{"status": status})}, env())
			_, message := got["errorMessage"]
			_, reason := got["errorReason"]
			if got["phase"] != c.phase || message != c.fails || reason != c.fails {
				t.Errorf("phase %v, errorReason %v, errorMessage %v", got["phase"], got["errorReason"], got["errorMessage"])
			}
		})
	}
}

func TestTheStatusOfAMachineSet(t *testing.T) {
	m := object(t, fullSet)
	m.Object["status"] = fields(t,
		`{replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 1, observedGeneration: 4, errorReason: InvalidConfiguration, errorMessage: why}`)
	c, i := core.StatusToClusterAPI("MachineSet", m, env())
	if i != nil {
		t.Errorf("a template observes nothing, but got %v", i)
	}
	selector := "machine.openshift.io/cluster-api-cluster=ocean-x7k2p,machine.openshift.io/cluster-api-machineset=worker-a,team notin (air,land)"
	diff(t, map[string]any{
		"replicas": int64(2), "readyReplicas": int64(1), "availableReplicas": int64(0), "selector": selector,
		"deprecated": map[string]any{"v1beta1": map[string]any{
			"fullyLabeledReplicas": int64(2), "readyReplicas": int64(1), "availableReplicas": int64(0),
			"failureReason": "InvalidConfiguration", "failureMessage": "why",
		}},
	}, c)

	twin, _ := core.ToClusterAPI("MachineSet", m, env())
	twin.Core.Object["status"] = c
	diff(t, map[string]any{
		"replicas": int64(2), "readyReplicas": int64(1), "availableReplicas": int64(0), "fullyLabeledReplicas": int64(2),
		"labelSelector": selector, "errorReason": "InvalidConfiguration", "errorMessage": "why",
	}, core.StatusToMachineAPI("MachineSet", twin, env()))
}

// TestAStatusThatMakesNoSense: no content causes a panic.
func TestAStatusThatMakesNoSense(t *testing.T) {
	for _, status := range []any{nil, "x", map[string]any{"phase": 1}, map[string]any{"conditions": "x"}, map[string]any{"providerStatus": "x"}} {
		for _, kind := range []string{"Machine", "MachineSet", "MachineHealthCheck", "Moon"} {
			o := wrap(map[string]any{"status": status, "spec": "x"})
			core.StatusToClusterAPI(kind, o, env())
			core.StatusToMachineAPI(kind, core.Twin{Core: o, Infra: o}, env())
			core.StatusToMachineAPI(kind, core.Twin{Core: o}, env())
		}
	}
}

func wrap(content map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: content}
}

func fields(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestADeletionIsNoWorkForTheMachineAPI: its drain controller drains the Node of a Machine that is being deleted, in phase Deleting, and not Drained. So a
// mirror enters that phase only after Cluster API's drain, and gets the condition in the same status.
func TestADeletionIsNoWorkForTheMachineAPI(t *testing.T) {
	deleting := func(reason, more string) string {
		return `{phase: Deleting, conditions: [{type: Deleting, status: "True", reason: ` + reason + `, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]` +
			more + `}`
	}
	v1beta1 := func(status string) string {
		return `, deprecated: {v1beta1: {conditions: [{type: DrainingSucceeded, status: "` + status + `", lastTransitionTime: "2026-01-01T00:01:00Z"}]}}`
	}
	for name, c := range map[string]struct {
		status  string
		drained string // when, "" for not
	}{
		"it has just begun":                                {status: deleting("Deleting", "")},
		"nobody has observed it":                           {status: `{phase: Deleting}`},
		"a hook holds it before the drain":                 {status: deleting("WaitingForPreDrainHook", "")},
		"it is being drained":                              {status: deleting("DrainingNode", v1beta1("False"))},
		"something went wrong, and nobody knows how far":   {status: deleting("InternalError", "")},
		"a reason that no build has ever heard of":         {status: deleting("Pondering", "")},
		"a condition that says that it is not deleted":     {status: `{phase: Deleting, conditions: [{type: Deleting, status: "False", reason: DeletingNode}]}`},
		"it is drained":                                    {deleting("Deleting", v1beta1("True")), "2026-01-01T00:01:00Z"},
		"it is drained, and something went wrong later":    {deleting("InternalError", v1beta1("True")), "2026-01-01T00:01:00Z"},
		"its volumes are being detached":                   {deleting("WaitingForVolumeDetach", v1beta1("True")), "2026-01-01T00:01:00Z"},
		"a hook holds it after a drain that was left out":  {deleting("WaitingForPreTerminateHook", ""), "2026-01-01T00:00:00Z"},
		"its instance is being terminated":                 {deleting("WaitingForInfrastructureDeletion", ""), "2026-01-01T00:00:00Z"},
		"what it booted from is being deleted":             {deleting("WaitingForBootstrapDeletion", ""), "2026-01-01T00:00:00Z"},
		"its Node is being deleted":                        {deleting("DeletingNode", ""), "2026-01-01T00:00:00Z"},
		"it is all but gone":                               {deleting("DeletionCompleted", ""), "2026-01-01T00:00:00Z"},
		"it is gone, by its phase, and nobody knows a why": {status: `{phase: Deleted}`},
	} {
		t.Run(name, func(t *testing.T) {
			m := core.StatusToMachineAPI("Machine", core.Twin{Core: wrap(map[string]any{"status": fields(t, c.status)})}, env())
			var want any
			if c.drained != "" {
				want = "Deleting"
			}
			diff(t, want, m["phase"])
			when := ""
			conditions, _ := m["conditions"].([]any)
			for _, one := range conditions {
				if d := one.(map[string]any); d["type"] == "Drained" && d["status"] == "True" {
					when = d["lastTransitionTime"].(string)
				}
			}
			diff(t, c.drained, when)
		})
	}
}
