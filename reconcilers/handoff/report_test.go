// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
)

// Synchronized is Unknown from the switch until the mirror has run. That is no failure, and OpenShift's controllers store such a condition with the severity Info.
func TestTheSeverityOfUnsynchronized(t *testing.T) {
	r := &reconciler{now: time.Now}
	if c := r.unsynchronized(authority.Step{To: authority.ClusterAPI}); c["status"] != metav1.ConditionUnknown && c["status"] != "Unknown" || c["severity"] != "Info" {
		t.Errorf("%v", c)
	}
}

// TestWhatAPauseWaitsFor: the condition names the object whose acknowledgement is missing, which one, since when, and how to find out why.
func TestWhatAPauseWaitsFor(t *testing.T) {
	const (
		backOff = " Since 2026-01-01T00:00:00Z. After an error the controller waits, after several errors for minutes, and acknowledges the move only at its next attempt. To see the controller's last error: kubectl -n "
		vms     = `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereVM, metadata: {name: m, namespace: capi, annotations: {cluster.x-k8s.io/paused: ""}}`
	)
	condition := func(status string) string {
		return `, status: {conditions: [{type: Paused, status: "` + status + `", reason: R, message: said}]}}`
	}
	object := func(group, kind, namespace string) string {
		return `{apiVersion: ` + group + `, kind: ` + kind + `, metadata: {name: m, namespace: ` + namespace + `, annotations: {cluster.x-k8s.io/paused: ""}}`
	}
	infra := func(kind string) string { return object("infrastructure.cluster.x-k8s.io/v1beta1", kind, "capi") }
	born := func(kind, at string) string {
		return strings.Replace(infra(kind), "{name: m,", "{name: m, creationTimestamp: "+`"`+at+`",`, 1) + "}"
	}
	core, mapi := object("cluster.x-k8s.io/v1beta2", "Machine", "capi"), object("machine.openshift.io/v1beta1", "Machine", "mapi")
	for sentence, c := range map[string]struct {
		reason                string
		on                    authority.Who
		infra, instance, core string
		creating              bool // Cluster API's controllers are being paused, and no object has an ID
		answers               []string
		ends                  string
	}{
		"the provider's machine does not acknowledge": {
			reason: authority.ReasonNotPaused, on: authority.WhoInfra, infra: infra("VSphereMachine") + condition("False"),
			answers: []string{"VSphereMachine.infrastructure.cluster.x-k8s.io capi/m has Paused=False (R: said), and Paused=True is missing."},
			ends:    backOff + "capi describe vspheremachine.infrastructure.cluster.x-k8s.io m",
		},
		"what it keeps for the instance does not": {
			reason: authority.ReasonNotPaused, on: authority.WhoInfra, infra: infra("VSphereMachine") + condition("True"), instance: vms + condition("False"),
			answers: []string{"VSphereMachine.infrastructure.cluster.x-k8s.io capi/m has Paused=True (R: said).", "VSphereVM.infrastructure.cluster.x-k8s.io capi/m has Paused=False (R: said), and Paused=True is missing."},
			ends:    backOff + "capi describe vspherevm.infrastructure.cluster.x-k8s.io m",
		},
		"its Cluster was unpaused, and its controllers have not looked since": {
			reason: authority.ReasonNotResumed, on: authority.WhoClusterAPI, core: strings.NewReplacer(`, annotations: {cluster.x-k8s.io/paused: ""}`, "", "said", "Cluster spec.paused is set to true").Replace(core + condition("True")),
			answers: []string{"Machine.cluster.x-k8s.io capi/m has Paused=True (R: Cluster spec.paused is set to true), and Paused=False is missing.",
				"Since 2026-01-01T00:00:00Z. The Cluster is no longer paused, but Cluster API's controllers have not looked at this object since.",
				"kubectl -n capi label machines.cluster.x-k8s.io m touched=; kubectl -n capi label machines.cluster.x-k8s.io m touched-"},
			ends: "touched-",
		},
		"it has never reported": {
			reason: authority.ReasonNotPaused, on: authority.WhoInfra, infra: infra("VSphereMachine") + "}",
			answers: []string{"VSphereMachine.infrastructure.cluster.x-k8s.io capi/m has no Paused condition: are its controllers running?"},
			ends:    backOff + "capi describe vspheremachine.infrastructure.cluster.x-k8s.io m",
		},
		"it was created just now": {
			reason: authority.ReasonNotPaused, on: authority.WhoInfra, infra: born("VSphereMachine", "2025-12-31T23:59:59Z"),
			answers: []string{"capi/m has no Paused condition: the object was created at 2025-12-31T23:59:59Z, and its controllers may not have processed it yet. Since"},
			ends:    backOff + "capi describe vspheremachine.infrastructure.cluster.x-k8s.io m",
		},
		"it was created a minute ago": {
			reason: authority.ReasonNotPaused, on: authority.WhoInfra, infra: born("VSphereMachine", "2025-12-31T23:59:00Z"),
			answers: []string{"capi/m has no Paused condition: are its controllers running? Since"},
			ends:    backOff + "capi describe vspheremachine.infrastructure.cluster.x-k8s.io m",
		},
		"Azure's was created just now": {
			reason: authority.ReasonNotPaused, on: authority.WhoInfra, infra: born("AzureMachine", "2025-12-31T23:59:30Z"),
			answers: []string{"block-move: the object was created at 2025-12-31T23:59:30Z, and its controllers may not have processed it yet."},
			ends:    backOff + "capi describe azuremachine.infrastructure.cluster.x-k8s.io m",
		},
		"it never reports": {
			reason: authority.ReasonNotPaused, on: authority.WhoInfra, infra: infra("GCPMachine") + "}",
			answers: []string{"has paused 30s after"}, ends: " Since 2026-01-01T00:00:00Z.",
		},
		"it never reports, and may be creating the instance": {
			reason: authority.ReasonNotPaused, on: authority.WhoInfra, infra: infra("GCPMachine") + "}", creating: true,
			answers: []string{"no instance ID, and its controller may be creating an instance", "has paused 15m0s after"}, ends: " Since 2026-01-01T00:00:00Z.",
		},
		"Cluster API does not": {
			reason: authority.ReasonNotPaused, on: authority.WhoClusterAPI, core: core + condition("False"),
			answers: []string{"Machine.cluster.x-k8s.io capi/m has Paused=False (R: said), and Paused=True is missing."}, ends: backOff + "capi describe machine.cluster.x-k8s.io m",
		},
		"Machine API does not": {
			reason: authority.ReasonNotPaused, on: authority.WhoMachineAPI,
			answers: []string{"Machine.machine.openshift.io mapi/m has Paused=False (R: said), and Paused=True is missing."}, ends: backOff + "mapi describe machine.machine.openshift.io m",
		},
		"the release is not acknowledged": {
			reason: authority.ReasonNotResumed, on: authority.WhoClusterAPI, core: core + condition("True"),
			answers: []string{"Machine.cluster.x-k8s.io capi/m has Paused=True (R: said), and Paused=False is missing."}, ends: backOff + "capi describe machine.cluster.x-k8s.io m",
		},
		"Azure's provider does not acknowledge a pause": {
			reason: authority.ReasonNotPaused, on: authority.WhoInfra, infra: infra("AzureMachine") + "}",
			answers: []string{"AzureMachine.infrastructure.cluster.x-k8s.io capi/m acknowledges a pause by removing the annotation clusterctl.cluster.x-k8s.io/block-move: are its controllers running?"},
			ends:    backOff + "capi describe azuremachine.infrastructure.cluster.x-k8s.io m",
		},
		"nor the end of one": {
			reason: authority.ReasonNotResumed, on: authority.WhoInfra, infra: infra("AzureMachine") + "}",
			answers: []string{"capi/m acknowledges the end of a pause by setting again the annotation clusterctl.cluster.x-k8s.io/block-move: are its controllers running?"},
			ends:    backOff + "capi describe azuremachine.infrastructure.cluster.x-k8s.io m",
		},
		"a provider that never reports is to act": {
			reason: authority.ReasonNotResumed, on: authority.WhoInfra, infra: infra("GCPMachine") + "}",
			answers: []string{"acts as soon as the pause annotation is gone"}, ends: " Since 2026-01-01T00:00:00Z.",
		},
		"somebody's finalizer holds a deletion": {
			reason: authority.ReasonDeleting, on: authority.WhoClusterAPI,
			core: `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m, namespace: capi, deletionTimestamp: "2026-01-01T00:00:00Z",
  finalizers: [a.b/c, example.com/hold]}}`,
			answers: []string{"Machine.cluster.x-k8s.io capi/m is being deleted, and has the finalizers a.b/c, example.com/hold."}, ends: " Since 2026-01-01T00:00:00Z.",
		},
		"something else is waited for": {
			reason: authority.ReasonPausedElsewhere, on: authority.WhoClusterAPI, core: core + condition("True"),
			answers: []string{"Machine.cluster.x-k8s.io capi/m has Paused=True (R: said)."}, ends: " Since 2026-01-01T00:00:00Z.",
		},
		"an instance is unknown, and the provider reports nothing": {
			reason: authority.ReasonInstanceUnknown, on: authority.WhoInfra, infra: infra("GCPMachine") + "}",
			answers: []string{"If the ID does not appear, look for the instance in the cloud. If the instance exists, cancel the move and set spec.providerID of GCPMachine"},
			ends:    "no-instance=Migrating-20260101T000000Z",
		},
		"an instance is unknown, and the provider has reported": {
			reason: authority.ReasonInstanceUnknown, on: authority.WhoInfra, infra: infra("VSphereMachine") + condition("True"),
			answers: []string{"If the ID does not appear, look for the instance in the cloud. If the instance exists, cancel the move and"}, ends: "no-instance=Migrating-20260101T000000Z",
		},
		"Cluster API's Machine is gone, which names the provider's": { // that may exist: it was not looked for
			reason: authority.ReasonTwinMissing, on: authority.WhoClusterAPI | authority.WhoInfra, ends: "It waits. There is no Cluster API object. Since 2026-01-01T00:00:00Z.",
		},
		"the provider's machine is gone": {
			reason: authority.ReasonTwinMissing, on: authority.WhoInfra, core: core + "}", ends: "It waits. There is no infrastructure object. Since 2026-01-01T00:00:00Z.",
		},
		"the Cluster is paused": {
			reason: authority.ReasonPausedElsewhere, on: authority.WhoClusterAPI | authority.WhoCluster, core: core + condition("True"),
			answers: []string{"Machine.cluster.x-k8s.io capi/m has Paused=True (R: said). Since", "Cluster c in capi has spec.paused: true, set by kubectl-patch. Ask who paused it, then unpause it: "},
			ends:    `kubectl -n capi patch clusters.cluster.x-k8s.io c --type merge -p '{"spec":{"paused":false}}'`,
		},
	} {
		kind, _ := authority.KindNamed("Machine")
		p := &pair{kind: kind, objects: authority.Objects{Kind: kind}}
		for text, to := range map[string]**unstructured.Unstructured{mapi + condition("False"): &p.machineAPI, c.core: &p.core, c.infra: &p.infra, c.instance: &p.infraInstance} {
			if text == "" {
				continue
			}
			*to = &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &(*to).Object); err != nil {
				t.Fatal(err)
			}
		}
		if c.reason == authority.ReasonInstanceUnknown || c.creating {
			p.machineAPI.Object["status"] = map[string]any{"authoritativeAPI": "Migrating", "synchronizedAPI": "ClusterAPI"}
		}
		p.objects.MachineAPI, _ = parse(p.machineAPI)
		if p.core != nil {
			p.objects.ClusterAPI, _ = parse(p.core)
		}
		if p.infra != nil {
			p.objects.Infra, _ = parse(p.infra)
		}
		if c.on.Has(authority.WhoCluster) {
			p.objects.Cluster, _ = parse(&unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": "c", "namespace": "capi", "managedFields": []any{
					map[string]any{"manager": "other", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:clusterNetwork": map[string]any{}}}},
					map[string]any{"manager": "kubectl-patch", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:paused": map[string]any{}}}}}},
				"spec": map[string]any{"paused": true}}})
		}
		if p.infraInstance != nil {
			p.objects.InfraInstance, _ = parse(p.infraInstance)
		}
		r := &reconciler{now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }}
		now, _ := r.settledCondition(p, authority.Step{Action: authority.Wait, Reason: c.reason, On: c.on, Message: "It waits."}, nil)
		message := now["message"].(string)
		for _, words := range c.answers {
			if !strings.Contains(message, words) {
				t.Errorf("%s: %q has not the words %q", sentence, message, words)
			}
		}
		if !strings.HasSuffix(message, c.ends) {
			t.Errorf("%s: %q does not end with %q", sentence, message, c.ends)
		}
	}
}

// What the condition reports of Synchronized is what that says now, also where a wait goes on.
func TestTheWaitFollowsTheReasonOfSynchronized(t *testing.T) {
	for _, from := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		for _, kind := range []string{"Machine", "MachineSet"} {
			t.Run(kind+" of "+string(from), func(t *testing.T) {
				w := newWorld(t, kind)
				w.machineAPI(from)
				w.waitSettled(from)
				report := func(status, reason string) string {
					w.merge(w.mapi(), "status", map[string]any{"status": map[string]any{"conditions": with(w.of(w.mapi()),
						condition(authority.ConditionSynchronized, metav1.ConditionStatus(status), "Error", reason, "what is said of "+reason))}})
					w.pass()
					return w.shape().Condition(authority.ConditionSettled).Message
				}
				w.request(from.Other())
				for _, status := range []string{"False", "Unknown"} {
					if is := report(status, authority.ReasonSurroundings); !strings.Contains(is, authority.ReasonSurroundings) {
						t.Errorf("%s: %s: %s", status, w.reason(), is)
					}
					for _, next := range []string{"False", "Unknown"} {
						if is := report(next, "Other"); strings.Contains(is, authority.ReasonSurroundings) || !strings.Contains(is, "Other") {
							t.Errorf("%s, then %s: %s: %s", status, next, w.reason(), is)
						}
					}
				}
			})
		}
	}
}

// Before a move has begun the controllers still store the ID. Once they have paused, they do not.
func TestAnUnknownInstanceIsWaitedForFirst(t *testing.T) {
	kind, _ := authority.KindNamed("Machine")
	for current, waits := range map[authority.API]bool{authority.MachineAPI: true, authority.Migrating: false} {
		machine := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": map[string]any{"name": "m", "namespace": "mapi"},
			"status": map[string]any{"authoritativeAPI": string(current), "synchronizedAPI": "MachineAPI"},
		}}
		p := &pair{kind: kind, machineAPI: machine, objects: authority.Objects{Kind: kind}}
		p.objects.MachineAPI, _ = parse(machine)
		got := p.decision(authority.Step{Reason: authority.ReasonInstanceUnknown}, "2026-01-01T00:00:00Z")
		if first := strings.HasPrefix(got, " Wait first: "); first != waits || !strings.Contains(got, "no-instance="+string(current)) {
			t.Errorf("%s: %q", current, got)
		}
	}
}
