// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package twin

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

func TestNamesThatAreNotMirrored(t *testing.T) {
	const from = `{metadata: {labels: {team: a, cluster.x-k8s.io/set-name: s, app.kubernetes.io/instance: fleet, kustomize.toolkit.fluxcd.io/name: fleet, applyset.kubernetes.io/part-of: x, velero.io/backup-name: b}, annotations: {note: noted, argocd.argoproj.io/tracking-id: x, hive.openshift.io/x: "y"}}}`
	for _, c := range []struct {
		sentence, set, want string
	}{
		{"what is somebody's stays where it is", ``, `{metadata: {labels: {team: a}, annotations: {note: noted}}}`},
		{"but for the label by which a set selects the Machine", `{spec: {selector: {matchLabels: {app.kubernetes.io/instance: fleet}}}}`,
			`{metadata: {labels: {team: a, app.kubernetes.io/instance: fleet}, annotations: {note: noted}}}`},
		{"in whichever words it does", `{spec: {selector: {matchExpressions: [{key: team, operator: Exists}, {key: velero.io/backup-name, operator: Exists}]}}}`,
			`{metadata: {labels: {team: a, velero.io/backup-name: b}, annotations: {note: noted}}}`},
		{"so does the label by which Cluster API's set finds its Machines, where the set has no other", `{spec: {selector: {matchLabels: {cluster.x-k8s.io/set-name: s}}}}`,
			`{metadata: {labels: {team: a, cluster.x-k8s.io/set-name: s}, annotations: {note: noted}}}`},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Parents: map[authority.API]*unstructured.Unstructured{authority.MachineAPI: nil}}
		if c.set != "" {
			s.Parents[authority.MachineAPI] = mirroringtest.Machine(t, c.set)
		}
		got := Of(s).bare(mirroringtest.Machine(t, from), "v1", "K", "n")
		want := mirroringtest.Machine(t, c.want)
		want.SetAPIVersion("v1")
		want.SetKind("K")
		want.SetNamespace("n")
		if diff := cmp.Diff(want.Object, got.Object); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
	}
}

func TestNamesThatTheMirrorLeaves(t *testing.T) {
	const ours = `managedFields: [{manager: poundlock-mirror, operation: Apply, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:hive.openshift.io/managed": {}, "f:team": {}}}}}]`
	for _, c := range []struct {
		sentence, kind, live, want, after string
	}{
		{"a set's size is its provider's word", "MachineSet", `{metadata: {annotations: {machine.openshift.io/vCPU: "8"}}}`,
			`{metadata: {annotations: {machine.openshift.io/vCPU: "4", machine.openshift.io/memoryMb: "1"}}}`,
			`{metadata: {annotations: {machine.openshift.io/vCPU: "8", machine.openshift.io/memoryMb: "1"}}}`},
		{"so is a Machine's zone", "Machine", `{metadata: {labels: {machine.openshift.io/zone: b}}}`, `{metadata: {labels: {machine.openshift.io/zone: a}}}`, `{metadata: {labels: {machine.openshift.io/zone: b}}}`},
		{"of a set it is a name like others", "MachineSet", `{metadata: {labels: {machine.openshift.io/zone: b}}}`, `{metadata: {labels: {machine.openshift.io/zone: a}}}`, `{metadata: {labels: {machine.openshift.io/zone: a}}}`},
		{"limits are carried over, and follow the authority", "MachineSet", `{metadata: {annotations: {machine.openshift.io/cluster-api-autoscaler-node-group-min-size: "3"}}}`,
			`{metadata: {annotations: {machine.openshift.io/cluster-api-autoscaler-node-group-min-size: "1"}}}`,
			`{metadata: {annotations: {machine.openshift.io/cluster-api-autoscaler-node-group-min-size: "1"}}}`},
		{"what the mirror once copied is not taken away", "MachineSet", `{metadata: {labels: {hive.openshift.io/managed: "true", team: a}, ` + ours + `}}`, `{metadata: {}}`, `{metadata: {labels: {hive.openshift.io/managed: "true"}}}`},
		{"there is no object yet", "MachineSet", ``, `{metadata: {annotations: {machine.openshift.io/vCPU: "4"}}}`, `{metadata: {annotations: {machine.openshift.io/vCPU: "4"}}}`},
	} {
		s, want := &pairs.State{Kind: mirroringtest.Kind(t, c.kind)}, mirroringtest.Machine(t, c.want)
		if c.live != "" {
			s.MachineAPI = mirroringtest.Machine(t, c.live)
		}
		Of(s).leave(want)
		if diff := cmp.Diff(mirroringtest.Machine(t, c.after).Object, want.Object); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
	}
}

// TestManyNamesAreLeftQuickly: the managed fields are not read once for each name.
func TestManyNamesAreLeftQuickly(t *testing.T) {
	annotations, owned := map[string]string{}, map[string]any{}
	for i := range 5000 {
		name := "argocd.argoproj.io/x" + strconv.Itoa(i)
		annotations[name], owned["f:"+name] = "v", map[string]any{}
	}
	fields, err := json.Marshal(map[string]any{"f:metadata": map[string]any{"f:annotations": owned}})
	if err != nil {
		t.Fatal(err)
	}
	live, want := mirroringtest.Machine(t, `{}`), mirroringtest.Machine(t, `{}`)
	live.SetAnnotations(annotations)
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: ownership.Manager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(string(fields))}})
	began := time.Now()
	Of(&pairs.State{Kind: mirroringtest.Kind(t, "Machine"), MachineAPI: live}).leave(want)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it takes %v", took)
	}
	if n := len(want.GetAnnotations()); n != len(annotations) {
		t.Errorf("%d annotations are left", n)
	}
}

// TestTheMirrorRecordsWhatWasRecreated: status.synchronizedGeneration may not decrease, so it does not show that the mirror was made from a restored object.
func TestTheMirrorRecordsWhatWasRecreated(t *testing.T) {
	for generation, want := range map[int64]string{1: "new/1", 6: "new/6", 7: "", 8: ""} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "m"}
		s.MachineAPI = mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: m}, status: {authoritativeAPI: ClusterAPI, synchronizedGeneration: 7}}`)
		s.Core = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: m, uid: new}}`)
		s.Core.SetGeneration(generation)
		got := Of(s).WantMachineAPI(mirroringtest.Object(t, `{spec: {}}`)).GetAnnotations()[authority.CoreGenerationAnnotation]
		if got != want {
			t.Errorf("generation %d: %q, want %q", generation, got, want)
		}
	}
}

// TestEachNameIsLeftOutByOneList: three lists keep names from being copied, because they mean three things. A conversion leaves out what describes the object
// and not the machine (core.stays). The mirror leaves out what a tool recognizes its object by (authority.Theirs), in both directions. And on the
// Machine API's side the mirror keeps what a controller there writes, whichever API is authoritative (authority.LeftAlone). So no name is in the second and
// another, and what is written to a MachineSet of the Machine API and not copied from it is in the third: else a mirror there would lose it.
func TestEachNameIsLeftOutByOneList(t *testing.T) {
	for _, kind := range []string{"Machine", "MachineSet", "MachineHealthCheck"} {
		leftAlone := slices.Concat(authority.LeftAlone(kind, "metadata.annotations"), authority.LeftAlone(kind, "metadata.labels"))
		names := slices.Concat(leftAlone, tools(), machineapi.AutoscalerOperatorAnnotations())
		copied := copiedByConversion(t, names)
		for _, name := range names {
			switch theirs, left := authority.Theirs(name), slices.Contains(leftAlone, name); {
			case theirs && left:
				t.Errorf("%s: %s is a tool's (authority.Theirs), and a controller's of the Machine API (authority.LeftAlone)", kind, name)
			case theirs && !slices.Contains(copied, name):
				t.Errorf("%s: %s is a tool's (authority.Theirs), and the conversion leaves it out as well: one of both lists is enough", kind, name)
			case kind == "MachineSet" && !theirs && !left && !slices.Contains(copied, name):
				t.Errorf("%s: the conversion leaves %s out, and the mirror in the Machine API does not keep it (authority.LeftAlone)", kind, name)
			}
		}
	}
}

// tools are names of authority.TheirNames, a domain with a name in it.
func tools() []string {
	var out []string
	for _, name := range authority.TheirNames() {
		if strings.HasSuffix(name, "/") {
			name += "x"
		}
		out = append(out, name)
	}
	return out
}

// copiedByConversion are the annotations that a conversion to Cluster API copies. They are the same for each kind; that of a check needs no platform.
func copiedByConversion(t *testing.T, names []string) []string {
	t.Helper()
	check := mirroringtest.Machine(t, `{metadata: {name: check, namespace: m}, spec: {selector: {matchLabels: {a: b}}, unhealthyConditions: [{type: Ready, status: "False", timeout: 300s}]}}`)
	annotations := map[string]string{}
	for _, name := range names {
		annotations[name] = "x"
	}
	check.SetAnnotations(annotations)
	check.SetAPIVersion("machine.openshift.io/v1beta1")
	check.SetKind("MachineHealthCheck")
	twin, errs := core.ToClusterAPI("MachineHealthCheck", check, conversion.Env{ClusterName: "c", MachineAPINamespace: "m", ClusterAPINamespace: "n"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return slices.Collect(maps.Keys(twin.Core.GetAnnotations()))
}
