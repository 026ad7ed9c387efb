// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// The Cluster is being deleted, and its infrastructure cluster is gone: nothing converts any more. Cluster API deletes what the Cluster owns,
// and waits for all other Machines.
func TestAMirrorWithoutAnOwnerIsGivenToItsClusterThatGoes(t *testing.T) {
	const (
		mirror = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m, annotations: {poundlock.openshift.io/mirror-of: Machine/m}`
		owned  = mirror + `, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: s, uid: s}]}}`
	)
	for _, c := range []struct{ sentence, core, cluster, authority, want string }{
		{"its set went first", mirror + `}}`, `, deletionTimestamp: "2026-11-24T12:00:00Z"`, "MachineAPI", "Released"},
		{"its set is to go yet", owned, `, deletionTimestamp: "2026-11-24T12:00:00Z"`, "MachineAPI", "SurroundingsDeleted"},
		{"the Cluster stays", mirror + `}}`, "", "MachineAPI", "SurroundingsDeleted"},
		{"Cluster API is authoritative", mirror + `}}`, `, deletionTimestamp: "2026-11-24T12:00:00Z"`, "ClusterAPI", ""},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Reason: pairs.ReasonSurroundings, Missing: "the AWSCluster is gone",
			MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m}, status: {authoritativeAPI: `+c.authority+
				`}}`), Core: mirroringtest.Object(t, c.core),
			Cluster: mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, uid: c`+c.cluster+`}}`)}
		w := Next(s, time.Unix(0, 0))
		if w == nil || c.authority == "MachineAPI" && w.Reason != c.want || c.authority != "MachineAPI" && w.Reason == "Released" {
			t.Errorf("%s: %+v", c.sentence, w)
		}
	}
}

// A Machine of Cluster API's that lost its set, and kept its label, before anybody deleted the Cluster: Cluster API has the Cluster own none that names a
// set, and the Cluster waits for it.
func TestAMachineOfAFormerSetGoesWithItsCluster(t *testing.T) {
	const going = `, deletionTimestamp: "2026-11-24T12:00:00Z"`
	for name, c := range map[string]struct {
		core, cluster, set string
		want               bool
	}{
		"its set is gone":                        {`labels: {cluster.x-k8s.io/set-name: s}`, going, "", true},
		"its set is going, and released it":      {`labels: {cluster.x-k8s.io/set-name: s}`, going, going, true},
		"a set of the label's name may adopt it": {`labels: {cluster.x-k8s.io/set-name: s}`, going, ", labels: {}", false},
		"a set owns it":                          {`labels: {cluster.x-k8s.io/set-name: s}, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: s, uid: s, controller: true}]`, going, "", false},
		"it was never a set's":                   {`labels: {a: b}`, going, "", false},
		"the Cluster stays":                      {`labels: {cluster.x-k8s.io/set-name: s}`, "", "", false},
	} {
		for _, current := range []authority.API{authority.ClusterAPI, authority.MachineAPI} {
			for _, missing := range []string{"", "the AWSCluster is gone"} {
				t.Run(fmt.Sprint(name, " ", current, " ", missing), func(t *testing.T) {
					s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Missing: missing,
						MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, uid: m}, status: {authoritativeAPI: `+string(current)+`, synchronizedGeneration: 1}}`),
						Core:       mirroringtest.Machine(t, `{metadata: {name: m, annotations: {poundlock.openshift.io/mirror-of: Machine/m}, `+c.core+`}}`),
						Cluster:    mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, uid: c`+c.cluster+`}}`)}
					if c.set != "" {
						s.Parents = map[authority.API]*unstructured.Unstructured{authority.ClusterAPI: mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: s`+c.set+`}}`)}
					}
					w := Next(s, time.Unix(0, 0))
					labels := map[string]any{}
					if w != nil {
						labels = pairs.Under(pairs.Under(w.Patch, "metadata"), "labels")
					}
					_, loses := labels["cluster.x-k8s.io/set-name"]
					if loses != (c.want && current == authority.ClusterAPI) {
						t.Errorf("%+v", w)
					}
				})
			}
		}
	}
}

// TestAMirrorThatDoesNotConvertStaysTrue: the autoscaler reads nodeRef, errorMessage and providerID of Machines, and the replicas of sets.
func TestAMirrorThatDoesNotConvertStaysTrue(t *testing.T) {
	machine := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m"}
	machine.MachineAPI = mirroringtest.Object(t,
		`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m}, status: {authoritativeAPI: ClusterAPI, errorMessage: old}}`)
	machine.Core = mirroringtest.Object(t,
		`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m}, spec: {providerID: "aws:///i-1", version: v1}, status: {nodeRef: {name: node}}}`)
	set := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "m"}
	set.MachineAPI = mirroringtest.Object(t,
		`{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: m}, spec: {replicas: 3}, status: {authoritativeAPI: ClusterAPI}}`)
	set.Core = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: m}, spec: {replicas: 5}, status: {replicas: 4}}`)
	for _, s := range []*pairs.State{machine, set} {
		c, last := stepsOf(s, time.Now()), ""
		for range 9 {
			w := c.toMachineAPI()
			if w == nil {
				break
			}
			last = w.Reason
			s.MachineAPI = mirroringtest.Object(t, afterPatch(t, s.MachineAPI, w.Patch))
		}
		if last != "FieldsNotConvertible" || c.toMachineAPI() != nil {
			t.Errorf("%s: the last write is %s, want the reason why the rest is not mirrored, and nothing after it", s.Kind.Name, last)
		}
	}
	status := pairs.Below(machine.MachineAPI.Object, "status")
	if pairs.Below(status, "nodeRef")["name"] != "node" || status["errorMessage"] != nil ||
		pairs.Nested(machine.MachineAPI, "spec", "providerID") != "aws:///i-1" {
		t.Errorf("the Machine's mirror is %v", machine.MachineAPI.Object)
	}
	if n, _ := pairs.Replicas(set.MachineAPI); n != 5 || !jsonnumbers.Equal(pairs.Below(set.MachineAPI.Object, "status")["replicas"], int64(4)) {
		t.Errorf("the set's mirror is %v", set.MachineAPI.Object)
	}
}

// afterPatch is an object after a merge patch.
func afterPatch(t *testing.T, o *unstructured.Unstructured, change map[string]any) string {
	t.Helper()
	before, err1 := json.Marshal(o.Object)
	patch, err2 := json.Marshal(change)
	after, err3 := jsonpatch.MergePatch(before, patch)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return string(after)
}

func TestWhoseAnInfrastructureMachineIs(t *testing.T) {
	for _, c := range []struct {
		sentence, infra string
		claimed         bool
	}{
		{"one that was made before its Machine belongs to nobody, and is claimed", `{metadata: {name: m}}`, true},
		{"one that its Cluster keeps is claimed too", `{metadata: {name: m, ownerReferences: [{kind: Cluster, name: c, uid: c}]}}`, true},
		{"one that its Machine owns, and does not control", `{metadata: {name: m, ownerReferences: [{kind: Cluster, name: c, uid: c}, {kind: Machine, name: m, uid: core, controller: false}]}}`, true},
		{"one that has a controller is not", `{metadata: {name: m, ownerReferences: [{kind: Machine, name: m, uid: core, controller: true}]}}`, false},
		{"nor one that is going", `{metadata: {name: m, deletionTimestamp: "2026-11-21T17:00:00Z"}}`, false},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Core: mirroringtest.Machine(t, `{metadata: {name: m, uid: core}}`),
			Infra: mirroringtest.Machine(t, c.infra)}
		before := len(pairs.OwnersWithout(s.Infra, s.Core))
		w := steps{State: s}.claimInfra()
		if (w != nil) != c.claimed {
			t.Errorf("%s: claimed: %t", c.sentence, w != nil)
		}
		if w == nil {
			continue
		}
		refs := w.Patch["metadata"].(map[string]any)["ownerReferences"].([]metav1.OwnerReference)
		if last := refs[len(refs)-1]; len(refs) != before+1 || last.UID != "core" || last.Controller == nil || !*last.Controller {
			t.Errorf("%s: owners %v", c.sentence, refs)
		}
	}
}
