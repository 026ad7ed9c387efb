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
			Means: "the move waits because Poundlock cannot make the mirror equal to the authoritative object: the condition `Synchronized` is False",
			Do: "read the reason and the message of `Synchronized`, which names each field by path: `kubectl poundlock explain REASON` has the remedy. Or " +
				"cancel the move: set `spec.authoritativeAPI` back",
		},
		{
			Names: []string{authority.ReasonCatchingUp},
			Means: "the move waits because the mirror does not have the latest changes of the authoritative object yet",
			Do: "wait some seconds. If this reason stays, look for the object in the log of Poundlock's manager, and look at the metric " +
				"`poundlock_mirror_writes_total`",
		},
		{
			Names: []string{authority.ReasonTwinMissing},
			Means: "the move waits because Poundlock has not created the object of the other API yet, or because somebody has deleted the infrastructure " +
				"object of an authoritative Cluster API Machine",
			Do: "read the message of the condition `Synchronized`: it names the object that is missing, or each field by path. Fix that, or set " +
				"`spec.authoritativeAPI` back. Poundlock does not recreate a deleted infrastructure object: `kubectl poundlock explain " +
				"InfrastructureNotFound` explains how to restore it. A move to the Machine API does not wait for the infrastructure object if both " +
				"Machines have the `spec.providerID`",
		},
		{
			Names: []string{authority.ReasonNotProvisioned},
			Means: "the move waits because the Machine's instance is still being created",
			Do: "wait until the Machine is in phase `Provisioned`. A Machine in phase `Failed` stays `Failed`: delete the Machine, which also terminates " +
				"its instance, and create another one. A move never interrupts the creation of an instance. Cluster API must also have found the instance: " +
				"a cloud may hide a new instance for some seconds, and Machine API's controllers fail a Machine permanently if they do not find its " +
				"instance",
		},
		{
			Names: []string{authority.ReasonUncounted},
			Means: "the move of the MachineSet waits because only one of the two MachineSets (the set and its mirror) counts the Machines that the message " +
				"names. After the move, the other MachineSet would create another Machine for each of these Machines, or delete a Machine",
			Do: "most waits end in seconds, once Poundlock has created the Machine's mirror or the owner reference. To cancel the move, set " +
				"`spec.authoritativeAPI` back. If the wait stays, the message shows one of these cases. The message has the reason `FieldsNotConvertible`: " +
				"edit the Machine, or delete it, and its set creates a new one. The message names a Cluster API Machine without a reason: `kubectl " +
				"poundlock convert` names the fields. Cluster API's MachineSet created the Machine while Machine API was authoritative for the set, for " +
				"example if the set was created in both APIs: Poundlock creates no Machine API object for the Machine, so delete the Machine, with " +
				"everything that runs on it, or keep it by the steps in the message. No set owns the Machine, and the other set would adopt it: change the " +
				"Machine's labels, or migrate the Machine first. A CustomResourceDefinition is missing or being deleted: the message names the " +
				"installation that recreates it, and you need not edit or delete Machines",
		},
		{
			Names: []string{authority.ReasonJudged},
			Means: "a MachineHealthCheck of Cluster API has marked the Machine that the message names as unhealthy, and no active check watches this " +
				"Machine any more: the check was deleted, or the check or the Machine is paused. After the move, Cluster API's MachineSet would delete the " +
				"Machine at once, although the Machine's Node may have recovered",
			Do: "nothing: Poundlock removes the mark within seconds. If the move keeps waiting, read the condition `Synchronized` of the Machine. To " +
				"replace the Machine, delete it",
		},
		{
			Names: []string{authority.ReasonRequestsOpen},
			Means: "the move waits because a MachineHealthCheck with a remediation template has found a Machine unhealthy, so a remediation request may be " +
				"open. Only this check deletes the request when the Machine is healthy again. After a move of the check, or of the Machine out of Cluster " +
				"API, nobody would delete the request, and a healthy Machine would be remediated. If the check creates a request before it is paused, " +
				"Poundlock cancels the move",
			Do: "wait until the Machines are healthy. If a Machine does not recover, delete it. Or remove the template from the check, and delete the " +
				"requests yourself. To move a single Machine, set `cluster.x-k8s.io/skip-remediation` on its Cluster API object, and delete its request",
		},
		{
			Names: []string{authority.ReasonInstanceUnknown},
			Means: "the move waits because not both APIs' objects have the ID of the instance. The controllers of the authoritative API may have requested " +
				"an instance, and after a move the other API would create a second one",
			Do: "usually wait: the controllers store the ID. If the ID does not appear, see the runbook [An instance is unknown](#an-instance-is-unknown)",
		},
		{
			Names: []string{authority.ReasonInstanceShared},
			Means: "another Machine, which the message names, has the same `spec.providerID`. After a move two APIs would act on one instance, and the " +
				"deletion of either Machine would terminate the instance. Or the provider has a VSphereVM or an OpenStackServer for the same instance, " +
				"which the message names and which does not belong to this Machine. The controller of such an object acts on the instance, and terminates " +
				"the instance when the object is deleted",
			Do: "check in the cloud to which Machine the instance belongs. Correct or remove `spec.providerID` of the other Machine: admission allows this " +
				"change while a requested migration waits with this reason. If the move has begun, cancel it first. For a VSphereVM or an OpenStackServer, " +
				"run the commands in the message: they delete the object while it is paused, so that the instance keeps running",
		},
		{
			Names: []string{authority.ReasonInfraShared},
			Means: "`spec.infrastructureRef` of the Cluster API Machine names an infrastructure machine that belongs to another Machine, which the message " +
				"names. After a move the Machine API would act on the other Machine's instance",
			Do: "leave both Machines unchanged: then this Machine cannot migrate. Do not delete this Machine: Cluster API would also delete the " +
				"infrastructure machine, and the other Machine's instance. To migrate this Machine, delete the other Machine, with everything that runs on " +
				"it. If the move has begun, cancel it first",
		},
		{
			Names: []string{authority.ReasonNotPaused},
			Means: "the move waits until the controllers that lose authority acknowledge the pause: they have not set the condition `Paused=True` on the " +
				"object that the message names, or have not removed the annotation `clusterctl.cluster.x-k8s.io/block-move` from Azure's machine",
			Do: "run `kubectl -n NAMESPACE describe KIND NAME` for the object that the message names: its conditions and events have the controller's last " +
				"error. After an error, such as a creation that the cloud refuses, a controller waits longer after each attempt, up to a quarter of an " +
				"hour, and acknowledges the pause only at its next attempt. Then the move continues by itself. If there is no error, check that the " +
				"controllers run (`kubectl get pods` in the two namespaces), and that their feature gate is on",
		},
		{
			Names: []string{authority.ReasonNotResumed},
			Means: "the move waits until the controllers that gain authority act: they have not set the condition `Paused=False` on the object that the " +
				"message names, or have not restored the annotation `clusterctl.cluster.x-k8s.io/block-move` on Azure's machine",
			Do: "run `kubectl -n NAMESPACE describe KIND NAME` for the object that the message names: its conditions and events have the controller's last " +
				"error. If there is no error, check that the controllers run (`kubectl get pods` in the two namespaces), and that their feature gate is on. " +
				"After a Cluster was unpaused, Cluster API's controllers look at some of its objects only within ten minutes. The message then has two commands " +
				"by which they look at once",
		},
		{
			Names: []string{authority.ReasonPausedElsewhere},
			Means: "somebody has paused Cluster API's Cluster (`spec.paused`). Until the Cluster is unpaused, Cluster API's controllers ignore all its " +
				"objects: nobody acts on objects for which Cluster API is authoritative, and no move back to Machine API starts once the controllers have " +
				"reported the pause",
			Do: "the message names the Cluster and the field manager that paused it. Ask the owner of this field manager, then unpause the Cluster: " +
				"`kubectl -n openshift-cluster-api patch clusters.cluster.x-k8s.io NAME --type merge -p '{\"spec\":{\"paused\":false}}'`",
		},
		{
			Names: []string{authority.ReasonSurroundings},
			Means: "the namespace, a CRD or the Cluster of the requested API is being deleted; the message names it. All objects in it will be deleted " +
				"too, and their controllers would terminate the instance. Therefore authority stays with the present API, or goes back to it",
			Do: "cancel the move: set `spec.authoritativeAPI` back to `status.synchronizedAPI`. Or wait for the end of the deletion and recreate the " +
				"object that the message names: then the move starts. If the deletion hangs, see the runbook [The deletion of a namespace, a CRD or the " +
				"Cluster hangs](#the-deletion-of-a-namespace-a-crd-or-the-cluster-hangs)",
		},
		{
			Names: []string{authority.ReasonDeleting},
			Means: "the move waits because the object, or the object of the same name in the other API, is being deleted",
			Do:    "nothing: the deletion must end first. If the deletion hangs, the message shows which finalizers are left",
		},
		{
			Names: []string{"WaitingForPreDrainHook", "WaitingForPreTerminateHook"},
			Means: "Cluster API deletes the Machine, and waits for a hook: an annotation of the Cluster API Machine, which the message names",
			Do: "ask the hook's owner (the value of the annotation) why the hook stays. The hook EtcdQuorumOperator belongs to the etcd operator, which " +
				"removes it once a replacement votes. If the owner of a hook no longer exists, remove the hook: `kubectl -n openshift-cluster-api annotate " +
				"machines.cluster.x-k8s.io NAME pre-drain.delete.hook.machine.cluster.x-k8s.io/HOOK-`",
		},
		{
			Names: []string{"WaitingForInfrastructureDeletion"},
			Means: "Cluster API deletes the Machine, and waits until the infrastructure machine is gone: the provider is terminating the instance",
			Do: "wait some minutes. If the wait lasts, run `kubectl -n openshift-cluster-api describe` on the object that the Machine's " +
				"`spec.infrastructureRef` names: it shows the cloud's answer",
		},
		{
			Names: []string{"InternalError"},
			Means: "Cluster API's controller met an error with the Machine; the controller's log has the error. While Poundlock does not run, the API " +
				"server refuses some of the controller's writes. If etcd's hook holds a control plane Machine meanwhile, the Machine's instance is kept " +
				"(`authority/hooks-skipped`)",
			Do: "check that Poundlock runs (`kubectl poundlock status`), and which hooks the Machine has. Then read the log of Cluster API's manager. The " +
				"controller retries by itself",
		},
		{
			Names: []string{authority.ReasonWouldBeAdopted},
			Means: "the deletion of a MachineSet waits. If the set were deleted now, its Machines would have no owner, and another set would adopt one of them",
			Do: "the message names the Machine and the other set. To keep the Machine, remove from it a label that only the selector of the other set has. " +
				"The deletion of the MachineSet then continues within seconds",
		},
		{
			Names: []string{authority.ReasonUnknownOrigin},
			Means: "`status.authoritativeAPI` is `Migrating` and `status.synchronizedAPI` is empty, because somebody wrote the status by hand. Poundlock " +
				"cannot know which API was authoritative",
			Do: "set `status.synchronizedAPI` to the API that was authoritative before the move, for example with `kubectl -n openshift-machine-api patch " +
				"machines.machine.openshift.io NAME --as system:serviceaccount:openshift-cluster-api:poundlock --subresource status --type merge -p " +
				"'{\"status\":{\"synchronizedAPI\":\"MachineAPI\"}}'`",
		},
		{
			Names: []string{authority.ReasonDisabled},
			Means: "the move does not start because the feature gate `MachineAPIMigration` is off, or because the object's CRD lacks the fields " +
				"`authoritativeAPI`",
			Do: "turn the feature gate on, or leave everything as it is",
		},
		{
			Names: []string{authority.ReasonUnknownAuthority},
			Means: "`status.authoritativeAPI` has a value that this version of Poundlock does not support",
			Do:    "run the newer version of Poundlock that wrote the value, or set the status back as the release notes of the newer version describe",
		},
		{
			Names: []string{"StepFailed"},
			Means: "the API server refuses the next write of the move, for example because Cluster API's webhooks do not answer. Or the CRD of the " +
				"provider's machines exists, but the API server serves no version of it that Poundlock reads",
			Do: "the message has the refusal. Poundlock retries at least every 15 seconds. If the object is already paused in the API that loses " +
				"authority, no API acts on it meanwhile: to cancel the move, set `spec.authoritativeAPI` back",
		},
		{
			Names: []string{authority.ReasonPausing, authority.ReasonHandingOver, authority.ReasonReleasing},
			Means: "a move is on its way, and this reason is the name of its present step",
			Do:    "wait some seconds",
		},
		{
			Names: []string{authority.ReasonStarted, authority.ReasonAdopted, authority.ReasonCompleted, authority.ReasonCancelled},
			Means: "a move, or Poundlock's first pass over a new object, has begun or ended. Events have this reason, and so has the condition " +
				"`AuthoritySettled` shortly afterwards",
			Do: "nothing",
		},
		{
			Names: []string{authority.ReasonSettled},
			Means: "the condition `AuthoritySettled` is True: the last move is over in both APIs",
			Do:    "nothing",
		},
		{
			Names: []string{authority.ReasonGone},
			Means: "the Machine API object is gone",
			Do:    "nothing",
		},
		{
			Names: []string{handover.ReasonTemplateIsClusterAPIs},
			Means: "a move of a ControlPlaneMachineSet back to Machine API is requested, but the set's template describes Machines of Cluster API",
			Do:    "write a template `machines_v1beta1_machine_openshift_io` into the set, with the providerSpec of the set's Machines",
		},
	},
}

var outlived = Table{
	Section: "MirroredInMachineAPI is False",
	Rows: []Row{{
		Names: []string{"MachineSetDeleted"},
		Means: "the Machine API's MachineSet was deleted while Cluster API was authoritative. Cluster API's MachineSet keeps its Machines, and their " +
			"instances keep running.",
		Do: "To delete the MachineSet with its Machines: `kubectl -n openshift-cluster-api delete machinesets.cluster.x-k8s.io NAME`. To have the " +
			"MachineSet in the Machine API again, recreate it with `spec.authoritativeAPI: ClusterAPI`: apply what `kubectl poundlock convert " +
			"machineset/NAME` prints",
	}},
}

var nobodyLeads = Table{
	Section: "Nobody leads",
	Rows: []Row{
		{
			Names: []string{"PoundlockNobodyLeads"},
			Means: "replicas of Poundlock run, and none of them holds the Lease `poundlock` in `openshift-cluster-api`, so nothing is mirrored or moved. " +
				"Each object stays with its authoritative API; webhooks and policies keep working.",
		},
	},
}
