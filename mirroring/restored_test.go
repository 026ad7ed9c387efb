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

// carriedOut is an object after a write, nil: it is gone.
func carriedOut(t *testing.T, w *pairs.Write) *unstructured.Unstructured {
	t.Helper()
	o := w.Object.DeepCopy()
	if w.Verb == pairs.Remove {
		pairs.Put(o, "2026-11-21T17:00:00Z", "metadata", "deletionTimestamp")
	} else {
		o = mirroringtest.Object(t, afterPatch(t, o, w.Patch))
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		return nil
	}
	return o
}

func marks(w *pairs.Write) bool {
	return w != nil && isMachine(w.Object) && pairs.Under(w.Patch, "metadata", "annotations")["cluster.x-k8s.io/delete-machine"] != nil
}

func isMachine(o *unstructured.Unstructured) bool { return o.GetKind() == "Machine" }

// A backup is restored, Cluster API's objects first, and its set deletes the Machine API Machine at once: Cluster API's objects are paused and no longer
// marked. They are deleted with the Machine, and no step needs another actor.
func TestAMachineIsDeletedBeforeItsRestoredMirrorIsRecognized(t *testing.T) {
	const id = "aws:///a/i-1"
	for _, c := range []struct {
		sentence                string
		status, finalizers      string
		core, infra, annotation string
		ends                    bool
	}{
		{"authority is stored", "authoritativeAPI: MachineAPI", "sync.machine.openshift.io/finalizer", id, id, authority.PausedAnnotation, true},
		{"authority is not stored yet", "", "sync.machine.openshift.io/finalizer", id, id, authority.PausedAnnotation, true},
		{"without an infrastructure machine", "authoritativeAPI: MachineAPI", "sync.machine.openshift.io/finalizer", id, "", authority.PausedAnnotation, true},
		{"with other spellings of the ID", "authoritativeAPI: MachineAPI", "sync.machine.openshift.io/finalizer", "aws:///b/I-1", id + "/", authority.PausedAnnotation, true},
		{"Cluster API acts", "authoritativeAPI: MachineAPI", "sync.machine.openshift.io/finalizer", id, id, "a", false},
		{"of another instance", "authoritativeAPI: MachineAPI", "sync.machine.openshift.io/finalizer", id + "2", id + "2", authority.PausedAnnotation, false},
		{"its infrastructure machine has another instance", "authoritativeAPI: MachineAPI", "sync.machine.openshift.io/finalizer", id, id + "2", authority.PausedAnnotation, false},
		{"nothing keeps the Machine", "authoritativeAPI: MachineAPI", "a", id, id, authority.PausedAnnotation, false},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m",
				MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: mapi, uid: m, resourceVersion: "1",
  deletionTimestamp: "2026-01-01T12:00:00Z", finalizers: [`+c.finalizers+`]}, spec: {authoritativeAPI: MachineAPI, providerID: "`+id+`"}, status: {`+c.status+`}}`),
				Core: mirroringtest.Machine(t, `{metadata: {name: m, namespace: capi, uid: core, resourceVersion: "1", finalizers: [machine.cluster.x-k8s.io], annotations: {`+c.annotation+`: ""}},
  spec: {providerID: "`+c.core+`", infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: m}}}`)}
			if c.infra != "" {
				s.Infra = mirroringtest.Object(t, `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachine, metadata: {name: m, namespace: capi, uid: infra, resourceVersion: "1",
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, name: m, uid: core, controller: true}],
  finalizers: [awsmachine.infrastructure.cluster.x-k8s.io], annotations: {`+c.annotation+`: ""}}, spec: {providerID: "`+c.infra+`"}}`)
			}
			for range 20 {
				w := Next(s, time.Unix(0, 0))
				if w == nil || w.Object == s.MachineAPI {
					break
				}
				t.Log(w.Verb, pairs.Describe(w.Object), w.Note)
				if after := carriedOut(t, w); w.Object == s.Core {
					s.Core = after
				} else {
					s.Infra = after
				}
				if s.Core == nil && s.Infra != nil && s.Infra.GetDeletionTimestamp() == nil { // its owner is gone
					s.Infra = carriedOut(t, &pairs.Write{Verb: pairs.Remove, Object: s.Infra})
				}
			}
			if left := s.Core != nil || s.Infra != nil; left == c.ends {
				t.Errorf("left: %v, %v", s.Core, s.Infra)
			}
		})
	}
}
