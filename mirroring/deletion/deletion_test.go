// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// Which objects a deletion touches, in which order, until it waits or is done. The rules have tables of their own
// (policies/authority); this is that the writes follow them and come to an end.
func TestWritesOfADeletion(t *testing.T) {
	const (
		going  = `deletionTimestamp: "2026-11-21T17:00:00Z", `
		held   = `finalizers: [sync.machine.openshift.io/finalizer, machine.machine.openshift.io], `
		free   = `finalizers: [sync.machine.openshift.io/finalizer], `
		core   = `finalizers: [sync.machine.openshift.io/finalizer, machine.cluster.x-k8s.io], uid: core, `
		mirror = `annotations: {poundlock.openshift.io/mirror-of: Machine/m, cluster.x-k8s.io/paused: "true"}, `
		infra  = `finalizers: [awsmachine.infrastructure.cluster.x-k8s.io], `
		owned  = `ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, name: m, uid: core}], `
		mapi   = `, status: {authoritativeAPI: MachineAPI}}`
		capi   = `, status: {authoritativeAPI: ClusterAPI}}`
		ref    = `, spec: {infrastructureRef: {name: m}}}`
	)
	meta := func(parts ...string) string {
		all := ""
		for _, p := range parts {
			all += p
		}
		return `{metadata: {name: m, ` + all + `}`
	}
	for _, c := range []struct {
		sentence                string
		machineAPI, core, infra string
		want                    []string
	}{
		{"the instance still runs: the mirror is deleted and waits", meta(going, held) + mapi, meta(core, mirror) + ref, meta(infra, mirror, owned) + "}",
			[]string{"delete Machine.cluster.x-k8s.io"}},
		{"the instance is gone: infrastructure, core, authority", meta(going, free) + mapi, meta(going, core, mirror) + ref, meta(infra, mirror, owned) + "}",
			[]string{"delete AWSMachine.infrastructure.cluster.x-k8s.io", "patch AWSMachine.infrastructure.cluster.x-k8s.io",
				"patch Machine.cluster.x-k8s.io", "patch Machine.machine.openshift.io"}},
		{"a Machine of Cluster API's that never was: its infrastructure goes too", meta(going, free) + capi, "", meta(infra, mirror) + "}",
			[]string{"delete AWSMachine.infrastructure.cluster.x-k8s.io", "patch AWSMachine.infrastructure.cluster.x-k8s.io", "patch Machine.machine.openshift.io"}},
		{"the same, but its infrastructure, which was restored, names an instance, and stays", meta(going, free) + capi, "",
			meta(infra, mirror) + `, spec: {providerID: "aws:///a/i-1"}}`, []string{"patch Machine.machine.openshift.io"}},
		{"Cluster API runs the instance: its infrastructure is not touched", meta(going, held) + capi, meta(core) + ref, meta(infra, `annotations: {poundlock.openshift.io/mirror-of: Machine/m}, `, owned) + "}",
			[]string{"patch Machine.machine.openshift.io", "patch AWSMachine.infrastructure.cluster.x-k8s.io", "patch Machine.cluster.x-k8s.io"}},
		{"an unowned mirror goes to be recreated: its infrastructure is kept from the collector first", meta(held) + mapi, meta(going, core, mirror) + ref, meta(infra, mirror, owned) + "}",
			[]string{"patch AWSMachine.infrastructure.cluster.x-k8s.io", "patch Machine.cluster.x-k8s.io"}},
		{"an unpaused infrastructure machine is never let go", meta(going, free) + mapi, "", meta(going, infra, `annotations: {poundlock.openshift.io/mirror-of: Machine/m}, `) + "}",
			[]string{"patch Machine.machine.openshift.io"}},
		{"Cluster API's finalizer was removed by hand, and there is an instance: nothing is let go", meta(free) + capi, meta(going, `finalizers: [sync.machine.openshift.io/finalizer], uid: core, `, mirror) + ref,
			meta(infra, mirror, owned) + `, spec: {providerID: "aws:///a/i-1"}}`,
			[]string{"delete Machine.machine.openshift.io"}},
		{"the same, and there is none", meta(free) + capi, meta(going, `finalizers: [sync.machine.openshift.io/finalizer], uid: core, `, mirror) + ref, meta(infra, mirror, owned) + "}",
			[]string{"delete Machine.machine.openshift.io", "delete AWSMachine.infrastructure.cluster.x-k8s.io", "patch AWSMachine.infrastructure.cluster.x-k8s.io",
				"patch Machine.machine.openshift.io", "patch Machine.cluster.x-k8s.io"}},
		{"the same, without a twin: Cluster API ends the instance before its Machine is let go", "", meta(going, `finalizers: [sync.machine.openshift.io/finalizer], uid: core, `) + ref,
			meta(infra, owned) + `, spec: {providerID: "aws:///a/i-1"}}`, nil},
		{"Cluster API's object is deleted while Poundlock is removed, and is still paused: its mirror stays until Cluster API is released", meta() + capi,
			meta(going, `finalizers: [machine.cluster.x-k8s.io], uid: core, annotations: {cluster.x-k8s.io/paused: "true"}, `) + ref, meta(infra, owned) + "}",
			[]string{"patch Machine.machine.openshift.io", "delete Machine.machine.openshift.io"}},
		{"a Cluster API object that is not the mirror is not touched", meta(going, free) + mapi, meta(`uid: core, finalizers: [machine.cluster.x-k8s.io], `) + ref, "",
			[]string{"patch Machine.machine.openshift.io"}},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("AWS")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c"}, Missing: "not asked"}
		for text, at := range map[*string]**unstructured.Unstructured{&c.machineAPI: &s.MachineAPI, &c.core: &s.Core, &c.infra: &s.Infra} {
			if *text != "" {
				*at = mirroringtest.Machine(t, *text)
			}
		}
		kinds(s)
		if diff := cmp.Diff(c.want, play(s)); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
	}
}

// While authority moves nobody knows whose an instance will be: a handoff that has decided before the deletion may still make it Cluster API's.
func TestAnInfrastructureMachineIsNotLetGoWhileAuthorityMoves(t *testing.T) {
	kind, _ := authority.KindNamed("Machine")
	platform, _ := platforms.For("AWS")
	for status, lets := range map[string]bool{
		"authoritativeAPI: MachineAPI": true, "authoritativeAPI: Migrating, synchronizedAPI: MachineAPI": false, "authoritativeAPI: ClusterAPI": false,
	} {
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform}}
		s.MachineAPI = mirroringtest.Machine(t, `{metadata: {name: m, finalizers: [sync.machine.openshift.io/finalizer]}, status: {`+status+`}}`)
		s.Core = mirroringtest.Machine(t, `{metadata: {name: m, uid: core, finalizers: [machine.cluster.x-k8s.io]}}`)
		s.Infra = mirroringtest.Machine(t, `{metadata: {name: m, deletionTimestamp: "2026-11-21T17:00:00Z", finalizers: [awsmachine.infrastructure.cluster.x-k8s.io],
			annotations: {poundlock.openshift.io/mirror-of: Machine/m, cluster.x-k8s.io/paused: "true"}}, spec: {providerID: "aws:///a/i-1"}}`)
		kinds(s)
		if got := Of(s).ReleaseInfra(s.Infra) != nil; got != lets {
			t.Errorf("%s: let go: %t", status, got)
		}
	}
}

// What a provider keeps for an instance goes with its machine while Machine API is authoritative, and never ends the instance: paused, and before what leads
// to it.
func TestAnInstancesObjectIsLetGoWithItsMachine(t *testing.T) {
	const (
		going  = `deletionTimestamp: "2026-11-21T17:00:00Z", `
		paused = `cluster.x-k8s.io/paused: "true"`
		here   = ""
	)
	for _, c := range []struct{ about, status, machine, instance, annotations, want string }{
		{"the Machine API object goes, and with it the mirror, whose machine may have no finalizer", "authoritativeAPI: MachineAPI", here, here, paused + "; ends", "delete VSphereVM"},
		{"the same, in the next pass", "authoritativeAPI: MachineAPI", here, going, paused + "; ends", "patch VSphereVM"},
		{"the same, and the machine has gone already", "authoritativeAPI: MachineAPI", "gone", here, paused + "; ends", "delete VSphereVM"},
		{"both stay", "authoritativeAPI: MachineAPI", here, here, paused, ""},
		{"its machine goes", "authoritativeAPI: MachineAPI", going, here, paused, "delete VSphereVM"},
		{"both go", "authoritativeAPI: MachineAPI", going, going, paused, "patch VSphereVM"},
		{"it goes alone, by the collector", "authoritativeAPI: MachineAPI", here, going, paused, "patch VSphereVM"},
		{"its machine has gone", "authoritativeAPI: MachineAPI", "gone", going, paused, "patch VSphereVM"},
		{"it is not paused: its provider ends it", "authoritativeAPI: MachineAPI", here, going, "", ""},
		{"while authority moves nobody knows whose it will be", "authoritativeAPI: Migrating, synchronizedAPI: MachineAPI", here, going, paused, ""},
		{"it is Cluster API's to end", "authoritativeAPI: ClusterAPI", here, going, paused, ""},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("VSphere")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform}}
		annotations, ends := strings.CutSuffix(c.annotations, "; ends")
		goes := ""
		if ends {
			goes = going
		}
		s.MachineAPI = mirroringtest.Object(t, `{metadata: {name: m, `+goes+`finalizers: [sync.machine.openshift.io/finalizer]}, status: {`+c.status+`}}`)
		if c.machine != "gone" {
			s.Infra = mirroringtest.Object(t, `{metadata: {name: m, `+c.machine+
				`finalizers: [vspheremachine.infrastructure.cluster.x-k8s.io], annotations: {poundlock.openshift.io/mirror-of: Machine/m, cluster.x-k8s.io/paused: "true"}}}`)
		}
		s.InfraInstance = mirroringtest.Object(t, `{metadata: {name: m, `+c.instance+`finalizers: [vspherevm.infrastructure.cluster.x-k8s.io], annotations: {`+
			annotations+`}}}`)
		s.InfraInstance.SetGroupVersionKind(platform.InfraInstance.GroupVersionKind)
		kinds(s)
		got := ""
		write := Of(s).ReleaseInfraInstance()
		if ends {
			write = Of(s).leftoverInfra()
		}
		if w := write; w != nil {
			got = string(w.Verb) + " " + w.Object.GetKind()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
	}
}

// What is kept for an instance may outlive a machine that lost its finalizer, and go by the collector: as a stranger's in the mirror's place that was deleted by
// hand. Nobody is to terminate the instance unasked, but if it is not this Machine's, nothing names it any more: the event does, and is a warning.
func TestTheInstanceThatNothingNamesAnyMore(t *testing.T) {
	for _, c := range []struct {
		about, id, uuid string
		warns           bool
	}{
		{"it is this Machine's instance", "vsphere://4235-a", "4235-A", false},
		{"it is another one", "vsphere://4235-a", "4235-b", true},
		{"this Machine has no ID", "", "4235-b", true},
		{"it names none", "vsphere://4235-a", "", false},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("VSphere")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform}}
		s.MachineAPI = mirroringtest.Object(t, `{metadata: {name: m}, spec: {providerID: "`+c.id+`"}, status: {authoritativeAPI: MachineAPI}}`)
		s.InfraInstance = mirroringtest.Object(t, `{metadata: {name: m, deletionTimestamp: "2026-11-26T00:00:00Z", finalizers: [vspherevm.infrastructure.cluster.x-k8s.io],
			annotations: {cluster.x-k8s.io/paused: ""}}, spec: {biosUUID: "`+c.uuid+`"}}`)
		s.InfraInstance.SetGroupVersionKind(platform.InfraInstance.GroupVersionKind)
		kinds(s)
		w := Of(s).ReleaseInfraInstance()
		if w == nil {
			t.Fatalf("%s: it is not let go", c.about)
		}
		if named := strings.Contains(w.Note, "vsphere://"+c.uuid) && strings.Contains(w.Note, "no object names it"); w.Warning != c.warns || named != c.warns {
			t.Errorf("%s: warning %t: %s", c.about, w.Warning, w.Note)
		}
	}
}

// What is kept for the instance of somebody else's machine is theirs, also where it has the mirror's name, is paused, and goes: their controller is to
// terminate that.
func TestAStrangersInstanceIsNotLetGo(t *testing.T) {
	const (
		going  = `deletionTimestamp: "2026-11-21T17:00:00Z", `
		paused = `cluster.x-k8s.io/paused: ""`
		mirror = `poundlock.openshift.io/mirror-of: Machine/m, `
	)
	for _, c := range []struct{ about, machineAPI, core, infra, instance, want string }{
		{"the mirror's, by the collector", ``, mirror, mirror, going, "patch VSphereVM"},
		{"a stranger's, by the collector", ``, ``, ``, going, ""},
		{"a stranger's, when the Machine API object goes", going, ``, ``, ``, ""},
		{"a stranger's whose machine has gone", ``, ``, "gone", going, ""},
		{"the mirror's whose machine has gone", ``, mirror, "gone", going, "patch VSphereVM"},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("VSphere")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform}}
		s.MachineAPI = mirroringtest.Object(t, `{metadata: {name: m, `+c.machineAPI+
			`finalizers: [sync.machine.openshift.io/finalizer]}, spec: {providerID: "vsphere://1"}, status: {authoritativeAPI: MachineAPI}}`)
		s.Core = mirroringtest.Machine(t, `{metadata: {name: m, annotations: {`+c.core+paused+`}}, spec: {providerID: "vsphere://2", infrastructureRef: {name: m}}}`)
		if c.infra != "gone" {
			s.Infra = mirroringtest.Object(t, `{metadata: {name: m, finalizers: [vspheremachine.infrastructure.cluster.x-k8s.io], annotations: {`+c.infra+paused+
				`}}, spec: {providerID: "vsphere://2"}}`)
		}
		s.InfraInstance = mirroringtest.Object(t, `{metadata: {name: m, `+c.instance+`finalizers: [vspherevm.infrastructure.cluster.x-k8s.io], annotations: {`+
			paused+`}}}`)
		s.InfraInstance.SetGroupVersionKind(platform.InfraInstance.GroupVersionKind)
		kinds(s)
		got := ""
		if w := Of(s).leftoverInfra(); w != nil {
			got = string(w.Verb) + " " + w.Object.GetKind()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
	}
}

// The handoff releases the provider's machine before what that keeps for the instance. A mirror that goes in between would leave the latter paused for ever,
// and so the instance: without a Machine API object nobody releases anything.
func TestAMirrorIsNotLetGoBeforeAllOfClusterAPIIsReleased(t *testing.T) {
	const paused = `annotations: {cluster.x-k8s.io/paused: "true"}, `
	for _, c := range []struct {
		about, core, infra, instance string
		want                         authority.DeletionStep
	}{
		{"all is released", ``, ``, ``, authority.ReleaseMirror},
		{"nothing is kept for the instance", ``, ``, "none", authority.ReleaseMirror},
		{"the Machine is paused", paused, ``, ``, authority.AwaitHandoff},
		{"the provider's machine is paused", ``, paused, ``, authority.AwaitHandoff},
		{"what it keeps for the instance is paused", ``, ``, paused, authority.AwaitHandoff},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("VSphere")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform}}
		s.MachineAPI = mirroringtest.Machine(t,
			`{metadata: {name: m, deletionTimestamp: "2026-11-21T17:00:00Z", finalizers: [sync.machine.openshift.io/finalizer]}, spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}`)
		s.Core = mirroringtest.Machine(t, `{metadata: {name: m, `+c.core+`finalizers: [machine.cluster.x-k8s.io]}}`)
		s.Infra = mirroringtest.Machine(t, `{metadata: {name: m, `+c.infra+`finalizers: [vspheremachine.infrastructure.cluster.x-k8s.io]}}`)
		if c.instance != "none" {
			s.InfraInstance = mirroringtest.Machine(t, `{metadata: {name: m, `+c.instance+`finalizers: [vspherevm.infrastructure.cluster.x-k8s.io]}}`)
		}
		kinds(s)
		if got := Asked(s).Next(); got != c.want {
			t.Errorf("%s: %s, want %s", c.about, got, c.want)
		}
	}
}

// A Machine that Machine API has terminated the instance of stays until the handoff has paused what the provider keeps for that instance: nothing leads there
// afterwards, and its controller either stands still then, or finds no owner and does nothing.
func TestAMachineIsHeldByWhatActsForItsInstance(t *testing.T) {
	const mirror, paused = `poundlock.openshift.io/mirror-of: Machine/m, `, `cluster.x-k8s.io/paused: "true"`
	for _, c := range []struct {
		about, core, instance string
		want                  authority.DeletionStep
	}{
		{"nothing is kept", mirror, "none", authority.ReleaseMirror},
		{"it is paused", mirror, paused, authority.ReleaseMirror},
		{"it acts", mirror, ``, authority.AwaitAuthority},
		{"it acts, and the handoff does not look there: no mirror leads to it", "none", ``, authority.ReleaseAuthority},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("VSphere")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform}}
		s.MachineAPI = mirroringtest.Machine(t,
			`{metadata: {name: m, deletionTimestamp: "2026-11-21T17:00:00Z", finalizers: [sync.machine.openshift.io/finalizer]}, spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI}}`)
		if c.core != "none" {
			s.Core = mirroringtest.Machine(t, `{metadata: {name: m, deletionTimestamp: "2026-11-21T17:00:00Z", annotations: {`+c.core+paused+`}}}`)
		}
		s.Infra = mirroringtest.Machine(t, `{metadata: {name: m, annotations: {`+mirror+paused+`}}}`)
		if c.instance != "none" {
			s.InfraInstance = mirroringtest.Machine(t, `{metadata: {name: m, annotations: {`+c.instance+`}}}`)
		}
		kinds(s)
		if got := Asked(s).Next(); got != c.want {
			t.Errorf("%s: %s, want %s", c.about, got, c.want)
		}
	}
}

// The collector deletes what is kept for an instance when its machine has gone, and its controller terminates the instance unless it is paused by then. So a
// machine waits until it is.
func TestAMachineIsNotLetGoBeforeWhatItOwnsIsPaused(t *testing.T) {
	const paused = `cluster.x-k8s.io/paused: "true"`
	for _, c := range []struct{ about, machineAPI, infra, instance, want, replaced string }{
		{"nothing is kept", ``, paused, "none", "patch VSphereMachine", "patch VSphereMachine"},
		{"it is paused, and goes first", ``, paused, paused, "delete VSphereVM", "patch VSphereMachine"},
		{"it acts: Machine API runs the instance", ``, paused, ``, "", ""},
		{"it acts, and Machine API has terminated the instance", `deletionTimestamp: "2026-11-21T17:00:00Z", `, paused, ``, "patch VSphereMachine", ""},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("VSphere")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform}}
		s.MachineAPI = mirroringtest.Object(t, `{metadata: {name: m, `+c.machineAPI+
			`finalizers: [sync.machine.openshift.io/finalizer]}, spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI}}`)
		s.Core = mirroringtest.Machine(t, `{metadata: {name: m, annotations: {poundlock.openshift.io/mirror-of: Machine/m, `+paused+`}}}`)
		machine := func(going string) *unstructured.Unstructured {
			return mirroringtest.Object(t, `{metadata: {name: m, uid: u, `+going+
				`finalizers: [vspheremachine.infrastructure.cluster.x-k8s.io], annotations: {poundlock.openshift.io/mirror-of: Machine/m, `+c.infra+`}}}`)
		}
		if c.instance != "none" {
			s.InfraInstance = mirroringtest.Object(t, `{metadata: {name: m, finalizers: [vspherevm.infrastructure.cluster.x-k8s.io], annotations: {`+c.instance+`}}}`)
			s.InfraInstance.SetGroupVersionKind(platform.InfraInstance.GroupVersionKind)
		}
		does := func(w *pairs.Write) string {
			if w == nil {
				return ""
			}
			return string(w.Verb) + " " + w.Object.GetKind()
		}
		s.Infra = machine(`deletionTimestamp: "2026-11-21T17:00:00Z", `)
		kinds(s)
		if got := does(Of(s).ReleaseInfra(s.Infra)); got != c.want {
			t.Errorf("%s: let go by %q, want %q", c.about, got, c.want)
		}
		s.Infra = machine(``)
		kinds(s)
		if got := does(Of(s).Replace(&pairs.Write{Verb: pairs.Apply, Object: s.Infra})); got != c.replaced {
			t.Errorf("%s: replaced by %q, want %q", c.about, got, c.replaced)
		}
	}
}

func kinds(s *pairs.State) {
	if s.MachineAPI != nil {
		s.MachineAPI.SetGroupVersionKind(s.Kind.MachineAPIGVK())
	}
	if s.Infra != nil {
		s.Infra.SetGroupVersionKind(s.InfraKind())
	}
}

// play performs the writes of a deletion on the state alone, as an API server would.
func play(s *pairs.State) []string {
	var out []string
	for range 20 {
		step := Asked(s).Next()
		if step == authority.KeepMirroring || step == authority.AwaitAuthority {
			return out
		}
		w := Of(s).Next(step)
		if w == nil {
			return out
		}
		out = append(out, fmt.Sprintf("%s %s.%s", w.Verb, w.Object.GetKind(), w.Object.GroupVersionKind().Group))
		s.Store(w.Object, server(w))
	}
	return append(out, "no end")
}

func server(w *pairs.Write) *unstructured.Unstructured {
	o := w.Object.DeepCopy()
	if w.Verb == pairs.Remove {
		if len(o.GetFinalizers()) == 0 {
			return nil
		}
		_ = unstructured.SetNestedField(o.Object, "2026-11-21T17:00:00Z", "metadata", "deletionTimestamp")
		return o
	}
	metadata := w.Patch["metadata"].(map[string]any)
	if finalizers, ok := metadata["finalizers"].([]string); ok {
		o.SetFinalizers(slices.Clone(finalizers))
	}
	for k := range pairs.Below(metadata, "annotations") {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", k)
	}
	if _, ok := metadata["ownerReferences"]; ok {
		o.SetOwnerReferences(pairs.OwnersWithout(o, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": "core"}}}))
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		return nil
	}
	return o
}

// A backup is restored while Poundlock runs, Cluster API's objects first: the mirror is paused, and its Machine API object is yet to come. By its mark
// admission lets that be created beside it (authority/create-machineapi), and nothing else would tell a set or a check from one that somebody paused.
func TestAPausedMirrorKeepsItsMark(t *testing.T) {
	const paused = `, cluster.x-k8s.io/paused: "true"`
	for _, c := range []struct {
		about, kind, annotations, more string
		keeps                          bool
	}{
		{"a restored set", "MachineSet", paused, ``, true},
		{"a restored check", "MachineHealthCheck", paused, ``, true},
		{"a set that acts on its own", "MachineSet", ``, ``, false},
		{"a check that acts on its own", "MachineHealthCheck", ``, ``, false},
		{"a Machine, which its instance tells", "Machine", paused, ``, false},
		{"a set that is being deleted", "MachineSet", paused, `deletionTimestamp: "2026-11-21T17:00:00Z", `, true},
	} {
		kind, _ := authority.KindNamed(c.kind)
		s := &pairs.State{Kind: kind, Name: "m"}
		s.Core = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: `+c.kind+`, metadata: {name: m, `+c.more+`finalizers: [sync.machine.openshift.io/finalizer], annotations: {poundlock.openshift.io/mirror-of: `+
			c.kind+`/m`+c.annotations+`}}}`)
		w := Of(s).Forget()
		if w == nil {
			t.Fatalf("%s: the finalizer stays", c.about)
		}
		if acts := strings.HasSuffix(w.Note, "only its own controllers act on it"); acts == pairs.IsPaused(s.Core) {
			t.Errorf("%s: the event is %q", c.about, w.Note)
		}
		metadata := w.Patch["metadata"].(map[string]any)
		if _, finalizers := metadata["finalizers"]; !finalizers {
			t.Errorf("%s: the finalizer stays", c.about)
		}
		if _, goes := metadata["annotations"]; goes == c.keeps {
			t.Errorf("%s: the mark is removed: %t", c.about, goes)
		}
		s.Core.SetFinalizers(nil)
		if again := Of(s).Forget(); (again == nil) != c.keeps {
			t.Errorf("%s: the next pass writes %+v", c.about, again)
		}
	}
}

// Cluster API has no ControlPlaneMachineSet, so the mirror of a master that one owns has no owner, and is recreated when it is deleted there. On the Machine
// API's side the master has its owner: that deletion is carried over, and the set makes a replacement.
func TestAMasterOfAControlPlaneMachineSet(t *testing.T) {
	const gone = `deletionTimestamp: "2026-11-21T17:00:00Z", `
	for _, c := range []struct {
		about, status, machineAPI, core string
		want                            authority.DeletionStep
		writes                          string
	}{
		{"its mirror is deleted in Cluster API", "MachineAPI", ``, gone, authority.ReleaseMirror, "patch Machine.cluster.x-k8s.io"},
		{"its mirror is deleted in Machine API", "ClusterAPI", gone, ``, authority.DeleteAuthority, "delete Machine.cluster.x-k8s.io"},
		{"it is deleted in Machine API, which runs it", "MachineAPI", gone, ``, authority.DeleteMirror, "delete Machine.cluster.x-k8s.io"},
		{"it is deleted in Cluster API, which runs it", "ClusterAPI", ``, gone, authority.DeleteMirror, "delete Machine.machine.openshift.io"},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("AWS")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c"}}
		s.MachineAPI = mirroringtest.Machine(t, `{metadata: {name: m, `+c.machineAPI+`finalizers: [sync.machine.openshift.io/finalizer], ownerReferences: [{apiVersion: machine.openshift.io/v1, `+
			`kind: ControlPlaneMachineSet, name: cluster, uid: set, controller: true}]}, status: {authoritativeAPI: `+c.status+`}}`)
		s.Core = mirroringtest.Machine(t, `{metadata: {name: m, `+c.core+`uid: core, finalizers: [sync.machine.openshift.io/finalizer, machine.cluster.x-k8s.io], ownerReferences: [{apiVersion: `+
			`cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, uid: cluster}], annotations: {poundlock.openshift.io/mirror-of: Machine/m, cluster.x-k8s.io/paused: "true"}}}`)
		if c.status == "ClusterAPI" {
			s.Core.SetAnnotations(nil)
		}
		kinds(s)
		step := Asked(s).Next()
		write := ""
		if w := Of(s).Next(step); w != nil {
			write = fmt.Sprintf("%s %s.%s", w.Verb, w.Object.GetKind(), w.Object.GroupVersionKind().Group)
		}
		if step != c.want || write != c.writes {
			t.Errorf("%s: %s, %s, want %s, %s", c.about, step, write, c.want, c.writes)
		}
	}
}

// Admission refuses a Machine API object beside one that is being deleted, so the event of a paused mirror that loses its twin must not ask for one.
func TestAPausedMirrorThatIsDeletedNamesWhatWorks(t *testing.T) {
	const again, gone = "create its Machine API object again, or remove", `deletionTimestamp: "2026-11-21T17:00:00Z", `
	for _, c := range []struct{ about, kind, more, finalizers, want string }{
		{"it stays", "Machine", ``, `, machine.cluster.x-k8s.io`, again},
		{"it is being deleted, and its controller does not act", "Machine", gone, `, machine.cluster.x-k8s.io`,
			"To keep the instance, leave the Machine and its infrastructure machine paused and remove their finalizers by hand. Then create the Machine API object " +
				"again with this spec.providerID"},
		{"a set", "MachineSet", gone, `, cluster.x-k8s.io/machineset`, "To keep the Machines, remove their owner references to the set first"},
		{"it goes at once", "Machine", gone, ``, "The object is being deleted: create its Machine API object again when it is gone"},
		{"so does a check", "MachineHealthCheck", gone, ``, "The object is being deleted: create its Machine API object again when it is gone"},
	} {
		kind, _ := authority.KindNamed(c.kind)
		if c.kind == "MachineSet" && kind.ClusterAPIFinalizer != "cluster.x-k8s.io/machineset" {
			t.Fatalf("the finalizer of Cluster API's sets is %q", kind.ClusterAPIFinalizer)
		}
		s := &pairs.State{Kind: kind, Name: "m"}
		s.Core = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: `+c.kind+`, metadata: {name: m, namespace: capi, `+c.more+`finalizers: [sync.machine.openshift.io/finalizer`+c.finalizers+
			`], annotations: {poundlock.openshift.io/mirror-of: `+c.kind+`/m, cluster.x-k8s.io/paused: "true"}}, spec: {providerID: "aws:///z/i-1"}}`)
		w := Of(s).Forget()
		if w == nil || !strings.Contains(w.Note, c.want) || c.want != again && strings.Contains(w.Note, again) {
			t.Errorf("%s: %+v, want a note that says %q", c.about, w, c.want)
		}
	}
}

// A set of the Machine API that is not authoritative is deleted while one of its Machines moves to the Machine API: the collector, which may be late, must
// not find that Machine among what the set owned, or it would end an instance that the Machine API runs by then.
func TestAMachineThatMovesIsTakenOutOfTheCollectorsReach(t *testing.T) {
	for _, c := range []struct {
		status         string
		marked, leaves bool // the Machine is marked already; its owner reference goes
	}{
		{"authoritativeAPI: ClusterAPI", false, false},
		{"authoritativeAPI: MachineAPI", false, true},
		{"authoritativeAPI: Migrating, synchronizedAPI: ClusterAPI", false, true},
		{"authoritativeAPI: Migrating, synchronizedAPI: ClusterAPI", true, true},
		{"authoritativeAPI: Migrating, synchronizedAPI: MachineAPI", false, true},
	} {
		kind, _ := authority.KindNamed("MachineSet")
		mark := ""
		if c.marked {
			mark = `, annotations: {poundlock.openshift.io/detached: "true"}`
		}
		child := mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: x, ownerReferences: [{kind: MachineSet, name: m, uid: s, controller: true}]`+mark+`}, status: {`+c.status+`}}`)
		s := &pairs.State{Kind: kind, Name: "m", Children: []*unstructured.Unstructured{child}}
		s.MachineAPI = mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: m, uid: s, deletionTimestamp: "2026-11-21T17:00:00Z"}, status: {authoritativeAPI: ClusterAPI}}`)
		if pairs.Detached(child, s.MachineAPI, authority.MachineAPI) {
			t.Errorf("%s, marked %t: it counts as detached", c.status, c.marked)
		}
		metadata := Of(s).detach(child, authority.MachineAPI).Patch["metadata"].(map[string]any)
		if _, leaves := metadata["ownerReferences"]; leaves != c.leaves {
			t.Errorf("%s: %v", c.status, metadata)
		}
	}
}

// The mark of a detached Machine is about the deletion of its Machine API object, as long as that is the mirror. It stays where the set was deleted with
// --cascade=orphan. When Machine API is authoritative again, Cluster API's set would delete the mirror for ever, which would be recreated each time.
func TestAnOldMarkDoesNotKeepADeletionFromGoingOver(t *testing.T) {
	const owned = `ownerReferences: [{kind: MachineSet, name: s, uid: s, controller: true}]`
	for _, c := range []struct {
		about, authority, machineAPI, core string
		want                               authority.DeletionStep
	}{
		{"the mirror that is marked is deleted", "ClusterAPI", `deletionTimestamp: "2026-11-21T17:00:00Z", ` + owned, `uid: core`, authority.ReleaseMirror},
		{"Machine API is authoritative, and its mirror is deleted", "MachineAPI", `uid: m`, `deletionTimestamp: "2026-11-21T17:00:00Z", ` + owned, authority.DeleteAuthority},
	} {
		kind, _ := authority.KindNamed("Machine")
		s := &pairs.State{Kind: kind, Name: "m", Parent: authority.Parent{MachineAPI: authority.Present, ClusterAPI: authority.Present}}
		s.MachineAPI = mirroringtest.Object(t, `{metadata: {name: m, `+c.machineAPI+`, annotations: {poundlock.openshift.io/detached: "true"}}, status: {authoritativeAPI: `+c.authority+`}}`)
		s.Core = mirroringtest.Machine(t, `{metadata: {name: m, `+c.core+`, annotations: {poundlock.openshift.io/mirror-of: Machine/m}}}`)
		if got := Asked(s).Next(); got != c.want {
			t.Errorf("%s: %s, want %s", c.about, got, c.want)
		}
	}
}

// A template that the mirror made outlives the Machine API's MachineSet, and goes when Cluster API's has gone too, at once or years later.
func TestATemplateAndItsMachineSets(t *testing.T) {
	const marked = `annotations: {poundlock.openshift.io/mirror-of: MachineSet/m}, `
	for _, going := range []string{``, `deletionTimestamp: "2026-11-21T17:00:00Z", `} {
		kind, _ := authority.KindNamed("MachineSet")
		platform, _ := platforms.For("AWS")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c"}, Missing: "not asked"}
		s.Core = mirroringtest.Machine(t, `{metadata: {name: m, `+marked+going+
			`finalizers: [sync.machine.openshift.io/finalizer]}, spec: {template: {spec: {infrastructureRef: {name: m-0123abcd}}}}}`)
		s.Core.SetGroupVersionKind(kind.ClusterAPIGVK())
		template := mirroringtest.Machine(t, `{metadata: {name: m-0123abcd, `+marked+`}}`)
		template.SetGroupVersionKind(s.InfraKind())
		s.Infra, s.Templates = template, []*unstructured.Unstructured{template}
		got := play(s)
		if w := Of(s).StaleTemplate(); w != nil {
			t.Errorf("%q: the template goes while something refers to it, or may", going)
		}
		s.Core, s.Infra, s.Used = nil, nil, sets.New[string]() // a later pass finds no template in use
		w := Of(s).StaleTemplate()
		got = append(got, fmt.Sprintf("%s %s.%s", w.Verb, w.Object.GetKind(), w.Object.GroupVersionKind().Group))
		want := []string{"patch MachineSet.cluster.x-k8s.io", "delete AWSMachineTemplate.infrastructure.cluster.x-k8s.io"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", going, diff)
		}
	}
}

// A copy of a template of the mirror's, as `kubectl get -o yaml` shows it, has the mark. It is its maker's, and nothing refers to it yet.
func TestAPersonsCopyOfATemplateIsNotTheMirrors(t *testing.T) {
	kind, _ := authority.KindNamed("MachineSet")
	for name, goes := range map[string]bool{"m-0123abcd": true, "m-larger": false, "m-0123abcd-2": false, "m-0123ABCD": false, "other-0123abcd": false} {
		s := &pairs.State{Kind: kind, Name: "m", Used: sets.New[string]()}
		s.Templates = []*unstructured.Unstructured{mirroringtest.Machine(t, `{metadata: {name: `+name+
			`, annotations: {poundlock.openshift.io/mirror-of: MachineSet/m}}}`)}
		if w := Of(s).StaleTemplate(); (w != nil) != goes {
			t.Errorf("%s: goes %t, want %t", name, w != nil, goes)
		}
	}
}

// The provider's machine of a mirror that may not be changed is replaced while Machine API is authoritative, nothing is in motion, and nobody acts by it.
func TestWhatMayNotBeChangedIsReplaced(t *testing.T) {
	const (
		paused = `cluster.x-k8s.io/paused: "true"`
		mirror = `poundlock.openshift.io/mirror-of: Machine/m`
		going  = `, deletionTimestamp: "2026-11-26T00:00:00Z"`
		here   = `spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI}`
	)
	for _, c := range []struct {
		about, shape, leaving, core, infra string
		verb                               pairs.Verb
		uid                                string
		goes                               bool
	}{
		{"a mirror", here, ``, paused, paused + ", " + mirror, pairs.Apply, "u", true},
		{"a patch of it", here, ``, paused, paused + ", " + mirror, pairs.Patch, "u", false},
		{"another object", here, ``, paused, paused + ", " + mirror, pairs.Apply, "other", false},
		{"what is not paused", here, ``, paused, mirror, pairs.Apply, "u", false},
		{"that of a Machine that is not paused", here, ``, ``, paused + ", " + mirror, pairs.Apply, "u", false},
		{"a stranger's", here, ``, paused, paused, pairs.Apply, "u", false},
		{"while a move is asked for", `spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: MachineAPI}`, ``, paused, paused + ", " + mirror, pairs.Apply, "u", false},
		{"while authority moves", `spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: Migrating, synchronizedAPI: MachineAPI}`, ``, paused, paused + ", " + mirror, pairs.Apply, "u", false},
		{"while Cluster API is authoritative", `spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: ClusterAPI}`, ``, paused, paused + ", " + mirror, pairs.Apply, "u", false},
		{"while the Machine is deleted", here, going, paused, paused + ", " + mirror, pairs.Apply, "u", false},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("AWS")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c"}}
		s.MachineAPI = mirroringtest.Machine(t, `{metadata: {name: m`+c.leaving+`}, `+c.shape+`}`)
		s.Core = mirroringtest.Machine(t, `{metadata: {name: m, annotations: {`+c.core+`}}}`)
		s.Infra = mirroringtest.Machine(t, `{metadata: {name: m, uid: u, annotations: {`+c.infra+`}}}`)
		refused := &pairs.Write{Verb: c.verb, Object: mirroringtest.Machine(t, `{metadata: {name: m, uid: `+c.uid+`}}`)}
		w := Of(s).Replace(refused)
		if (w != nil) != c.goes {
			t.Errorf("%s: %v, want replaced: %t", c.about, w, c.goes)
		}
		if w == nil {
			continue
		}
		if kept := Of(s).WithdrawReplacement(); w.Verb != pairs.Patch || kept != nil {
			t.Errorf("%s, not marked: %+v, and is kept by %+v", c.about, w, kept)
		}
		s.Infra.SetAnnotations(map[string]string{authority.MirrorAnnotation: "Machine/m", authority.PausedAnnotation: "true", authority.ReplacedAnnotation: "true"})
		if w := Of(s).Replace(refused); w == nil || w.Verb != pairs.Remove || w.Object != s.Infra || !w.Provided.Unchanged {
			t.Errorf("%s, marked: %+v", c.about, w)
		}
		if kept := Of(s).WithdrawReplacement(); kept == nil || kept.Verb != pairs.Patch {
			t.Errorf("%s, marked: it is kept by %+v", c.about, kept)
		}
	}
}
