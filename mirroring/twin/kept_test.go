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
