// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestAnInstanceInFlight tests each provider under the account that its controllers have in a cluster. If the provider has asked the cloud for an instance when
// a move back begins, its controller may store the instance's ID until it acknowledges its pause. A provider without an account of its own counts as anybody,
// and is refused. So a move begins only when both APIs know the instance of the Machine, and then no instance is in flight.
func TestAnInstanceInFlight(t *testing.T) {
	const namespace = "system:serviceaccount:openshift-cluster-api:"
	var without []string
	for _, p := range authority.Providers() {
		actor := authority.OpenShiftIdentities().Actor(namespace + cmp.Or(p.Account, "default"))
		if p.Account == "" {
			without = append(without, p.Machine)
		}
		object := func(spec string) *policies.Object {
			return parse(t, fmt.Sprintf(`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":%q,"metadata":{"name":"x","annotations":{"poundlock.openshift.io/mirror-of":"Machine/x","cluster.x-k8s.io/paused":"true",%q:"true"}},"spec":{%s}}`,
				p.Machine, authority.BlockMoveAnnotation, spec)) // Azure's provider acts while its machine has that annotation
		}
		machine := func(authoritative, spec string) *policies.Object {
			return parse(t, fmt.Sprintf(`{"metadata":{"name":"x","uid":"u"},"spec":{"authoritativeAPI":"MachineAPI"%s},"status":{"authoritativeAPI":%q,"synchronizedAPI":"ClusterAPI","synchronizedGeneration":0,`+
				`"conditions":[{"type":"Synchronized","status":"True"},{"type":"Paused","status":"True"}]}}`, spec, authoritative))
		}
		change := policies.Change{
			Subject: policies.Subject{Side: policies.SideInfrastructure, Kind: authority.InfraMachine, Namespace: "n", Name: "x", TwinNamespace: "m",
				Resource: schema.GroupResource{Group: "infrastructure.cluster.x-k8s.io", Resource: strings.ToLower(p.Machine) + "s"}},
			Operation: admissionv1.Update, Actor: actor, Old: object(""), New: object(`"providerID":"cloud://i-1"`),
			Facts: policies.Facts{Twin: machine("Migrating", "")},
		}
		if refused := !rules.Judge(change).Allowed(); refused != (p.Account == "") {
			t.Errorf("%s, as %q: writes down the instance in flight: refused: %t", p.Machine, actor, refused)
		}

		kind, _ := authority.KindNamed("Machine")
		for id, waits := range map[string]bool{"": true, `"providerID":"cloud://i-1"`: false} {
			more := ""
			if id != "" {
				more = "," + id
			}
			core := parse(t, fmt.Sprintf(`{"metadata":{"name":"x","annotations":{"poundlock.openshift.io/mirror-of":"Machine/x"}},"spec":{%s},"status":{"phase":"Running","initialization":{"infrastructureProvisioned":true},"conditions":[{"type":"Paused","status":"False"}]}}`, id))
			infra := parse(t, fmt.Sprintf(`{"kind":%q,"metadata":{"name":"x","annotations":{"poundlock.openshift.io/mirror-of":"Machine/x"}},"spec":{%s},"status":{"ready":true,"conditions":[{"type":"Paused","status":"False"}]}}`, p.Machine, id))
			s := authority.Objects{Kind: kind, Enabled: true, MachineAPI: machine("ClusterAPI", more), ClusterAPI: core, Infra: infra}.State()
			s.CaughtUp = true
			step := authority.Next(s)
			if (step.Action == authority.Wait && step.Reason == authority.ReasonInstanceUnknown) != waits {
				t.Errorf("%s, with {%s}: a move back begins with %s (%s)", p.Machine, id, step.Action, step.Reason)
			}
		}
	}
	if !slices.Equal(without, []string{"VSphereMachine"}) {
		t.Errorf("without an account of its own: %v, want vSphere's alone", without)
	}
}
