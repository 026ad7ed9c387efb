// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// OthersSection is the table whose third column is what Poundlock does with a name.
const OthersSection = "Others' names"

// AnyBelow ends a name that stands for all that begin with it.
const AnyBelow = "/*"

const machineFinalizer = "never removes it while the instance may exist, and warns a person who removes it by hand from a Machine that is being deleted: " +
	"nobody terminates the instance then"

var others = Table{
	Section: OthersSection,
	Head:    [3]string{"name", "what it is, and who writes it", "what Poundlock does with it"},
	Rows: []Row{
		{
			Names: []string{clusterv1.PausedAnnotation},
			Means: "an annotation of a Cluster API object, with any value: Cluster API's controllers leave the object alone. Poundlock writes it, and so does a person",
			Do: "sets it on what Machine API is authoritative for, and removes it when a move to Cluster API ends. " +
				"Leave it on a mirror: without it both APIs would act on one instance",
		},
		{
			Names: []string{clusterv1.DeleteMachineAnnotation, machineapi.DeleteAnnotation, machineapi.OldDeleteAnnotation},
			Means: "an annotation of a Machine (in Machine API with any value but an empty one): its MachineSet deletes it before others when it is scaled down. " +
				"A person or the autoscaler writes it",
			Do: "translates it into the other API's name, and takes the autoscaler's mark to the authoritative side",
		},
		{
			Names: []string{clusterv1.MachineSkipRemediationAnnotation},
			Means: "an annotation of a Machine: no MachineHealthCheck of Cluster API remediates it. A person writes it, or Poundlock",
			Do: "sets it while a Machine moves to Cluster API without an instance, and removes it when its infrastructure is ready. " +
				"Machine API's checks, where Poundlock runs them, obey it too",
		},
		{
			Names: []string{clusterv1.RemediateMachineAnnotation},
			Means: "an annotation of a Machine: a MachineHealthCheck remediates it at once. A person writes it",
			Do:    "obeys it on a Machine API Machine where Poundlock runs Machine API's checks",
		},
		{
			Names: []string{clusterv1.ManagedByAnnotation},
			Means: "an annotation of an infrastructure cluster object: another tool manages it, so its provider's controller leaves it and its status alone. " +
				"OpenShift writes it",
			Do: "lists the control plane's failure domains in the status of such an object alone",
		},
		{
			Names: []string{clusterv1.ClusterNameLabel, machinev1beta1.MachineClusterIDLabel},
			Means: "a label of a Machine or MachineSet: the name of its cluster, in Cluster API and in Machine API. The creator of the object writes it",
			Do:    "translates the one into the other, and refuses to move an object of another cluster",
		},
		{
			Names: []string{clusterv1.MachineControlPlaneLabel},
			Means: "a label of a Cluster API Machine: it is of the control plane",
			Do:    "writes it where the Machine API's role label has `master` or `control-plane`, and refuses to have it removed while Cluster API runs the Machine",
		},
		{
			Names: []string{machineapi.RoleLabel, machineapi.TypeLabel},
			Means: "a label of a Machine API Machine: what its Node is for, such as `worker`. The creator of the Machine writes it",
			Do:    "makes it a `node-role.kubernetes.io` label in Cluster API. By the role `master` or `control-plane` it takes a Machine for one of the control plane",
		},
		{
			Names: []string{corev1.LabelHostname},
			Means: "a label of a Node: the name of its host. The kubelet writes it",
			Do:    "refuses names of Machines that are too long for it, where the host is named after the Machine",
		},
		{
			Names: []string{clusterv1.NodeRoleLabelPrefix + AnyBelow},
			Means: "a label of a Node, and of a Cluster API Machine, which passes it on: a role of the Node. The installer, a person or Cluster API writes it",
			Do: "writes it to a Cluster API Machine, from the Machine API's role and type labels. By `master` or `control-plane` it takes a Node for one of the " +
				"control plane",
		},
		{
			Names: []string{machineapi.MachineSetLabel, clusterv1.MachineSetNameLabel},
			Means: "a label of a Machine: the MachineSet that made it, in Machine API and in Cluster API. The set's controller writes it",
			Do:    "leaves Machine API's as it is, and does not copy Cluster API's, by which its set recognizes its own Machines",
		},
		{
			Names: []string{clusterv1.MachineDeploymentNameLabel},
			Means: "a label of a Cluster API MachineSet or Machine: the MachineDeployment that made it. Its controller writes it",
			Do:    "warns of it where a MachineDeployment is deleted and its MachineSets are to stay",
		},
		{
			Names: []string{machineapi.InterruptibleLabel},
			Means: "a label of a Machine, and in its `spec.metadata` of its Node: the cloud may take the instance back (spot, preemptible). Machine API's " +
				"controllers write it",
			Do: "derives it from the providerSpec's spot option, both ways, so it keeps no object from moving",
		},
		{
			Names: []string{machineapi.RegionLabel, machineapi.ZoneLabel, machineapi.InstanceTypeLabel},
			Means: "a label of a Machine API Machine: where its instance is, and of what type. Machine API's controllers write it, for the columns of `kubectl get`",
			Do:    "lets them write it, whichever API is authoritative",
		},
		{
			Names: []string{machineapi.ExcludeDrainAnnotation, clusterv1.ExcludeNodeDrainingAnnotation},
			Means: "an annotation of a Machine, with any value: its deletion does not drain its Node. A person writes it",
			Do:    "translates it into the other API's name, and obeys it where Poundlock runs Machine API's controllers",
		},
		{
			Names: []string{machineapi.AutoscalerMinSizeAnnotation, machineapi.AutoscalerMaxSizeAnnotation},
			Means: "an annotation of a MachineSet: the fewest and the most replicas that the autoscaler may ask for. OpenShift's autoscaler operator writes it",
			Do:    "translates it into Cluster API's name",
		},
		{
			Names: []string{machineapi.RemediationStrategyAnnotation},
			Means: "an annotation of a MachineHealthCheck: `external-baremetal` reboots the host of an unhealthy Machine instead of deleting the Machine. A person " +
				"writes it",
			Do: "refuses to move such a check: Cluster API has nothing like it",
		},
		{
			Names: []string{"host.metal3.io/external-remediation"},
			Means: "an annotation of a Machine on bare metal: its host is to be rebooted. Machine API's health checks write it",
			Do:    "lets them write it, whichever API is authoritative",
		},
		{
			Names: []string{"metal3.io/autoscale-to-hosts"},
			Means: "an annotation of a MachineSet on bare metal: a controller of Machine API sets its replicas to the number of hosts, whichever API is " +
				"authoritative. A person writes it",
			Do: "refuses to move such a set. Remove the annotation first, and set `spec.replicas`",
		},
		{
			Names: []string{authority.SyncFinalizer},
			Means: "a finalizer of both objects of a pair. Poundlock's mirror writes it, under the name that OpenShift's own migration uses",
			Do: "keeps the one object until the other one is dealt with, and then removes it. " +
				"Do not remove it by hand while Poundlock runs; `kubectl poundlock cleanup` removes it for good",
		},
		{
			Names: []string{machinev1beta1.MachineFinalizer},
			Means: "a finalizer of a Machine API Machine. Machine API's controller, which creates and deletes the instance, writes it",
			Do:    machineFinalizer,
		},
		{
			Names: []string{clusterv1.MachineFinalizer},
			Means: "a finalizer of a Cluster API Machine. Cluster API's controller writes it, and removes it once the provider has deleted the instance",
			Do:    machineFinalizer,
		},
		{
			Names: []string{authority.EtcdHookAnnotation},
			Means: "etcd's hook on a control plane Machine of Cluster API, as an annotation. Poundlock carries it over from the Machine API object, where the etcd " +
				"operator adds and removes it",
			Do: "warns a person who removes it from a Machine that is being deleted. Leave it to the etcd operator",
		},
		{
			Names: []string{controlplane.Finalizer},
			Means: "a finalizer of a ControlPlaneMachineSet, of the operator that rolls it out",
			Do:    "removes it once the set's Machines no longer refer to it as their owner, where Poundlock is that operator",
		},
		{
			Names: []string{clusterv1.PreDrainDeleteHookAnnotationPrefix + AnyBelow, clusterv1.PreTerminateDeleteHookAnnotationPrefix + AnyBelow},
			Means: "an annotation of a Cluster API Machine: its deletion waits before the drain, or before the instance is deleted, until the owner of the hook, " +
				"which is the value, removes it",
			Do: "translates it from and into `spec.lifecycleHooks` of the Machine API Machine",
		},
		{
			Names: []string{core.InstanceHookAnnotation},
			Means: "the hook of Poundlock's own on a Cluster API Machine whose provider does not know the instance yet",
			Do:    "removes it when the provider knows the instance. Until then a deletion of the Machine waits",
		},
		{
			Names: []string{authority.BlockMoveAnnotation},
			Means: "an annotation of a provider's object: `clusterctl move` waits for it. Its controller writes it while it acts",
			Do:    "takes its absence for the provider's acknowledgement of a pause",
		},
		{
			Names: []string{corev1.LastAppliedConfigAnnotation},
			Means: "an annotation of any object: what `kubectl apply` applied last",
			Do:    "lets it be written on every object, and copies it to no mirror",
		},
		{
			Names: []string{"app.kubernetes.io/name"},
			Means: "a label of what an installation consists of: its program. Poundlock's own objects, its Pods among them, have `poundlock`",
			Do:    "copies it to the mirror; by `-l app.kubernetes.io/name=poundlock` kubectl finds its Pods",
		},
		{
			Names: []string{authority.TaintGate},
			Means: "a feature gate of Cluster API's manager, off by default: with it off, its webhooks refuse every Machine and MachineSet that has taints. " +
				"A person sets it by `--feature-gates=" + authority.TaintGate + "=true`",
			Do: "warns before an object with taints moves to Cluster API",
		},
		{
			Names: []string{"MachineAPIMigration"},
			Means: "OpenShift's feature gate by which its Machine API controllers obey `status.authoritativeAPI`. A person turns it on in FeatureGate `cluster`",
			Do:    "mirrors and migrates nothing while it is off",
		},
	},
}
