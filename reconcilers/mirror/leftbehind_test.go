// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

// TestWhatAMoveLeavesBehind moves a Machine that has failed in the Machine API. A Machine API check deletes a mirror that it selects and that has failed, and
// with it the instance. Here it selects by a label that only Cluster API's Machine has, which comes to the mirror with the first pass after the move.
func TestWhatAMoveLeavesBehind(t *testing.T) {
	stories.Long(t)
	w := &twins{twinsWorld(t), authority.Kinds()[0]}
	const name = "failed"
	w.adopt(t, name, authority.MachineAPI)
	w.mirrored(t, name, 0)
	w.patch(t, w.core(t, name), "", `{"metadata":{"labels":{"checked":"yes"}}}`)
	w.patch(t, w.mapi(t, name), "status",
		`{"status":{"phase":"Failed","errorReason":"InvalidConfiguration","errorMessage":"no quota","lastUpdated":"2026-01-01T00:00:00Z"}}`)
	fails := func(o, infra *unstructured.Unstructured) bool {
		return text(o, "status", "phase") == "Failed" && text(o, "status", "lastUpdated") != "" &&
			text(o, "status", "deprecated", "v1beta1", "failureReason") != "" && text(infra, "status", "failureMessage") != ""
	}
	reports := func(want bool) {
		t.Helper()
		w.eventually(t, "what Cluster API's objects report", func() string {
			o, infra := w.core(t, name), w.get(t, awsMachine, capi, name)
			some := text(o, "status", "phase") == "Failed" || text(o, "status", "lastUpdated") != "" ||
				text(o, "status", "deprecated", "v1beta1", "failureReason")+text(infra, "status", "failureMessage") != ""
			if want != fails(o, infra) || want != some {
				return show(o) + show(infra)
			}
			return ""
		})
	}
	reports(true)
	migrating := `{"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"}}`
	w.patch(t, w.mapi(t, name), "status", migrating)
	reports(false)
	w.patch(t, w.mapi(t, name), "status", `{"status":{"authoritativeAPI":"MachineAPI"}}`)
	reports(true) // the move is cancelled
	w.patch(t, w.mapi(t, name), "", `{"spec":{"authoritativeAPI":"ClusterAPI"}}`)
	w.patch(t, w.mapi(t, name), "status", migrating)
	reports(false)
	w.patch(t, w.mapi(t, name), "status", `{"status":{"phase":null,"errorReason":null,"errorMessage":null,"lastUpdated":null}}`) // as the handoff does, in one patch with the switch
	w.switchTo(t, w.kind.MachineAPIGVK(), name, authority.ClusterAPI)
	w.eventually(t, "mirrored from Cluster API, with its label", func() string {
		o := w.mapi(t, name)
		if phase := text(o, "status", "phase"); phase != "" || text(o, "status", "errorMessage") != "" || text(o, "status", "lastUpdated") != "" {
			t.Fatalf("what was left behind has come back: %s", show(o))
		}
		if o.GetLabels()["checked"] != "yes" {
			return show(o)
		}
		return w.unsynced(t, w.kind.MachineAPIGVK(), name)
	})
	w.patch(t, w.core(t, name), "", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	w.patch(t, w.core(t, name), "status", `{"status":{"phase":"Provisioning","lastUpdated":"2026-02-02T00:00:00Z"}}`)
	w.eventually(t, "what Cluster API's controllers find", func() string {
		if o := w.mapi(t, name); text(o, "status", "phase") != "Provisioning" || text(o, "status", "lastUpdated") != "2026-02-02T00:00:00Z" {
			return show(o)
		}
		return ""
	})
	w.quietFor(t, 10)
}

// TestChecksOfClusterAPICountFromTheInfrastructure: a check of Cluster API's counts the start of a Machine from its creation until its infrastructure is ready,
// and the mirror of a Machine that moves without an instance may be old.
func TestChecksOfClusterAPICountFromTheInfrastructure(t *testing.T) {
	stories.Long(t)
	w := &twins{twinsWorld(t), authority.Kinds()[0]}
	const name = "born-late"
	w.adopt(t, name, authority.MachineAPI)
	w.mirrored(t, name, 0)
	spared := func(want string) {
		t.Helper()
		w.eventually(t, "what spares the Machine of Cluster API's", func() string {
			if o := w.core(t, name); o.GetAnnotations()[authority.SparedAnnotation] != want {
				return show(o)
			}
			return ""
		})
	}
	spared("")
	migrating := `{"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"}}`
	w.patch(t, w.mapi(t, name), "status", migrating)
	spared(authority.SparedUntilReady)
	w.patch(t, w.mapi(t, name), "status", `{"status":{"authoritativeAPI":"MachineAPI"}}`)
	spared("") // the move is cancelled
	w.patch(t, w.mapi(t, name), "", `{"spec":{"authoritativeAPI":"ClusterAPI"}}`)
	w.patch(t, w.mapi(t, name), "status", migrating)
	spared(authority.SparedUntilReady)
	w.switchTo(t, w.kind.MachineAPIGVK(), name, authority.ClusterAPI)
	w.eventually(t, "mirrored from Cluster API", func() string { return w.unsynced(t, w.kind.MachineAPIGVK(), name) })
	w.patch(t, w.core(t, name), "", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	w.quietFor(t, 10)
	spared(authority.SparedUntilReady)
	if value, has := w.mapi(t, name).GetAnnotations()[authority.SparedAnnotation]; has {
		t.Errorf("the Machine API's Machine has it, too: %q", value)
	}
	w.patch(t, w.core(t, name), "status", `{"status":{"conditions":[{"type":"InfrastructureReady","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-02-02T00:00:00Z"}]}}`)
	spared("")
	w.quietFor(t, 10)
}
