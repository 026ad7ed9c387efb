// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
)

// TestAVerdictDoesNotOutliveAMove: Cluster API's check found a Machine unhealthy, the Machine moved to the Machine API, and its Node recovered. Cluster API's
// MachineSet deletes by the verdict, also a paused Machine, and the mirror would carry that deletion over to the Machine and its instance.
func TestAVerdictDoesNotOutliveAMove(t *testing.T) {
	const (
		judged = `{type: HealthCheckSucceeded, status: "False", reason: NodeNotReady}, {type: OwnerRemediated, status: "False", reason: WaitingForRemediation}`
		mark   = `poundlock.openshift.io/mirror-of: Machine/m`
		paused = mark + `, cluster.x-k8s.io/paused: "true"`
	)
	for _, c := range []struct {
		sentence, api, annotations string
		unchecked, forgotten       bool
	}{
		{"Machine API is authoritative", "MachineAPI", paused, false, true},
		{"Cluster API is authoritative: its set acts by it", "ClusterAPI", mark, false, false},
		{"Cluster API is authoritative: its set is paused, and no check acts any more", "ClusterAPI", mark, true, true},
		{"Cluster API is authoritative and yet to be released", "ClusterAPI", paused, false, false},
		{"what is not paused is still checked", "MachineAPI", mark, false, false},
		{"a stranger's", "MachineAPI", `cluster.x-k8s.io/paused: "true"`, true, false},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Unchecked: c.unchecked} // no Env: it does not convert
		s.MachineAPI = mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m}, status: {authoritativeAPI: `+
			c.api+`}}`)
		s.Core = mirroringtest.Machine(t, `{metadata: {name: m, annotations: {`+c.annotations+`}}, status: {conditions: [{type: Paused, status: "True"}, `+judged+`],
			deprecated: {v1beta1: {conditions: [{type: Ready, status: "True"}, `+judged+`]}}}}`)
		for range 3 {
			if w := Next(s, time.Now()); w != nil && w.Object == s.Core {
				s.Core = mirroringtest.Object(t, afterPatch(t, s.Core, w.Patch))
			}
		}
		var machine clusterv1.Machine
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.Core.Object, &machine); err != nil {
			t.Fatal(err)
		}
		if deletes := isUnhealthyAndOwnerRemediated(machine.Status.Conditions); deletes == c.forgotten {
			t.Errorf("%s: Cluster API's MachineSet deletes it: %t", c.sentence, deletes)
		}
		if old := machine.Status.Deprecated.V1Beta1.Conditions; c.forgotten && (len(machine.Status.Conditions) != 1 || len(old) != 1) {
			t.Errorf("%s: it has the conditions %v and %v, want what is not the check's", c.sentence, machine.Status.Conditions, old)
		}
	}
}

// isUnhealthyAndOwnerRemediated is what Cluster API's MachineSet asks (util/collections of its module): no pause keeps it from the deletion.
func isUnhealthyAndOwnerRemediated(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionFalse(conditions, clusterv1.MachineHealthCheckSucceededCondition) &&
		meta.IsStatusConditionFalse(conditions, clusterv1.MachineOwnerRemediatedCondition)
}
