// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"strings"

	"github.com/poundlock/poundlock/internal/paragraph"
)

// consequence is one rule for locks and mirrors that follows from the writes of other components.
type consequence struct {
	sentence string
	// not is what Poundlock does instead, if it was decided otherwise than the survey of writers has it; "" if not. decisions.md has the reasons.
	not string
	// held are the tests that fail if the consequence does not hold, by the file that has them.
	held []held
}

type held struct {
	file  string
	tests []string
}

// in returns the named tests of a file.
func in(file string, tests ...string) held { return held{file, tests} }

// onTheAPIServer is the test that sends the requests of every other component at each stage of a move. It runs the webhooks in front of a real API server.
var onTheAPIServer = in("webhooks/apiserver_test.go", "TestOnAnAPIServer")

// consequences are the fifteen consequences of the survey of writers, in its order.
var consequences = []consequence{
	{
		"The cluster autoscaler writes the Machine API's side. Under Cluster API it may scale that set, and mark Machines and take marks " +
			"back; marks go over first, replicas after. A mirror's nodeRef, ID and errorMessage are true, converted or not",
		"While authority moves it may take a mark back, and nothing else. It does not scale up what it would not see",
		[]held{
			onTheAPIServer,
			in("reconcilers/mirror/acted_test.go", "TestWhatTheAutoscalerActsBy"), in("mirroring/feedback/autoscaler_news_test.go", "TestMarksComeBeforeReplicas"),
			in("test/journeys/autoscaler_test.go", "TestTheAutoscalerOfTheMachineAPIScalesTheAuthoritativeAPI", "TestTheAutoscalerScalesTheAuthoritativeSet",
				"TestTheAutoscalerScalesDuringAMove", "TestTheAutoscalerTakesItsMarkBackDuringAMove", "TestTheAutoscalerDoesNotScaleWhatItDoesNotSee"),
		},
	},
	{
		"etcd's hook crosses the lock, in every phase: an addition always, a removal only by the etcd operator from a Machine that is " +
			"being deleted and had it. A move compares hooks itself",
		"",
		[]held{
			onTheAPIServer,
			in("reconcilers/mirror/etcdhook_test.go", "TestEtcdHook"), in("reconcilers/handoff/handoff_test.go", "TestAMoveComparesHooks"),
			in("test/journeys/etcdhook_test.go", "TestEtcdHoldsAMachineThatClusterAPIRuns", "TestEtcdHoldsAMachineAnew"),
		},
	},
	{
		"A boot image is refused under Cluster API, and the warning of the move says how to exclude the set. No set of the Machine API gets an owner",
		"",
		[]held{onTheAPIServer, in("reconcilers/mirror/mirror_test.go", "TestMirror"), in("test/journeys/neighbours_test.go", "TestNeighboursMeetTheLock")},
	},
	{
		"Controllers are let through by field, and only until they have acknowledged their pause. No finalizer and no Machine comes to " +
			"what Cluster API runs. Owners have their writers. Machines come back with a known instance",
		"The sync finalizer never goes before Machine API's own: a Machine whose stored spec is refused waits for a person. Anybody may " +
			"add vSphere's finalizer, whose provider has no account",
		[]held{
			onTheAPIServer, in("webhooks/nobody_test.go", "TestNobodyAnswers"),
			in("policies/authority/writers_test.go", "TestNoGrantWidensAnotherLock"), in("policies/authority/everywriter_test.go", "TestNoIdentityIsLikeAnother"),
			in("reconcilers/handoff/births_test.go", "TestABirth"), in("test/journeys/births_test.go", "TestMachinesMoveWhileTheirInstancesAreCreated"),
			in("test/journeys/clusterapi_test.go", "TestWhatAClusterAPISetPropagatesStaysOnPausedMachines"),
			in("test/journeys/gate_test.go", "TestTheGateGoesOffUnderASetOfClusterAPI"),
		},
	},
	{
		"A mirror does not look like work: phase Deleting comes with Drained, after the drain; the owner comes with the creation; errors " +
			"and marks are the authority's; no set is paused, and a person's pause can be taken off",
		"A MachineHealthCheck is paused by the annotation while Cluster API is authoritative: a controller that knows no authority obeys nothing else",
		[]held{
			onTheAPIServer,
			in("reconcilers/mirror/mirror_test.go", "TestMirror"), in("reconcilers/mirror/leftbehind_test.go", "TestWhatAMoveLeavesBehind"),
			in("reconcilers/mirror/healthcheck_test.go", "TestMirrorOfAHealthCheck"), in("reconcilers/handoff/pauses_test.go", "TestACheckOfABlindController"),
			in("mirroring/born_test.go", "TestAMirrorBeforeItsStatus"), in("test/journeys/etcdhook_test.go", "TestEtcdHoldsAMachineThatClusterAPIRuns"),
		},
	},
	{
		"Names of others that end in a reserved domain are free, or an identity's",
		"",
		[]held{onTheAPIServer, in("test/journeys/neighbours_test.go", "TestNeighboursMeetTheLock"),
			in("test/journeys/autoscaler_test.go", "TestTheAutoscalerOfTheMachineAPIScalesTheAuthoritativeAPI")},
	},
	{
		"Names by which somebody recognizes an object are not copied, but for labels that a set selects by. What an earlier mirror " +
			"copied to a Machine API object is not taken away",
		"Poundlock's mark and its lists of names stay on Cluster API's objects, and so reach Nodes where its manager hands all names on",
		[]held{in("reconcilers/mirror/mirror_test.go", "TestMirror"),
			in("mirroring/twin/names_test.go", "TestNamesThatTheMirrorLeaves")},
	},
	{
		"Names that controllers of the Machine API keep up to date are left as they are, and nothing is written where nothing differs",
		"",
		[]held{in("reconcilers/mirror/mirror_test.go", "TestMirror"), in("test/journeys/neighbours_test.go", "TestAFleetWithNeighboursIsAtRest"),
			in("test/journeys/journeys_test.go", "TestAnIdleFleetIsNotWrittenTo")},
	},
	{
		"What changes the meaning of an object is carried, kept, warned of, or keeps it from moving: limits, autoscale-to-hosts, " +
			"architecture, os-id, owners, spot, remediation strategy, managed-by",
		"",
		[]held{onTheAPIServer, in("reconcilers/mirror/mirror_test.go", "TestMirror"), in("test/journeys/spot_test.go", "TestASpotMachineMovesThereAndBack"),
			in("test/journeys/autoscaler_test.go", "TestTheAutoscalerOfTheMachineAPIScalesTheAuthoritativeAPI"),
			in("reconcilers/controlplanemirror/controlplanemirror_test.go", "TestReflection")},
	},
	{
		"Most send whole objects: rules look at what differs, and a request for Cluster API that a controller's type leaves out is put back",
		"Of a person's Machine or MachineSet it is a request: nobody can tell it from one",
		[]held{onTheAPIServer, in("test/journeys/neighbours_test.go", "TestNeighboursMeetTheLock")},
	},
	{
		"A condition, or a field of authority in status, that a client leaves out is put back; another value is refused",
		"Paused may be left out: then a move waits",
		[]held{onTheAPIServer, in("test/journeys/neighbours_test.go", "TestNeighboursMeetTheLock"),
			in("manifests/manifests_test.go", "TestPatchedCRDsHaveTheMachinesFields")},
	},
	{
		"Replicas have four doors, guarded alike: /scale, spec.replicas, apply and a MachineAutoscaler. The refusal has the command that scales",
		"",
		[]held{onTheAPIServer, in("test/journeys/autoscaler_test.go", "TestTheAutoscalerScalesTheAuthoritativeSet"),
			in("test/journeys/neighbours_test.go", "TestNeighboursMeetTheLock")},
	},
	{
		"A Cluster API set that outlives the Machine API's says so by a condition, an event and an alert",
		"",
		[]held{in("reconcilers/mirror/mirror_test.go", "TestMirror"), in("test/journeys/setdeletions_test.go", "TestDeletionsOfASet"),
			in("manifests/alerts_test.go", "TestAlerts")},
	},
	{
		"The release's MachineHealthCheck does not move, and its spec has no default. No group and no administrator is an exception",
		"",
		[]held{onTheAPIServer, in("test/journeys/neighbours_test.go", "TestAFleetWithNeighboursIsAtRest"),
			in("policies/authority/everywriter_test.go", "TestNoIdentityIsLikeAnother")},
	},
	{
		"A restored object meets a fence that explains, and loses a finalizer that nobody else would remove; sets adopt restored " +
			"Machines; a mirror of one's own is no reason for Cluster API. Beside OpenShift's own migration Poundlock's reconcilers " +
			"stand still and name it, and its webhooks go on",
		"Field managers in objects prove no rival: they outlast it",
		[]held{onTheAPIServer, in("test/journeys/rival_test.go", "TestPoundlockStandsStillBesideItsRival"), in("cmd/poundlock/gate_test.go", "TestModeWatch"),
			in("reconcilers/mirror/recreated_test.go", "TestRecreatedSets")},
	},
}

// consequencesList returns the list of the consequences for the page, in Markdown.
func consequencesList() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## What follows, and the tests that hold it\n\n%s\n\n", paragraph.Wrapped("",
		"The survey of these writers ends with fifteen consequences for locks and mirrors. [decisions](decisions.md) has the reasons for what was decided "+
			"otherwise. `TestOnAnAPIServer` sends each request of the survey to a real API server, at each stage of a move."))
	for i, c := range consequences {
		var tests []string
		for _, h := range c.held {
			folder := h.file[:strings.LastIndex(h.file, "/")]
			tests = append(tests, folder+": "+code(h.tests))
		}
		text := c.sentence + "."
		if c.not != "" {
			text += " *Decided otherwise:* " + c.not + "."
		}
		b.WriteString(paragraph.Wrapped(fmt.Sprintf("%d. ", i+1), text+" *Held by* "+strings.Join(tests, ", ")) + "\n")
	}
	return b.String()
}
