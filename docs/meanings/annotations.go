// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

import (
	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

var annotations = Table{
	Section: "Annotations",
	Head:    [3]string{"annotation", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{authority.MirrorAnnotation},
			Means: "of a Cluster API object: this object is the mirror of the Machine API object that the value names",
			Do:    "leave it",
		},
		{
			Names: []string{authority.NoInstanceAnnotation},
			Means: "of a Machine API Machine: a person confirms that the Machine has no instance, so that a move that waits with `InstanceUnknown` " +
				"continues. The value is valid for only one wait; the condition's message has it",
			Do: "first check in the cloud that no instance exists, then set the annotation with the command in the condition's message",
		},
		{
			Names: []string{authority.UntouchedAnnotation},
			Means: "of a Machine API Machine: nobody had requested an instance when Poundlock first saw the Machine. The value is the Machine's UID",
			Do:    "leave it",
		},
		{
			Names: []string{authority.DetachedAnnotation},
			Means: "of a Machine API object: its MachineSet was deleted while Cluster API was authoritative, so Poundlock does not carry over the object's " +
				"deletion to Cluster API",
			Do: "leave it",
		},
		{
			Names: []string{authority.ReplacedAnnotation},
			Means: "of a provider's machine: Poundlock deletes this mirror to recreate it, because the provider refuses to change it",
			Do:    "nothing",
		},
		{
			Names: []string{authority.BesideForeignAnnotation},
			Means: "of a Machine API Machine whose instance was not requested yet: an object that Poundlock did not create has the mirror's name " +
				"(Synchronized, `ForeignTwin`), so the Machine may not create its instance, even while no replica of Poundlock answers. Of a Machine API " +
				"MachineSet: Cluster API has a MachineSet of the same name that was created at the same moment and acts, so only one of the two may create " +
				"Machines",
			Do: "follow the remedy of ForeignTwin. Poundlock removes the annotation when the other object is gone",
		},
		{
			Names: []string{authority.InfraGenerationAnnotation, authority.CoreGenerationAnnotation},
			Means: "of a Machine API object for which Cluster API is authoritative: the generation of Cluster API's objects from which Poundlock mirrored " +
				"it. Poundlock removes the annotation after a move back",
			Do: "leave it",
		},
		{
			Names: []string{core.DerivedAnnotation, core.NodeLabelsAnnotation, core.NodeAnnotationsAnnotation},
			Means: "of a Cluster API object: lists the labels and annotations that only Cluster API has, and those that belong to the Node in Machine API",
			Do:    "leave it",
		},
		{
			Names: []string{authority.EtcdHookSeenAnnotation},
			Means: "of a control plane Machine: Poundlock saw the etcd operator's hook on the Machine. The value is the UID of the Machine API object, " +
				"followed by `/to-be-added` until Cluster API's Machine has the hook",
			Do: "leave it",
		},
		{
			Names: []string{"poundlock.openshift.io/health-check"},
			Means: "of a request for an external remediation: the MachineHealthCheck that created it",
			Do:    "leave it",
		},
		{
			Names: []string{"poundlock.openshift.io/generated"},
			Means: "of a ControlPlaneMachineSet: Poundlock generated the set, and keeps it equal to the cluster until the set is Active",
			Do:    "remove the annotation if Poundlock should no longer update the set",
		},
		{
			Names: []string{controlplane.MadeFromAnnotation},
			Means: "of a control plane Machine: a hash of the providerSpec with which its set created it",
			Do:    "leave it",
		},
		{
			Names: []string{authority.HoldsMirrorsAnnotation},
			Means: "of a namespace, a CRD, a Cluster or an infrastructure cluster: mirrors depend on this object, so its deletion is refused",
			Do:    "migrate the mirrored objects first",
		},
		{
			Names: []string{authority.AllowDeletionAnnotation},
			Means: "of an object in which mirrors live (`poundlock.openshift.io/holds-mirrors`): `true` allows its deletion anyway",
			Do:    "set it only if the instances may be terminated",
		},
		{
			Names: []string{authority.AdmissionLabel},
			Means: "a label of both namespaces: with `enforced`, requests are refused while no replica of Poundlock answers",
			Do:    "see the runbook [Poundlock is down](runbooks.md#poundlock-is-down-what-still-works)",
		},
		{
			Names: []string{"enforced"},
			Means: "the value of the label `poundlock.openshift.io/admission`: webhooks fail closed in the namespace",
			Do:    "nothing",
		},
		{
			Names: []string{"poundlock.openshift.io/vcenters"},
			Means: "of a VSphereCluster: the other vCenters to which its identity may log in",
			Do:    "set it if the message of a Machine asks for it",
		},
		{
			Names: []string{"poundlock.openshift.io/certificates", "poundlock.openshift.io/previous-ca-retires"},
			Means: "of the Secret of the webhooks' certificate: marks that Poundlock manages the Secret, and until when it trusts a replaced CA",
			Do:    "see the runbook [The certificate](runbooks.md#the-certificate)",
		},
		{
			Names: []string{installation.InstalledByLabel, installation.AppliedAnnotation},
			Means: "of an object of a provider: the installer wrote it, and a hash of what it wrote",
			Do:    "leave it",
		},
		{
			Names: []string{installation.RecordLabel, installation.ForLabel, "poundlock.openshift.io/ready"},
			Means: "of the installer's own ConfigMaps: what the ConfigMap records, for which provider, and which content became ready",
			Do:    "leave it",
		},
		{
			Names: []string{installation.AdoptAnnotation},
			Means: "of an object that belongs to somebody else: with `true`, the installer takes the object over",
			Do:    "see [Whose an object is](providers.md#whose-an-object-is)",
		},
		{
			Names: []string{bundle.HashAnnotation, bundle.ShardAnnotation, bundle.PlatformAnnotation, bundle.ReleaseAnnotation},
			Means: "of a release's ConfigMaps: the hash of the provider, which part of the provider the ConfigMap is, the provider's platforms, and the " +
				"release",
			Do: "see [providers](providers.md)",
		},
		{
			Names: []string{"poundlock.openshift.io/kube-apiserver-proxy"},
			Means: "a label of the Pods that run the API proxy for private types",
			Do:    "leave it",
		},
	},
}
