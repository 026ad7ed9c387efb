// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/machine"
)

var slowMachine = Table{
	Section: "A Machine comes or goes slowly",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{machinev1beta1.InstanceNotCreatedReason},
			Means: "there is no instance yet",
			Do:    "see `MachineCreated`",
		},
		{
			Names: []string{machinev1beta1.InstanceMissingReason},
			Means: "the instance is gone, because somebody terminated it, or because its Machine is being deleted",
			Do:    "a Machine whose instance is gone is Failed, and stays Failed: delete the Machine, and its set creates another",
		},
		{
			Names: []string{machine.ReasonCreating},
			Means: "the controller is requesting the instance, or was when it stopped",
			Do:    "nothing: the controller first asks the provider whether the instance exists, and only then creates one",
		},
		{
			Names: []string{machinev1beta1.MachineCreationFailedConditionReason},
			Means: "the provider refuses; the message is the provider's",
			Do:    "fix what the message names. Errors that no retry fixes fail the Machine: then delete the Machine",
		},
		{
			Names: []string{machinev1beta1.MachineCreationSucceededConditionReason},
			Means: "the provider has accepted the request",
			Do:    "nothing",
		},
		{
			Names: []string{machinev1beta1.MachineHookPresent},
			Means: "a lifecycle hook holds the deletion; the message names it and its owner",
			Do:    "ask the hook's owner. If you remove the hook by hand, you lose what it protects",
		},
		{
			Names: []string{machine.ReasonOwnNode},
			Means: "the controller that must delete the Machine runs on the Machine's own Node",
			Do:    "move the controller's Pod to another Node; a second replica takes over by itself",
		},
		{
			Names: []string{machine.ReasonInstanceShared},
			Means: "another Machine, which the message names, has the same `spec.providerID`, and is not being deleted: this deletion would terminate the " +
				"other Machine's instance, and drain its Node",
			Do: "to terminate the instance, delete the other Machine too. If this Machine is only a copy, remove `machine.machine.openshift.io` from its " +
				"finalizers",
		},
		{
			Names: []string{machine.ReasonControlPlane},
			Means: "another Machine of the control plane must be deleted first; the message names it",
			Do:    "see why the other Machine's deletion does not end",
		},
		{
			Names: []string{machine.ReasonDraining},
			Means: "Pods are being evicted; the message names those that are left",
			Do:    "see the PodDisruptionBudgets of these Pods",
		},
		{
			Names: []string{machinev1beta1.MachineDrainError},
			Means: "the API server refuses an eviction or does not answer; the message is the API server's",
			Do:    "repair what it names",
		},
		{
			Names: []string{machine.ReasonDrained, machine.ReasonNoNode},
			Means: "nothing is left to drain. While a hook holds the Machine, the controller drains again a Node that registers late, or that somebody " +
				"uncordons",
			Do: "nothing",
		},
		{
			Names: []string{machine.ReasonDrainSkipped},
			Means: "the annotation `machine.openshift.io/exclude-node-draining` skips the drain",
			Do:    "nothing",
		},
	},
}

// noInstance explains the reasons that Cluster API's providers give for a Machine that has no instance (authority.Fails), and that the conditions of the
// Machine repeat.
var noInstance = Table{
	Section: "Cluster API reports that a Machine has no instance",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"InstanceTerminated"},
			Means: "somebody other than Cluster API terminated the instance in the cloud (AWS)",
			Do:    "delete the Machine: it does not recover, and its set creates another",
		},
		{
			Names: []string{"InstanceStopped"},
			Means: "the instance was stopped in the cloud (AWS, Power VS)",
			Do:    "start the instance in the cloud, or delete the Machine, and its set creates another",
		},
		{
			Names: []string{"InstanceErrored", "InstanceStateError"},
			Means: "the cloud shows the instance in an error state (Power VS, OpenStack)",
			Do:    "look for the reason in the cloud. If the instance does not recover, delete the Machine, and its set creates another",
		},
		{
			Names: []string{"InstanceProvisionFailed", "InstanceCreateFailed", "VMProvisionFailed", "VMCreationFailed", "CloningFailed",
				"PoweringOnFailed", "TaskFailed"},
			Means: "the cloud refuses to create or to start the instance; the message is the cloud's",
			Do: "fix what the message names. If there is no message, `kubectl -n openshift-cluster-api describe` of the provider's machine shows its " +
				"conditions and events, and the provider's log has the cloud's answer. The provider retries, unless the Machine has failed: then delete the " +
				"Machine",
		},
		{
			Names: []string{"BootstrapFailed"},
			Means: "the virtual machine runs, but does not report that it has booted (Azure)",
			Do:    "look at the virtual machine's boot diagnostics. A Machine that has failed does not recover: delete it, and its set creates another",
		},
		{
			Names: []string{"VCenterUnreachable", "OpenStackError"},
			Means: "the provider cannot reach the cloud, or the cloud refuses its request",
			Do:    "the message names the error: check the credentials in `openshift-cluster-api`, and the network connection to the cloud",
		},
		{
			Names: []string{"InvalidMachineSpec", "IPAddressInvalid", "VMBootTypeInvalid"},
			Means: "the provider does not accept the Machine's spec",
			Do:    "correct the spec in the template of the set, and delete the Machine",
		},
		{
			Names: []string{"DependencyFailed", "SecurityGroupsSyncFailed", "ELBAttachFailed", "LoadBalancerConfigurationFailed", "LoadBalancerMemberError",
				"FloatingIPError", "VMAddressesFailed", "TagsAttachmentFailed"},
			Means: "the provider cannot get something that the instance needs, such as a security group, an address, or a place behind a load balancer; the " +
				"instance may exist",
			Do: "fix what the message names. If there is no message, the provider's log has the cloud's answer",
		},
	},
}

var healthCheck = Table{
	Section: "A check of the Machine API remediates nothing",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{machinev1beta1.TooManyUnhealthyReason},
			Means: "more Machines are unhealthy than `spec.maxUnhealthy` lets the check act on",
			Do:    "find out what the unhealthy Machines have in common, before you raise the limit",
		},
		{
			Names: []string{"InvalidConfiguration"},
			Means: "the spec is invalid; the message names the field",
			Do:    "repair it",
		},
		{
			Names: []string{machinev1beta1.ExternalRemediationTemplateNotFound},
			Means: "the template that `spec.remediationTemplate` names does not exist",
			Do:    "create the template, or correct the reference",
		},
		{
			Names: []string{machinev1beta1.ExternalRemediationRequestCreationFailed},
			Means: "the API server refuses the remediation request that is made from the template; the message is the API server's",
			Do:    "repair what it names",
		},
	},
}
