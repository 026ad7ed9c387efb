// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

var events = Table{
	Section: "Events",
	Head:    [3]string{"event", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"MirrorCreated"},
			Means: "Poundlock created an object that mirrors the authoritative object",
			Do:    "nothing",
		},
		{
			Names: []string{"MirrorUpdated"},
			Means: "Poundlock made the mirror equal to the authoritative object; the note names the fields",
			Do:    "nothing",
		},
		{
			Names: []string{"MirrorEnrolled"},
			Means: "the object has a mirror from now on, so Poundlock added the sync finalizer to the object",
			Do:    "nothing",
		},
		{
			Names: []string{"MirrorClaimed"},
			Means: "Poundlock made the Cluster API Machine the owner of its infrastructure object",
			Do:    "nothing",
		},
		{
			Names: []string{"MirrorPaused"},
			Means: "Poundlock paused an infrastructure machine that was restored without its Cluster API Machine, before Poundlock made that Machine its owner",
			Do:    "nothing",
		},
		{
			Names: []string{"MirrorDeleted"},
			Means: "Poundlock deleted a mirror, because the object that it mirrors is being deleted",
			Do:    "nothing",
		},
		{
			Names: []string{"DeletionPropagated"},
			Means: "somebody deleted a mirror Machine that a MachineSet owns, so Poundlock deleted the authoritative Machine too. Its instance is terminated",
			Do:    "nothing. The MachineSet replaces the Machine if its replicas need it",
		},
		{
			Names: []string{"MirrorEnded"},
			Means: "the object has no mirror any more. Only the controllers of its own API act on the object, also to complete its deletion; while the " +
				"object is paused, no controller acts on it",
			Do: "nothing, unless the note says that the object is paused. Then follow the note, which also covers an object that is being deleted",
		},
		{
			Names: []string{"MirrorRefused"},
			Means: "the API server refuses the mirror; the note has the refusal",
			Do:    "follow the note. The condition `Synchronized` has the same reason",
		},
		{
			Names: []string{"MirrorReplaced"},
			Means: "the provider refuses the change that would make its machine (the mirror) equal to the Machine API's Machine. While the Machine API is " +
				"authoritative, Poundlock deletes and recreates the paused mirror. No instance is affected",
			Do: "nothing",
		},
		{
			Names: []string{"FieldsTakenOver", "FieldsYielded"},
			Means: "Poundlock took over fields of the mirror from another field manager (`FieldsTakenOver`), or left fields of the mirror to another field " +
				"manager (`FieldsYielded`)",
			Do: "nothing",
		},
		{
			Names: []string{"Synchronized"},
			Means: "the mirror equals the authoritative object for the first time, or again",
			Do:    "nothing",
		},
		{
			Names: []string{"Attached", "Detached"},
			Means: "Poundlock restored the owner reference of a Machine to its MachineSet (`Attached`), or removed the owner reference because the " +
				"MachineSet is being deleted and the Machine stays (`Detached`)",
			Do: "nothing",
		},
		{
			Names: []string{"OwnerRestored"},
			Means: "Poundlock restored the owner reference of a Machine to its MachineSet, or gave a mirror the owner reference that corresponds to the " +
				"Machine's",
			Do: "nothing",
		},
		{
			Names: []string{"Released"},
			Means: "Poundlock removed finalizers or owner references that kept an object from being deleted. This terminates no instance",
			Do: "nothing. If a warning names an instance that is not the Machine's, and for which a provider kept the object, check in the cloud whether " +
				"this instance runs",
		},
		{
			Names: []string{"AutoscalerFollowed"},
			Means: "the autoscaler wrote to a mirror, and Poundlock made the same change on the authoritative object",
			Do:    "nothing",
		},
		{
			Names: []string{"EtcdHookSeen", "EtcdHookFollowed"},
			Means: "Poundlock saw the etcd operator's hook on a control plane Machine (`EtcdHookSeen`), or copied the hook or its removal to Cluster API " +
				"(`EtcdHookFollowed`)",
			Do: "nothing",
		},
		{
			Names: []string{"ChecksResumed"},
			Means: "a Machine moved to Cluster API without an instance. Its infrastructure is ready now, or was not ready for 20 minutes. Poundlock " +
				"therefore removed `cluster.x-k8s.io/skip-remediation`, so that Cluster API's health checks count the Machine's start-up time from now, " +
				"not from its creation",
			Do: "nothing",
		},
		{
			Names: []string{"InstanceHookRemoved"},
			Means: "Poundlock removed its own hook from a Machine that has moved to Cluster API. The hook made the Machine's deletion wait until the " +
				"provider had an object for the instance (an OpenStackServer, a VSphereVM) with a finalizer. The provider has this object now, or will " +
				"create none",
			Do: "nothing",
		},
		{
			Names: []string{"RemediationCarriedOver"},
			Means: "a health check of Cluster API found a Machine unhealthy. Because the Machine API is authoritative for the Machine or for its " +
				"MachineSet, Poundlock deleted the Machine",
			Do: "nothing",
		},
		{
			Names: []string{"ForeignInstance"},
			Means: "`status.providerStatus` of the Machine named the instance of another Machine. The Machine controller removed this ID from the status, " +
				"and will neither adopt nor delete the other Machine's instance",
			Do: "find out who wrote the ID: the API server's audit log has the user's name",
		},
		{
			Names: []string{"InstanceKept"},
			Means: "a Machine without its finalizer was deleted while its instance was being created, and another Machine already named this instance. The " +
				"Machine controller does not terminate the instance: it belongs to the other Machine",
			Do: "nothing",
		},
		{
			Names: []string{"RemediationNotCarriedOver"},
			Means: "a health check with a remediation template found a Machine unhealthy for which the other API is authoritative. Poundlock does not " +
				"remediate such a Machine",
			Do: "delete the Machine by hand, or remove the template from the check",
		},
		{
			Names: []string{"MachineFailed", "NodeGone", "NodeStartupTimeout", "UnhealthyNode"},
			Means: "a health check deletes the Machine because the Machine has failed (`MachineFailed`), its Node is gone (`NodeGone`), it got no Node in " +
				"time (`NodeStartupTimeout`), or a condition of its Node has been unhealthy for too long (`UnhealthyNode`)",
			Do: "nothing; the Machine's MachineSet creates another one",
		},
		{
			Names: []string{"HasRemediateAnnotation"},
			Means: "a health check deletes the Machine, or requests a reboot of its host, because the Machine has the annotation " +
				"`cluster.x-k8s.io/remediate-machine`",
			Do: "nothing",
		},
		{
			Names: []string{"MachineDeleted", "MachineAnnotated", "MachineRemediationRequested"},
			Means: "a health check deleted an unhealthy Machine (`MachineDeleted`), requested a reboot of its host (`MachineAnnotated`), or created the " +
				"request for an external remediation from its `spec.remediationTemplate` (`MachineRemediationRequested`)",
			Do: "nothing",
		},
		{
			Names: []string{"RemediationWithdrawn"},
			Means: "a health check withdrew its request for an external remediation, because the Machine is healthy again or the check no longer watches " +
				"the Machine; the note has the reason",
			Do: "nothing",
		},
		{
			Names: []string{"Created", "Deleted"},
			Means: "on a Machine: the provider accepted the request for the instance (`Created`), or the instance and everything that belongs to it are " +
				"gone (`Deleted`). On a ControlPlaneMachineSet: the set created or deleted the Machine that the note names",
			Do: "nothing",
		},
		{
			Names: []string{"Adopted", "Amended"},
			Means: "a ControlPlaneMachineSet became the owner of a Machine (`Adopted`), or changed the labels, annotations or taints of a Machine in place " +
				"(`Amended`). On any other object, `Adopted` means that Poundlock reconciled the object for the first time",
			Do: "nothing",
		},
		{
			Names: []string{"OtherOperator"},
			Means: "OpenShift's own operator of ControlPlaneMachineSets runs, so Poundlock's operator does nothing, and reports nothing",
			Do:    "run only one of the two operators: run the manager without `--control-plane`, or scale OpenShift's Deployment to 0",
		},
		{
			Names: []string{"FailedCreate", "FailedDelete", "FailedAdopt"},
			Means: "on a MachineSet: the set could not create, delete or adopt a Machine. On a Machine: the provider refused to create or delete the " +
				"instance. The note has the refusal",
			Do: "follow the note; the controller retries",
		},
		{
			Names: []string{"FailedExists", "FailedUpdate", "FailedStore", "FailedFindInstance"},
			Means: "the Machine's controller could not ask the provider whether the instance exists (`FailedExists`), the provider refused an update " +
				"(`FailedUpdate`), the API server did not store the provider's answer (`FailedStore`), or the Machine's instance is gone (`FailedFindInstance`)",
			Do: "follow the note; the controller retries unless the Machine is Failed",
		},
		{
			Names: []string{"FailedDrain", "FailedTakeTurn", "FailedSharedInstance", "FailedTellDeleting"},
			Means: "a Machine is being deleted, and its controller could not evict the pods of the Machine's Node (`FailedDrain`), find out whether another " +
				"Node of the control plane is being drained (`FailedTakeTurn`) or whether another Machine has the same instance (`FailedSharedInstance`), or " +
				"store that the deletion has begun (`FailedTellDeleting`). The instance still runs",
			Do: "follow the note; the controller retries",
		},
		{
			Names: []string{"FailedFindNode", "FailedLinkNode", "FailedFurnishNode", "FailedDeleteNode"},
			Means: "the Machine's controller could not find the Machine's Node (`FailedFindNode`), connect it with the Machine (`FailedLinkNode`), copy labels, " +
				"annotations and taints to it (`FailedFurnishNode`), or delete it after the instance (`FailedDeleteNode`)",
			Do: "follow the note; the controller retries",
		},
		{
			Names: []string{"FailedAddFinalizer", "FailedRemoveFinalizer"},
			Means: "the Machine's controller could not add its finalizer to the Machine, which comes before the instance is created, or remove it after the " +
				"instance is gone",
			Do: "follow the note: the API server or a webhook refused the write; the controller retries",
		},
		{
			Names: []string{"SuccessfulCreate", "SuccessfulDelete", "SuccessfulAdopt"},
			Means: "the MachineSet created, deleted or adopted a Machine",
			Do:    "nothing",
		},
		{
			Names: []string{"DriftRemoved"},
			Means: "somebody changed an object of a Cluster API provider, and the installer undid the change. The note names the fields and the field manager",
			Do:    "change the content of the release, or the variables of the provider, instead",
		},
		{
			Names: []string{"Installed", "Waiting", "InstallFailed", "Pruned", "Released", "Dropped"},
			Means: "the installer installed a provider of Cluster API (`Installed`), waits in one of the provider's stages (`Waiting`), or failed and " +
				"continues only after a person acts (`InstallFailed`). `Pruned`: the installer deleted an object that the release no longer has. " +
				"`Released`: the installer kept a definition that the release no longer has. `Dropped`: the installer found an object that it does not " +
				"apply, such as a Secret. The event is on the provider's inventory. If all providers wait or fail, the event is on one of the release's " +
				"ConfigMaps",
			Do: "after a failure, see the runbook A provider of Cluster API is not installed",
		},
		{
			Names: []string{"CertificateTrouble"},
			Means: "the webhooks' certificate has a problem, which the note names. Poundlock retries by itself",
			Do: "if the event returns, restore what the note names: a right of Poundlock, a webhook configuration, or the Secret. If the Secret stays " +
				"damaged, delete it, and Poundlock creates a new one: `kubectl -n openshift-cluster-api delete secret poundlock-serving` (runbook The " +
				"certificate)",
		},
		{
			Names: []string{"CertificateSecretRepaired"},
			Means: "the Secret of the webhooks' certificate was damaged, and Poundlock replaced its content",
			Do:    "nothing",
		},
	},
}
