// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

import (
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane/handover"
)

var authoritySettled = Table{
	Section: "AuthoritySettled is False",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{authority.ReasonNotSynchronized},
			Means: "the mirror cannot be made equal: `Synchronized` is False",
			Do: "read its reason and its message, which names each field by path: `kubectl poundlock explain` with that reason has the remedy. " +
				"Or set `spec.authoritativeAPI` back",
		},
		{
			Names: []string{authority.ReasonCatchingUp},
			Means: "the mirror is behind the authoritative object",
			Do:    "wait some seconds; if it stays, look at the manager's log for the pair, and at `poundlock_mirror_writes_total`",
		},
		{
			Names: []string{authority.ReasonTwinMissing},
			Means: "the mirror has not made the twin, or somebody has deleted the infrastructure object of an authoritative Cluster API Machine",
			Do: "read the message of `Synchronized`: it names what is missing, or each field by path. Repair that, or set `spec.authoritativeAPI` back. " +
				"Poundlock does not recreate that infrastructure object: `kubectl poundlock explain InfrastructureNotFound` has how to restore it. " +
				"A move to the Machine API does not wait for it if both Machines have the `spec.providerID`",
		},
		{
			Names: []string{authority.ReasonNotProvisioned},
			Means: "the Machine is still being created",
			Do: "wait for phase `Provisioned`. A Machine in phase `Failed` stays so: " +
				"delete the Machine, and with it its instance, and create another. A move never interrupts the creation of an instance. " +
				"Cluster API must have found it, too: a cloud may hide a new instance for some seconds, and Machine API's controllers fail a Machine for good " +
				"whose instance they do not find",
		},
		{
			Names: []string{authority.ReasonUncounted},
			Means: "only one of the two MachineSets counts the Machines that the message names. The other would create a Machine in the place of each, or delete one",
			Do: "most waits end in seconds, when the mirror has made the Machine or its owner reference. `FieldsNotConvertible`: " +
				"edit the Machine, or delete it and its set replaces it. No reason behind a Machine of Cluster API: `kubectl poundlock convert` names the fields. " +
				"A Machine that Cluster API's MachineSet made while Machine API was authoritative for the set, as where that set was created in both APIs: Poundlock " +
				"creates no Machine API object for it. Delete it, and with it what it runs, or keep it by the message's steps. " +
				"A Machine that no set owns, and that the other set would adopt: change its labels, or migrate it first. " +
				"A CustomResourceDefinition that is missing or is being deleted: the message names it, and whose installation creates it again. " +
				"Neither edit nor delete a Machine for that. Or set `spec.authoritativeAPI` back",
		},
		{
			Names: []string{authority.ReasonJudged},
			Means: "a MachineHealthCheck of Cluster API has marked a Machine, which the message names, as unhealthy, and no check that acts looks at it any more: " +
				"it was deleted, it is paused, or the Machine is. Cluster API's MachineSet would delete the Machine as soon as it acts, though its Node may have " +
				"recovered",
			Do: "nothing: Poundlock removes the mark within seconds. If the wait stays, see `Synchronized` of that Machine. " +
				"A Machine that you want to be replaced: delete it",
		},
		{
			Names: []string{authority.ReasonRequestsOpen},
			Means: "a MachineHealthCheck with a remediation template has found a Machine unhealthy, so a request to remediate it may be open. " +
				"Only this check deletes its request when the Machine is healthy again. " +
				"Once the check has moved, or the Machine has left Cluster API, nobody would delete the request, and a healthy Machine would be remediated. " +
				"If the check makes a request before it is paused, Poundlock takes the move back",
			Do: "wait until the Machines are healthy. A Machine that does not recover: delete it. " +
				"Or remove the template from the check and delete the requests yourself; " +
				"a single Machine moves after `cluster.x-k8s.io/skip-remediation` is set on its Cluster API object and its request is deleted",
		},
		{
			Names: []string{authority.ReasonInstanceUnknown},
			Means: "the ID of the instance is not in the objects of both APIs. The controllers of the authoritative API may have requested an instance, and a move " +
				"would create a second one",
			Do: "usually wait: the controllers store the ID. Else see the runbook [An instance is unknown](#an-instance-is-unknown)",
		},
		{
			Names: []string{authority.ReasonInstanceShared},
			Means: "another Machine, which the message names, has the same `spec.providerID`. " +
				"After a move two APIs would act on one instance, and the deletion of either Machine would terminate it. " +
				"Or the message names a VSphereVM or an OpenStackServer that the provider keeps for the same instance and that is not this Machine's: " +
				"its controller acts on the instance, and terminates it when that object is deleted",
			Do: "look in the cloud whose instance it is. Correct or remove `spec.providerID` of the other Machine: " +
				"this wait allows it where the migration is requested. During a move cancel that first. " +
				"A VSphereVM or an OpenStackServer: type the message's commands, which delete it paused, so that the instance keeps running",
		},
		{
			Names: []string{authority.ReasonInfraShared},
			Means: "`spec.infrastructureRef` of the Cluster API Machine names an infrastructure machine that belongs to another Machine, which the message names. " +
				"After a move the Machine API would act on the instance of that one",
			Do: "leave both as they are: this Machine cannot migrate. Do not delete it: Cluster API would delete that infrastructure machine with it, and the " +
				"instance. Or delete the other Machine, and with it what it runs. During a move cancel that first",
		},
		{
			Names: []string{authority.ReasonNotPaused},
			Means: "the controllers that lose authority have not set `Paused=True` on the object that the message names, or removed from Azure's machine " +
				"the annotation `clusterctl.cluster.x-k8s.io/block-move`",
			Do: "look at that object with `kubectl -n NAMESPACE describe KIND NAME`: its conditions and events have the controller's last error. " +
				"After an error, such as a creation that the cloud refuses, " +
				"a controller waits longer after each attempt, up to a quarter of an hour, and acknowledges the pause only at the next one. " +
				"Nothing needs to be done: the move goes on then. " +
				"Without an error: are the controllers running? `kubectl get pods` in the two namespaces. Their feature gate must be on",
		},
		{
			Names: []string{authority.ReasonNotResumed},
			Means: "the controllers that gained authority have not set `Paused=False`, or on Azure's machines the annotation " +
				"`clusterctl.cluster.x-k8s.io/block-move` again",
			Do: "look at the object that the message names with `kubectl -n NAMESPACE describe KIND NAME`: " +
				"its conditions and events have the controller's last error. " +
				"Without an error: are the controllers running? `kubectl get pods` in the two namespaces. Their feature gate must be on",
		},
		{
			Names: []string{authority.ReasonPausedElsewhere},
			Means: "somebody has paused Cluster API's Cluster (`spec.paused`). Its controllers leave all objects of the Cluster " +
				"alone until it is unpaused: nobody acts on what Cluster API is authoritative for, and no move back to Machine API starts once they have reported that",
			Do: "the message names the Cluster and the field manager that paused it. Ask who that is, then unpause the Cluster: " +
				"`kubectl -n openshift-cluster-api patch clusters.cluster.x-k8s.io NAME --type merge -p '{\"spec\":{\"paused\":false}}'`",
		},
		{
			Names: []string{authority.ReasonSurroundings},
			Means: "the namespace, a CRD or the Cluster of the API that is to be authoritative is being deleted; the message names it. " +
				"Its objects go with it, and their controllers would terminate the instance, so authority stays, or goes back",
			Do: "cancel the migration: set `spec.authoritativeAPI` back to `status.synchronizedAPI`. Or recreate what was deleted, and the move starts. " +
				"If the deletion hangs, see the runbook " +
				"[The deletion of a namespace, a CRD or the Cluster hangs](#the-deletion-of-a-namespace-a-crd-or-the-cluster-hangs)",
		},
		{
			Names: []string{authority.ReasonDeleting},
			Means: "the object or its twin is being deleted",
			Do:    "the deletion ends first, and nothing is to be restored; if it hangs, see in the message whose finalizer is left",
		},
		{
			Names: []string{"WaitingForPreDrainHook", "WaitingForPreTerminateHook"},
			Means: "Cluster API deletes the Machine, and waits for a hook: the annotation that the message names, on the Machine of Cluster API",
			Do: "ask the owner, who is the annotation's value, why the hook is held. EtcdQuorumOperator is etcd's: it goes once a replacement votes. " +
				"A hook whose owner is gone is removed with `kubectl -n openshift-cluster-api annotate machines.cluster.x-k8s.io NAME " +
				"pre-drain.delete.hook.machine.cluster.x-k8s.io/HOOK-`",
		},
		{
			Names: []string{"WaitingForInfrastructureDeletion"},
			Means: "Cluster API deletes the Machine, and waits until its infrastructure machine is gone: the provider terminates the instance",
			Do: "nothing, for minutes. If it lasts: `kubectl -n openshift-cluster-api describe` of the object that the Machine's `spec.infrastructureRef` names " +
				"has the cloud's answer",
		},
		{
			Names: []string{"InternalError"},
			Means: "Cluster API's controller met an error with the Machine, which is in its log. While Poundlock is away it is that some of its writes are refused; " +
				"and a control plane Machine that etcd's hook holds keeps its instance (`authority/hooks-skipped`)",
			Do: "see that Poundlock runs (`kubectl poundlock status`), and whose hook the Machine has; then the log of Cluster API's manager. It tries again by itself",
		},
		{
			Names: []string{authority.ReasonWouldBeAdopted},
			Means: "the deletion of a MachineSet waits: it leaves Machines without an owner, and another set would adopt one of them",
			Do: "the message names the Machine and the other set. To keep the Machine, remove a label that only the other set selects by; the deletion goes on within " +
				"seconds",
		},
		{
			Names: []string{authority.ReasonUnknownOrigin},
			Means: "status is Migrating and `synchronizedAPI` is empty: somebody wrote status by hand",
			Do: "Poundlock does not guess. Set it to the API that was authoritative before, as with `kubectl -n openshift-machine-api patch " +
				"machines.machine.openshift.io NAME --as system:serviceaccount:openshift-cluster-api:poundlock --subresource status --type merge " +
				"-p '{\"status\":{\"synchronizedAPI\":\"MachineAPI\"}}'`",
		},
		{
			Names: []string{authority.ReasonDisabled},
			Means: "the feature gate is off, or the CRD lacks the fields",
			Do:    "turn it on, or leave everything as it is",
		},
		{
			Names: []string{authority.ReasonUnknownAuthority},
			Means: "`status.authoritativeAPI` has a value that this version does not know",
			Do:    "a newer version wrote it: run that one, or set status back as its release notes describe",
		},
		{
			Names: []string{"StepFailed"},
			Means: "the API server refuses what the handoff writes next, as when Cluster API's webhooks are down, or serves no version of the provider's machines any " +
				"more, whose definition exists",
			Do: "the message has the refusal; it is tried again at least every quarter of a minute. In a move, no API acts on the object meanwhile once the one " +
				"that it leaves has paused: set spec.authoritativeAPI back to cancel the move",
		},
		{
			Names: []string{authority.ReasonPausing, authority.ReasonHandingOver, authority.ReasonReleasing},
			Means: "a move is on its way, and this is its step",
			Do:    "wait some seconds",
		},
		{
			Names: []string{authority.ReasonStarted, authority.ReasonAdopted, authority.ReasonCompleted, authority.ReasonCancelled},
			Means: "events and the moment after: a move, or a new object's first look, began or ended",
			Do:    "nothing",
		},
		{
			Names: []string{authority.ReasonSettled},
			Means: "the condition is True: the last move is over on both sides",
			Do:    "nothing",
		},
		{
			Names: []string{authority.ReasonGone},
			Means: "the Machine API object is gone",
			Do:    "nothing",
		},
		{
			Names: []string{handover.ReasonTemplateIsClusterAPIs},
			Means: "authority over a ControlPlaneMachineSet is to go back to Machine API, and its template is one of Cluster API's",
			Do:    "give it `machines_v1beta1_machine_openshift_io`, with the providerSpec that its Machines have",
		},
	},
}

var outlived = Table{
	Section: "MirroredInMachineAPI is False",
	Rows: []Row{{
		Names: []string{"MachineSetDeleted"},
		Means: "the Machine API's MachineSet was deleted while Cluster API was authoritative. The MachineSet of Cluster API keeps its Machines, and " +
			"their instances run.",
		Do: "To delete them: `kubectl -n openshift-cluster-api delete machinesets.cluster.x-k8s.io NAME`. " +
			"To have the MachineSet in the Machine API again, recreate it there with `spec.authoritativeAPI: ClusterAPI`: " +
			"apply what `kubectl poundlock convert machineset/NAME` prints",
	}},
}

var nobodyLeads = Table{
	Section: "Nobody leads",
	Rows: []Row{
		{
			Names: []string{"PoundlockNobodyLeads"},
			Means: "replicas run, and none of them holds the Lease `poundlock` in `openshift-cluster-api`, so nothing is mirrored or moved. " +
				"Each object stays with the authoritative API; webhooks and policies go on.",
		},
	},
}
