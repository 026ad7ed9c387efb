// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package feedback

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestAMachineWaitsUntilItsProviderKnowsItsInstance(t *testing.T) {
	const (
		hooked  = `annotations: {` + authority.InstanceHookAnnotation + `: poundlock}`
		leaving = `deletionTimestamp: "2026-11-26T00:00:00Z", finalizers: [a]`
		there   = `{metadata: {name: m}}`
		held    = `{metadata: {name: m, finalizers: [openstackserver.infrastructure.cluster.x-k8s.io]}}`
	)
	for _, c := range []struct {
		about, machineAPI, core, infra, instance string
		unserved, removed                        bool
	}{
		{"the provider has no object yet", `{status: {authoritativeAPI: ClusterAPI}}`, hooked, there, ``, false, false},
		{"nor while the Machine is deleted", `{status: {authoritativeAPI: ClusterAPI}}`, hooked + ", " + leaving, there, ``, false, false},
		{"nor without a Machine of Machine API's", ``, hooked, there, ``, false, false},
		{"it has one", `{status: {authoritativeAPI: ClusterAPI}}`, hooked, there, held, false, true},
		{"it has one, and does not hold it: deleted now, the object would leave the instance behind", `{status: {authoritativeAPI: ClusterAPI}}`, hooked, there, there, false, false},
		{"somebody else holds it", `{status: {authoritativeAPI: ClusterAPI}}`, hooked, there, `{metadata: {name: m, finalizers: [example.com/mine]}}`, false, false},
		{"it has one while the Machine is deleted", `{status: {authoritativeAPI: ClusterAPI}}`, hooked + ", " + leaving, there, held, false, true},
		{"and without a Machine of Machine API's", ``, hooked, there, held, false, true},
		{"the provider's machine is being deleted itself", `{status: {authoritativeAPI: ClusterAPI}}`, hooked, `{metadata: {name: m, ` + leaving + `}}`, ``, false, true},
		{"it is gone", `{status: {authoritativeAPI: ClusterAPI}}`, hooked, ``, ``, false, true},
		{"the kind is not served", `{status: {authoritativeAPI: ClusterAPI}}`, hooked, there, ``, true, true},
		{"no hook", `{status: {authoritativeAPI: ClusterAPI}}`, `labels: {a: b}`, there, held, false, false},
		{"Machine API is authoritative: the mirror sees to it", `{status: {authoritativeAPI: MachineAPI}}`, hooked, there, held, false, false},
	} {
		kind, _ := authority.KindNamed("Machine")
		platform, _ := platforms.For("OpenStack")
		s := &pairs.State{Kind: kind, Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c"}, InstancesUnserved: c.unserved}
		for o, text := range map[**unstructured.Unstructured]string{&s.MachineAPI: c.machineAPI, &s.Infra: c.infra, &s.InfraInstance: c.instance} {
			if text != "" {
				*o = mirroringtest.Object(t, text)
			}
		}
		if s.InfraInstance != nil {
			s.InfraInstance.SetGroupVersionKind(platform.InfraInstance.GroupVersionKind)
		}
		s.Core = mirroringtest.Object(t, `{metadata: {name: m, `+c.core+`}}`)
		w := InstanceHook(s)
		if (w != nil) != c.removed {
			t.Errorf("%s: %v, want removed: %v", c.about, w, c.removed)
		}
		if w == nil {
			continue
		}
		if value, given := w.Patch["metadata"].(map[string]any)["annotations"].(map[string]any)[authority.InstanceHookAnnotation]; !given || value != nil {
			t.Errorf("%s: the patch is %v", c.about, w.Patch)
		}
	}
	if core.InstanceHookAnnotation != authority.InstanceHookAnnotation {
		t.Errorf("the conversion leaves %s where it is", core.InstanceHookAnnotation)
	}
	if w := InstanceHook(&pairs.State{}); w != nil {
		t.Errorf("without a Machine: %v", w)
	}
}
