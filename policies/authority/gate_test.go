// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

func TestGate(t *testing.T) {
	check := func(status metav1.ConditionStatus, reason, message string) authority.Condition {
		return authority.Condition{Type: "Paused", Status: status, Reason: reason, Message: message}
	}
	acts := check("False", "AuthoritativeAPIMachineAPI", "The AuthoritativeAPI status is set to 'MachineAPI'")
	moves := check("True", "AuthoritativeAPINotMachineAPI", "The AuthoritativeAPI status is set to 'Migrating'")
	rests := check("True", "AuthoritativeAPINotMachineAPI", "The AuthoritativeAPI status is set to 'ClusterAPI'")
	for name, c := range map[string]struct {
		off  bool
		in   authority.Shape
		want authority.Gate
	}{
		"the gate is off: as today, whichever API is authoritative": {
			off: true, in: authority.Shape{Requested: "ClusterAPI", Current: "ClusterAPI"}, want: authority.Gate{Act: true}},
		"the CRD has no such field: as today":               {want: authority.Gate{Act: true}},
		"a new object of the Machine API is adopted first":  {in: authority.Shape{Requested: "MachineAPI"}, want: authority.Gate{Adopt: "MachineAPI"}},
		"a new object of Cluster API is adopted, and waits": {in: authority.Shape{Requested: "ClusterAPI"}, want: authority.Gate{Adopt: "ClusterAPI"}},
		"the Machine API is authoritative": {
			in: authority.Shape{Requested: "MachineAPI", Current: "MachineAPI"}, want: authority.Gate{Act: true, Paused: acts}},
		"a move that is only asked for stops nobody": {
			in: authority.Shape{Requested: "ClusterAPI", Current: "MachineAPI"}, want: authority.Gate{Act: true, Paused: acts}},
		"authority moves": {in: authority.Shape{Requested: "ClusterAPI", Current: "Migrating"}, want: authority.Gate{Paused: moves}},
		"a move back is no leave to act before it is over": {
			in: authority.Shape{Requested: "MachineAPI", Current: "Migrating"}, want: authority.Gate{Paused: moves}},
		"Cluster API is authoritative": {in: authority.Shape{Requested: "ClusterAPI", Current: "ClusterAPI"}, want: authority.Gate{Paused: rests}},
		"a value that this build has never heard of is not the Machine API": {
			in:   authority.Shape{Current: "SomebodyElse"},
			want: authority.Gate{Paused: check("True", "AuthoritativeAPINotMachineAPI", "The AuthoritativeAPI status is set to 'SomebodyElse'")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := authority.GateOf(c.in, !c.off)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if got.Act && got.Paused.Status == metav1.ConditionTrue {
				t.Error("acts and says that it is paused")
			}
			if given := got.AlreadyWritten(c.in); given != (got.Adopt == "" && got.Paused.Status == "") {
				t.Errorf("an object without conditions has been told: %t", given)
			}
			c.in.Conditions = []authority.Condition{got.Paused}
			if has := got.AlreadyWritten(c.in); has != (got.Adopt == "") {
				t.Errorf("an object that says so has been told: %t", has)
			}
		})
	}
}
