// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package twin

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// Whose the Cluster API mirror of a Machine is that Machine API is authoritative for, as its MachineSets come and go; and whether the set's in-place
// propagation is left alone. A set that loses its Machine makes another, and one that is being deleted leaves it behind.
func TestTheMirrorFollowsTheSetThatSurvives(t *testing.T) {
	const (
		owned    = `{metadata: {name: m, ownerReferences: [{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: s, uid: mapi, controller: true}]}}`
		unowned  = `{metadata: {name: m}}`
		given    = `, managedFields: [{manager: poundlock-mirror, operation: Apply, apiVersion: cluster.x-k8s.io/v1beta2, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:ownerReferences": {'k:{"uid":"capi"}': {}}}}}]}}`
		taken    = `{metadata: {name: m, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: s, uid: capi, controller: true}]`
		adopted  = taken + `}}`
		held     = taken + given
		formerly = `{metadata: {name: m, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: s, uid: former, controller: true}]}}`
		there    = `{metadata: {name: s, uid: capi, annotations: {poundlock.openshift.io/mirror-of: MachineSet/s}}}`
		leaving  = `{metadata: {name: s, uid: capi, deletionTimestamp: "2026-11-21T17:00:00Z", annotations: {poundlock.openshift.io/mirror-of: MachineSet/s}}}`
		ofMAPI   = `{metadata: {name: s, uid: mapi}, spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI}}`
		ofCAPI   = `{metadata: {name: s, uid: mapi}, spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}`
		newOf    = `{metadata: {name: s, uid: mapi}, spec: {authoritativeAPI: ClusterAPI}}`
		goingOf  = `{metadata: {name: s, uid: mapi, deletionTimestamp: "2026-11-21T17:00:00Z"}, spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}`
	)
	for _, c := range []struct {
		sentence                    string
		machine, mirror, mapi, capi string
		owner                       string
		propagates                  bool
	}{
		{"the mirror of an owned Machine belongs to the mirror of its set", owned, unowned, ofMAPI, there, "MachineSet", false},
		{"the Machine API set, not authoritative, is being deleted, and its Machine was detached", unowned, held, goingOf, there, "MachineSet", true},
		{"the Machine API set is gone, and Cluster API's goes on", unowned, held, "", there, "MachineSet", true},
		{"its user has recreated the Machine API set, and its authority is not stored yet", unowned, held, newOf, there, "MachineSet", true},
		{"the Machine API set that is authoritative has let its Machine go", unowned, held, ofMAPI, there, "Cluster", false},
		{"the Cluster API set that is authoritative is being deleted, and is to find its Machine", unowned, held, ofCAPI, leaving, "MachineSet", true},
		{"the same, while the Machine API set still owns the Machine", owned, held, ofCAPI, leaving, "MachineSet", true},
		{"the same, and the Machine API set is gone", unowned, held, "", leaving, "MachineSet", true},
		{"a set is being deleted in mid-move: it keeps its Machine until that is detached", owned, held, ofMAPI, leaving, "MachineSet", false},
		{"a mirror of a set is being deleted: the Machine was detached", owned, unowned, ofMAPI, leaving, "Cluster", false},
		{"a set that adopted it by its labels is no owner", unowned, adopted, "", there, "Cluster", true},
		{"a set of the same name is another", unowned, formerly, "", there, "Cluster", false},
		{"there is no set any more", unowned, held, "", "", "Cluster", false},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", MachineAPI: mirroringtest.Machine(t, c.machine),
			Core:    mirroringtest.Machine(t, c.mirror),
			Cluster: mirroringtest.Machine(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, uid: c}}`),
			Parents: map[authority.API]*unstructured.Unstructured{}}
		s.Cluster.SetKind("Cluster")
		for api, text := range map[authority.API]string{authority.MachineAPI: c.mapi, authority.ClusterAPI: c.capi} {
			if text != "" {
				s.Parents[api] = mirroringtest.Machine(t, text)
				s.Parents[api].SetKind("MachineSet")
			}
		}
		if got := (Of(s)).coreOwner().Kind; got != c.owner {
			t.Errorf("%s: the mirror belongs to the %s, want the %s", c.sentence, got, c.owner)
		}
		if got := s.Propagated(); got != c.propagates {
			t.Errorf("%s: propagation is left alone: %t, want %t", c.sentence, got, c.propagates)
		}
	}
}
