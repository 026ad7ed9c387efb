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
			Means: "an object has a mirror from now on, and got the sync finalizer",
			Do:    "nothing",
		},
		{
			Names: []string{"MirrorClaimed"},
			Means: "an infrastructure object belongs to its Cluster API Machine from now on",
			Do:    "nothing",
		},
		{
			Names: []string{"MirrorDeleted"},
			Means: "Poundlock deleted a mirror, because the object that it mirrors is being deleted",
			Do:    "nothing",
		},
		{
			Names: []string{"DeletionPropagated"},
			Means: "a Machine on the side that is not authoritative was deleted, and a MachineSet owns it, so Poundlock deleted the authoritative Machine. " +
				"Its instance is terminated",
			Do: "nothing. The MachineSet replaces the Machine if it wants as many",
		},
		{
			Names: []string{"MirrorEnded"},
			Means: "an object has no mirror any more, and its own API acts on it alone, also to complete its deletion, or, while it is paused, nobody does",
			Do:    "nothing, unless the note says that it is paused: the note has what works then, also while the object is being deleted",
		},
		{
			Names: []string{"MirrorRefused"},
			Means: "the API server refuses the mirror; the note has its words",
			Do:    "follow the note. The condition `Synchronized` has the same reason",
		},
		{
			Names: []string{"MirrorReplaced"},
			Means: "the provider does not let its machine be changed to equal the Machine API's. " +
				"While that is authoritative, Poundlock deletes the paused mirror, and creates it again as it should be. No instance is touched",
			Do: "nothing",
		},
		{
			Names: []string{"FieldsTakenOver", "FieldsYielded"},
			Means: "Poundlock took fields of the mirror over from another field manager, or left them to it",
			Do:    "nothing",
		},
		{
			Names: []string{"Synchronized"},
			Means: "the mirror equals the authoritative object for the first time, or again",
			Do:    "nothing",
		},
		{
			Names: []string{"Attached", "Detached"},
			Means: "a Machine got its MachineSet's owner reference back, or lost it because the MachineSet is deleted and the Machine stays",
			Do:    "nothing",
		},
		{
			Names: []string{"OwnerRestored"},
			Means: "Poundlock restored the owner reference of a Machine to its MachineSet, or gave its mirror to the set that owns the Machine",
			Do:    "nothing",
		},
		{
			Names: []string{"Released"},
			Means: "Poundlock removed the finalizers or owner references that kept an object. It deletes no instance by that",
			Do:    "nothing. A warning names an instance for which a provider kept the object, and which is not the Machine's: see in the cloud whether it runs",
		},
		{
			Names: []string{"AutoscalerFollowed"},
			Means: "the autoscaler wrote to the object that is not authoritative, and Poundlock carried that over to the authoritative one",
			Do:    "nothing",
		},
		{
			Names: []string{"EtcdHookSeen", "EtcdHookFollowed"},
			Means: "Poundlock saw the etcd operator's hook on a control plane Machine, or carried the hook or its removal over to Cluster API",
			Do:    "nothing",
		},
		{
			Names: []string{"ChecksResumed"},
			Means: "a Machine has moved to Cluster API without an instance, and its infrastructure is ready now, or was not for 20 minutes: " +
				"Poundlock removed `cluster.x-k8s.io/skip-remediation`, so that Cluster API's checks count its start from now on and not from its creation",
			Do: "nothing",
		},
		{
			Names: []string{"InstanceHookRemoved"},
			Means: "the provider keeps and holds an object for the instance of a Machine that has moved to Cluster API (an OpenStackServer, a VSphereVM), or will " +
				"make none: Poundlock removed its own hook, by which a deleted Machine waits for that object",
			Do: "nothing",
		},
		{
			Names: []string{"RemediationCarriedOver"},
			Means: "a health check of Cluster API found a Machine unhealthy for which, or for whose MachineSet, the Machine API is authoritative, and Poundlock " +
				"deleted that Machine",
			Do: "nothing",
		},
		{
			Names: []string{"ForeignInstance"},
			Means: "`status.providerStatus` named the instance of another Machine. The Machine controller removed that name, and neither adopts nor deletes that " +
				"instance",
			Do: "find out who wrote it: the audit log has the name",
		},
		{
			Names: []string{"InstanceKept"},
			Means: "a Machine went away, without its finalizer, while its instance was made, and by then another Machine named that instance. " +
				"The Machine controller leaves it to that one",
			Do: "nothing",
		},
		{
			Names: []string{"RemediationNotCarriedOver"},
			Means: "a health check with a remediation template is not carried over to the other API's Machines",
			Do:    "delete the Machine by hand, or remove the template",
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
			Means: "an external remediation was withdrawn, because the Machine is healthy again or its check no longer looks after it; the note has the reason",
			Do:    "nothing",
		},
		{
			Names: []string{"Created", "Deleted"},
			Means: "of a Machine: the provider accepted the order for the instance, or the instance and all that belongs to it are gone. Of a ControlPlaneMachineSet: " +
				"it created or deleted the Machine that the note names",
			Do: "nothing",
		},
		{
			Names: []string{"Adopted", "Amended"},
			Means: "a ControlPlaneMachineSet became the owner of a Machine, or changed its labels, annotations or taints in place. Of other objects, `Adopted`: " +
				"Poundlock looked at the object for the first time",
			Do: "nothing",
		},
		{
			Names: []string{"OtherOperator"},
			Means: "OpenShift's own operator of ControlPlaneMachineSets runs, so Poundlock's does nothing, not even report",
			Do:    "run one of the two: the manager without `--control-plane`, or that Deployment without replicas",
		},
		{
			Names: []string{"FailedCreate", "FailedDelete", "FailedAdopt"},
			Means: "a MachineSet could not create, delete or adopt a Machine. Of a Machine: the provider refused the step. The note has the refusal",
			Do:    "follow the note; it is tried again",
		},
		{
			Names: []string{"FailedExists", "FailedUpdate", "FailedFindInstance"},
			Means: "the provider could not be asked for the instance, refused an update, or the instance of the Machine is gone",
			Do:    "follow the note; it is tried again unless the Machine is Failed",
		},
		{
			Names: []string{"SuccessfulCreate", "SuccessfulDelete", "SuccessfulAdopt"},
			Means: "a MachineSet created, deleted or adopted a Machine",
			Do:    "nothing",
		},
		{
			Names: []string{"DriftRemoved"},
			Means: "somebody changed an object of a Cluster API provider, and the installer removes that. The note names the fields and the field manager",
			Do:    "change the release's content or its variables instead",
		},
		{
			Names: []string{"Installed", "Waiting", "InstallFailed", "Pruned", "Released", "Dropped"},
			Means: "a provider of Cluster API is installed, waits in a stage, failed until a person acts, lost an object that its release no longer has, kept a " +
				"definition that it no longer has, or carries an object that the installer does not apply, such as a Secret. " +
				"The object is the provider's inventory. If the whole set waits or fails, it is one of the release's ConfigMaps",
			Do: "of a failure, see the runbook A provider of Cluster API is not installed",
		},
		{
			Names: []string{"CertificateTrouble"},
			Means: "the webhooks' certificate needs attention; the note names what is wrong. Poundlock tries again by itself",
			Do: "where the event returns, restore what the note names: a right of Poundlock's, a webhook configuration, or the Secret. A Secret that stays as it " +
				"is has Poundlock make a new one when it is deleted: `kubectl -n openshift-cluster-api delete secret poundlock-serving` (runbook The certificate)",
		},
		{
			Names: []string{"CertificateSecretRepaired"},
			Means: "the Secret of the webhooks' certificate was damaged, and Poundlock replaced its content",
			Do:    "nothing",
		},
	},
}
