// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// Compare the table with the rows "Delete" of converting › Summary of the rules: "Machine Type", "Authoritative API", "Has owner" and "Outcome" are on,
// authoritative, owned and the last three columns. "-" as the document's authority stands for both values. If the deleted object is the authoritative one,
// DESIGN §3.3 decides.
func TestOutcomes(t *testing.T) {
	const (
		machine, set, check = "Machine", "MachineSet", "MachineHealthCheck"
		mapi, capi          = authority.MachineAPI, authority.ClusterAPI
		goes, stays, again  = authority.Goes, authority.Stays, authority.MadeAgain
		none, run, end, may = authority.NoInstance, authority.RunOn, authority.End, authority.MayEnd
		background          = metav1.DeletePropagationBackground
		foreground          = metav1.DeletePropagationForeground
		orphan              = metav1.DeletePropagationOrphan
	)
	for _, c := range []struct {
		kind              string
		on, authoritative authority.API
		owned             bool
		propagation       metav1.DeletionPropagation
		object, twin      authority.Fate
		instances         authority.Instances
	}{
		{machine, mapi, capi, true, "", goes, goes, end},            // "Sync controller deletes Cluster API equivalent Machine"
		{machine, mapi, capi, false, "", goes, stays, run},          // "Cluster API equivalent Machine remains in cluster"
		{machine, capi, mapi, true, "", goes, goes, end},            // "Sync controller deletes Machine API equivalent Machine"
		{machine, capi, mapi, false, "", again, stays, run},         // "will recreate Machine after it is removed"
		{machine, mapi, mapi, true, "", goes, goes, end},            // the authoritative object
		{machine, mapi, mapi, false, "", goes, goes, end},           //
		{machine, capi, capi, true, "", goes, goes, end},            //
		{machine, capi, capi, false, "", goes, goes, end},           //
		{machine, capi, mapi, false, foreground, again, stays, run}, // the mirror only owns a provider's object without an instance

		{set, mapi, capi, false, background, goes, stays, run}, // "In this scenario, the Cluster API equivalent will continue to operate on its own"
		{set, mapi, capi, false, orphan, goes, stays, run},
		{set, mapi, capi, false, foreground, goes, stays, may},
		{set, capi, mapi, false, background, again, stays, run},
		{set, capi, mapi, false, orphan, again, stays, run},
		{set, capi, mapi, false, foreground, again, stays, may},
		{set, mapi, mapi, false, background, goes, goes, end},
		{set, mapi, mapi, false, foreground, goes, goes, end},
		{set, mapi, mapi, false, orphan, goes, goes, run},
		{set, capi, capi, false, background, goes, goes, end},
		{set, capi, capi, false, foreground, goes, goes, end},
		{set, capi, capi, false, orphan, goes, goes, may}, // depends on whether its controller or the collector is first
		{set, mapi, capi, true, "", goes, stays, run},     // the rules do not count an owner of a set as an owner

		{check, mapi, capi, false, "", goes, stays, none},
		{check, capi, mapi, false, "", again, stays, none},
		{check, mapi, mapi, false, "", goes, goes, none},
		{check, capi, capi, false, "", goes, goes, none},
	} {
		d := authority.DeletionRequest{Kind: c.kind, On: c.on, Authority: c.authoritative, Owned: c.owned, Propagation: c.propagation}
		want := authority.Outcome{Object: c.object, Twin: c.twin, Instances: c.instances}
		if diff := cmp.Diff(want, d.Outcome()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", d, diff)
		}
	}
}

// The outcome that is announced and the steps that are taken come from two functions. The steps of a deletion must lead where its outcome says.
func TestOutcomesAreWhatTheStepsLeadTo(t *testing.T) {
	for _, kind := range []string{"Machine", "MachineSet", "MachineHealthCheck"} {
		for _, on := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
			for _, authoritative := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
				for _, owned := range []bool{false, true} {
					asked := authority.DeletionRequest{Kind: kind, On: on, Authority: authoritative, Owned: owned}
					d := authority.DeletionState{Authority: authoritative, MachineAPI: authority.Present, ClusterAPI: authority.Present, Held: true, Marked: true,
						Owned: owned && kind == "Machine"}
					set(&d, on, authority.Deleting)
					twinDeleted := false
					for range 10 {
						step := d.Next()
						if step == authority.KeepMirroring {
							break
						}
						twinDeleted = twinDeleted || step == authority.DeleteMirror || step == authority.DeleteAuthority
						d = after(d, step)
					}
					if foretold := asked.Outcome().Twin == authority.Goes; foretold != twinDeleted {
						t.Errorf("%+v: its twin goes: foretold %t, done %t", asked, foretold, twinDeleted)
					}
					if alone := d.Next() == authority.KeepMirroring && of(d, on) == authority.Absent; !alone {
						t.Errorf("%+v: the steps end at %+v", asked, d)
					}
				}
			}
		}
	}
}

// after returns the state after a step.
func after(d authority.DeletionState, step authority.DeletionStep) authority.DeletionState {
	switch step {
	case authority.DeleteMirror:
		set(&d, d.Authority.Other(), authority.Deleting)
	case authority.DeleteAuthority:
		set(&d, d.Authority, authority.Deleting)
	case authority.AwaitAuthority:
		d.Held = false
	case authority.ReleaseMirror:
		set(&d, d.Authority.Other(), authority.Absent)
	case authority.ReleaseAuthority:
		set(&d, d.Authority, authority.Absent)
		d.Marked = of(d, d.Authority.Other()) != authority.Absent
	case authority.Forget:
		if d.Marked = false; d.ClusterAPI == authority.Deleting {
			d.ClusterAPI = authority.Absent
		}
	}
	return d
}
