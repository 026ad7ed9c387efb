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
			Names: []string{"FieldsNotConvertible"},
			Means: "fields that the other API cannot express; the message has each by path and reason",
			Do: "change them, or leave the object where it is. The tables in [docs/fields](fields) list what each platform can and cannot express, " +
				"and `kubectl poundlock explain` with a field has its row",
		},
		{
			Names: []string{conversion.ReasonClusterNotReady},
			Means: "the Infrastructure, the Cluster or the infrastructure cluster object that a conversion needs is missing",
			Do: "the message names it; the mirror goes on by itself when it appears. An Infrastructure that a backup restored without status lacks name and platform: " +
				"`kubectl replace --subresource=status -f infrastructure.yaml`",
		},
		{
			Names: []string{conversion.ReasonInfraClusterMissing},
			Means: "the infrastructure cluster object is missing, and OpenShift makes none on Nutanix, none on OpenStack before 4.21, and none where the load " +
				"balancer is yours",
			Do: "look at the manifest in the message, which is made of the Infrastructure, and run its commands " +
				"([guide](guide.md#the-infrastructure-cluster-object)); the mirror goes on by itself",
		},
		{
			Names: []string{authority.ReasonSurroundings},
			Means: "a namespace, a CRD or the Cluster that the mirror lives in is being deleted or is gone, also with its infrastructure cluster (for example an " +
				"AWSCluster); the message names it. Poundlock terminates nothing because of that: the authoritative object stays, with its instance",
			Do: "recreate what was deleted, and Poundlock recreates the mirror within seconds; or uninstall Poundlock ([guide](guide.md#remove-it)). " +
				"If the deletion hangs, see the runbook " +
				"[The deletion of a namespace, a CRD or the Cluster hangs](#the-deletion-of-a-namespace-a-crd-or-the-cluster-hangs)",
		},
		{
			Names: []string{authority.ReasonDeleting},
			Means: "the infrastructure machine of the mirror is being deleted, and the finalizers of others keep it; the message names them",
			Do:    "have them removed: admission lets anybody remove a finalizer from what is being deleted. Poundlock then recreates the mirror",
		},
		{
			Names: []string{authority.ReasonInfraNotFound},
			Means: "the Cluster API object refers to a provider's object that does not exist",
			Do: "of a Machine: restore it with its `spec.providerID`, or repair the reference; `kubectl get events` shows who deleted it. " +
				"If both Machines have the `spec.providerID`, you can also move the Machine to Machine API. " +
				"If the instance is gone too, the Machine API says Failed and creates none. If no Machine has a `spec.providerID`, look in the cloud; " +
				"if there is no instance, create the object again without an ID, and Cluster API creates the instance, or delete the Machine. " +
				"Of a MachineSet it is the template that is missing: create it again under its name, or have the set refer to another one. Until then the set " +
				"creates no Machine, and its Machines run on",
		},
		{
			Names: []string{"MirrorRefused"},
			Means: "the API server does not take the mirror: a webhook, a policy or a feature gate of Cluster API refuses it, in its own words",
			Do: "follow the message; it is tried again at least every quarter of a minute. " +
				"What a provider refuses to change, but would create as it should be, Poundlock replaces by itself while Machine API is authoritative (event " +
				"`MirrorReplaced`)",
		},
		{
			Names: []string{"AuthoritativeObjectMissing"},
			Means: "Cluster API is authoritative, and its object, which existed, is gone: " +
				"it was deleted before it was mirrored (it did not convert, or its infrastructure machine was missing), or while Poundlock was not installed, " +
				"or its finalizers were removed by hand. Poundlock does not recreate it: " +
				"Cluster API could create another instance, or its set delete another Machine in its place",
			Do: "look in the cloud whether the instance of a Machine runs. Delete the mirror by the command in the message. " +
				"To have the object again, create the mirror again afterwards with `spec.authoritativeAPI: ClusterAPI`, a Machine with its `spec.providerID`",
		},
		{
			Names: []string{authority.ReasonForeignTwin},
			Means: "an object that is not the mirror has its name: Cluster API acts on it, it has an instance of its own, it is another Machine's, or it is being " +
				"deleted; " +
				"or what the provider would keep for the instance (a VSphereVM, an OpenStackServer) is a person's, belongs to no machine of the provider and does not " +
				"name that instance: Poundlock pauses it where it names none, as its controller may find the Machine's instance by the name. " +
				"Poundlock does not write to it, and the Machine API acts as it did before. " +
				"If two MachineSets were created at the same moment, one that has no Machines creates none (`authority/created-twice`); without a replica of Poundlock " +
				"policies keep that, as Poundlock has marked the Machine API's (`poundlock.openshift.io/beside-foreign`). " +
				"If both Machines were created at the same moment, neither API creates an instance (`authority/created-twice`), as long as a replica of Poundlock " +
				"answers; without one Cluster API's may begin, and Machine API's then does not, as Poundlock has marked it (`poundlock.openshift.io/beside-foreign`). " +
				"Where somebody has also removed the label `poundlock.openshift.io/admission`, nothing keeps both from beginning",
			Do: "the message names it. Of two MachineSets delete the one that you do not want, by the message's command: it deletes that set's Machines " +
				"too. Do not pause " +
				"a Cluster API MachineSet that has Machines: it becomes the mirror, and they have no Machine API object (`MachinesWithoutCounterpart`). " +
				"If it belongs to a Cluster API Machine of another name, do not delete it alone, since that Machine would lose its instance: give the " +
				"Machine API Machine another name, or delete the Cluster API Machine as a whole. Otherwise choose one of three. " +
				"(a) Delete the object, and with it what it runs. If it is paused, its controllers delete nothing until you remove `cluster.x-k8s.io/paused` from it " +
				"and from its infrastructure machine. Type the message's commands in their order: admission refuses the last one until Cluster API has deleted the " +
				"infrastructure machine. " +
				"(b) Leave both as they are: each API acts on its own object, and the Machine API object cannot migrate. " +
				"(c) If no Machine owns its infrastructure machine yet, annotate both with `cluster.x-k8s.io/paused`. The object becomes the mirror once its " +
				"controllers report `Paused=True`. " +
				"Either API may take a quarter of an hour to try again what was refused; any change of its Machine, such as a label, has it try at once",
		},
		{
			Names: []string{conversion.ReasonPlatformNotSupported},
			Means: "Poundlock converts no machines of the cluster's platform yet; the message explains why",
			Do: "nothing is lost and nothing needs to be done: everything stays with the Machine API. " +
				"Set `spec.authoritativeAPI` back where a move was asked for, or leave it: " +
				"it waits for a version of Poundlock that can ([decisions](decisions.md#platforms-that-cannot-be-migrated-yet)). " +
				"Health checks move on every platform",
		},
		{
			Names: []string{controlplane.ReflectionRefused},
			Means: "of a ControlPlaneMachineSet: the API server does not take the infrastructure machine template or the failure domains that are made from it, in " +
				"its own words",
			Do: "follow the message. `does not keep what is written to its status`: the infrastructure cluster's CRD has no `status.failureDomains`",
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
			Means: "authority has just moved, and the mirror has not run in the new direction yet",
			Do:    "wait some seconds",
		},
		{
			Names: []string{"ClusterAPINotInstalled"},
			Means: "the API server does not serve the kind that the message names. Poundlock writes nothing to Cluster API and deletes nothing because of it; " +
				"the Machine API works as it did before",
			Do: "install Cluster API: Poundlock then mirrors the object, and needs no restart. Where its CRDs were deleted, restore them and their objects",
		},
		{
			Names: []string{"ProviderNotInstalled"},
			Means: "the same of the platform's provider of Cluster API, or of the version of one of its kinds that the message names",
			Do:    "install the provider, in a release that serves this version",
		},
		{
			Names: []string{"MachineAPINotInstalled"},
			Means: "the API server does not serve the kind of the Machine API that the message names, for example while a CRD of OpenShift's is being recreated",
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
			Means: "the Machine API's controllers act",
			Do:    "nothing",
		},
		{
			Names: []string{authority.ReasonNotMachineAPI},
			Means: "they stand still, because Cluster API is authoritative or authority is moving: `status.authoritativeAPI` shows which",
			Do:    "nothing; to have them act, set `spec.authoritativeAPI` to `MachineAPI`",
		},
	},
}
