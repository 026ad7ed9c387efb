// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package feedback

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestEtcdsHookAtABirth: a Machine is created for Cluster API, etcd's operator adds its hook at once, and the mirror creates Cluster API's Machine with it. The
// Machine API object may be deleted in the next moment, as one that a new template makes superfluous is, and etcd's operator then removes its hook, since no
// member is on the Machine. If the mirror had not recorded that it saw the hook, nobody would remove it from Cluster API's Machine, whose deletion would never end.
func TestEtcdsHookAtABirth(t *testing.T) {
	const (
		hook    = `lifecycleHooks: {preDrain: [{name: EtcdQuorumOperator, owner: clusteroperator/etcd}]}`
		seen    = `, annotations: {` + authority.EtcdHookSeenAnnotation + `: u}`
		held    = `, finalizers: [` + authority.SyncFinalizer + `]`
		leaving = `, deletionTimestamp: "2026-11-26T00:00:00Z"`
		twin    = `{metadata: {name: m, annotations: {` + authority.EtcdHookAnnotation + `: clusteroperator/etcd}}}`
	)
	for _, c := range []struct{ about, metadata, spec, of, core, want string }{
		{"it has the hook, and its twin is made next", held, hook, "ClusterAPI", ``, "records"},
		{"and that is recorded", held + seen, hook, "ClusterAPI", ``, ``},
		{"another's record proves nothing", held + strings.ReplaceAll(seen, ": u", ": v"), hook, "ClusterAPI", ``, "records"},
		{"it has no hook yet", held, ``, "ClusterAPI", ``, ``},
		{"the mirror does not hold it, and may never make a twin", ``, hook, "ClusterAPI", ``, ``},
		{"it is being deleted, and no twin is made", held + leaving, hook, "ClusterAPI", ``, ``},
		{"it is Machine API's", held, hook, "MachineAPI", ``, ``},
		{"its twin is made, and it is deleted at once: the record is there", held + leaving + seen, hook, "ClusterAPI", twin, ``},
		{"and etcd's operator removes the hook", held + leaving + seen, ``, "ClusterAPI", twin, "removes"},
		{"without the record nobody would", held + leaving, ``, "ClusterAPI", twin, ``},
		{"its hook was to be added to a twin that is gone", held + strings.ReplaceAll(seen, ": u", ": u/to-be-added"), hook, "ClusterAPI", ``, ``},
		{"its twin has the hook that was to be added", held + strings.ReplaceAll(seen, ": u", ": u/to-be-added"), hook, "ClusterAPI", twin, "records"},
		{"its twin has lost the hook", held + seen, hook, "ClusterAPI", `{metadata: {name: m}}`, "forgets"},
		{"the hook was removed before it was added to the twin", held + strings.ReplaceAll(seen, ": u", ": u/to-be-added"), ``, "ClusterAPI", `{metadata: {name: m}}`, "forgets"},
		{"the hook was removed before the twin was made", held + seen, ``, "ClusterAPI", `{metadata: {name: m}}`, "forgets"},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m",
			MachineAPI: mirroringtest.Object(t, `{metadata: {name: m, uid: u`+c.metadata+`}, spec: {`+c.spec+`}, status: {authoritativeAPI: `+c.of+`}}`)}
		if c.core != "" {
			s.Core = mirroringtest.Object(t, c.core)
		}
		got := ""
		if w := EtcdHook(s); w != nil {
			record, isRecord, _ := unstructured.NestedFieldNoCopy(w.Patch, "metadata", "annotations", authority.EtcdHookSeenAnnotation)
			switch {
			case isRecord && record == "u" && w.Object == s.MachineAPI:
				got = "records"
			case isRecord && record == nil:
				got = "forgets"
			case w.Object == s.Core:
				got = "removes"
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
	}
}

// TestEtcdsHookThatIsAddedLate cuts off the mirror after each of its writes, and has etcd's operator remove the hook from the Machine, which is being deleted,
// in that moment. Nobody but a person would remove what is left on Cluster API's Machine then.
func TestEtcdsHookThatIsAddedLate(t *testing.T) {
	metadata := func(o *unstructured.Unstructured, w *pairs.Write) {
		for name, value := range pairs.Under(w.Patch, "metadata", "annotations") {
			if value == nil {
				unstructured.RemoveNestedField(o.Object, "metadata", "annotations", name)
				continue
			}
			if err := unstructured.SetNestedField(o.Object, value, "metadata", "annotations", name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, deletedFirst := range []bool{false, true} {
		for cut := range 5 {
			s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m",
				MachineAPI: mirroringtest.Object(t, `{metadata: {name: m, uid: u, finalizers: [`+authority.SyncFinalizer+`]},
					spec: {lifecycleHooks: {preDrain: [{name: EtcdQuorumOperator, owner: clusteroperator/etcd}]}}, status: {authoritativeAPI: ClusterAPI}}`),
				Core: mirroringtest.Object(t, `{metadata: {name: m}}`)}
			leaves := func() {
				if err := unstructured.SetNestedField(s.MachineAPI.Object, "2026-11-26T00:00:00Z", "metadata", "deletionTimestamp"); err != nil {
					t.Fatal(err)
				}
			}
			if deletedFirst {
				leaves()
			}
			writes := 0
			for w := EtcdHook(s); w != nil; w = EtcdHook(s) {
				if writes == cut {
					break
				}
				writes++
				metadata(w.Object, w)
			}
			had := s.Core.GetAnnotations()[authority.EtcdHookAnnotation] != ""
			if writes < cut {
				if !had || writes != 3 || s.MachineAPI.GetAnnotations()[authority.EtcdHookSeenAnnotation] != "u" {
					t.Errorf("%d writes, and Cluster API's Machine has the hook: %t, recorded as %v", writes, had, s.MachineAPI.GetAnnotations())
				}
				break
			}
			leaves()
			unstructured.RemoveNestedField(s.MachineAPI.Object, "spec", "lifecycleHooks")
			for w := EtcdHook(s); w != nil; w = EtcdHook(s) {
				metadata(w.Object, w)
			}
			if _, has := s.Core.GetAnnotations()[authority.EtcdHookAnnotation]; has {
				t.Errorf("cut off after %d writes: Cluster API's Machine keeps the hook, and would wait for ever", cut)
			}
		}
	}
}
