// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// ownerCase is a Machine m and its set s; the authoritative Machine is on the side whose set does not act.
type ownerCase struct {
	machine, set authority.API // who is authoritative
	// more is spliced into the metadata of m, m's mirror, s on the Machine's side and the set of the mirror's side.
	m, mirror, s, twin string
	paused             string
}

func (c ownerCase) state(t *testing.T) *pairs.State {
	t.Helper()
	owner := func(side authority.API, uid string) string {
		return fmt.Sprintf(`, ownerReferences: [{apiVersion: %s, kind: MachineSet, name: s, uid: %s, controller: true, blockOwnerDeletion: true}]`,
			groupVersion[side], uid)
	}
	side := c.machine
	if c.m == "" {
		c.m = `, labels: {set: s}`
	}
	if c.mirror == "" {
		c.mirror = owner(side.Other(), "twin")
	}
	const from = "spec: {authoritativeAPI: %[1]s}, status: {authoritativeAPI: %[1]s}"
	value := map[authority.API]string{authority.MachineAPI: fmt.Sprintf(from, c.machine), authority.ClusterAPI: "spec: {}"}
	sets := map[authority.API]string{authority.MachineAPI: fmt.Sprintf(from, c.set), authority.ClusterAPI: "spec: {selector: {matchLabels: {set: s}}}"}
	if side == authority.MachineAPI {
		sets[side] = fmt.Sprintf("spec: {authoritativeAPI: %[1]s, selector: {matchLabels: {set: s}}}, status: {authoritativeAPI: %[1]s}", c.set)
	}
	object := func(side authority.API, kind, name, uid, more, rest string) *unstructured.Unstructured {
		o := mirroringtest.Machine(t, fmt.Sprintf(`{metadata: {name: %s, uid: %s%s}, %s}`, name, uid, more, rest))
		o.SetAPIVersion(groupVersion[side])
		o.SetKind(kind)
		return o
	}
	mark := fmt.Sprintf(`, annotations: {poundlock.openshift.io/mirror-of: MachineSet/s%s}`, c.paused)
	marks := map[authority.API]string{authority.ClusterAPI: mark}
	s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Parents: map[authority.API]*unstructured.Unstructured{
		side:         object(side, "MachineSet", "s", "set", marks[side]+c.s, sets[side]),
		side.Other(): object(side.Other(), "MachineSet", "s", "twin", marks[side.Other()]+c.twin, sets[side.Other()]),
	}}
	machine, mirror := object(side, "Machine", "m", "m", c.m, value[side]), object(side.Other(), "Machine", "m", "mirror", c.mirror, value[side.Other()])
	if s.MachineAPI, s.Core = machine, mirror; side == authority.ClusterAPI {
		s.MachineAPI, s.Core = mirror, machine
	}
	return s
}

var groupVersion = map[authority.API]string{authority.MachineAPI: "machine.openshift.io/v1beta1", authority.ClusterAPI: "cluster.x-k8s.io/v1beta2"}

// TestRestoreOwner: which authoritative Machine a paused set owns again.
func TestRestoreOwner(t *testing.T) {
	const going, paused = `, deletionTimestamp: "2026-11-21T17:00:00Z"`, `, cluster.x-k8s.io/paused: ""`
	ref := func(kind, name, uid string) string {
		return fmt.Sprintf(`, labels: {set: s}, ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}]`,
			groupVersion[authority.ClusterAPI], kind, name, uid)
	}
	there := ownerCase{machine: authority.ClusterAPI, set: authority.MachineAPI, paused: paused}
	here := ownerCase{machine: authority.MachineAPI, set: authority.ClusterAPI}
	for sentence, c := range map[string]struct {
		of       ownerCase
		change   func(*ownerCase)
		restores bool
	}{
		"Cluster API's Machine of a Machine API set":     {there, func(*ownerCase) {}, true},
		"the Machine API's Machine of a Cluster API set": {here, func(*ownerCase) {}, true},
		"a Machine that the Cluster owns, too": {there, func(c *ownerCase) {
			c.m = `, labels: {set: s}, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, uid: c}]`
		}, true},
		"a Machine that names a set which is gone, before the collector acts": {there, func(c *ownerCase) { c.m = ref("MachineSet", "s", "former") }, true},
		"a Machine that the set owns":                                         {there, func(c *ownerCase) { c.m = ref("MachineSet", "s", "set") }, false},
		"a Machine of another set":                                            {there, func(c *ownerCase) { c.m = ref("MachineSet", "other", "other") }, false},
		"a Machine of something else of that name":                            {there, func(c *ownerCase) { c.m = ref("MachinePool", "s", "pool") }, false},
		"a Machine that was released by its labels":                           {there, func(c *ownerCase) { c.m = `, labels: {set: other}` }, false},
		"a Machine API Machine that was released by its labels":               {here, func(c *ownerCase) { c.m = `, labels: {set: other}` }, false},
		"a Machine that is being deleted":                                     {there, func(c *ownerCase) { c.m = `, labels: {set: s}` + going }, false},
		"a Machine whose mirror is being deleted":                             {there, func(c *ownerCase) { c.mirror = `, labels: {}` + going }, false},
		"a Machine whose mirror was released":                                 {there, func(c *ownerCase) { c.mirror = `, labels: {}` }, false},
		"a Machine whose mirror names a set that its user has made anew":      {there, func(c *ownerCase) { c.twin = `, resourceVersion: "1"`; c.mirror = ref("MachineSet", "s", "before") }, false},
		"a set that is being deleted":                                         {there, func(c *ownerCase) { c.s = going }, false},
		"a set whose twin is being deleted, and orphans":                      {there, func(c *ownerCase) { c.twin = going }, false},
		"a set that goes on while its twin, the mirror, is being deleted": {there, func(c *ownerCase) {
			c.set, c.twin = authority.ClusterAPI, going
		}, true},
		"the same, of the Machine API":                                       {here, func(c *ownerCase) { c.twin = going }, false},
		"a Cluster API set that is not paused adopts its Machines itself":    {there, func(c *ownerCase) { c.paused = "" }, false},
		"a Machine API set that is authoritative adopts its Machines itself": {here, func(c *ownerCase) { c.set = authority.MachineAPI }, false},
		"a Machine API set whose authority is not stored yet":                {here, func(c *ownerCase) { c.set = authority.Unset }, false},
		"a set of Cluster API's that is authoritative and not yet released":  {there, func(c *ownerCase) { c.set = authority.ClusterAPI }, true},
	} {
		of := c.of
		c.change(&of)
		s := of.state(t)
		w := steps{State: s}.restoreOwner()
		if (w != nil) != c.restores {
			t.Errorf("%s: restored %t, want %t", sentence, w != nil, c.restores)
		}
		if w == nil {
			continue
		}
		others := slices.DeleteFunc(w.Object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.Kind != "Cluster" })
		after := w.Object.DeepCopy()
		raw, _ := json.Marshal(w.Patch["metadata"])
		var metadata map[string]any
		_ = json.Unmarshal(raw, &metadata)
		_ = unstructured.SetNestedField(after.Object, metadata["ownerReferences"], "metadata", "ownerReferences")
		if s.Store(w.Object, after); (steps{State: s}).restoreOwner() != nil {
			t.Errorf("%s: it is restored again and again", sentence)
		}
		if owner := pairs.ControllerOf(after); owner == nil || owner.UID != "set" {
			t.Errorf("%s: it belongs to %v", sentence, owner)
		}
		if stays := len(after.GetOwnerReferences()) - 1; stays != len(others) {
			t.Errorf("%s: of %d Clusters %d stay its owner beside the set, as where Cluster API's set adopts it", sentence, len(others), stays)
		}
	}
	s := there.state(t)
	s.Parents[authority.ClusterAPI].SetAnnotations(map[string]string{authority.PausedAnnotation: ""})
	_ = unstructured.SetNestedField(s.Parents[authority.ClusterAPI].Object, "aws:///i-1", "spec", "providerID")
	if (steps{State: s}).restoreOwner() != nil {
		t.Error("a Machine was given to a foreign set")
	}
}

// TestChangeOwner: the mirror of a Machine that another set of the Machine API has adopted goes to that set's twin in one write, no matter who wrote the former owner.
func TestChangeOwner(t *testing.T) {
	const ref = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: %s, name: %s, uid: %s, controller: %t}`
	for sentence, c := range map[string]struct {
		owner, annotations, wanted string
		changes                    bool
	}{
		"another set had it":             {fmt.Sprintf(ref, "MachineSet", "a", "a", true), `cluster.x-k8s.io/paused: ""`, fmt.Sprintf(ref, "MachineSet", "b", "b", true), true},
		"it has it already":              {fmt.Sprintf(ref, "MachineSet", "b", "b", true), `cluster.x-k8s.io/paused: ""`, fmt.Sprintf(ref, "MachineSet", "b", "b", true), false},
		"a set of its name was replaced": {fmt.Sprintf(ref, "MachineSet", "b", "old", true), `cluster.x-k8s.io/paused: ""`, fmt.Sprintf(ref, "MachineSet", "b", "b", true), true},
		"nobody had it":                  {fmt.Sprintf(ref, "Cluster", "c", "c", false), `cluster.x-k8s.io/paused: ""`, fmt.Sprintf(ref, "MachineSet", "b", "b", true), false},
		"no set is to have it":           {fmt.Sprintf(ref, "MachineSet", "a", "a", true), `cluster.x-k8s.io/paused: ""`, fmt.Sprintf(ref, "Cluster", "c", "c", false), false},
		"Cluster API acts on it":         {fmt.Sprintf(ref, "MachineSet", "a", "a", true), `x: y`, fmt.Sprintf(ref, "MachineSet", "b", "b", true), false},
	} {
		object := func(owner string) *unstructured.Unstructured {
			o := mirroringtest.Machine(t, `{metadata: {name: m, uid: m, annotations: {poundlock.openshift.io/mirror-of: Machine/m, `+c.annotations+`}, ownerReferences: [`+
				`{apiVersion: v1, kind: ConfigMap, name: x, uid: x}, `+owner+`]}, spec: {}}`)
			o.SetAPIVersion(groupVersion[authority.ClusterAPI])
			return o
		}
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Core: object(c.owner)}
		w := steps{State: s}.changeOwner(object(c.wanted))
		if (w != nil) != c.changes {
			t.Errorf("%s: %v", sentence, w)
		}
		if w == nil {
			continue
		}
		var uids []string
		for _, r := range w.Patch["metadata"].(map[string]any)["ownerReferences"].([]metav1.OwnerReference) {
			uids = append(uids, string(r.UID))
		}
		if !slices.Equal(uids, []string{"x", "b"}) {
			t.Errorf("%s: owners %v", sentence, uids)
		}
	}
}
