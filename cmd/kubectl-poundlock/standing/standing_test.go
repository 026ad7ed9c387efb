// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package standing_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/policies/authority"
)

func read(t *testing.T, spec, current, conditions string) standing.Standing {
	t.Helper()
	text := fmt.Sprintf(
		`{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a"},"spec":{"authoritativeAPI":%q},"status":{"authoritativeAPI":%q,"synchronizedAPI":"MachineAPI","conditions":[%s]}}`,
		spec, current, conditions)
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(text), authority.Pairs{inventory.DefaultPair})
	if err != nil {
		t.Fatal(err)
	}
	return standing.Of(f.Pairs[0])
}

func TestOf(t *testing.T) {
	const settled, waits, wrong = `{"type":"AuthoritySettled","status":"True","reason":"Settled"}`,
		`{"type":"AuthoritySettled","status":"False","reason":"WaitingForPause","message":"m"}`,
		`{"type":"Synchronized","status":"False","reason":"FieldsNotConvertible","message":"f"}`
	for sentence, c := range map[string]struct {
		spec, status, conditions string
		moving, there            bool
		reason                   string
	}{
		"at rest":                                {"ClusterAPI", "ClusterAPI", settled, false, true, ""},
		"asked for, and not looked at":           {"ClusterAPI", "MachineAPI", settled, true, false, "Requested"},
		"on the move":                            {"ClusterAPI", "Migrating", waits, true, false, "WaitingForPause"},
		"switched, and not settled":              {"ClusterAPI", "ClusterAPI", waits, false, false, "WaitingForPause"},
		"out of step":                            {"MachineAPI", "MachineAPI", settled + "," + wrong, false, false, "FieldsNotConvertible"},
		"a move comes before the mirror":         {"ClusterAPI", "MachineAPI", waits + "," + wrong, true, false, "WaitingForPause"},
		"the mirror has why its twin is missing": {"ClusterAPI", "ClusterAPI", `{"type":"AuthoritySettled","status":"False","reason":"TwinMissing"},` + wrong, false, false, "FieldsNotConvertible"},
		"nobody has looked at it":                {"MachineAPI", "", "", false, false, ""},
	} {
		s := read(t, c.spec, c.status, c.conditions)
		if s.Moving() != c.moving || s.At(authority.ClusterAPI) != c.there || s.Reason != c.reason {
			t.Errorf("%s: %+v", sentence, s)
		}
	}
}

// Providers acknowledge in different ways; a person reads one column.
func TestWhatAProviderReports(t *testing.T) {
	for sentence, c := range map[string]struct {
		kind, annotations, conditions string
		want                          metav1.ConditionStatus
	}{
		"by the condition":             {"AWSMachine", ``, `{"type":"Paused","status":"True"}`, "True"},
		"not at all":                   {"AWSMachine", ``, ``, ""},
		"by an annotation, as Azure's": {"AzureMachine", `"clusterctl.cluster.x-k8s.io/block-move":""`, ``, "False"},
		"never, as GCP's":              {"GCPMachine", `"cluster.x-k8s.io/paused":""`, ``, "True"},
	} {
		core := fmt.Sprintf(
			`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","namespace":"openshift-cluster-api"},"spec":{"infrastructureRef":{"kind":%q,"name":"a","apiGroup":"infrastructure.cluster.x-k8s.io"}}}`, c.kind)
		infra := fmt.Sprintf(
			`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":%q,"metadata":{"name":"a","namespace":"openshift-cluster-api","annotations":{%s}},"status":{"conditions":[%s]}}`,
			c.kind, c.annotations, c.conditions)
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(core+"\n---\n"+infra), authority.Pairs{inventory.DefaultPair})
		if err != nil {
			t.Fatal(err)
		}
		if got := standing.Of(f.Pairs[0]).Paused.Infrastructure; got != c.want {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
}

// An object that only Cluster API has waits for a person alone: it is paused, and is being deleted.
func TestADeletionThatDoesNotEnd(t *testing.T) {
	const paused, deleting, held = `"annotations":{"cluster.x-k8s.io/paused":""}`, `"deletionTimestamp":"2026-01-01T00:00:00Z"`, `"finalizers":["machine.cluster.x-k8s.io"]`
	for sentence, c := range map[string]struct{ metadata, beside, want string }{
		"paused and being deleted": {paused + "," + deleting + "," + held, "", "DeletionPaused"},
		"being deleted":            {deleting + "," + held, "", ""},
		"paused":                   {paused + "," + held, "", ""},
		"mirrored": {paused + "," + deleting + "," + held,
			`{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a"},"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"MachineAPI"}}`, ""},
	} {
		core := fmt.Sprintf(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","namespace":"openshift-cluster-api",%s},"spec":{"providerID":"aws:///a/i-1"}}`,
			c.metadata)
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(core+"\n---\n"+c.beside), authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatal(sentence, err, len(f.Pairs))
		}
		s := standing.Of(f.Pairs[0])
		if s.Reason != c.want || strings.Contains(s.Message, "terminate its instance aws:///a/i-1, remove the annotation") != (c.want != "") || s.Since.IsZero() != (c.want == "") {
			t.Errorf("%s: %+v", sentence, s)
		}
	}
}

// A healthy Machine whose mirror is deleted with its namespace is not being deleted itself.
func TestWhichOfAPairIsBeingDeleted(t *testing.T) {
	const mapi = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","namespace":"openshift-machine-api"%s},` +
		`"spec":{"authoritativeAPI":%[2]q},"status":{"authoritativeAPI":%[2]q}}`
	const capi = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","namespace":"openshift-cluster-api"%s},"spec":{}}`
	const going = `,"deletionTimestamp":"2026-01-01T00:00:00Z"`
	for sentence, c := range map[string]struct {
		api              authority.API
		mapi, capi       string
		deleting, mirror bool
	}{
		"neither":                       {authority.MachineAPI, "", "", false, false},
		"the mirror in Cluster API":     {authority.MachineAPI, "", going, true, true},
		"Machine API's own":             {authority.MachineAPI, going, "", true, false},
		"both":                          {authority.MachineAPI, going, going, true, false},
		"the mirror in the Machine API": {authority.ClusterAPI, going, "", true, true},
		"Cluster API's own":             {authority.ClusterAPI, "", going, true, false},
	} {
		text := fmt.Sprintf(mapi, c.mapi, c.api) + "\n---\n" + fmt.Sprintf(capi, c.capi)
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(text), authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatalf("%s: %v", sentence, err)
		}
		if s := standing.Of(f.Pairs[0]); s.Deleting != c.deleting || s.MirrorDeleting != c.mirror {
			t.Errorf("%s: %+v", sentence, s)
		}
	}
}

// A Machine that a set of Cluster API made before Poundlock came back, or that was a mirror, may have no Machine API object for a while, or for ever.
func TestAPausedMachineOfASetWithoutAMachineAPIObject(t *testing.T) {
	const machine = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: a, namespace: openshift-cluster-api, annotations: {%s},
		ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: %s, name: s, uid: u, controller: true}]}, spec: {clusterName: c}}`
	for sentence, c := range map[string]struct{ annotations, owner, reason string }{
		"it is paused":                       {`cluster.x-k8s.io/paused: ""`, "MachineSet", authority.ReasonTwinMissing},
		"it acts, and gets its twin":         {"", "MachineSet", ""},
		"it is Cluster API's own, and alone": {`cluster.x-k8s.io/paused: ""`, "KubeadmControlPlane", ""},
	} {
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(fmt.Sprintf(machine, c.annotations, c.owner)), authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatal(err, f.Problems)
		}
		s := standing.Of(f.Pairs[0])
		if s.Reason != c.reason || c.reason != "" &&
			!strings.Contains(s.Message, "kubectl -n openshift-cluster-api annotate machines.cluster.x-k8s.io a cluster.x-k8s.io/paused-") {
			t.Errorf("%s: %s %q", sentence, s.Reason, s.Message)
		}
	}
}

// What a deletion waits for is in the conditions of the object whose controller ends the instance.
func TestWhatADeletionWaitsFor(t *testing.T) {
	const going = `"deletionTimestamp":"2026-01-01T00:00:00Z"`
	const mapi = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","namespace":"openshift-machine-api",` + going +
		`},"spec":{"authoritativeAPI":%[1]q},"status":{"authoritativeAPI":%[1]q,"conditions":[%[2]s]}}`
	const capi = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","namespace":"openshift-cluster-api",` + going +
		`},"spec":{},"status":{"conditions":[%s]}}`
	const held = `{"type":"Drainable","status":"False","reason":"HookPresent","message":"Drain operation currently blocked by: [{Name:a Owner:b}]"}`
	const waits = `{"type":"Deleting","status":"True","reason":"WaitingForPreDrainHook","message":"Waiting for pre-drain hooks to complete (hooks: a)"}`
	const unmirrored = `{"type":"Synchronized","status":"False","reason":"FieldsNotConvertible","message":"metadata.x: no","lastTransitionTime":"2026-01-01T00:00:00Z"}`
	const not = `{"type":"Deleting","status":"False","reason":"NotDeleting"}`
	for sentence, c := range map[string]struct {
		api                                   authority.API
		mapi, capi, wantReason, wantInMessage string
	}{
		"Machine API waits for a hook": {
			authority.MachineAPI, held, "", "HookPresent", "Machine API is deleting this Machine. Drain operation currently blocked by",
		},
		"Machine API waits for nothing": {
			authority.MachineAPI, `{"type":"Drainable","status":"True"}`, waits, "", "",
		},
		"Cluster API waits for a hook": {
			authority.ClusterAPI, held, waits, "WaitingForPreDrainHook", "Cluster API is deleting this Machine. Waiting for pre-drain hooks",
		},
		"Cluster API's controller does not begin": {
			authority.ClusterAPI, "", not, "DeletionNotBegun", "The controller's log has the reason",
		},
		"Cluster API reports nothing": {
			authority.ClusterAPI, held, "", "", "",
		},
		"Machine API waits for a hook, and a move that was asked for does not start": {
			authority.MachineAPI, held + `,{"type":"AuthoritySettled","status":"False","reason":"DeletionInProgress","message":"The move does not start","lastTransitionTime":"2026-01-01T00:00:00Z"}`,
			"", "HookPresent", "[{Name:a Owner:b}] The move does not start",
		},
		"Cluster API waits for a hook, and the Machine does not convert": {
			authority.ClusterAPI, unmirrored, waits, "WaitingForPreDrainHook", "(hooks: a) metadata.x: no",
		},
	} {
		text := fmt.Sprintf(mapi, c.api, c.mapi) + "\n---\n" + fmt.Sprintf(capi, c.capi)
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(text), authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatalf("%s: %v", sentence, err)
		}
		if s := standing.Of(f.Pairs[0]); s.Reason != c.wantReason || !strings.Contains(s.Message, c.wantInMessage) || s.Since.IsZero() != (c.wantReason == "") {
			t.Errorf("%s: %+v", sentence, s)
		}
	}
}

// A Cluster API MachineSet whose Machine API MachineSet was deleted reports that in a condition of its own.
func TestASetWhoseMachineAPISetWasDeleted(t *testing.T) {
	const set = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: a, namespace: openshift-cluster-api}, spec: {clusterName: c},
		status: {conditions: [{type: MirroredInMachineAPI, status: %q, reason: MachineSetDeleted, message: m, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`
	for status, reason := range map[string]string{"False": "MachineSetDeleted", "True": ""} {
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(fmt.Sprintf(set, status)), authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatal(err, f.Problems)
		}
		if s := standing.Of(f.Pairs[0]); s.Reason != reason || s.Since.IsZero() != (reason == "") || s.Namespace != "openshift-cluster-api" {
			t.Errorf("%s: %+v", status, s)
		}
	}
}

// The API that is authoritative for a Machine reports that its cloud refuses an instance; the mirror's conditions are copies.
func TestAMachineWithoutAnInstance(t *testing.T) {
	const mapi = `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a, namespace: openshift-machine-api}, spec: {authoritativeAPI: %[1]s},
		status: {authoritativeAPI: %[1]s, phase: %[2]s, errorMessage: no capacity, conditions: [{type: MachineCreated, status: %[3]q, reason: MachineCreationFailed, message: no capacity}]}}`
	const capi = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: a, namespace: openshift-cluster-api}, spec: {clusterName: c},
		status: {conditions: [{type: InfrastructureReady, status: %q, reason: %s, message: no capacity}]}}`
	for sentence, c := range map[string]struct {
		api                   authority.API
		phase, created        string
		ready, infrastructure string
		reason, says          string
	}{
		"Cluster API's, which the cloud refuses":     {authority.ClusterAPI, "Provisioning", "True", "False", "InstanceProvisionFailed", "InstanceProvisionFailed", "Cluster API reports"},
		"Cluster API's, on its way":                  {authority.ClusterAPI, "Provisioning", "True", "False", "WaitingForBootstrapData", "", ""},
		"Cluster API's, and it runs":                 {authority.ClusterAPI, "Running", "True", "True", "Ready", "", ""},
		"Cluster API's, and the mirror says so":      {authority.ClusterAPI, "Running", "False", "True", "Ready", "", ""},
		"Machine API's, which the cloud refuses":     {authority.MachineAPI, "Provisioning", "False", "True", "Ready", "MachineCreationFailed", "Machine API reports"},
		"Machine API's, and the mirror says so":      {authority.MachineAPI, "Running", "True", "False", "InstanceProvisionFailed", "", ""},
		"Machine API's, and it has failed":           {authority.MachineAPI, "Failed", "True", "True", "Ready", "Failed", "(phase): no capacity"},
		"only Cluster API has it, the cloud refuses": {authority.Unset, "", "", "False", "VMProvisionFailed", "VMProvisionFailed", "Cluster API reports"},
	} {
		text := fmt.Sprintf(capi, c.ready, c.infrastructure)
		if c.api != authority.Unset {
			text += "\n---\n" + fmt.Sprintf(mapi, c.api, c.phase, c.created)
		}
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(text), authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatal(sentence, err, f.Problems)
		}
		s := standing.Of(f.Pairs[0]).Troubled(f.Pairs[0])
		if s.Reason != c.reason || !strings.Contains(s.Message, c.says) || c.reason != "" && !strings.Contains(s.Message, "no capacity") {
			t.Errorf("%s: %q %q", sentence, s.Reason, s.Message)
		}
	}
}

// A condition may have no message: what it means, and where more is said, is not left out with it.
func TestTroubleWithoutAMessage(t *testing.T) {
	const machine = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: m, namespace: openshift-cluster-api}
spec: {clusterName: c, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: m}}
status: {conditions: [{type: InfrastructureReady, status: "False", reason: InstanceTerminated, message: ""}]}
`
	const without = "Cluster API reports that this Machine has no instance (InfrastructureReady), without a message. `kubectl poundlock explain " +
		"InstanceTerminated` explains this reason"
	for text, want := range map[string]string{
		machine: without,
		machine + "---\n{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachine, metadata: {name: m, namespace: openshift-cluster-api}}": without +
			". To see the provider's report: kubectl -n openshift-cluster-api describe awsmachine.infrastructure.cluster.x-k8s.io m",
	} {
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(text), authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatal(err, f.Problems)
		}
		if s := standing.Of(f.Pairs[0]).Troubled(f.Pairs[0]); s.Message != want {
			t.Errorf("got  %q\nwant %q", s.Message, want)
		}
	}
}
