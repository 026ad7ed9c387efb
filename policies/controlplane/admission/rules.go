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
			Description: "A ControlPlaneMachineSet must be named cluster, because a control plane has only one.",
			Remedy:      "Name the set cluster.",
			On:          on(admissionv1.Create), Check: Named,
		},
		{
			ID: "controlplane/foreground", Clause: document + "Removing/disabling the ControlPlaneMachineSet",
			Description: "A ControlPlaneMachineSet cannot be deleted in the foreground, and cannot have the finalizer foregroundDeletion: the garbage collector " +
				"would delete the control plane's Machines before the set.",
			Remedy: "Delete the set with --cascade=background: then the Machines stay.",
			On:     on(admissionv1.Create, admissionv1.Update, admissionv1.Delete), Check: Foreground,
		},
		{
			ID: "controlplane/duplicate-domains", Clause: spreading,
			Description: "A set may list each failure domain only once: Machines in the same failure domain are not spread.",
			Remedy:      "Remove one of the two equal entries.",
			On:          write, Check: DuplicateDomains,
		},
		{
			ID: "controlplane/selector", Clause: document + "Selecting Machines",
			Description: "The selector of a ControlPlaneMachineSet must match the labels of its template, and must not match a worker. Poundlock warns if the " +
				"template's label machine.openshift.io/cluster-api-cluster is not the name of the cluster.",
			Remedy: "Select by the labels machine.openshift.io/cluster-api-machine-role: master and machine.openshift.io/cluster-api-machine-type: master.",
			On:     write, Needs: world, Check: ratchet(selects),
		},
		{
			ID: "controlplane/machine-labels", Clause: document + "Selecting Machines",
			Description: "In a set's template, the label machine.openshift.io/cluster-api-cluster may only change to the name of the cluster: a Machine " +
				"controller finds an instance by this label. Poundlock warns about labels and annotations of the template that only the Machine controller writes.",
			Remedy: "Leave the label as it is. Remove labels and annotations that only the Machine controller writes.",
			On:     write, Needs: world, Check: Labelled,
		},
		{
			ID: "controlplane/machine-names", Clause: document + "Customizing Control Plane Machine Names",
			Description: "A Machine's name is spec.machineNamePrefix, five letters and an index. The platform must accept this name for the instance and for its " +
				"host.",
			Remedy: "Shorten the prefix, or remove the characters that the platform does not accept.",
			On:     write, Needs: world, Check: ratchet(namesMachines),
		},
		{
			ID: "controlplane/platform", Clause: spreading,
			Description: "The kind of the providerSpec and failureDomains.platform must be those of the cluster's platform, which the Infrastructure named " +
				"cluster has in its status. If the Infrastructure names no platform, a set with failure domains is refused: new Machines would be in no failure " +
				"domain.",
			Remedy: "Use the kind and the failure domains of the cluster's platform. If the Infrastructure or its status was lost, restore it.",
			On:     write, Needs: world, Check: ratchet(onPlatform),
		},
		{
			ID: "controlplane/provider-spec", Clause: mismatch,
			Description: "The providerSpec in a set's template must have the form that the platform expects. Poundlock warns about each unknown field, and names " +
				"the field that may be meant: Machine API ignores unknown fields silently.",
			Remedy: "Correct the field that the message names.",
			On:     write, Needs: world, Check: ratchet(readable),
		},
		{
			ID: "controlplane/one-machine", Clause: mismatch,
			Description: "The template must not have values that only one Machine can have: a providerID, a fixed address of a network interface (vSphere, " +
				"OpenStack).",
			Remedy: "Leave the value out. On vSphere, have DHCP give the addresses. New Machines for which Machine API is authoritative may also take their " +
				"addresses from a pool (addressesFromPools) that fits the network of each failure domain.",
			On: write, Needs: world, Check: ratchet(ofOneMachine),
		},
		{
			ID: "controlplane/user-data", Clause: mismatch,
			Description: "Poundlock warns if new Machines would not become Nodes of the control plane, because the template names no userDataSecret or that of " +
				"the workers.",
			Remedy: "Set userDataSecret to master-user-data, or to the Secret of the running control plane Machines.",
			On:     write, Needs: world, Check: ratchet(ignites),
		},
		{
			ID: "controlplane/recreate", Clause: document + "The Recreate update strategy (FUTURE WORK)",
			Description: "The strategy Recreate is refused unless Poundlock runs with --control-plane-recreate. Recreate deletes each Machine before its " +
				"replacement is created, so etcd has one member fewer until the replacement has joined. If the flag allows Recreate, Poundlock warns.",
			Remedy: "Use RollingUpdate or OnDelete. If there is no room for an additional Machine, run Poundlock with --control-plane-recreate.",
			On:     write, Needs: world, Check: ratchet(recreates),
		},
		{
			ID: "controlplane/failure-domains", Clause: adoption,
			Description: "Each control plane Machine must be in a failure domain that the set lists. This is checked when a set is created or activated, and " +
				"when the failure domains of an inactive set change. The failure domains of an active set may change, unless its Machines would be spread over " +
				"fewer zones than now. On vSphere and Nutanix, the Infrastructure must describe each failure domain.",
			Remedy: "List the failure domains that the Machines are in: the message names them.",
			On:     write, Needs: world, Check: FailureDomains,
		},
		{
			ID: "controlplane/replicas", Clause: document + "Desired number of Machines",
			Description: "When a set is created or activated, spec.replicas must equal the number of indexes of the control plane's Machines (an index is the " +
				"number at the end of a Machine's name). One Machine may be missing: the set creates it.",
			Remedy: "Create the set with the spec.replicas that the message names: this field cannot be changed later.",
			On:     write, Needs: world, Check: Replicas,
		},
		{
			ID: "controlplane/one-per-index", Clause: adoption,
			Description: "When a set is created Active, or activated, no two running Machines may have the same index (the number at the end of the name). Only " +
				"a person can decide which of the two to delete.",
			Remedy: "Delete the Machine that is not needed, once etcd is healthy without it. Or replace this Machine with one whose name ends with a free number.",
			On:     write, Needs: world, Check: OnePerIndex,
		},
		platformRule("aws", configv1.AWSPlatformType, balancers,
			"On AWS, the region in the set's template must be the cluster's. Poundlock warns if a new Machine would have no image, an arbitrary subnet, no load "+
				"balancer, or an instance that AWS may terminate at any moment (spot).", aws),
		platformRule("azure", configv1.AzurePlatformType, balancers,
			"On Azure, the set's template must name an internalLoadBalancer, through which Nodes reach the API server. Poundlock warns if a new Machine would "+
				"have no subnet, or an instance that Azure may terminate at any moment (spot).", azure),
		platformRule("gcp", configv1.GCPPlatformType, balancers,
			"On GCP, the region and the zone of each new Machine must be the cluster's. Poundlock warns if a new Machine would be in no target pool, in another "+
				"project, or on an instance that GCP may terminate at any moment (preemptible or spot).", gcp),
		platformRule("openstack", configv1.OpenStackPlatformType, mismatch,
			"On OpenStack, the block device named etcd must have at least 10 GiB, and no two block devices may have the same name. If the failure domains name a "+
				"root volume, the template must give its size. Poundlock warns about each block device that is not named etcd: a control plane uses no "+
				"other.", openStack),
		platformRule("vsphere", configv1.VSpherePlatformType, spreading,
			"On vSphere, each new Machine needs a template, a network, and a server and a datacenter that the Infrastructure names. The folder must be in that "+
				"datacenter, and so must a template that is given by its path. Poundlock warns about each field that a failure domain overrides, and about a "+
				"network that all failure domains override.", vSphere),
		platformRule("nutanix", configv1.NutanixPlatformType, spreading,
			"On Nutanix, the set's template must give the cluster, the image and each subnet by a name or a UUID, and no subnet twice.", nutanix),
		{
			ID: "controlplane/authority", Clause: "converting › ControlPlaneMachineSet Synchronisation",
			Description: "The template of a ControlPlaneMachineSet may have Cluster API's type (machines_v1beta2_cluster_x_k8s_io) only while " +
				"spec.authoritativeAPI is ClusterAPI. While the template has that type, spec.authoritativeAPI cannot be set back to MachineAPI.",
			Remedy: "Set spec.authoritativeAPI to ClusterAPI first, or in the same request. To go back, change the template to Machine API's type " +
				"(machines_v1beta1_machine_openshift_io) in the same request.",
			On: write, Check: Authority,
		},
		{
			ID: "controlplane/request-warning", Clause: "converting › Workflow extension",
			Description: "A request to move authority over a ControlPlaneMachineSet is accepted with warnings. Warnings name each field that does not convert, a " +
				"condition Synchronized that is False, the effect on Machines, and a move that no manager seems to carry out. If the request makes Cluster API " +
				"authoritative for new Machines (by a move, by the set's creation or by spec.template.…spec.authoritativeAPI), a warning names what Machine API " +
				"does for Machines and Cluster API does not.",
			Remedy: "Correct the fields that the warnings name, or set spec.authoritativeAPI back.",
			On:     write, Needs: requestNeeds, Check: RequestWarning,
		},
		{
			ID: "controlplane/machine-refused", Clause: mismatch,
			Description: "The API server must accept the Machines that the set would create. Poundlock asks the API server with a dry run, for one Machine in " +
				"each failure domain, and a refusal quotes the answer. Poundlock warns if there is no answer within two seconds, and about each field of the " +
				"template that admission changes.",
			Remedy: "Correct the field of the template that the API server's answer names, or the policy that refuses the Machine.",
			On:     write, Needs: world, Check: Tried,
		},
		{
			ID: ForecastRule, Clause: mismatch,
			Description: "When a set is created or activated, or its spec changes, Poundlock warns of what the set will do: which Machines it will replace and " +
				"in which order, the fields that are the reason, or that it will replace none. With --dry-run=server the warnings are the same, and nothing is " +
				"changed.",
			Remedy: "Do nothing if you intend this. With spec.strategy.type: OnDelete you decide when each Machine is replaced.",
			On:     write, Needs: forecastNeeds, Check: Forecast,
		},
		{
			ID: "controlplane/machine", Clause: document + "Selecting Machines",
			Description: "If a Machine is created with the control plane's labels, or gets these labels, Poundlock warns of what the active set will do. If " +
				"another Machine has the same index (the number at the end of the name), the set stops or deletes one of the two. Poundlock also warns if a control " +
				"plane Machine loses a label by which the set selects it: the set then stops, or creates another Machine. And it warns if an edit of such a Machine's " +
				"providerSpec, or a request to move it back to Machine API, makes the Machine differ from the set's template.",
			Remedy: "Give the Machine a name that ends with an index at which there is no Machine. Or delete the Machine that you want to replace: the set " +
				"creates the replacement itself. Keep the labels of a Machine that serves. Before you move a Machine back, set the strategy to " +
				"OnDelete and edit the set's template.",
			On: onMachines(admissionv1.Create, admissionv1.Update), Needs: joinNeeds, Check: Joins,
		},
		{
			ID: "controlplane/machine-edit", Clause: document + "Selecting Machines",
			Description: "If a person edits a control plane Machine for which Cluster API is authoritative (also its labels), or its provider's machine, Poundlock " +
				"warns which Machines the active set will delete because of the edit. The edit does not change the instance, but it changes the mirror in Machine API, " +
				"and the set compares the mirror with the set's template.",
			Remedy: "Edit the set's template instead. To change the Machine and the template without a replacement, set spec.strategy.type to OnDelete first.",
			On:     onClusterAPIMachines(), Needs: clusterAPIEditNeeds, Check: EditedInClusterAPI,
		},
		{
			ID: "controlplane/template", Clause: mismatch,
			Description: "If the set refers to an infrastructure machine template of Cluster API, and a person creates, edits or deletes that template, " +
				"Poundlock warns of what the set will do. Such an edit starts a rollout, like an edit of the set. Content that the rules refuse in the set only " +
				"causes a warning in the template.",
			Remedy: "Do nothing if you intend this. To have the rollout reviewed with the set, create a template under another name, and let the set refer to " +
				"that template.",
			On: onTemplates(admissionv1.Create, admissionv1.Update, admissionv1.Delete), Needs: templateNeeds, Check: TemplateEdited,
		},
		{
			ID: "controlplane/finalizer", Clause: removal,
			Description: "Poundlock warns if a person removes the set's finalizer while Machines refer to the set in metadata.ownerReferences: the garbage " +
				"collector then deletes these Machines.",
			Remedy: "First remove the set's entry from metadata.ownerReferences of each Machine. When a set is deleted, Poundlock removes these entries and " +
				"then the finalizer.",
			On: on(admissionv1.Update), Needs: releaseNeeds, Check: Released,
		},
		{
			ID: "controlplane/delete", Clause: removal,
			Description: "Poundlock warns if a ControlPlaneMachineSet is deleted: its Machines stay, nothing replaces them from then on, and Poundlock generates " +
				"the set again, as Inactive.",
			Remedy: "Do nothing if you intend this.",
			On:     on(admissionv1.Delete), Needs: alone, Check: Regenerated,
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
