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
			Do: "read the reason and the message of `Synchronized`, which names each field by path: `kubectl poundlock explain REASON` has the remedy. Or " +
				"set `spec.authoritativeAPI` back",
		},
		{
			Names: []string{authority.ReasonCatchingUp},
			Means: "the mirror is behind the authoritative object",
			Do:    "wait some seconds; if this reason stays, look for the object in the manager's log, and look at `poundlock_mirror_writes_total`",
		},
		{
			Names: []string{authority.ReasonTwinMissing},
			Means: "Poundlock has not created the twin yet, or somebody has deleted the infrastructure object of an authoritative Cluster API Machine",
			Do: "read the message of `Synchronized`: it names what is missing, or each field by path. Fix that, or set `spec.authoritativeAPI` back. " +
				"Poundlock does not recreate a deleted infrastructure object: `kubectl poundlock explain InfrastructureNotFound` explains how to restore " +
				"it. A move to the Machine API does not wait for the infrastructure object if both Machines have the `spec.providerID`",
		},
		{
			Names: []string{authority.ReasonNotProvisioned},
			Means: "the Machine is still being created",
			Do: "wait for phase `Provisioned`. A Machine in phase `Failed` stays `Failed`: delete the Machine, which also terminates its instance, and " +
				"create another. A move never interrupts the creation of an instance. Cluster API must also have found the instance: a cloud may hide a new " +
				"instance for some seconds, and Machine API's controllers fail a Machine for good if they do not find its instance",
		},
		{
			Names: []string{authority.ReasonUncounted},
			Means: "only one of the two MachineSets counts the Machines that the message names. The other MachineSet would create another Machine for each " +
				"of them, or delete a Machine",
			Do: "most waits end in seconds, once Poundlock has created the Machine's mirror or the owner reference. To cancel the move, set " +
				"`spec.authoritativeAPI` back. Otherwise the message shows which case it is. `FieldsNotConvertible`: edit the Machine, or delete it, and its " +
				"set creates a new one. A Cluster API Machine without a reason: `kubectl poundlock convert` names the fields. A Machine that Cluster API's " +
				"MachineSet created while Machine API was authoritative for the set, for example a set that was created in both APIs: Poundlock creates no " +
				"Machine API object for it, so delete the Machine, with everything that runs on it, or keep it by the steps in the message. A Machine that " +
				"no set owns and that the other set would adopt: change the Machine's labels, or migrate the Machine first. A CustomResourceDefinition that " +
				"is missing or being deleted: the message names the installation that recreates it; do not edit or delete Machines because of that",
		},
		{
			Names: []string{authority.ReasonJudged},
			Means: "a MachineHealthCheck of Cluster API has marked the Machine that the message names as unhealthy, and no active check watches this " +
				"Machine any more: the check was deleted, or the check or the Machine is paused. As soon as Cluster API's MachineSet acts, it would delete " +
				"the Machine, although the Machine's Node may have recovered",
			Do: "nothing: Poundlock removes the mark within seconds. If the wait stays, see the condition `Synchronized` of the Machine. To replace the " +
				"Machine, delete it",
		},
		{
			Names: []string{authority.ReasonRequestsOpen},
			Means: "a MachineHealthCheck with a remediation template has found a Machine unhealthy, so a remediation request may be open. Only this check " +
				"deletes the request when the Machine is healthy again. After a move of the check, or of the Machine out of Cluster API, nobody would " +
				"delete the request, and a healthy Machine would be remediated. If the check creates a request before it is paused, Poundlock cancels the " +
				"move",
			Do: "wait until the Machines are healthy. If a Machine does not recover, delete it. Or remove the template from the check, and delete the " +
				"requests yourself. To move a single Machine, set `cluster.x-k8s.io/skip-remediation` on its Cluster API object, and delete its request",
		},
		{
			Names: []string{authority.ReasonInstanceUnknown},
			Means: "the objects of the two APIs do not both have the ID of the instance. The controllers of the authoritative API may have requested an " +
				"instance, and a move would create a second one",
			Do: "usually wait: the controllers store the ID. Otherwise see the runbook [An instance is unknown](#an-instance-is-unknown)",
		},
		{
			Names: []string{authority.ReasonInstanceShared},
			Means: "another Machine, which the message names, has the same `spec.providerID`. After a move two APIs would act on one instance, and the " +
				"deletion of either Machine would terminate the instance. Or the message names a VSphereVM or an OpenStackServer of the provider for the " +
				"same instance that does not belong to this Machine: its controller acts on the instance, and terminates the instance when the VSphereVM or " +
				"OpenStackServer is deleted",
			Do: "check in the cloud to which Machine the instance belongs. Correct or remove `spec.providerID` of the other Machine: admission allows this " +
				"change while a requested migration waits with this reason. If the move has begun, cancel it first. For a VSphereVM or an OpenStackServer, " +
				"run the commands in the message: they delete the object while it is paused, so that the instance keeps running",
		},
		{
			Names: []string{authority.ReasonInfraShared},
			Means: "`spec.infrastructureRef` of the Cluster API Machine names an infrastructure machine that belongs to another Machine, which the message " +
				"names. After a move the Machine API would act on the other Machine's instance",
			Do: "leave both Machines unchanged: this Machine cannot migrate. Do not delete this Machine: Cluster API would also delete the infrastructure " +
				"machine, and the other Machine's instance. Or delete the other Machine, with everything that runs on it. If the move has begun, cancel it " +
				"first",
		},
		{
			Names: []string{authority.ReasonNotPaused},
			Means: "the controllers that lose authority have not set `Paused=True` on the object that the message names, or have not removed the annotation " +
				"`clusterctl.cluster.x-k8s.io/block-move` from Azure's machine",
			Do: "look at the object with `kubectl -n NAMESPACE describe KIND NAME`: its conditions and events have the controller's last error. After an " +
				"error, such as a creation that the cloud refuses, a controller waits longer after each attempt, up to a quarter of an hour, and " +
				"acknowledges the pause only at its next attempt. Then the move continues by itself. If there is no error, check that the controllers run " +
				"(`kubectl get pods` in the two namespaces), and that their feature gate is on",
		},
		{
			Names: []string{authority.ReasonNotResumed},
			Means: "the controllers that gained authority have not set `Paused=False`, or have not restored the annotation " +
				"`clusterctl.cluster.x-k8s.io/block-move` on Azure's machines",
			Do: "look at the object that the message names with `kubectl -n NAMESPACE describe KIND NAME`: its conditions and events have the controller's " +
				"last error. If there is no error, check that the controllers run (`kubectl get pods` in the two namespaces), and that their feature gate " +
				"is on",
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
			Means: "the namespace, a CRD or the Cluster of the requested API is being deleted; the message names it. Its objects are deleted with it, and " +
				"their controllers would terminate the instance, so authority stays with the present API, or goes back",
			Do: "cancel the migration: set `spec.authoritativeAPI` back to `status.synchronizedAPI`. Or wait for the end of the deletion and recreate the " +
				"object, and the move starts. If the deletion hangs, see the runbook [The deletion of a namespace, a CRD or the Cluster " +
				"hangs](#the-deletion-of-a-namespace-a-crd-or-the-cluster-hangs)",
		},
		{
			Names: []string{authority.ReasonDeleting},
			Means: "the object or its twin is being deleted",
			Do:    "nothing: the deletion must end first. If the deletion hangs, the message shows whose finalizer is left",
		},
		{
			Names: []string{"WaitingForPreDrainHook", "WaitingForPreTerminateHook"},
			Means: "Cluster API deletes the Machine, and waits for a hook: the annotation that the message names, on the Machine of Cluster API",
			Do: "ask the hook's owner (the value of the annotation) why the hook stays. EtcdQuorumOperator is etcd's hook: the etcd operator removes it " +
				"once a replacement votes. If the owner of a hook no longer exists, remove the hook: `kubectl -n openshift-cluster-api annotate " +
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
				"server refuses some of the controller's writes; and while etcd's hook holds a control plane Machine, its instance is kept " +
				"(`authority/hooks-skipped`)",
			Do: "check that Poundlock runs (`kubectl poundlock status`), and which hooks the Machine has; then read the log of Cluster API's manager. The " +
				"controller retries by itself",
		},
		{
			Names: []string{authority.ReasonWouldBeAdopted},
			Means: "the deletion of a MachineSet waits: the deletion would leave Machines without an owner, and another set would adopt one of them",
			Do: "the message names the Machine and the other set. To keep the Machine, remove a label by which only the other set selects; the deletion " +
				"continues within seconds",
		},
		{
			Names: []string{authority.ReasonUnknownOrigin},
			Means: "status is Migrating and `synchronizedAPI` is empty: somebody wrote status by hand",
			Do: "Poundlock does not guess. Set `status.synchronizedAPI` to the API that was authoritative before the move, for example with `kubectl -n " +
				"openshift-machine-api patch machines.machine.openshift.io NAME --as system:serviceaccount:openshift-cluster-api:poundlock --subresource " +
				"status --type merge -p '{\"status\":{\"synchronizedAPI\":\"MachineAPI\"}}'`",
		},
		{
			Names: []string{authority.ReasonDisabled},
			Means: "the feature gate is off, or the CRD lacks the fields",
			Do:    "turn it on, or leave everything as it is",
		},
		{
			Names: []string{authority.ReasonUnknownAuthority},
			Means: "`status.authoritativeAPI` has a value that this version of Poundlock does not support",
			Do:    "a newer version of Poundlock wrote it: run the newer version, or set status back as its release notes describe",
		},
		{
			Names: []string{"StepFailed"},
			Means: "the API server refuses the next write of the move, for example because Cluster API's webhooks are down. Or the CRD of the provider's " +
				"machines exists, but the API server serves no version that Poundlock reads",
			Do: "the message has the refusal. Poundlock retries at least every 15 seconds. If the object is already paused in the API that it leaves, no " +
				"API acts on it meanwhile: to cancel the move, set spec.authoritativeAPI back",
		},
		{
			Names: []string{authority.ReasonPausing, authority.ReasonHandingOver, authority.ReasonReleasing},
			Means: "a move is on its way, and this is its step",
			Do:    "wait some seconds",
		},
		{
			Names: []string{authority.ReasonStarted, authority.ReasonAdopted, authority.ReasonCompleted, authority.ReasonCancelled},
			Means: "events, and the condition shortly after: a move, or Poundlock's first pass over a new object, began or ended",
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
			Means: "a move of a ControlPlaneMachineSet back to Machine API is requested, but the set's template is of Cluster API",
			Do:    "give the template `machines_v1beta1_machine_openshift_io`, with the providerSpec of the set's Machines",
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
			Means: "replicas run, and none of them holds the Lease `poundlock` in `openshift-cluster-api`, so nothing is mirrored or moved. Each object " +
				"stays with its authoritative API; webhooks and policies keep working.",
		},
	},
}
