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

// OthersSection is the heading of the table of others' names. Its third column is what Poundlock does with a name.
const OthersSection = "Others' names"

// AnyBelow at the end of a name stands for all names that begin with what comes before it.
const AnyBelow = "/*"

const machineFinalizer = "never removes it while the instance may exist. It warns a person who removes the finalizer by hand from a Machine that is being " +
	"deleted, because nobody would terminate the instance then"

var others = Table{
	Section: OthersSection,
	Head:    [3]string{"name", "what it is, and who writes it", "what Poundlock does with it"},
	Rows: []Row{
		{
			Names: []string{clusterv1.PausedAnnotation},
			Means: "an annotation of a Cluster API object, with any value: Cluster API's controllers ignore the object. Poundlock or a person writes it",
			Do: "sets it on the Cluster API objects for which Machine API is authoritative, and removes it when a move to Cluster API ends. Do not remove " +
				"it from a mirror: without it both APIs would act on one instance",
		},
		{
			Names: []string{clusterv1.DeleteMachineAnnotation, machineapi.DeleteAnnotation, machineapi.OldDeleteAnnotation},
			Means: "an annotation of a Machine (in Machine API with any value except an empty one): at a scale-down, the MachineSet deletes this Machine " +
				"before others. A person or the autoscaler writes it",
			Do: "translates it into the other API's name, and copies the autoscaler's annotation to the authoritative object",
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
			Means: "an annotation of an infrastructure cluster object: another tool manages the object, so the provider's controller does not write to the " +
				"object or its status. OpenShift writes it",
			Do: "lists the control plane's failure domains only in the status of objects with this annotation",
		},
		{
			Names: []string{clusterv1.ClusterNameLabel, machinev1beta1.MachineClusterIDLabel},
			Means: "a label of a Machine or MachineSet: the name of its cluster, in Cluster API and in Machine API. The creator of the object writes it",
			Do:    "translates each label into the other, and refuses to move an object of another cluster",
		},
		{
			Names: []string{clusterv1.MachineControlPlaneLabel},
			Means: "a label of a Cluster API Machine: the Machine belongs to the control plane",
			Do: "writes it if the Machine API's role label is `master` or `control-plane`, and refuses its removal while Cluster API is authoritative " +
				"for the Machine",
		},
		{
			Names: []string{machineapi.RoleLabel, machineapi.TypeLabel},
			Means: "a label of a Machine API Machine: what its Node is for, such as `worker`. The creator of the Machine writes it",
			Do: "converts it to a `node-role.kubernetes.io` label in Cluster API. A Machine with the role `master` or `control-plane` counts as a " +
				"Machine of the control plane",
		},
		{
			Names: []string{corev1.LabelHostname},
			Means: "a label of a Node: the name of its host. The kubelet writes it",
			Do:    "refuses names of Machines that are too long for this label, if the host is named after the Machine",
		},
		{
			Names: []string{clusterv1.NodeRoleLabelPrefix + AnyBelow},
			Means: "a label of a Node, and of a Cluster API Machine, which passes it on: a role of the Node. The installer, a person or Cluster API writes it",
			Do: "writes it to a Cluster API Machine, from the Machine API's role and type labels. A Node with `master` or `control-plane` counts as a Node " +
				"of the control plane",
		},
		{
			Names: []string{machineapi.MachineSetLabel, clusterv1.MachineSetNameLabel},
			Means: "a label of a Machine: the MachineSet that created the Machine, in Machine API and in Cluster API. The set's controller writes it",
			Do:    "does not change Machine API's label, and does not copy Cluster API's label, by which Cluster API's set recognizes its own Machines",
		},
		{
			Names: []string{clusterv1.MachineDeploymentNameLabel},
			Means: "a label of a Cluster API MachineSet or Machine: the MachineDeployment that created it. The MachineDeployment's controller writes it",
			Do:    "warns if a MachineDeployment is deleted and its MachineSets are to stay",
		},
		{
			Names: []string{machineapi.InterruptibleLabel},
			Means: "a label of a Machine, and through `spec.metadata` also of its Node: the cloud may terminate the instance at any time (spot, " +
				"preemptible). Machine API's controllers write it",
			Do: "derives it from the providerSpec's spot option in both directions, so this label keeps no object from moving",
		},
		{
			Names: []string{machineapi.RegionLabel, machineapi.ZoneLabel, machineapi.InstanceTypeLabel},
			Means: "a label of a Machine API Machine: the place or the type of its instance. Machine API's controllers write it, for the columns of " +
				"`kubectl get`",
			Do: "allows the Machine API's controllers to write it, whichever API is authoritative",
		},
		{
			Names: []string{machineapi.ExcludeDrainAnnotation, clusterv1.ExcludeNodeDrainingAnnotation},
			Means: "an annotation of a Machine, with any value: the deletion of the Machine does not drain its Node. A person writes it",
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
			Do: "refuses to move such a check: Cluster API has no such strategy",
		},
		{
			Names: []string{"host.metal3.io/external-remediation"},
			Means: "an annotation of a Machine on bare metal: requests a reboot of the Machine's host. Machine API's health checks write it",
			Do:    "allows the Machine API's controllers to write it, whichever API is authoritative",
		},
		{
			Names: []string{"metal3.io/autoscale-to-hosts"},
			Means: "an annotation of a MachineSet on bare metal: a controller of Machine API sets its replicas to the number of hosts, whichever API is " +
				"authoritative. A person writes it",
			Do: "refuses to move such a set. Remove the annotation first, and set `spec.replicas`",
		},
		{
			Names: []string{authority.SyncFinalizer},
			Means: "a finalizer of an object and of its mirror. Poundlock writes it, under the name that OpenShift's own migration uses",
			Do: "the finalizer keeps each of the two objects until the deletion of the other one is settled, and then Poundlock removes it. Do not remove the " +
				"finalizer by hand while Poundlock runs; `kubectl poundlock cleanup` removes it permanently",
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
			Means: "etcd's hook on a control plane Machine of Cluster API, as an annotation. The etcd operator adds the hook to the Machine API object and " +
				"removes it; Poundlock copies both to Cluster API",
			Do: "warns a person who removes it from a Machine that is being deleted. Let the etcd operator remove it",
		},
		{
			Names: []string{controlplane.Finalizer},
			Means: "a finalizer of a ControlPlaneMachineSet. The operator of ControlPlaneMachineSets writes it",
			Do:    "if Poundlock runs this operator, removes it once no Machine has the set as its owner",
		},
		{
			Names: []string{clusterv1.PreDrainDeleteHookAnnotationPrefix + AnyBelow, clusterv1.PreTerminateDeleteHookAnnotationPrefix + AnyBelow},
			Means: "an annotation of a Cluster API Machine: the deletion waits before the drain, or before the instance is terminated, until the hook's " +
				"owner (the value) removes it",
			Do: "translates it from and into `spec.lifecycleHooks` of the Machine API Machine",
		},
		{
			Names: []string{core.InstanceHookAnnotation},
			Means: "Poundlock's own hook on a Cluster API Machine whose provider does not know the instance yet",
			Do:    "removes it when the provider knows the instance. Until then a deletion of the Machine waits",
		},
		{
			Names: []string{authority.BlockMoveAnnotation},
			Means: "an annotation of a provider's object: while it exists, `clusterctl move` waits. The provider's controller writes it while it acts on " +
				"the object",
			Do: "treats its absence as the provider's acknowledgement of a pause",
		},
		{
			Names: []string{corev1.LastAppliedConfigAnnotation},
			Means: "an annotation of any object: what `kubectl apply` applied last",
			Do:    "allows everybody to write it on every object, and copies it to no mirror",
		},
		{
			Names: []string{"app.kubernetes.io/name"},
			Means: "a label of the objects of an installation: the name of the program. Poundlock's own objects, including its Pods, have `poundlock`",
			Do:    "copies it to the mirror; `kubectl get pods -l app.kubernetes.io/name=poundlock` finds Poundlock's Pods",
		},
		{
			Names: []string{authority.TaintGate},
			Means: "a feature gate of Cluster API's manager, off by default: while it is off, Cluster API's webhooks refuse every Machine and MachineSet " +
				"that has taints. A person sets it by `--feature-gates=" + authority.TaintGate + "=true`",
			Do: "warns before an object with taints moves to Cluster API",
		},
		{
			Names: []string{"MachineAPIMigration"},
			Means: "OpenShift's feature gate: while it is on, the Machine API's controllers obey `status.authoritativeAPI`. A person turns it on in " +
				"FeatureGate `cluster`",
			Do: "mirrors and migrates nothing while the gate is off",
		},
	},
}
