// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// While the API server does not serve a kind of Cluster API's, an object that is absent or deleted with its kind is no request about the Machine.
func TestAPairWhoseKindIsNotServed(t *testing.T) {
	const (
		going        = `deletionTimestamp: "2026-11-21T17:00:00Z", finalizers: [sync.machine.openshift.io/finalizer], `
		mirror       = `annotations: {poundlock.openshift.io/mirror-of: Machine/m, cluster.x-k8s.io/paused: "true"}, ownerReferences: [{controller: true, kind: MachineSet, name: s, uid: s}]`
		mapi         = `}, status: {authoritativeAPI: MachineAPI}}`
		capi         = `}, status: {authoritativeAPI: ClusterAPI}}`
		says         = "patchStatus Machine.machine.openshift.io ClusterAPINotInstalled"
		released     = "patch Machine.machine.openshift.io Released"
		owned        = `ownerReferences: [{controller: true, kind: MachineSet, name: s, uid: s}]`
		noMachineAPI = "patchStatus Machine.machine.openshift.io MachineAPINotInstalled"
	)
	for _, c := range []struct{ sentence, machineAPI, core, want string }{
		{"Machine API runs it: it waits for its mirror", `{metadata: {name: m` + mapi, "", says},
		{"Cluster API ran it: nothing follows from the absence", `{metadata: {name: m` + capi, "", says},
		{"Cluster API ran it, and its mirror is deleted: it stays", `{metadata: {name: m, ` + going + capi, "", says},
		{"Machine API runs it, and it is deleted: nothing is missing for that", `{metadata: {name: m, ` + going + mapi, "", released},
		{"the mirror goes with its kind: it is released, and nothing is propagated to its owner's Machine", `{metadata: {name: m` + mapi, `{metadata: {name: m, ` + going + mirror + `}}`,
			"patch Machine.cluster.x-k8s.io Released"},
		{"sets of the Machine API are not served, with which the collector deletes what they own: the mirror is released, and Cluster API's Machine stays",
			`{metadata: {name: m, ` + going + owned + capi, `{metadata: {name: m}}`, released},
		{"sets of the Machine API are not served, and Cluster API's Machine is still paused: its handoff ends first",
			`{metadata: {name: m, ` + going + owned + capi, `{metadata: {name: m, annotations: {cluster.x-k8s.io/paused: "true"}}}`, noMachineAPI},
		{"sets of the Machine API are not served, and authority moves: the handoff ends first", `{metadata: {name: m, ` + going + owned +
			`}, spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: Migrating, synchronizedAPI: ClusterAPI}}`, `{metadata: {name: m}}`, noMachineAPI},
		{"sets of the Machine API are not served: a Machine waits for the kind by its name", `{metadata: {name: m` + mapi, "", noMachineAPI},
		{"nobody has adopted it yet: nothing is said", `{metadata: {name: m}}`, "", ""},
		{"there is nothing to say it on: the mirror stays", "", `{metadata: {name: m, ` + mirror + `}}`, ""},
	} {
		kind, _ := authority.KindNamed("Machine")
		lacking := kind.ClusterAPIGVK()
		if strings.HasPrefix(c.sentence, "sets of the Machine API are not served") {
			set, _ := authority.KindNamed("MachineSet")
			lacking = set.MachineAPIGVK()
		}
		s := &pairs.State{Kind: kind, Name: "m"}
		s.Lacks(lacking)
		if c.machineAPI != "" {
			s.MachineAPI = mirroringtest.Machine(t, c.machineAPI)
		}
		if c.core != "" {
			s.Core = mirroringtest.Machine(t, c.core)
			s.Core.SetGroupVersionKind(kind.ClusterAPIGVK())
		}
		if s.MachineAPI != nil {
			s.MachineAPI.SetGroupVersionKind(kind.MachineAPIGVK())
		}
		now := time.Unix(0, 0)
		got := ""
		w := Next(s, now)
		if w != nil {
			got = string(w.Verb) + " " + w.Object.GetKind() + "." + w.Object.GroupVersionKind().Group + " " + w.Reason
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
		if c.want != says {
			continue
		}
		conditions := pairs.List(pairs.Below(w.Patch, "status")["conditions"])
		if value, _ := conditions[0].(map[string]any); value["severity"] != "Info" || value["status"] != "Unknown" {
			t.Errorf("%s: says %v", c.sentence, value)
		}
		s.MachineAPI.Object["status"].(map[string]any)["conditions"] = conditions
		s.MachineAPI = s.MachineAPI.DeepCopy()
		if again := Next(s, now); again != nil {
			t.Errorf("%s: says it again", c.sentence)
		}
	}
}

// That what a provider keeps for instances is not served in the version that Poundlock reads proves that there is none only where its definition does not
// exist. In another version there may be one for each instance, as after an upgrade of the provider, or the provider is about to make it.
func TestInstancesThatAreNotServed(t *testing.T) {
	for defined, want := range map[bool]string{true: "patchStatus Machine ProviderNotInstalled", false: "patch Machine InstanceHookRemoved"} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("OpenStack")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c"}}
		s.LacksInstances(platform.InfraInstance.GroupVersionKind, defined)
		s.MachineAPI = mirroringtest.Machine(t, `{metadata: {name: m}, status: {authoritativeAPI: ClusterAPI}}`)
		s.MachineAPI.SetGroupVersionKind(kind.MachineAPIGVK())
		s.Core = mirroringtest.Machine(t, `{metadata: {name: m, annotations: {`+authority.InstanceHookAnnotation+`: poundlock}}}`)
		s.Infra = mirroringtest.Object(t, `{metadata: {name: m}}`)
		got := ""
		if w := Next(s, time.Unix(0, 0)); w != nil {
			got = string(w.Verb) + " " + w.Object.GetKind() + " " + w.Reason
		}
		if got != want {
			t.Errorf("defined %t: %q, want %q", defined, got, want)
		}
	}
}
