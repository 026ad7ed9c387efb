// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestWhatIsConcededToTheSetThatPropagates(t *testing.T) {
	all := `{"f:metadata": {"f:labels": {"f:role": {}}, "f:annotations": {"f:note": {}}}, "f:spec": {"f:clusterName": {}, "f:taints": {}, "f:bootstrap": {"f:dataSecretName": {}}}}`
	live := func(manager string) string {
		return `{metadata: {labels: {role: infra}, annotations: {note: theirs}, ownerReferences: [{kind: MachineSet, name: worker-a, uid: set, controller: true}], managedFields: [` +
			manager + `]}, spec: {clusterName: theirs, taints: [{key: t}], bootstrap: {dataSecretName: new}}}`
	}
	want := `{metadata: {labels: {role: worker}, annotations: {note: ours}}, spec: {clusterName: ours, taints: [{key: o}], bootstrap: {dataSecretName: old}}}`
	for _, c := range []struct {
		sentence   string
		live, want string
		inCharge   authority.API
		after      string
	}{
		{"what the set has another value for is the set's, and the rest is not", live(mirroringtest.Manager("capi-machineset", "Apply", all)), want, authority.ClusterAPI, `{metadata: {labels: {}, annotations: {}}, spec: {clusterName: ours, bootstrap: {}}}`},
		{"so it is on an infrastructure machine, which another manager writes", live(mirroringtest.Manager("capi-machineset-metadata", "Apply", `{"f:metadata": {"f:labels": {"f:role": {}}}}`)), want, authority.ClusterAPI,
			`{metadata: {labels: {}, annotations: {note: ours}}, spec: {clusterName: ours, taints: [{key: o}], bootstrap: {dataSecretName: old}}}`},
		{"what both say alike stays the mirror's too", live(mirroringtest.Manager("capi-machineset", "Apply", all)), `{metadata: {labels: {role: infra}}, spec: {taints: [{key: t}]}}`, authority.ClusterAPI,
			`{metadata: {labels: {role: infra}}, spec: {taints: [{key: t}]}}`},
		{"a set that is not authoritative is conceded nothing", live(mirroringtest.Manager("capi-machineset", "Apply", all)), want, authority.MachineAPI, want},
		{"nor is anybody else", live(mirroringtest.Manager("kubectl", "Apply", all)), want, authority.ClusterAPI, want},
		{"nor one that writes under the set's name without applying", live(mirroringtest.Manager("capi-machineset", "Update", all)), want, authority.ClusterAPI, want},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Core: mirroringtest.Machine(t, c.live), Parents: map[authority.API]*unstructured.Unstructured{
			authority.ClusterAPI: mirroringtest.Machine(t, `{metadata: {name: worker-a, uid: set}}`),
			authority.MachineAPI: mirroringtest.Machine(t, fmt.Sprintf(`{metadata: {name: worker-a}, spec: {authoritativeAPI: %[1]s}, status: {authoritativeAPI: %[1]s}}`, c.inCharge)),
		}}
		got, keep := concede(s, mirroringtest.Machine(t, c.want), s.Core)
		if diff := cmp.Diff(mirroringtest.Machine(t, c.after).Object, got.Object); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
		if conceding := len(keep) > 0; conceding != (c.inCharge == authority.ClusterAPI) {
			t.Errorf("%s: keeps %v", c.sentence, keep)
		}
	}
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
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Core: mirroringtest.Machine(t, `{metadata: {name: m, uid: core}}`), Infra: mirroringtest.Machine(t, c.infra)}
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
