// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// The mirror of a set is deleted, which owns a Machine in the hands of each API, in each way that the garbage collector knows. What authority.Deleted foretells
// is what must come of it, and what the warnings say.
func TestDeletingTheMirrorOfAMixedSet(t *testing.T) {
	for _, on := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		for _, cascade := range []string{"background", "foreground", "orphan"} {
			t.Run(on.Text()+"'s, "+cascade, func(t *testing.T) {
				story(t)
				deleteMirrorOfMixedSet(t, on, cascade)
			})
		}
	}
}

func deleteMirrorOfMixedSet(t *testing.T, on authority.API, cascade string) {
	t.Helper()
	set := newSet(t, "mixed-"+strings.ToLower(string(on))+"-"+cascade, 2)
	machines := machinesOf(t, set.name)
	hands := map[authority.API]string{authority.ClusterAPI: machines[0], authority.MachineAPI: machines[1]}
	move(t, mapiMachine(hands[authority.ClusterAPI]), "ClusterAPI")
	mirror := capiSet(set.name)
	if on == authority.MachineAPI {
		move(t, set, "ClusterAPI")
		mirror = set
	}
	here, there := hands[on], hands[on.Other()]
	before, kept := instances(there), instances(here)
	uid := field(t, mirror, ".metadata.uid")
	foretold := authority.Deleted{Kind: "MachineSet", On: on, Authority: on.Other(),
		Propagation: metav1.DeletionPropagation(strings.ToUpper(cascade[:1]) + cascade[1:])}.Outcome()

	said := strings.Join(must(t, mirror.args("delete", "--wait=false", "--cascade="+cascade)...).warnings(), "\n")
	if warned := strings.Contains(said, "in the foreground"); warned != (foretold.Instances == authority.MayEnd) {
		t.Errorf("foretold %s, warned: %q", foretold.Instances, said)
	}
	eventually(t, "the mirror has gone, or another is there", func() string { return fmt.Sprint(field(t, mirror, ".metadata.uid") == uid) }, "false")
	if foretold.Object == authority.MadeAgain {
		remains(t, mirror, true)
	}
	if got := instances(there); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("the Machine in the other API's hands had the instances %q, and has %q", before, got)
	}
	if foretold.Instances == authority.MayEnd {
		eventually(t, "the Machine that the collector deleted has ended, or is whole", func() string {
			return fmt.Sprint(len(instances(here)) == 0 || field(t, machineOf(on, here), ".metadata.deletionTimestamp") == "")
		}, "true")
		t.Logf("the Machine in the hands of the API that the set was deleted in has the instances %q, and had %q", instances(here), kept)
		return
	}
	atRest(t)
	if got := instances(here); fmt.Sprint(got) != fmt.Sprint(kept) {
		t.Errorf("the Machine in the hands of the API that the set was deleted in had the instances %q, and has %q", kept, got)
	}
}

func machineOf(api authority.API, name string) object {
	if api == authority.MachineAPI {
		return mapiMachine(name)
	}
	return capiMachine(name)
}

// "Deleting both sides at once, or while Migrating, ends cleanly": nothing is left, on either side or in the cloud.
func TestDeletingBothSidesAtOnce(t *testing.T) {
	for _, charge := range []string{"MachineAPI", "ClusterAPI"} {
		for _, moving := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s in charge, on the move: %t", charge, moving), func(t *testing.T) {
				story(t)
				name := strings.ToLower(charge) + map[bool]string{true: "-moving", false: ""}[moving]
				set := newSet(t, "both-"+name, 1)
				lone(t, "alone-"+name)
				machines := append(machinesOf(t, set.name), "alone-"+name)
				pairs := []object{set, mapiMachine(machines[0]), mapiMachine(machines[1])}
				if charge == "ClusterAPI" {
					for _, o := range pairs {
						move(t, o, charge)
					}
				}
				thaw := func() {}
				if moving {
					stage.Freeze() // so that nobody acknowledges the pause
					thaw = sync.OnceFunc(stage.Thaw)
					t.Cleanup(thaw)
					for _, o := range pairs {
						request(t, o, string(authority.API(charge).Other()))
						if o != set || charge == "MachineAPI" { // of a set, Cluster API acknowledges at once: no provider's controller is asked
							authorityIs(t, o, "Migrating")
						}
					}
				}
				for _, o := range []object{set, capiSet(set.name), capiMachine(machines[1]), mapiMachine(machines[1])} {
					must(t, o.args("delete", "--wait=false", "--ignore-not-found")...) // the mirror may have gone already
				}
				thaw()
				for _, m := range machines {
					gone(t, m)
				}
				for _, o := range []object{set, capiSet(set.name)} {
					eventually(t, o.resource+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
				}
			})
		}
	}
}
