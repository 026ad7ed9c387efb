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
			Means: "the Cluster API object with this annotation is the mirror of the Machine API object that the value names",
			Do:    "leave the annotation",
		},
		{
			Names: []string{authority.NoInstanceAnnotation},
			Means: "a person sets this annotation on a Machine API Machine to confirm that the Machine has no instance. A move that waits with " +
				"`InstanceUnknown` then continues. The value is valid for only one wait: the message of the condition `AuthoritySettled` has the value",
			Do: "first check in the cloud that no instance exists. Then set the annotation with the command in the message of `AuthoritySettled`",
		},
		{
			Names: []string{authority.UntouchedAnnotation},
			Means: "Poundlock writes this annotation to a Machine API Machine for which nobody had requested an instance when Poundlock first saw the " +
				"Machine. The value is the Machine's UID",
			Do: "leave the annotation",
		},
		{
			Names: []string{authority.DetachedAnnotation},
			Means: "Poundlock writes this annotation to a Machine API object whose MachineSet was deleted while Cluster API was authoritative. Poundlock " +
				"does not carry over the deletion of such an object to Cluster API",
			Do: "leave the annotation",
		},
		{
			Names: []string{authority.ReplacedAnnotation},
			Means: "Poundlock writes this annotation to a mirror (a provider's machine) that it deletes and then recreates, because the API server refuses " +
				"to change the existing mirror",
			Do: "nothing",
		},
		{
			Names: []string{authority.BesideForeignAnnotation},
			Means: "Poundlock writes this annotation to a Machine API Machine whose instance has not been requested, if an object that Poundlock did not " +
				"create has the name of the Machine's mirror (`Synchronized` has the reason `ForeignTwin`). While it has the annotation, the Machine may " +
				"not create its instance, even if no replica of Poundlock answers. Poundlock also writes the annotation to a Machine API MachineSet if an " +
				"active Cluster API MachineSet of the same name was created at the same moment. Then only one of the two MachineSets may create Machines",
			Do: "follow the remedy of `ForeignTwin`. Poundlock removes the annotation when the other object is gone",
		},
		{
			Names: []string{authority.InfraGenerationAnnotation, authority.CoreGenerationAnnotation},
			Means: "Poundlock writes this annotation to a Machine API object for which Cluster API is authoritative. The value is the generation of the " +
				"Cluster API object, or of its infrastructure object, that the Machine API object was last made equal to. Poundlock removes the annotation " +
				"after a move back",
			Do: "leave the annotation",
		},
		{
			Names: []string{core.DerivedAnnotation, core.NodeLabelsAnnotation, core.NodeAnnotationsAnnotation},
			Means: "this annotation of a Cluster API object lists labels or annotations: those that only the Cluster API object has, or those that belong " +
				"to the Node in Machine API",
			Do: "leave the annotation",
		},
		{
			Names: []string{authority.EtcdHookSeenAnnotation},
			Means: "Poundlock writes this annotation to a control plane Machine on which it saw the etcd operator's hook. The value is the UID of the " +
				"Machine API object, followed by `/to-be-added` until Cluster API's Machine has the hook",
			Do: "leave the annotation",
		},
		{
			Names: []string{"poundlock.openshift.io/health-check"},
			Means: "this annotation of an external remediation request names the MachineHealthCheck that created the request",
			Do:    "leave the annotation",
		},
		{
			Names: []string{"poundlock.openshift.io/generated"},
			Means: "Poundlock generated the ControlPlaneMachineSet that has this annotation. Poundlock keeps the set equal to the cluster until the set is " +
				"Active",
			Do: "remove the annotation if Poundlock should no longer update the set",
		},
		{
			Names: []string{controlplane.MadeFromAnnotation},
			Means: "the value of this annotation of a control plane Machine is a hash of the providerSpec from which the ControlPlaneMachineSet created " +
				"the Machine",
			Do: "leave the annotation",
		},
		{
			Names: []string{authority.HoldsMirrorsAnnotation},
			Means: "mirrors depend on the namespace, CRD, Cluster or infrastructure cluster that has this annotation. Admission therefore refuses the " +
				"deletion of the object",
			Do: "migrate the mirrored objects before you delete the object",
		},
		{
			Names: []string{authority.AllowDeletionAnnotation},
			Means: "with the value `true`, this annotation allows the deletion of an object although mirrors depend on it (annotation " +
				"`poundlock.openshift.io/holds-mirrors`)",
			Do: "set the annotation only if the instances may be terminated",
		},
		{
			Names: []string{authority.AdmissionLabel},
			Means: "this label is on the two mirrored namespaces. If its value is `enforced`, requests in the namespace are refused while no replica of " +
				"Poundlock answers",
			Do: "see the runbook [Poundlock is down](runbooks.md#poundlock-is-down-what-still-works)",
		},
		{
			Names: []string{"enforced"},
			Means: "in a namespace whose label `poundlock.openshift.io/admission` has this value, Poundlock's webhooks fail closed: requests are refused " +
				"while no replica of Poundlock answers",
			Do: "nothing",
		},
		{
			Names: []string{"poundlock.openshift.io/vcenters"},
			Means: "this annotation of a VSphereCluster lists further vCenters to which the identity of the VSphereCluster may log in",
			Do:    "set the annotation if the message of a Machine asks for it",
		},
		{
			Names: []string{"poundlock.openshift.io/certificates"},
			Means: "this label of the Secret of the webhooks' certificate shows that Poundlock manages the Secret",
			Do:    "see the runbook [The certificate](runbooks.md#the-certificate)",
		},
		{
			Names: []string{"poundlock.openshift.io/previous-ca-retires"},
			Means: "this annotation of the Secret of the webhooks' certificate has the time until which the API server still trusts the CA that Poundlock " +
				"has replaced",
			Do: "see the runbook [The certificate](runbooks.md#the-certificate)",
		},
		{
			Names: []string{installation.InstalledByLabel},
			Means: "the installer of Cluster API's providers wrote the object that has this label",
			Do:    "leave the label",
		},
		{
			Names: []string{installation.AppliedAnnotation},
			Means: "the installer of Cluster API's providers wrote the object that has this annotation. The value is a hash of the content that the " +
				"installer applied",
			Do: "leave the annotation",
		},
		{
			Names: []string{installation.RecordLabel},
			Means: "the installer wrote the ConfigMap that has this label for its own use. The value is the kind of the record: the inventory of a " +
				"provider, or the content of the provider that became ready last",
			Do: "leave the label",
		},
		{
			Names: []string{installation.ForLabel},
			Means: "the installer wrote the ConfigMap that has this label for its own use. The value is the name of the provider that the record is about",
			Do:    "leave the label",
		},
		{
			Names: []string{"poundlock.openshift.io/ready"},
			Means: "the installer wrote the ConfigMap that has this annotation for its own use. The value contains the hash of the provider's content that " +
				"became ready last",
			Do: "leave the annotation",
		},
		{
			Names: []string{installation.AdoptAnnotation},
			Means: "with the value `true` on an object that belongs to somebody else, this annotation lets the installer take over the object",
			Do:    "see [Whose an object is](providers.md#whose-an-object-is)",
		},
		{
			Names: []string{bundle.HashAnnotation},
			Means: "this annotation of a release's ConfigMap has the hash of the provider's whole content",
			Do:    "see [providers](providers.md)",
		},
		{
			Names: []string{bundle.ShardAnnotation},
			Means: "this annotation of a release's ConfigMap shows which part of the provider's content the ConfigMap has: `2/3` is the second of three parts",
			Do:    "see [providers](providers.md)",
		},
		{
			Names: []string{bundle.PlatformAnnotation},
			Means: "this annotation of a release's ConfigMap lists the platforms on which the provider is installed",
			Do:    "see [providers](providers.md)",
		},
		{
			Names: []string{bundle.ReleaseAnnotation},
			Means: "this annotation of a ConfigMap names the release to which the ConfigMap belongs",
			Do:    "see [providers](providers.md)",
		},
		{
			Names: []string{"poundlock.openshift.io/kube-apiserver-proxy"},
			Means: "the Pods that run the API proxy for private types have this label",
			Do:    "leave the label",
		},
	},
}
