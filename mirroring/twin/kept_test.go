// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package twin

import (
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// vSphere's provider finds the virtual machine of a Machine that moves to it by its ID, which only a VSphereVM can name.
func TestAnInstanceIsKeptBeforeItsMachineMoves(t *testing.T) {
	const (
		paused = `cluster.x-k8s.io/paused: "true"`
		mirror = `poundlock.openshift.io/mirror-of: Machine/m`
		id     = `providerID: "vsphere://4210-1"`
	)
	for _, c := range []struct {
		about, platform, status, infra, spec, core string
		kept                                       bool
		want                                       string
	}{
		{"a Machine of Machine API's", "VSphere", "MachineAPI", paused + ", " + mirror, id, ``, false, "create VSphereVM m"},
		{"what has one", "VSphere", "MachineAPI", paused + ", " + mirror, id, ``, true, ""},
		{"a Machine without an ID yet", "VSphere", "MachineAPI", paused + ", " + mirror, ``, ``, false, ""},
		{"one in a failure domain: the provider decides", "VSphere", "MachineAPI", paused + ", " + mirror, id, `failureDomain: fd`, false, ""},
		{"one of Windows, whose name the provider makes up", "VSphere", "MachineAPI", paused + ", " + mirror, id + `, os: Windows`, ``, false, ""},
		{"a machine that is not paused", "VSphere", "MachineAPI", mirror, id, ``, false, ""},
		{"a stranger", "VSphere", "MachineAPI", paused, id, ``, false, ""},
		{"a Machine of Cluster API's", "VSphere", "ClusterAPI", paused + ", " + mirror, id, ``, false, ""},
		{"a platform that finds its instances by their IDs", "AWS", "MachineAPI", paused + ", " + mirror, id, ``, false, ""},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For(c.platform)
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c"}}
		s.MachineAPI = mirroringtest.Object(t, `{metadata: {name: m}, status: {authoritativeAPI: `+c.status+`}}`)
		s.Core = mirroringtest.Object(t, `{metadata: {name: m}, spec: {`+c.core+`}}`)
		s.Infra = mirroringtest.Object(t, `{metadata: {name: m, annotations: {`+c.infra+`}}, spec: {`+c.spec+`}}`)
		if c.kept {
			s.InfraInstance = mirroringtest.Object(t, `{metadata: {name: m}}`)
		}
		s.MachineAPI.SetGroupVersionKind(kind.MachineAPIGVK())
		s.Infra.SetGroupVersionKind(s.InfraKind())
		got := ""
		if w := Of(s).Kept(); w != nil {
			got = string(w.Verb) + " " + w.Object.GetKind() + " " + w.Object.GetName()
			if !pairs.IsPaused(w.Object) {
				t.Errorf("%s: not paused", c.about)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
	}
}

// Where the provider is to make the object for an instance that Machine API runs, the mirror holds Cluster API's Machine until it has.
func TestAMirrorHoldsItsMachineForTheProvider(t *testing.T) {
	const (
		id   = `providerID: "openstack:///4210-1"`
		held = `finalizers: [openstackserver.infrastructure.cluster.x-k8s.io]`
	)
	for _, c := range []struct {
		about, platform, status, spec, infra string
		known                                string
		unserved, held                       bool
	}{
		{"OpenStack", "OpenStack", "MachineAPI", id, id, ``, false, true},
		{"the provider holds the object", "OpenStack", "MachineAPI", id, id, held, false, false},
		{"the provider has made the object, and does not hold it yet", "OpenStack", "MachineAPI", id, id, `labels: {a: b}`, false, true},
		{"its kind is not served", "OpenStack", "MachineAPI", id, id, ``, true, false},
		{"no instance: with the hook the provider would make one", "OpenStack", "MachineAPI", ``, ``, ``, false, false},
		{"Cluster API is authoritative", "OpenStack", "ClusterAPI", id, id, ``, false, false},
		{"on vSphere the mirror makes the object", "VSphere", "MachineAPI", `providerID: "vsphere://4210-1"`, `providerID: "vsphere://4210-1"`, ``, false, false},
		{"but in a failure domain", "VSphere", "MachineAPI", `providerID: "vsphere://4210-1", failureDomain: fd`, `providerID: "vsphere://4210-1"`, ``, false, true},
		{"nor for Windows", "VSphere", "MachineAPI", `providerID: "vsphere://4210-1"`, `providerID: "vsphere://4210-1", os: Windows`, ``, false, true},
		{"a platform without such objects", "AWS", "MachineAPI", `providerID: "aws:///a/i-1"`, `providerID: "aws:///a/i-1"`, ``, false, false},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For(c.platform)
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c"}, InstancesUnserved: c.unserved}
		s.MachineAPI = mirroringtest.Object(t, `{metadata: {name: m}, status: {authoritativeAPI: `+c.status+`}}`)
		s.Cluster = mirroringtest.Object(t, `{metadata: {name: c}}`)
		if c.known != "" {
			s.InfraInstance = mirroringtest.Object(t, `{metadata: {name: m, `+c.known+`}}`)
			s.InfraInstance.SetGroupVersionKind(platform.InfraInstance.GroupVersionKind)
		}
		converted := mirroringtest.Object(t, `{spec: {`+c.spec+`}}`)
		infra := mirroringtest.Object(t, `{metadata: {name: m}, spec: {`+c.infra+`}}`)
		if _, held := Of(s).WantCore(converted, infra).GetAnnotations()[authority.InstanceHookAnnotation]; held != c.held {
			t.Errorf("%s: held %v, want %v", c.about, held, c.held)
		}
	}
}

func TestAMirrorIsSparedWhileItMovesWithoutAnInstance(t *testing.T) {
	const migrating = `status: {authoritativeAPI: Migrating, synchronizedAPI: MachineAPI}`
	for about, c := range map[string]struct{ machine, has, want string }{
		"it moves without an instance":           {migrating, ``, authority.SparedUntilReady},
		"it rests":                               {`status: {authoritativeAPI: MachineAPI}`, ``, ""},
		"it has an instance":                     {`spec: {providerID: i-1}, ` + migrating, ``, ""},
		"its user spares it":                     {migrating, `{metadata: {annotations: {` + authority.SparedAnnotation + `: "mine"}}}`, "mine"},
		"it is deleted":                          {`metadata: {name: m, deletionTimestamp: "2026-11-26T00:00:00Z", finalizers: [a]}, ` + migrating, ``, ""},
		"it comes back, and is no mirror as yet": {`status: {authoritativeAPI: Migrating, synchronizedAPI: ClusterAPI}`, ``, ""},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("AWS")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c"}}
		s.MachineAPI = mirroringtest.Object(t, `{`+c.machine+`}`)
		s.MachineAPI.SetGroupVersionKind(kind.MachineAPIGVK())
		s.Cluster = mirroringtest.Object(t, `{metadata: {name: c}}`)
		if c.has == "" {
			c.has = `{spec: {}}`
		}
		got := Of(s).WantCore(mirroringtest.Object(t, c.has), mirroringtest.Object(t, `{metadata: {name: m}}`)).GetAnnotations()[authority.SparedAnnotation]
		if got != c.want {
			t.Errorf("%s: %q, want %q", about, got, c.want)
		}
	}
}
