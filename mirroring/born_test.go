// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"slices"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/machine/health"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestAMirrorBeforeItsStatus: a Machine that Cluster API's set makes gets a mirror in the Machine API, and the mirror its status by a second write: an API
// server stores none with a creation. Until then nobody takes it for a Machine of the Machine API's.
func TestAMirrorBeforeItsStatus(t *testing.T) {
	platform, _ := platforms.For("AWS")
	s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Pair: authority.Pair{MachineAPI: "openshift-machine-api", ClusterAPI: "openshift-cluster-api"},
		Env: conversion.Env{Platform: platform, ClusterName: "c", Region: "us-east-1",
			Infrastructure: mirroringtest.Machine(t, `{status: {infrastructureName: c, platformStatus: {type: AWS, aws: {region: us-east-1}}}}`).Object,
			InfraCluster:   mirroringtest.Machine(t, `{spec: {region: us-east-1}}`).Object}}
	s.Core = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m, namespace: openshift-cluster-api, uid: m, labels: {cluster.x-k8s.io/cluster-name: c},
		finalizers: [sync.machine.openshift.io/finalizer], annotations: {poundlock.openshift.io/mirror-of: Machine/m},
		ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: s, uid: core-set, controller: true}]},
		spec: {clusterName: c, failureDomain: us-east-1a, bootstrap: {dataSecretName: worker}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: m}},
		status: {phase: Failed}}`)
	s.Infra = mirroringtest.Object(t, `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachine, metadata: {name: m, namespace: openshift-cluster-api}, spec: {instanceType: m6i.large, subnet: {id: subnet-1}, ami: {id: ami-1}, ignition: {version: "3.4", storageType: UnencryptedUserData}}}`)
	s.Parents = map[authority.API]*unstructured.Unstructured{
		authority.ClusterAPI: mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: s, uid: core-set}}`),
		authority.MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: s, uid: set},
			spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}`),
	}
	s.Core.SetAnnotations(map[string]string{authority.PausedAnnotation: "true"})
	s.Core.SetFinalizers(nil)
	if w := Next(s, time.Unix(0, 0)); w != nil {
		t.Errorf("a former mirror, that nobody acts on, becomes Cluster API's without a request: %+v", w)
	}
	s.Core.SetAnnotations(map[string]string{authority.MirrorAnnotation: "Machine/m"})
	s.Core.SetFinalizers([]string{authority.SyncFinalizer})
	w := Next(s, time.Unix(0, 0))
	if w == nil || w.Verb != pairs.Create || w.Object.GroupVersionKind() != s.Kind.MachineAPIGVK() {
		t.Fatalf("the mirror is not created: %+v", w)
	}
	made := w.Object.DeepCopy()
	delete(made.Object, "status") // by the API server
	if owner := metav1.GetControllerOf(made); owner == nil || owner.UID != "set" {
		t.Errorf("its owner is %v: another Machine API set would adopt it", owner)
	}
	shape := pairs.ShapeOf(made)
	if gate := authority.GateOf(shape, true); gate.Act || gate.Adopt != authority.ClusterAPI {
		t.Errorf("the Machine API's controllers: %+v", gate)
	}
	review := func(change func(*unstructured.Unstructured)) policies.Verdict {
		next := made.DeepCopy()
		change(next)
		c := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Name: "m", Namespace: "openshift-machine-api"}, Operation: "UPDATE",
			Actor: policies.MachineAPIController, Old: pairs.ObjectOf(made), New: pairs.ObjectOf(next)}
		c.Facts.Twin = pairs.ObjectOf(s.Core)
		return authority.FinalizerFence(c)
	}
	if v := review(func(o *unstructured.Unstructured) {
		o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), authority.MachineAPIMachineFinalizer))
	}); len(v.Denials) == 0 {
		t.Error("a Machine API controller without its feature gate may begin to create an instance")
	}
	m, born := &machinev1beta1.Machine{}, time.Now()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(made.Object, m); err != nil {
		t.Fatal(err)
	}
	m.CreationTimestamp = metav1.NewTime(born)
	if v := health.Of(&machinev1beta1.MachineHealthCheckSpec{}, health.Target{Machine: m}, born.Add(time.Minute)); v.Unhealthy() {
		t.Errorf("a check finds it unhealthy: %s", v.Message)
	}
}
