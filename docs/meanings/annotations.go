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
			Means: "of a Cluster API object: it is the mirror of the Machine API object that the value names",
			Do:    "leave it",
		},
		{
			Names: []string{authority.NoInstanceAnnotation},
			Means: "of a Machine API Machine: a person's decision that no instance of it exists, so that a move which waits with `InstanceUnknown` goes on. " +
				"The value is that of the one wait which it answers",
			Do: "set it only as the condition's message has it, after a look into the cloud",
		},
		{
			Names: []string{authority.UntouchedAnnotation},
			Means: "of a Machine API Machine: nobody had asked for an instance when Poundlock saw it first. The value is its UID",
			Do:    "leave it",
		},
		{
			Names: []string{authority.DetachedAnnotation},
			Means: "of a Machine API object: its MachineSet was deleted while Cluster API was authoritative, and the deletion of the object is not carried over",
			Do:    "leave it",
		},
		{
			Names: []string{authority.ReplacedAnnotation},
			Means: "of a provider's machine: Poundlock deletes this mirror to create it again, because the provider does not let it be changed",
			Do:    "nothing",
		},
		{
			Names: []string{authority.BesideForeignAnnotation},
			Means: "of a Machine API Machine whose instance was not asked for yet: something that Poundlock did not make stands in its mirror's place (Synchronized, " +
				"`ForeignTwin`), so that the Machine may not begin, also while no replica of Poundlock answers. Of a Machine API MachineSet: Cluster API has one of " +
				"its name that was created at the same moment and acts, so that no more than one of the two may create Machines",
			Do: "what ForeignTwin advises. Poundlock removes it when nothing is in the way any more",
		},
		{
			Names: []string{authority.InfraGenerationAnnotation, authority.CoreGenerationAnnotation},
			Means: "of a Machine API object for which Cluster API is authoritative: from which generation of Cluster API's objects it was mirrored. " +
				"Poundlock removes it after a move back",
			Do: "leave it",
		},
		{
			Names: []string{core.DerivedAnnotation, core.NodeLabelsAnnotation, core.NodeAnnotationsAnnotation},
			Means: "of a Cluster API object: which of its labels and annotations only Cluster API has, and which are its Node's in Machine API",
			Do:    "leave it",
		},
		{
			Names: []string{authority.EtcdHookSeenAnnotation},
			Means: "of a control plane Machine: Poundlock saw the etcd operator's hook on it. The value is the UID of the Machine API object, with " +
				"`/to-be-added` behind it until Cluster API's Machine has the hook",
			Do: "leave it",
		},
		{
			Names: []string{"poundlock.openshift.io/health-check"},
			Means: "of a request for an external remediation: the MachineHealthCheck that made it",
			Do:    "leave it",
		},
		{
			Names: []string{"poundlock.openshift.io/generated"},
			Means: "of a ControlPlaneMachineSet: Poundlock generated it, and it follows the cluster until it is Active",
			Do:    "remove it to have the whole set be yours",
		},
		{
			Names: []string{controlplane.MadeFromAnnotation},
			Means: "of a control plane Machine: a hash of the providerSpec that its set asked for",
			Do:    "leave it",
		},
		{
			Names: []string{authority.HoldsMirrorsAnnotation},
			Means: "of a namespace, a definition, a Cluster or an infrastructure cluster: mirrors live in it, so its deletion is refused",
			Do:    "migrate what lives there first",
		},
		{
			Names: []string{authority.AllowDeletionAnnotation},
			Means: "of such an object: `true` allows its deletion all the same",
			Do:    "set it only if the instances may go",
		},
		{
			Names: []string{authority.AdmissionLabel},
			Means: "a label of both namespaces: `enforced` has the webhooks refuse what nobody answers for",
			Do:    "see the runbook [Poundlock is down](runbooks.md#poundlock-is-down-what-still-works)",
		},
		{
			Names: []string{"enforced"},
			Means: "the value of that label: webhooks fail closed in this namespace",
			Do:    "nothing",
		},
		{
			Names: []string{"poundlock.openshift.io/vcenters"},
			Means: "of a VSphereCluster: the other vCenters that its identity is good for",
			Do:    "set it where the message of a Machine asks for it",
		},
		{
			Names: []string{"poundlock.openshift.io/certificates", "poundlock.openshift.io/previous-ca-retires"},
			Means: "of the Secret of the webhooks' certificate: that Poundlock manages it, and until when a replaced CA is trusted",
			Do:    "see the runbook [The certificate](runbooks.md#the-certificate)",
		},
		{
			Names: []string{installation.InstalledByLabel, installation.AppliedAnnotation},
			Means: "of an object of a provider: the installer wrote it, and a hash of what it wrote",
			Do:    "leave it",
		},
		{
			Names: []string{installation.RecordLabel, installation.ForLabel, "poundlock.openshift.io/ready"},
			Means: "of the installer's own ConfigMaps: what they record, whose provider it is, and which content became ready",
			Do:    "leave it",
		},
		{
			Names: []string{installation.AdoptAnnotation},
			Means: "of an object of somebody else's: `true` has the installer take it over",
			Do:    "see [Whose an object is](providers.md#whose-an-object-is)",
		},
		{
			Names: []string{bundle.HashAnnotation, bundle.ShardAnnotation, bundle.PlatformAnnotation, bundle.ReleaseAnnotation},
			Means: "of a release's ConfigMaps: the hash of a provider, which part of it this is, the platforms that it is for, and the release",
			Do:    "see [providers](providers.md)",
		},
		{
			Names: []string{"poundlock.openshift.io/kube-apiserver-proxy"},
			Means: "a label of what carries the API proxy for private types",
			Do:    "leave it",
		},
	},
}
