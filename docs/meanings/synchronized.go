// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

import (
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

var synchronizedFalse = Table{
	Section: "Synchronized is False",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{authority.ReasonFieldsNotConvertible},
			Means: "the object has fields that the other API cannot express; the message has the path and the reason of each",
			Do: "change the fields, or leave the object with its API. The tables in [docs/fields](fields) list what each platform can and cannot express; " +
				"`kubectl poundlock explain FIELD` shows a field's row",
		},
		{
			Names: []string{conversion.ReasonClusterNotReady},
			Means: "Poundlock cannot create the mirror because the Infrastructure, the Cluster or the infrastructure cluster object is missing; the " +
				"message names it",
			Do: "create the object that the message names; then Poundlock continues by itself. An Infrastructure that was restored from a backup without " +
				"its status lacks the infrastructure's name and platform: `kubectl replace --subresource=status -f infrastructure.yaml` restores the status",
		},
		{
			Names: []string{conversion.ReasonInfraClusterMissing},
			Means: "the infrastructure cluster object (for example an AWSCluster) is missing. OpenShift does not create this object on Nutanix, on " +
				"OpenStack before 4.21, and on clusters with a load balancer that you manage yourself",
			Do: "check the manifest in the message, which Poundlock made from the Infrastructure, and run the message's commands " +
				"([guide](guide.md#the-infrastructure-cluster-object)); then Poundlock continues by itself",
		},
		{
			Names: []string{authority.ReasonSurroundings},
			Means: "the mirror's namespace, CRD, Cluster or infrastructure cluster (for example an AWSCluster) is being deleted or is gone; the message " +
				"names it. Poundlock terminates nothing because of this deletion: the authoritative object stays, with its instance",
			Do: "recreate the object that was deleted, and Poundlock recreates the mirror within seconds; or uninstall Poundlock " +
				"([guide](guide.md#remove-it)). If the deletion hangs, see the runbook [The deletion of a namespace, a CRD or the Cluster " +
				"hangs](#the-deletion-of-a-namespace-a-crd-or-the-cluster-hangs)",
		},
		{
			Names: []string{authority.ReasonDeleting},
			Means: "the infrastructure machine of the mirror is being deleted, but finalizers of other components keep it; the message names the finalizers",
			Do: "remove the finalizers, or ask their owners to: admission allows everybody to remove a finalizer from an object that is being deleted. " +
				"Poundlock then recreates the mirror",
		},
		{
			Names: []string{authority.ReasonInfraNotFound},
			Means: "the Cluster API object refers to an object of the provider (an infrastructure machine or a template) that does not exist",
			Do: "for a Machine: restore the provider's object with its `spec.providerID`, or correct the reference; `kubectl get events` shows who deleted " +
				"the object. If both Machines have the `spec.providerID`, you can also move the Machine to Machine API. If the instance is gone too, the " +
				"Machine then becomes Failed, and the Machine API creates no instance. If no Machine has a `spec.providerID`, look for the instance in the " +
				"cloud. If there is no instance, recreate the provider's object without an ID, and Cluster API creates the instance, or delete the " +
				"Machine. For a MachineSet the template is missing: recreate the template with the same name, or refer to another template. Until then the " +
				"set creates no Machine, and its Machines keep running",
		},
		{
			Names: []string{"MirrorRefused"},
			Means: "the API server refuses the mirror: a webhook, a policy or a feature gate of Cluster API refuses it; the message has the refusal",
			Do: "follow the message; Poundlock retries at least every 15 seconds. If a provider refuses only a change, and would accept a new object, " +
				"Poundlock replaces the mirror by itself while Machine API is authoritative (event `MirrorReplaced`)",
		},
		{
			Names: []string{"AuthoritativeObjectMissing"},
			Means: "Cluster API is authoritative, but its object, which existed, is gone. Somebody deleted the object while Poundlock was not installed or " +
				"before Poundlock had mirrored it (it did not convert, or its infrastructure machine was missing), or removed its finalizers by hand. " +
				"Poundlock does not recreate the object: Cluster API could create another instance, or its MachineSet could delete another Machine",
			Do: "check in the cloud whether the Machine's instance runs. Delete the mirror with the command in the message. To restore the object after " +
				"that, recreate the mirror with `spec.authoritativeAPI: ClusterAPI`, and for a Machine with its `spec.providerID`",
		},
		{
			Names: []string{authority.ReasonSetIsFull},
			Means: "Machine API runs the Machine, Cluster API is authoritative for its MachineSet, and the Machine has lost its mirror: somebody deleted the CRD " +
				"machines.cluster.x-k8s.io, restored a backup without the mirror, or removed finalizers. Meanwhile Cluster API's set has created another Machine " +
				"in its place. With the mirror, the set would have a Machine too many, and would delete one with its instance, whichever it chooses. So Poundlock " +
				"does not create the mirror",
			Do: "decide which Machine goes. To delete this one with its instance: `kubectl -n openshift-machine-api delete machines.machine.openshift.io NAME`. To " +
				"delete another one of the set, scale the set up with the command in the message, annotate the other Machine with " +
				"`cluster.x-k8s.io/delete-machine`, and scale the set down again. To keep both, scale the set up",
		},
		{
			Names: []string{authority.ReasonForeignTwin},
			Means: "an object that Poundlock did not create has the mirror's name, and cannot become the mirror: Cluster API acts on this object, the " +
				"object has its own instance, it belongs to another Machine, or it is being deleted. Or the provider keeps an object for the instance (a " +
				"VSphereVM, an OpenStackServer), and a person created an object of that name which belongs to no machine of the provider and does not name " +
				"the Machine's instance. If such an object names no instance, Poundlock pauses it, because its controller may find the Machine's instance " +
				"by the name. Poundlock does not write to the object that has the mirror's name, and the Machine API acts as before. If two MachineSets " +
				"were created at the same moment, the one without Machines creates none (`authority/created-twice`). While no replica of Poundlock " +
				"answers, policies enforce this, because Poundlock has marked the Machine API's MachineSet (`poundlock.openshift.io/beside-foreign`). If " +
				"two Machines were created at the same moment, at most one API creates an instance, and mostly neither (`authority/created-twice`), as long as a " +
				"replica of Poundlock answers. Without a replica, Cluster API's Machine may create its instance, and Machine API's Machine creates none, because " +
				"Poundlock has marked it (`poundlock.openshift.io/beside-foreign`). If somebody has also removed the label " +
				"`poundlock.openshift.io/admission`, nothing keeps both Machines from creating an instance",
			Do: "the message names the object, and has the commands if a deletion alone does not end: the provider does nothing for an " +
				"infrastructure machine that no Machine owns, so its finalizers are removed by hand. " +
				"Of two MachineSets, delete the one that you do not want, with the message's command: this also deletes the set's " +
				"Machines. Do not pause a Cluster API MachineSet that has Machines: it would become the mirror, and its Machines have no Machine API object " +
				"(`MachinesWithoutCounterpart`). If the object belongs to a Cluster API Machine of another name, do not delete only the object, because that Machine " +
				"would lose its instance: give the Machine API Machine another name, or delete the whole Cluster API Machine. Otherwise choose one of three. (a) " +
				"Delete the object, with everything that runs on it. If the object is paused, its controllers delete nothing until you remove " +
				"`cluster.x-k8s.io/paused` from the object and from its infrastructure machine. Run the message's commands in their order: admission refuses the " +
				"last command until Cluster API has deleted the infrastructure machine. (b) Leave both objects unchanged: each API acts on its own object, and the " +
				"Machine API object cannot migrate. (c) If no Machine owns the object's infrastructure machine yet, annotate both with `cluster.x-k8s.io/paused`. " +
				"The object becomes the mirror once its controllers report `Paused=True`. An API may take a quarter of an hour to retry what was refused; after any " +
				"change of its Machine, such as a label, it retries at once",
		},
		{
			Names: []string{conversion.ReasonPlatformNotSupported},
			Means: "Poundlock does not convert machines of the cluster's platform yet; the message explains why",
			Do: "nothing needs to be done, and nothing is lost: all objects stay with the Machine API. If a move was requested, set " +
				"`spec.authoritativeAPI` back. You can also leave the request: the move waits for a version of Poundlock that supports the platform " +
				"([decisions](decisions.md#platforms-that-cannot-be-migrated-yet)). MachineHealthChecks can move on every platform",
		},
		{
			Names: []string{controlplane.ReflectionRefused},
			Means: "Poundlock creates an infrastructure machine template and failure domains from a ControlPlaneMachineSet, and the API server refuses one " +
				"of these writes; the message has the refusal",
			Do: "follow the message. If it contains `does not store these fields: status.failureDomains`, the infrastructure cluster's CRD has no " +
				"`status.failureDomains`",
		},
	},
}

var synchronizedTrue = Table{
	Section: "Synchronized is True or Unknown",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"ResourceSynchronized"},
			Means: "the mirror equals the authoritative object in the generation that `status.synchronizedGeneration` names",
			Do:    "nothing",
		},
		{
			Names: []string{authority.ReasonAuthorityChanged},
			Means: "authority over the object has just moved to the other API, and Poundlock has not mirrored in the new direction yet",
			Do:    "wait some seconds",
		},
		{
			Names: []string{"ClusterAPINotInstalled"},
			Means: "the API server does not serve the kind that the message names. Meanwhile Poundlock writes nothing to Cluster API, and deletes nothing; " +
				"the Machine API works as before",
			Do: "install Cluster API: Poundlock then mirrors the object, and needs no restart. If somebody deleted Cluster API's CRDs, restore the CRDs " +
				"and their objects",
		},
		{
			Names: []string{"ProviderNotInstalled"},
			Means: "the API server does not serve a kind of the platform's Cluster API provider, or does not serve the version of the kind that the " +
				"message names",
			Do: "install the platform's Cluster API provider, in a release that serves the version that the message names",
		},
		{
			Names: []string{"MachineAPINotInstalled"},
			Means: "the API server does not serve the kind of the Machine API that the message names, for example while a CRD of OpenShift is being recreated",
			Do:    "restore the CRD. The cluster version operator does that by itself",
		},
	},
}

var paused = Table{
	Section: "Paused of a Machine API object",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{authority.ReasonMachineAPI},
			Means: "the Machine API's controllers act on the object",
			Do:    "nothing",
		},
		{
			Names: []string{authority.ReasonNotMachineAPI},
			Means: "the Machine API's controllers do not act on the object, because Cluster API is authoritative or authority is moving: " +
				"`status.authoritativeAPI` shows which",
			Do: "nothing; to have the Machine API's controllers act, set `spec.authoritativeAPI` to `MachineAPI`",
		},
	},
}
