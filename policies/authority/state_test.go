// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
	. "github.com/poundlock/poundlock/policies/authority"
)

// TestCaughtUpWithWhatWasRecreated: an object of Cluster API's that was restored begins with generation 1, and status.synchronizedGeneration may not decrease.
// If a move back began before the mirror has seen an edit of the object, the edit would be lost. If it is an edit of replicas, for example, the Machine API's
// set would delete Machines.
func TestCaughtUpWithWhatWasRecreated(t *testing.T) {
	for name, c := range map[string]struct {
		record, synchronized, generation string
		want                             bool
	}{
		"the mirror was made from it":                                  {``, "7", "7", true},
		"it was edited since":                                          {``, "7", "8", false},
		"it was recreated, and the mirror was not made from it yet":    {``, "7", "1", false},
		"it was recreated, and the mirror was made from it":            {`new/1`, "7", "1", true},
		"it was recreated and edited":                                  {`new/1`, "7", "2", false},
		"the mirror was made from the edit":                            {`new/2`, "7", "2", true},
		"it was recreated once more":                                   {`former/2`, "7", "2", false},
		"it has had as many edits as the former one: no record counts": {`new/6`, "7", "7", true},
		"it has had more, and the mirror is made from the last":        {`new/6`, "8", "8", true},
	} {
		t.Run(name, func(t *testing.T) {
			kind, _ := KindNamed("MachineSet")
			annotation := ""
			if c.record != "" {
				annotation = `"` + CoreGenerationAnnotation + `":"` + c.record + `"`
			}
			o := Objects{Kind: kind, Enabled: true,
				MachineAPI: parsed(t, `{"metadata":{"annotations":{`+annotation+`}},"status":{"authoritativeAPI":"ClusterAPI","synchronizedGeneration":`+c.synchronized+`}}`),
				ClusterAPI: parsed(t, `{"metadata":{"uid":"new","generation":`+c.generation+`}}`)}
			if got := o.State().CaughtUp; got != c.want {
				t.Errorf("caught up: %t", got)
			}
		})
	}
}

// TestTheTemplateOfAnotherSet: a set may refer to the template that is the mirror of another set's, which the Machine API runs. Whether that template is paused
// does not matter for the first set.
func TestTheTemplateOfAnotherSet(t *testing.T) {
	kind, _ := KindNamed("MachineSet")
	for mark, want := range map[string]bool{"MachineSet/own": true, "MachineSet/other": false} {
		o := Objects{Kind: kind, Enabled: true,
			MachineAPI: parsed(t, `{"metadata":{"name":"own"},"status":{"authoritativeAPI":"ClusterAPI"}}`),
			Infra:      parsed(t, `{"metadata":{"annotations":{"`+PausedAnnotation+`":"","`+MirrorAnnotation+`":"`+mark+`"}}}`)}
		if got := o.State().Infra.PauseRequested; got != want {
			t.Errorf("the template of %s: its pause counts: %t", mark, got)
		}
	}
}

// TestARequestThatTheMirrorHasYetToLookAt: if somebody has deleted the provider's machine, the mirror reports InfrastructureNotFound until it has seen a
// request that does not need that machine. Until then a move waits for the mirror, and for no person.
func TestARequestThatTheMirrorHasYetToLookAt(t *testing.T) {
	kind, _ := KindNamed("Machine")
	for name, c := range map[string]struct {
		requested, reason, id string
		now, foreseen         string
	}{
		"no request":                      {"ClusterAPI", "InfrastructureNotFound", "aws:///i-1", ReasonTwinMissing, ReasonTwinMissing},
		"a request":                       {"MachineAPI", "InfrastructureNotFound", "aws:///i-1", ReasonCatchingUp, ReasonStarted},
		"a request without the ID":        {"MachineAPI", "InfrastructureNotFound", "", ReasonNotSynchronized, ReasonNotSynchronized},
		"a request that does not convert": {"MachineAPI", "FieldsNotConvertible", "aws:///i-1", ReasonNotSynchronized, ReasonNotSynchronized},
	} {
		t.Run(name, func(t *testing.T) {
			o := Objects{Kind: kind, Enabled: true,
				MachineAPI: parsed(t, `{"metadata":{"generation":2},"spec":{"authoritativeAPI":"`+c.requested+`","providerID":"`+c.id+`"},"status":{"authoritativeAPI":"ClusterAPI",`+
					`"synchronizedGeneration":1,"conditions":[{"type":"Synchronized","status":"False","reason":"`+c.reason+`"},{"type":"Paused","status":"True"}]}}`),
				ClusterAPI: parsed(t, `{"metadata":{"generation":1},"spec":{"providerID":"`+c.id+`"},"status":{"conditions":[{"type":"Paused","status":"False"}]}}`)}
			if step := Next(o.State()); step.Reason != c.now {
				t.Errorf("%s: %s", step.Reason, step.Message)
			}
			if step := Next(o.Foresee()); step.Reason != c.foreseen {
				t.Errorf("foreseen: %s: %s", step.Reason, step.Message)
			}
		})
	}
}

// TestDetachedFromASetThatOwnsIt: the collector only deletes Machines whose owner, a set, is gone.
func TestDetachedFromASetThatOwnsIt(t *testing.T) {
	const marked = `"annotations":{"poundlock.openshift.io/detached":"true"}`
	for name, c := range map[string]struct {
		metadata string
		want     bool
	}{
		"a set owns it": {marked + `,"ownerReferences":[{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","name":"s","uid":"s","controller":true}]`, true},
		"the collector has released it, as with --cascade=orphan": {marked, false},
		"a control plane's set owns it":                           {marked + `,"ownerReferences":[{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSet","name":"cluster","uid":"s","controller":true}]`, false},
		"a set owns it, which stays":                              {`"ownerReferences":[{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","name":"s","uid":"s","controller":true}]`, false},
	} {
		kind, _ := KindNamed("Machine")
		o := Objects{Kind: kind, Enabled: true, MachineAPI: parsed(t, `{"metadata":{`+c.metadata+`},"status":{"authoritativeAPI":"ClusterAPI"}}`)}
		if got := o.State().Detached; got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	kind, _ := KindNamed("Machine")
	if (Objects{Kind: kind, Enabled: true}).State().Detached {
		t.Error("an object that is gone is detached")
	}
}

// TestHoldersMatterWithoutTheProvidersMachine: the Machine API takes over such a Machine only by its ID, which another Machine may have, too.
func TestHoldersMatterWithoutTheProvidersMachine(t *testing.T) {
	kind, _ := KindNamed("Machine")
	o := Objects{Kind: kind, Enabled: true,
		MachineAPI: parsed(t, `{"metadata":{"generation":1},"spec":{"authoritativeAPI":"MachineAPI","providerID":"aws:///a/i-1"},"status":{"authoritativeAPI":"ClusterAPI","synchronizedGeneration":1,"conditions":[{"type":"Synchronized","status":"True"},{"type":"Paused","status":"True"}]}}`),
		ClusterAPI: parsed(t, `{"metadata":{"generation":1,"finalizers":["machine.cluster.x-k8s.io"]},"spec":{"providerID":"aws:///a/i-1"},"status":{"conditions":[{"type":"Paused","status":"False"}]}}`)}
	if s := o.State(); !s.HoldersMatter() || Next(s).Action != Acknowledge {
		t.Errorf("nobody asks for other Machines of the instance, or the move does not start: %+v", Next(s))
	}
	o.Holders = []string{"other"}
	if step := Next(o.State()); step.Action != Wait || step.Reason != ReasonInstanceShared {
		t.Errorf("the move starts although another Machine has the instance: %+v", step)
	}
}

// TestTheStrictestTwinOfACreation: a creation has no stored object to compare with.
func TestTheStrictestTwinOfACreation(t *testing.T) {
	twin := parsed(t, `{"metadata":{"name":"one"},"status":{"authoritativeAPI":"MachineAPI"}}`)
	for _, side := range []policies.Side{policies.SideClusterAPI, policies.SideInfrastructure} {
		c := policies.Change{Subject: policies.Subject{Side: side, Kind: "Machine", Name: "one"}, Operation: admissionv1.Create, New: parsed(t, `{"metadata":{"name":"one"}}`)}
		if got := Strictest(c, []*policies.Object{twin}); got != twin {
			t.Errorf("%s: %v", side, got)
		}
	}
}
