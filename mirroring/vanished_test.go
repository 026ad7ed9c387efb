// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// TestWhatWasDeletedWithoutPoundlockDoesNotComeBack: Poundlock was removed (kubectl poundlock cleanup), Cluster API went on and deleted a Machine, or a set,
// and Poundlock is installed again. The mirror in the Machine API is all that is left.
func TestWhatWasDeletedWithoutPoundlockDoesNotComeBack(t *testing.T) {
	platform, _ := platforms.For("AWS")
	const value = `providerSpec: {value: {kind: AWSMachineProviderConfig, apiVersion: machine.openshift.io/v1beta1, ami: {id: ami-1}, instanceType: m6i.large, subnet: {id: subnet-1}, placement: {region: us-east-1, availabilityZone: us-east-1a}, userDataSecret: {name: worker}}}`
	const changed = `conditions: [{type: Synchronized, status: Unknown, reason: AuthorityChanged}]`
	for _, c := range []struct{ sentence, kind, status, want string }{
		{"it was mirrored from Cluster API", "Machine", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI, synchronizedGeneration: 2}`, reasonVanished},
		{"a set", "MachineSet", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI, synchronizedGeneration: 2}`, reasonVanished},
		{"in mid-move back", "Machine", `{authoritativeAPI: Migrating, synchronizedAPI: ClusterAPI, synchronizedGeneration: 2}`, reasonVanished},
		{"it was adopted, and nothing was mirrored yet", "Machine", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI, synchronizedGeneration: 0}`, reasonVanished},
		{"it was switched, and nothing was mirrored yet", "Machine", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI, synchronizedGeneration: 0, ` + changed + `}`, reasonVanished},
		{"the same, of a set", "MachineSet", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI, synchronizedGeneration: 0, ` + changed + `}`, reasonVanished},
		{"the same, of a check", "MachineHealthCheck", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI, synchronizedGeneration: 0, ` + changed + `}`, reasonVanished},
		{"an older release switched it, which stored no generation", "Machine", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI, ` + changed + `}`, reasonVanished},
		{"it was switched, and asked back at once", "Machine", `{authoritativeAPI: Migrating, synchronizedAPI: ClusterAPI, synchronizedGeneration: 0}`, reasonVanished},
		{"it was switched, and did not convert then", "Machine", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI, synchronizedGeneration: 0, conditions: [{type: Synchronized, status: "False"}]}`, reasonVanished},
		{"the mirror made it for a Machine of Cluster API's set", "Machine", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI}`, reasonVanished},
		{"a new check", "MachineHealthCheck", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI}`, ""},
		{"Machine API is authoritative since a moment ago", "Machine", `{authoritativeAPI: MachineAPI, synchronizedAPI: MachineAPI, synchronizedGeneration: 0, ` + changed + `}`, ""},
		{"it is new, and did not convert before", "Machine", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI, conditions: [{type: Synchronized, status: "False"}]}`, ""},
		{"it is new, and its first twin is made", "Machine", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI}`, ""},
		{"a new set", "MachineSet", `{authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI}`, ""},
		{"Machine API is authoritative: the mirror is recreated", "Machine", `{authoritativeAPI: MachineAPI, synchronizedAPI: MachineAPI, synchronizedGeneration: 2}`, ""},
	} {
		spec := value
		if c.kind == "MachineHealthCheck" {
			spec = `selector: {matchLabels: {a: b}}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 5m}]`
		}
		if c.kind == "MachineSet" {
			spec = `replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {` + value + `}}`
		}
		s := &pairs.State{Kind: mirroringtest.Kind(t, c.kind), Name: "m",
			Pair: authority.Pair{MachineAPI: "openshift-machine-api", ClusterAPI: "openshift-cluster-api"},
			Env: conversion.Env{Platform: platform, ClusterName: "c", Region: "us-east-1",
				Infrastructure: mirroringtest.Machine(t, `{status: {infrastructureName: c, platformStatus: {type: AWS, aws: {region: us-east-1}}}}`).Object,
				InfraCluster:   mirroringtest.Machine(t, `{spec: {region: us-east-1}}`).Object},
			Cluster: mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, uid: c}}`)}
		s.MachineAPI = mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: `+c.kind+`, metadata: {name: m, namespace: openshift-machine-api, finalizers: [sync.machine.openshift.io/finalizer],
			labels: {machine.openshift.io/cluster-api-cluster: c}}, spec: {authoritativeAPI: ClusterAPI, `+spec+`}, status: `+c.status+`}`)
		if strings.HasPrefix(c.sentence, "the mirror made it") {
			s.MachineAPI.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: ownership.Manager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
				FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:authoritativeAPI":{}}}`)}}})
		}
		w := Next(s, time.Unix(0, 0))
		switch {
		case w == nil:
			t.Errorf("%s: nothing is written", c.sentence)
		case c.want == "" && w.Verb != pairs.Create:
			t.Errorf("%s: %s %s, want the creation of the twin", c.sentence, w.Verb, w.Note)
		case c.want != "" && (w.Reason != c.want || !strings.Contains(w.Note, "kubectl -n openshift-machine-api delete")):
			t.Errorf("%s: %s %s: %s", c.sentence, w.Verb, w.Reason, w.Note)
		}
	}
}

// TestASetWithoutItsAuthorityKeepsItsMachines: the finalizer was removed together with Poundlock. The deletion of the set waits for Poundlock again, which
// detaches the Machines that Machine API runs; and it waits while another set would adopt one of them.
func TestASetWithoutItsAuthorityKeepsItsMachines(t *testing.T) {
	for sentence, c := range map[string]struct {
		metadata string
		adopter  string
		want     string
	}{
		"it has lost the finalizer":                        {want: `{"metadata":{"finalizers":["a/b","sync.machine.openshift.io/finalizer"]}}`},
		"it is being deleted":                              {metadata: `, deletionTimestamp: "2026-01-01T00:00:00Z"`, want: `{"metadata":{"ownerReferences":[]}}`},
		"it is being deleted, and another set would adopt": {metadata: `, deletionTimestamp: "2026-01-01T00:00:00Z"`, adopter: "other", want: authority.ReasonWouldBeAdopted},
	} {
		finalizers := "[a/b]"
		if c.metadata != "" {
			finalizers = "[sync.machine.openshift.io/finalizer]"
		}
		s := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "s", Pair: authority.Pair{MachineAPI: "openshift-machine-api", ClusterAPI: "openshift-cluster-api"},
			MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: s, namespace: openshift-machine-api, uid: s, finalizers: `+finalizers+c.metadata+`},
				spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI, synchronizedAPI: ClusterAPI, synchronizedGeneration: 2}}`),
			Children: []*unstructured.Unstructured{mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: openshift-machine-api,
				ownerReferences: [{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: s, uid: s, controller: true}]}, spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI}}`)}}
		if c.adopter != "" {
			s.Adopters = map[string]string{"m": c.adopter}
		}
		w := Next(s, time.Unix(0, 0))
		if w == nil {
			t.Errorf("%s: nothing is written", sentence)
			continue
		}
		if patch, _ := json.Marshal(w.Patch); string(patch) != c.want && w.Reason != c.want {
			t.Errorf("%s: %s %s, want %s", sentence, w.Reason, patch, c.want)
		}
	}
}

// TestWhatActsIsRecordedBeforeItIsMirrored: the first write to a pair that was adopted while Poundlock was away.
func TestWhatActsIsRecordedBeforeItIsMirrored(t *testing.T) {
	for current, want := range map[string]bool{"ClusterAPI": true, "ClusterAPI, synchronizedGeneration: 0": false, "MachineAPI": false} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m",
			MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, uid: m}, status: {authoritativeAPI: `+current+`}}`),
			Core:       mirroringtest.Machine(t, `{metadata: {name: m, uid: c}}`)}
		w := Next(s, time.Unix(0, 0))
		recorded := w != nil && w.Verb == pairs.PatchStatus && pairs.Below(w.Patch, "status")["synchronizedGeneration"] == 0
		if recorded != want {
			t.Errorf("%s: %+v", current, w)
		}
	}
}
