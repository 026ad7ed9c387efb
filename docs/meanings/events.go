// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

var events = Table{
	Section: "Events",
	Head:    [3]string{"event", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"MirrorCreated"},
			Means: "Poundlock created an object to mirror the authoritative one",
			Do:    "nothing",
		},
		{
			Names: []string{"MirrorUpdated"},
			Means: "Poundlock made the mirror equal to the authoritative object; the note names the fields",
			Do:    "nothing",
		},
		{
			Names: []string{"MirrorEnrolled"},
			Means: "an object has a mirror from now on, so Poundlock added the sync finalizer",
			Do:    "nothing",
		},
		{
			Names: []string{"MirrorClaimed"},
			Means: "from now on an infrastructure object has its Cluster API Machine as its owner",
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
			Means: "an object has no mirror any more. Only its own API acts on it, also to complete its deletion; while it is paused, nobody does",
			Do:    "nothing, unless the note says that the object is paused: then follow the note, which also covers an object that is being deleted",
		},
		{
			Names: []string{"MirrorRefused"},
			Means: "the API server refuses the mirror; the note has the refusal",
			Do:    "follow the note. The condition `Synchronized` has the same reason",
		},
		{
			Names: []string{"MirrorReplaced"},
			Means: "the provider refuses the change that would make its machine equal to the Machine API's. While the Machine API is authoritative, " +
				"Poundlock deletes and recreates the paused mirror. No instance is affected",
			Do: "nothing",
		},
		{
			Names: []string{"FieldsTakenOver", "FieldsYielded"},
			Means: "Poundlock took over fields of the mirror from another field manager, or left fields to the other manager",
			Do:    "nothing",
		},
		{
			Names: []string{"Synchronized"},
			Means: "the mirror equals the authoritative object for the first time, or again",
			Do:    "nothing",
		},
		{
			Names: []string{"Attached", "Detached"},
			Means: "Poundlock restored the owner reference of a Machine to its MachineSet, or removed it because the MachineSet is being deleted and the " +
				"Machine stays",
			Do: "nothing",
		},
		{
			Names: []string{"OwnerRestored"},
			Means: "Poundlock restored the owner reference of a Machine to its MachineSet, or set the owner reference of a mirror to match that of the Machine",
			Do:    "nothing",
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
			Means: "Poundlock saw the etcd operator's hook on a control plane Machine, or carried the hook or its removal over to Cluster API",
			Do:    "nothing",
		},
		{
			Names: []string{"ChecksResumed"},
			Means: "a Machine has moved to Cluster API without an instance, and its infrastructure is ready now, or was not ready for 20 minutes. Poundlock " +
				"removed `cluster.x-k8s.io/skip-remediation`, so that Cluster API's health checks count the Machine's start-up time from now, not from its " +
				"creation",
			Do: "nothing",
		},
		{
			Names: []string{"InstanceHookRemoved"},
			Means: "the provider now has an object for the instance of a Machine that has moved to Cluster API (an OpenStackServer, a VSphereVM), and a " +
				"finalizer on it, or will create no such object. Poundlock removed its own hook, which makes a deleted Machine wait for this object",
			Do: "nothing",
		},
		{
			Names: []string{"RemediationCarriedOver"},
			Means: "a health check of Cluster API found a Machine unhealthy, and the Machine API is authoritative for the Machine or for its MachineSet. So " +
				"Poundlock deleted the Machine",
			Do: "nothing",
		},
		{
			Names: []string{"ForeignInstance"},
			Means: "`status.providerStatus` named the instance of another Machine. The Machine controller removed the name, and will neither adopt nor " +
				"delete the other Machine's instance",
			Do: "find out who wrote it: the API server's audit log has the user's name",
		},
		{
			Names: []string{"InstanceKept"},
			Means: "a Machine without its finalizer was deleted while its instance was being created, and another Machine already named this instance. The " +
				"Machine controller leaves the instance to the other Machine",
			Do: "nothing",
		},
		{
			Names: []string{"RemediationNotCarriedOver"},
			Means: "Poundlock does not carry over the remediation of a health check with a template to the other API's Machines",
			Do:    "delete the Machine by hand, or remove the template from the check",
		},
		{
			Names: []string{"MachineFailed", "NodeGone", "NodeStartupTimeout", "UnhealthyNode"},
			Means: "a health check deletes the Machine: it has failed, its Node is gone, it got no Node in time, or a condition of its Node is unhealthy for too long",
			Do:    "nothing; the Machine's MachineSet creates another one",
		},
		{
			Names: []string{"HasRemediateAnnotation"},
			Means: "a health check deletes the Machine, or asks for a reboot of its host, because the Machine's annotation `cluster.x-k8s.io/remediate-machine` asks " +
				"for it",
			Do: "nothing",
		},
		{
			Names: []string{"MachineDeleted", "MachineAnnotated"},
			Means: "a health check deleted an unhealthy Machine, or asked for a reboot of its host",
			Do:    "nothing",
		},
		{
			Names: []string{"RemediationWithdrawn"},
			Means: "an external remediation was withdrawn, because the Machine is healthy again or its check no longer watches it; the note has the reason",
			Do:    "nothing",
		},
		{
			Names: []string{"Created", "Deleted"},
			Means: "of a Machine: the provider accepted the request for the instance, or the instance and everything that belongs to it are gone. Of a " +
				"ControlPlaneMachineSet: it created or deleted the Machine that the note names",
			Do: "nothing",
		},
		{
			Names: []string{"Adopted", "Amended"},
			Means: "a ControlPlaneMachineSet became the owner of a Machine, or changed its labels, annotations or taints in place. Of other objects, " +
				"`Adopted`: Poundlock reconciled the object for the first time",
			Do: "nothing",
		},
		{
			Names: []string{"OtherOperator"},
			Means: "OpenShift's own operator of ControlPlaneMachineSets runs, so Poundlock's operator does nothing, and reports nothing",
			Do:    "run only one of the two operators: run the manager without `--control-plane`, or scale OpenShift's Deployment to 0",
		},
		{
			Names: []string{"FailedCreate", "FailedDelete", "FailedAdopt"},
			Means: "a MachineSet could not create, delete or adopt a Machine. Of a Machine: the provider refused the step. The note has the refusal",
			Do:    "follow the note; the controller retries",
		},
		{
			Names: []string{"FailedExists", "FailedUpdate", "FailedFindInstance"},
			Means: "the controller could not ask the provider for the instance, the provider refused an update, or the instance of the Machine is gone",
			Do:    "follow the note; the controller retries unless the Machine is Failed",
		},
		{
			Names: []string{"SuccessfulCreate", "SuccessfulDelete", "SuccessfulAdopt"},
			Means: "a MachineSet created, deleted or adopted a Machine",
			Do:    "nothing",
		},
		{
			Names: []string{"DriftRemoved"},
			Means: "somebody changed an object of a Cluster API provider, and the installer undoes the change. The note names the fields and the field manager",
			Do:    "change the release's content or its variables instead",
		},
		{
			Names: []string{"Installed", "Waiting", "InstallFailed", "Pruned", "Released", "Dropped"},
			Means: "the installer installed a provider of Cluster API, waits in one of the provider's stages, or failed until a person acts. Or the " +
				"installer deleted an object that the release no longer has, kept a definition that the release no longer has, or found an object that it " +
				"does not apply, such as a Secret. The event is on the provider's inventory; if the whole set waits or fails, it is on one of the release's " +
				"ConfigMaps",
			Do: "after a failure, see the runbook A provider of Cluster API is not installed",
		},
		{
			Names: []string{"CertificateTrouble"},
			Means: "the webhooks' certificate needs attention; the note names what is wrong. Poundlock retries by itself",
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
