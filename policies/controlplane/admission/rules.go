// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	configv1 "github.com/openshift/api/config/v1"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// ForecastRule is the id of the rule that forecasts what a request leads to. A generated set is judged without this rule.
const ForecastRule = "controlplane/forecast"

const (
	document  = "control-plane-machine-set-controller › "
	adoption  = document + "Installing a ControlPlaneMachineSet within an existing cluster"
	spreading = document + "Providing high availability/fault tolerance within the control plane"
	removal   = document + "Removing/disabling the ControlPlaneMachineSet"
	mismatch  = document + "The ControlPlaneMachineSet spec may not match the existing Machines"
	balancers = document + "Management of Control Plane load balancers"
)

func on(ops ...admissionv1.Operation) []policies.Scope {
	return []policies.Scope{{Side: policies.SideMachineAPI, Kinds: []string{controlplane.Kind}, Operations: ops}}
}

// world returns the needs of a rule that reads the control plane: NeedControlPlane if a request changes the set's spec, else none.
func world(c policies.Change) policies.Need {
	if changesSpec(c) {
		return policies.NeedControlPlane
	}
	return 0
}

// alone returns no needs. It is for a rule that looks up nothing and nevertheless has no counterpart in CEL.
func alone(policies.Change) policies.Need { return 0 }

// Rules returns every rule of admission about ControlPlaneMachineSets, in the order in which their answers are printed. The rules do not repeat the CRD's own
// validation, which comes first.
func Rules() policies.Set {
	write := on(admissionv1.Create, admissionv1.Update)
	return policies.Set{
		{
			ID: "controlplane/name", Clause: document + "Implementation Details/Notes/Constraints",
			Description: "A ControlPlaneMachineSet is called cluster: a control plane has only one.",
			Remedy:      "Name it cluster.",
			On:          on(admissionv1.Create), Check: Named,
		},
		{
			ID: "controlplane/foreground", Clause: document + "Removing/disabling the ControlPlaneMachineSet",
			Description: "A set cannot be deleted in the foreground, and cannot have the finalizer foregroundDeletion: the garbage collector would delete the " +
				"control plane's Machines before the set.",
			Remedy: "Delete it with --cascade=background: its Machines stay.",
			On:     on(admissionv1.Create, admissionv1.Update, admissionv1.Delete), Check: Foreground,
		},
		{
			ID: "controlplane/duplicate-domains", Clause: spreading,
			Description: "No failure domain may be listed twice: a second Machine in the same place adds no spread.",
			Remedy:      "Remove one of the two.",
			On:          write, Check: DuplicateDomains,
		},
		{
			ID: "controlplane/selector", Clause: document + "Selecting Machines",
			Description: "The selector matches the labels of the template and no worker: it selects the whole control plane and nothing else. A warning names where " +
				"the template's cluster label is not the cluster's name.",
			Remedy: "Select by machine.openshift.io/cluster-api-machine-role: master and -type: master.",
			On:     write, Needs: world, Check: ratchet(selects),
		},
		{
			ID: "controlplane/machine-labels", Clause: document + "Selecting Machines",
			Description: "The template's label machine.openshift.io/cluster-api-cluster may only change to the cluster's name: a Machine controller finds an " +
				"instance by this label. A warning names labels and annotations of the template that only the Machine controller writes.",
			Remedy: "Leave the label as it is, and leave out what the Machine controller writes.",
			On:     write, Needs: world, Check: Labelled,
		},
		{
			ID: "controlplane/machine-names", Clause: document + "Customizing Control Plane Machine Names",
			Description: "spec.machineNamePrefix, five letters and an index make a name that the platform takes, for the instance and for its host.",
			Remedy:      "Shorten the prefix, or leave out what the platform does not take.",
			On:          write, Needs: world, Check: ratchet(namesMachines),
		},
		{
			ID: "controlplane/platform", Clause: spreading,
			Description: "The kind of the providerSpec and failureDomains.platform are those of the cluster's platform, as the Infrastructure named cluster has it. " +
				"If the Infrastructure names no platform, a set with failure domains is refused: its replacements would be in no failure domain.",
			Remedy: "Use the platform's own. Where the Infrastructure or its status was lost, restore it.",
			On:     write, Needs: world, Check: ratchet(onPlatform),
		},
		{
			ID: "controlplane/provider-spec", Clause: mismatch,
			Description: "The providerSpec can be read as what the platform expects. An unknown field is a warning with its path, and with the field name that may " +
				"be meant: Machine API ignores unknown fields silently.",
			Remedy: "Correct the field that is named.",
			On:     write, Needs: world, Check: ratchet(readable),
		},
		{
			ID: "controlplane/one-machine", Clause: mismatch,
			Description: "The template must not have values that only one Machine can have: a providerID, a fixed address of a network interface (vSphere, " +
				"OpenStack).",
			Remedy: "Leave it out. On vSphere have DHCP give the addresses; new Machines of Machine API may take them from a pool (addressesFromPools) " +
				"that fits the network of each failure domain.",
			On: write, Needs: world, Check: ratchet(ofOneMachine),
		},
		{
			ID: "controlplane/user-data", Clause: mismatch,
			Description: "Poundlock warns if a Machine would not become a Node of the control plane, because it has no userDataSecret, or that of the workers.",
			Remedy:      "Use master-user-data, or the Secret of the Machines that run.",
			On:          write, Needs: world, Check: ratchet(ignites),
		},
		{
			ID: "controlplane/recreate", Clause: document + "The Recreate update strategy (FUTURE WORK)",
			Description: "The strategy Recreate is refused, unless Poundlock runs with --control-plane-recreate: " +
				"it deletes each Machine before it creates the replacement, so etcd has one member fewer until the replacement has joined. " +
				"Where the flag allows it, Poundlock warns.",
			Remedy: "Use RollingUpdate or OnDelete. If there is no room for an additional Machine, run Poundlock with --control-plane-recreate.",
			On:     write, Needs: world, Check: ratchet(recreates),
		},
		{
			ID: "controlplane/failure-domains", Clause: adoption,
			Description: "When a set is created or activated, and when the failure domains of an inactive one are changed, each Machine must be in one of them. The " +
				"failure domains of an active set may be changed, unless its Machines would be spread over fewer than now. The failure domains of vSphere and Nutanix " +
				"are in the Infrastructure.",
			Remedy: "List the failure domains that the Machines are in: the message names them.",
			On:     write, Needs: world, Check: FailureDomains,
		},
		{
			ID: "controlplane/replicas", Clause: document + "Desired number of Machines",
			Description: "When a set is created or activated its replicas must equal the number of indexes of the control plane's Machines. One Machine may be " +
				"missing, and the set then creates it.",
			Remedy: "Create the set with the number that the message has: it cannot be changed later.",
			On:     write, Needs: world, Check: Replicas,
		},
		{
			ID: "controlplane/one-per-index", Clause: adoption,
			Description: "When a set is created Active, or activated, no two running Machines have the same index (the number at the end of their names). Only a " +
				"person can decide which of the two to delete.",
			Remedy: "Delete the Machine that is not needed, once etcd is healthy without it. Or replace it with one whose name ends with a free number.",
			On:     write, Needs: world, Check: OnePerIndex,
		},
		platformRule("aws", configv1.AWSPlatformType, balancers,
			"On AWS the region is the cluster's. Warnings name where a Machine would have no image, an arbitrary subnet, no load balancer before it, or an instance "+
				"that AWS may terminate.", aws),
		platformRule("azure", configv1.AzurePlatformType, balancers,
			"On Azure there is an internalLoadBalancer, through which the nodes reach the API. Warnings name where there is no subnet, or an instance that Azure "+
				"may terminate.", azure),
		platformRule("gcp", configv1.GCPPlatformType, balancers,
			"On GCP the region and the zones are the cluster's. Warnings name where there are no targetPools, another project is named, or an instance that GCP may "+
				"terminate.", gcp),
		platformRule("openstack", configv1.OpenStackPlatformType, mismatch,
			"On OpenStack a block device for etcd has at least 10 GiB, no two block devices have the same name, and a root volume that failure domains place has a "+
				"size. A warning names each block device that is not called etcd: a control plane uses no other.", openStack),
		platformRule("vsphere", configv1.VSpherePlatformType, spreading,
			"On vSphere each Machine has a template, a server and a datacenter of the Infrastructure, a network, and a folder in that datacenter. "+
				"A template that is given by its path is in that datacenter, too. Warnings name each field that a failure domain overrides, "+
				"and a network that all failure domains override.", vSphere),
		platformRule("nutanix", configv1.NutanixPlatformType, spreading,
			"On Nutanix the cluster, the image and each subnet are given by a name or a UUID, and no subnet twice.", nutanix),
		{
			ID: "controlplane/authority", Clause: "converting › ControlPlaneMachineSet Synchronisation",
			Description: "The template may have the member for Cluster API (machines_v1beta2_cluster_x_k8s_io) only while spec.authoritativeAPI is ClusterAPI. " +
				"While the template has that member, spec.authoritativeAPI cannot be set back.",
			Remedy: "Set spec.authoritativeAPI to ClusterAPI first, or in the same request. To go back, give the set the member for Machine API in the same request.",
			On:     write, Check: Authority,
		},
		{
			ID: "controlplane/request-warning", Clause: "converting › Workflow extension",
			Description: "A request to move authority over a set is stored, with warnings about each field that does not convert, a Synchronized condition that is " +
				"not True, the effect on Machines, and a move that no manager seems to carry out. If Cluster API becomes authoritative for new Machines (by a move, by " +
				"the set's creation or by spec.template.…spec.authoritativeAPI), a warning names what Machine API does for Machines and Cluster API does not.",
			Remedy: "Repair the fields that are named, or set spec.authoritativeAPI back.",
			On:     write, Needs: requestNeeds, Check: RequestWarning,
		},
		{
			ID: "controlplane/machine-refused", Clause: mismatch,
			Description: "The API server accepts the Machines that the set would create, one for each failure domain: the review asks it with a dry run. A refusal " +
				"repeats the API server's words. A warning says if there is no answer within two seconds, and names each field of the template that admission changes.",
			Remedy: "Correct what the API server names, in the template or in the policy that refuses it.",
			On:     write, Needs: world, Check: Tried,
		},
		{
			ID: ForecastRule, Clause: mismatch,
			Description: "Creating a set, activating it or changing its spec warns of what it will do: which Machines are replaced, which fields are the reason and " +
				"in which order, or that no Machine is replaced. With --dry-run=server the warnings are the same and nothing is done.",
			Remedy: "None is needed if you intend this. With spec.strategy.type: OnDelete you decide when each Machine is replaced.",
			On:     write, Needs: forecastNeeds, Check: Forecast,
		},
		{
			ID: "controlplane/machine", Clause: document + "Selecting Machines",
			Description: "Creating a Machine with the control plane's labels, or giving a Machine these labels, warns of what the active set will do: it stops if " +
				"another Machine has the same index (the number at the end of the name), or deletes one of the two. Removing a label by which the set selects the " +
				"Machine warns, too: the set stops, or creates another Machine. An edit of a control plane Machine's providerSpec, and a request " +
				"to move such a Machine back to the Machine API, also warn if the Machine then differs from the template.",
			Remedy: "Give the Machine a name that ends with the number of an index without a Machine. Or delete the Machine that you want to replace: the set " +
				"creates the replacement itself. Keep the labels of a Machine that serves. Before a move back, edit the template while the strategy is OnDelete.",
			On: onMachines(admissionv1.Create, admissionv1.Update), Needs: joinNeeds, Check: Joins,
		},
		{
			ID: "controlplane/machine-edit", Clause: document + "Selecting Machines",
			Description: "An edit of a control plane Machine for which Cluster API is authoritative (also of its labels), or of its provider's machine, warns " +
				"which Machines the active set will delete because of it: the instance does not change, the mirror in Machine API does, and the set compares the mirror " +
				"with its template.",
			Remedy: "Edit the template instead. To change both without a replacement, set the strategy to OnDelete first.",
			On:     onClusterAPIMachines(), Needs: clusterAPIEditNeeds, Check: EditedInClusterAPI,
		},
		{
			ID: "controlplane/template", Clause: mismatch,
			Description: "If the set refers to an infrastructure machine template of Cluster API, creating, editing or deleting that template warns of what the set " +
				"will do: such an edit starts a rollout, like an edit of the set. An edit that the rules refuse in the set only causes a warning in the template.",
			Remedy: "None is needed if you intend this. To have the rollout reviewed with the set, create a template under another name, and have the set refer to " +
				"it.",
			On: onTemplates(admissionv1.Create, admissionv1.Update, admissionv1.Delete), Needs: templateNeeds, Check: TemplateEdited,
		},
		{
			ID: "controlplane/finalizer", Clause: removal,
			Description: "Removing the set's finalizer by hand while Machines refer to the set warns: the garbage collector deletes them.",
			Remedy:      "Remove the set's entry from metadata.ownerReferences of each Machine first. The operator does both when the set is deleted.",
			On:          on(admissionv1.Update), Needs: releaseNeeds, Check: Released,
		},
		{
			ID: "controlplane/delete", Clause: removal,
			Description: "Deleting a set warns: its Machines stay, nothing replaces them from then on, and Poundlock generates the set again, inactive.",
			Remedy:      "None is needed if you intend this.",
			On:          on(admissionv1.Delete), Needs: alone, Check: Regenerated,
		},
	}
}

// platformRule returns the rule about what a control plane needs on one platform.
func platformRule(name string, platform configv1.PlatformType, clause, description string, check func(resolved) findings) policies.Rule {
	return policies.Rule{
		ID: "controlplane/" + name, Clause: clause, Description: description,
		Remedy: "Complete the providerSpec in the set's template: the message names the field.",
		On:     on(admissionv1.Create, admissionv1.Update), Needs: world, Check: ratchet(everywhere(platform, check)),
	}
}
