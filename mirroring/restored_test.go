// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// While the gate was off, the autoscaler chose a Machine and made the set smaller, and the Machine API's set deleted that Machine's object. The object is
// recreated without the mark: Cluster API's set would end another Machine when it gets fewer replicas.
func TestTheAutoscalersChoiceOutlivesAMirrorThatIsRestored(t *testing.T) {
	const mark = "machine.openshift.io/delete-machine"
	entry := func(manager, second, key string) string {
		return fmt.Sprintf(`{manager: %s, operation: Update, apiVersion: machine.openshift.io/v1beta1, time: "2026-01-01T11:00:%sZ", fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:%s": {}}}}}`,
			manager, second, key)
	}
	mine := fmt.Sprintf(`{manager: %s, operation: Apply, apiVersion: machine.openshift.io/v1beta1, time: "2026-01-01T11:00:10Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:order": {}}}}`, ownership.Manager)
	for name, c := range map[string]struct {
		managers string
		since    string
		want     bool
	}{
		"the autoscaler marked it":     {mine + ", " + entry(authority.AutoscalerManager, "20", mark), "12:30:00", true},
		"somebody else did":            {mine + ", " + entry("kubectl", "20", mark), "12:30:00", false},
		"the gate was on all the time": {mine + ", " + entry(authority.AutoscalerManager, "20", mark), "11:00:00", false},
	} {
		t.Run(name, func(t *testing.T) {
			since, err := time.Parse(time.DateTime, "2026-01-01 "+c.since)
			if err != nil {
				t.Fatal(err)
			}
			const owner = `ownerReferences: [{kind: MachineSet, name: s, uid: set, controller: true}]`
			machine := func() *pairs.State {
				return &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Gate: authority.Migration{Since: since},
					Parent: authority.Parent{Authority: authority.ClusterAPI, MachineAPI: authority.Present, ClusterAPI: authority.Present},
					MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, uid: m, deletionTimestamp: "2026-01-01T12:00:00Z",
  finalizers: [sync.machine.openshift.io/finalizer], annotations: {`+mark+`: now}, managedFields: [`+c.managers+`], `+owner+`}, spec: {authoritativeAPI: ClusterAPI},
  status: {authoritativeAPI: ClusterAPI, synchronizedGeneration: 1}}`),
					Core: mirroringtest.Machine(t, `{metadata: {name: m, annotations: {poundlock.openshift.io/mirror-of: Machine/m}, `+owner+`}}`),
				}
			}
			if w := Next(machine(), time.Unix(0, 0)); marks(w) != c.want {
				t.Errorf("the Machine: %+v", w)
			}
			if name == "the gate was on all the time" {
				return // the Machine goes: its mark may come, too
			}
			scale := fmt.Sprintf(`{manager: %s, operation: Update, apiVersion: machine.openshift.io/v1beta1, time: "2026-01-01T11:00:20Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}`,
				authority.AutoscalerManager)
			set := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "s", MarkedMachines: []*pairs.State{machine()},
				MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: s, uid: set, managedFields: [`+mine+`, `+scale+`]}, spec: {replicas: 1},
  status: {authoritativeAPI: ClusterAPI, synchronizedGeneration: 1}}`),
				Core: mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: s, uid: core}, spec: {replicas: 2}}`)}
			if w := Next(set, time.Unix(0, 0)); marks(w) != c.want {
				t.Errorf("its set: %+v", w)
			}
		})
	}
}

func marks(w *pairs.Write) bool {
	return w != nil && isMachine(w.Object) && pairs.Under(w.Patch, "metadata", "annotations")["cluster.x-k8s.io/delete-machine"] != nil
}

func isMachine(o *unstructured.Unstructured) bool { return o.GetKind() == "Machine" }
