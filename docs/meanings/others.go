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

const machineFinalizer = "Poundlock never removes the finalizer while the instance may exist. If a person removes the finalizer by hand from a Machine that " +
	"is being deleted, Poundlock warns, because nobody would terminate the instance then"

var others = Table{
	Section: OthersSection,
	Head:    [3]string{"name", "what it is, and who writes it", "what Poundlock does with it"},
	Rows: []Row{
		{
			Names: []string{clusterv1.PausedAnnotation},
			Means: "with this annotation on a Cluster API object, with any value, Cluster API's controllers ignore the object. Poundlock or a person " +
				"writes the annotation",
			Do: "Poundlock sets the annotation on the Cluster API objects for which Machine API is authoritative, and removes it when a move to Cluster " +
				"API ends. The value authority-arrives-N stands there right before that end: until it, nobody may delete the object. Do not remove the annotation " +
				"from a mirror: without it both APIs would act on one instance",
		},
		{
			Names: []string{clusterv1.DeleteMachineAnnotation, machineapi.DeleteAnnotation, machineapi.OldDeleteAnnotation},
			Means: "with this annotation on a Machine, the MachineSet deletes this Machine before others at a scale-down. Machine API ignores the " +
				"annotation if its value is empty. A person or the autoscaler writes the annotation",
			Do: "Poundlock translates the annotation into the other API's name, and copies the autoscaler's annotation to the authoritative object",
		},
		{
			Names: []string{clusterv1.MachineSkipRemediationAnnotation},
			Means: "with this annotation on a Machine, no MachineHealthCheck of Cluster API remediates the Machine. A person or Poundlock writes the annotation",
			Do: "Poundlock sets the annotation while a Machine moves to Cluster API without an instance, and removes it when the Machine's infrastructure " +
				"is ready. Machine API's health checks also obey the annotation if Poundlock runs them",
		},
		{
			Names: []string{clusterv1.RemediateMachineAnnotation},
			Means: "with this annotation on a Machine, a MachineHealthCheck remediates the Machine at once. A person writes the annotation",
			Do:    "if Poundlock runs Machine API's health checks, it obeys the annotation on a Machine API Machine",
		},
		{
			Names: []string{clusterv1.ManagedByAnnotation},
			Means: "this annotation means that another tool manages the infrastructure cluster object, so the provider's controller writes neither to the " +
				"object nor to its status. OpenShift writes the annotation",
			Do: "Poundlock writes the control plane's failure domains only to the status of an object with this annotation",
		},
		{
			Names: []string{clusterv1.ClusterNameLabel, machinev1beta1.MachineClusterIDLabel},
			Means: "this label of a Machine or MachineSet has the name of the object's cluster. `cluster.x-k8s.io/cluster-name` is the label of Cluster " +
				"API, `machine.openshift.io/cluster-api-cluster` the label of Machine API. The creator of the object writes the label",
			Do: "Poundlock translates each label into the other one, and refuses to move an object of another cluster",
		},
		{
			Names: []string{clusterv1.MachineControlPlaneLabel},
			Means: "the Cluster API Machine that has this label belongs to the control plane",
			Do: "Poundlock writes the label if the Machine API's role label is `master` or `control-plane`, and refuses its removal while Cluster API is " +
				"authoritative for the Machine",
		},
		{
			Names: []string{machineapi.RoleLabel, machineapi.TypeLabel},
			Means: "this label of a Machine API Machine shows what the Machine's Node is for, such as `worker`. The creator of the Machine writes the label",
			Do: "Poundlock converts the label to a `node-role.kubernetes.io` label in Cluster API. Poundlock treats a Machine with the role `master` or " +
				"`control-plane` as a Machine of the control plane",
		},
		{
			Names: []string{corev1.LabelHostname},
			Means: "this label of a Node has the name of the Node's host. The kubelet writes the label",
			Do:    "Poundlock refuses a name of a Machine that is too long for this label, if the host is named after the Machine",
		},
		{
			Names: []string{clusterv1.NodeRoleLabelPrefix + AnyBelow},
			Means: "this label shows a role of a Node. Cluster API copies the label from a Cluster API Machine to its Node. The installer, a person or " +
				"Cluster API writes the label",
			Do: "Poundlock writes the label to a Cluster API Machine, from the Machine API's role and type labels. Poundlock treats a Node with the role " +
				"`master` or `control-plane` as a Node of the control plane",
		},
		{
			Names: []string{machineapi.MachineSetLabel, clusterv1.MachineSetNameLabel},
			Means: "this label of a Machine names the MachineSet that created the Machine. `machine.openshift.io/cluster-api-machineset` is the label of " +
				"Machine API, `cluster.x-k8s.io/set-name` the label of Cluster API. The MachineSet's controller writes the label",
			Do: "Poundlock does not change Machine API's label. Poundlock does not copy Cluster API's label either, because Cluster API's MachineSet " +
				"recognizes its own Machines by this label",
		},
		{
			Names: []string{clusterv1.MachineDeploymentNameLabel},
			Means: "this label of a Cluster API MachineSet or Machine names the MachineDeployment that created the object. The MachineDeployment's " +
				"controller writes the label",
			Do: "Poundlock warns if a MachineDeployment is deleted while its MachineSets stay",
		},
		{
			Names: []string{machineapi.InterruptibleLabel},
			Means: "the cloud may terminate the instance of a Machine with this label at any time (spot, preemptible). Through `spec.metadata` the " +
				"Machine's Node has the label too. Machine API's controllers write the label",
			Do: "Poundlock derives the label from the providerSpec's spot option in both directions, so the label keeps no object from moving",
		},
		{
			Names: []string{machineapi.RegionLabel, machineapi.ZoneLabel, machineapi.InstanceTypeLabel},
			Means: "this label of a Machine API Machine has the region, the zone or the type of the Machine's instance. Machine API's controllers write " +
				"the label, for the columns of `kubectl get`",
			Do: "Poundlock allows the Machine API's controllers to write the label, whichever API is authoritative",
		},
		{
			Names: []string{machineapi.ExcludeDrainAnnotation, clusterv1.ExcludeNodeDrainingAnnotation},
			Means: "with this annotation on a Machine, with any value, the deletion of the Machine does not drain its Node. A person writes the annotation",
			Do:    "Poundlock translates the annotation into the other API's name, and obeys it if Poundlock runs Machine API's controllers",
		},
		{
			Names: []string{machineapi.AutoscalerMinSizeAnnotation, machineapi.AutoscalerMaxSizeAnnotation},
			Means: "this annotation of a MachineSet has the fewest or the most replicas that the autoscaler may request. OpenShift's autoscaler operator " +
				"writes the annotation",
			Do: "Poundlock translates the annotation into Cluster API's name",
		},
		{
			Names: []string{machineapi.RemediationStrategyAnnotation},
			Means: "with the value `external-baremetal` of this annotation, a MachineHealthCheck reboots the host of an unhealthy Machine instead of " +
				"deleting the Machine. A person writes the annotation",
			Do: "Poundlock refuses to move a MachineHealthCheck with this annotation, because Cluster API has no such strategy",
		},
		{
			Names: []string{"host.metal3.io/external-remediation"},
			Means: "this annotation of a Machine on bare metal requests a reboot of the Machine's host. Machine API's health checks write the annotation",
			Do:    "Poundlock allows the Machine API's controllers to write the annotation, whichever API is authoritative",
		},
		{
			Names: []string{"metal3.io/autoscale-to-hosts"},
			Means: "with this annotation on a MachineSet on bare metal, a controller of Machine API sets the replicas of the set to the number of hosts, " +
				"whichever API is authoritative. A person writes the annotation",
			Do: "Poundlock refuses to move a MachineSet with this annotation. Remove the annotation first, and set `spec.replicas`",
		},
		{
			Names: []string{authority.SyncFinalizer},
			Means: "Poundlock writes this finalizer to an object and to its mirror, under the name that OpenShift's own migration uses",
			Do: "Poundlock's finalizer keeps each of the two objects until the deletion of the other one is settled; then Poundlock removes it. Do not " +
				"remove the finalizer by hand while Poundlock runs; `kubectl poundlock cleanup` removes it permanently",
		},
		{
			Names: []string{machinev1beta1.MachineFinalizer},
			Means: "this is the finalizer of a Machine API Machine. Machine API's controller, which creates and deletes the instance, writes the finalizer",
			Do:    machineFinalizer,
		},
		{
			Names: []string{clusterv1.MachineFinalizer},
			Means: "this is the finalizer of a Cluster API Machine. Cluster API's controller writes the finalizer, and removes it once the provider has deleted " +
				"the instance",
			Do: machineFinalizer,
		},
		{
			Names: []string{authority.EtcdHookAnnotation},
			Means: "this annotation is etcd's hook on a control plane Machine of Cluster API: the deletion of the Machine waits for it. The etcd operator " +
				"adds the hook to the Machine API object and removes it; Poundlock copies both changes to Cluster API",
			Do: "Poundlock warns a person who removes the hook from a Machine that is being deleted. Let the etcd operator remove the hook",
		},
		{
			Names: []string{controlplane.Finalizer},
			Means: "this finalizer is on ControlPlaneMachineSets. The operator of ControlPlaneMachineSets writes the finalizer",
			Do:    "if Poundlock runs the operator of ControlPlaneMachineSets, Poundlock removes the finalizer once no Machine has the set as its owner",
		},
		{
			Names: []string{clusterv1.PreDrainDeleteHookAnnotationPrefix + AnyBelow, clusterv1.PreTerminateDeleteHookAnnotationPrefix + AnyBelow},
			Means: "this annotation is a hook on a Cluster API Machine. The deletion of the Machine waits, before the drain (`pre-drain`) or before the " +
				"instance is terminated (`pre-terminate`), until the hook's owner (the value) removes the annotation",
			Do: "Poundlock translates the hook from and into `spec.lifecycleHooks` of the Machine API Machine",
		},
		{
			Names: []string{core.InstanceHookAnnotation},
			Means: "Poundlock writes this hook to a Cluster API Machine whose provider does not know the instance yet. A deletion of the Machine waits " +
				"meanwhile",
			Do: "Poundlock removes the hook when the provider knows the instance",
		},
		{
			Names: []string{authority.BlockMoveAnnotation},
			Means: "while this annotation is on a provider's object, `clusterctl move` waits. The provider's controller writes the annotation while it " +
				"acts on the object",
			Do: "Poundlock waits until the annotation is gone: its absence is the provider's acknowledgement of a pause",
		},
		{
			Names: []string{corev1.LastAppliedConfigAnnotation},
			Means: "this annotation of an object has the manifest that `kubectl apply` applied last",
			Do:    "Poundlock allows everybody to write the annotation on every object, and copies it to no mirror",
		},
		{
			Names: []string{"app.kubernetes.io/name"},
			Means: "this label of an installation's objects has the name of the program. Poundlock's own objects, including its Pods, have `poundlock`",
			Do:    "Poundlock copies the label to the mirror; `kubectl get pods -l app.kubernetes.io/name=poundlock` finds Poundlock's Pods",
		},
		{
			Names: []string{authority.TaintGate},
			Means: "a feature gate of Cluster API's manager, off by default: while it is off, Cluster API's webhooks refuse every Machine and MachineSet " +
				"that has taints. A person sets it by `--feature-gates=" + authority.TaintGate + "=true`",
			Do: "Poundlock warns before an object with taints moves to Cluster API",
		},
		{
			Names: []string{"MachineAPIMigration"},
			Means: "this is a feature gate of OpenShift. While the gate is on, the Machine API's controllers obey `status.authoritativeAPI`. A person " +
				"turns the gate on in FeatureGate `cluster`",
			Do: "Poundlock mirrors and migrates nothing while the gate is off",
		},
	},
}
