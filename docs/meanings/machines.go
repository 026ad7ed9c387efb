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
			Means: "the instance is gone, by somebody else's doing, or it ends with its Machine",
			Do:    "a Machine whose instance is gone is Failed and is not repaired: delete it, and its set makes another",
		},
		{
			Names: []string{machine.ReasonCreating},
			Means: "the provider is asked for the instance, or was when the controller stopped",
			Do:    "nothing: it is asked again for what is there before anything is made",
		},
		{
			Names: []string{machinev1beta1.MachineCreationFailedConditionReason},
			Means: "the provider refuses; the message is its own",
			Do:    "repair what it names. Errors that no repetition fixes fail the Machine: delete it",
		},
		{
			Names: []string{machinev1beta1.MachineCreationSucceededConditionReason},
			Means: "the provider has taken the order",
			Do:    "nothing",
		},
		{
			Names: []string{machinev1beta1.MachineHookPresent},
			Means: "a lifecycle hook holds the deletion; the message names it and its owner",
			Do:    "ask its owner. Taking the hook away by hand gives up what it protects",
		},
		{
			Names: []string{machine.ReasonOwnNode},
			Means: "the process that is to end the Machine runs on its Node",
			Do:    "have its Pod run elsewhere; a second replica takes over by itself",
		},
		{
			Names: []string{machine.ReasonInstanceShared},
			Means: "another Machine, which the message names, has the same `spec.providerID`, and is not being deleted: " +
				"the deletion would remove its instance, and drain its Node",
			Do: "delete that Machine too if the instance is to go. If this Machine is only a copy, remove `machine.machine.openshift.io` from its finalizers",
		},
		{
			Names: []string{machine.ReasonControlPlane},
			Means: "another Machine of the control plane goes first; the message names it",
			Do:    "see why that one does not end",
		},
		{
			Names: []string{machine.ReasonDraining},
			Means: "Pods are being evicted; the message names those that are left",
			Do:    "see the PodDisruptionBudgets of those Pods",
		},
		{
			Names: []string{machinev1beta1.MachineDrainError},
			Means: "the API server refuses an eviction or cannot be asked; the message is its own",
			Do:    "repair what it names",
		},
		{
			Names: []string{machine.ReasonDrained, machine.ReasonNoNode},
			Means: "there is nothing left to drain. While a hook holds the Machine, a Node that registers late, or that somebody uncordons, is drained again",
			Do:    "nothing",
		},
		{
			Names: []string{machine.ReasonDrainSkipped},
			Means: "the annotation `machine.openshift.io/exclude-node-draining` asks for that",
			Do:    "nothing",
		},
	},
}

// noInstance has the reasons that Cluster API's providers give for a Machine that authority.Fails finds, as the conditions of a Machine repeat them.
var noInstance = Table{
	Section: "Cluster API reports that a Machine has no instance",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"InstanceTerminated"},
			Means: "the instance was terminated in the cloud, by somebody else than Cluster API (AWS)",
			Do:    "delete the Machine, which is not repaired: its set makes another",
		},
		{
			Names: []string{"InstanceStopped"},
			Means: "the instance was stopped in the cloud (AWS, Power VS)",
			Do:    "start it in the cloud, or delete the Machine, and its set makes another",
		},
		{
			Names: []string{"InstanceErrored", "InstanceStateError"},
			Means: "the cloud has the instance in the state of an error (Power VS, OpenStack)",
			Do:    "look in the cloud for why. If it does not recover, delete the Machine, and its set makes another",
		},
		{
			Names: []string{"InstanceProvisionFailed", "InstanceCreateFailed", "VMProvisionFailed", "VMCreationFailed", "CloningFailed",
				"PoweringOnFailed", "TaskFailed"},
			Means: "the cloud refuses to create or to start the instance; the message is its own",
			Do: "repair what the message names. Without one, `kubectl -n openshift-cluster-api describe` of the provider's machine shows its conditions and events, " +
				"and the provider's log has the cloud's answer. The provider asks again, unless the Machine has failed: then delete it",
		},
		{
			Names: []string{"BootstrapFailed"},
			Means: "the virtual machine runs, and does not report that it has booted (Azure)",
			Do:    "look at its boot diagnostics. A Machine that has failed is not repaired: delete it, and its set makes another",
		},
		{
			Names: []string{"VCenterUnreachable", "OpenStackError"},
			Means: "the provider cannot reach the cloud, or the cloud refuses its request",
			Do:    "the message names the error: see to the credentials in `openshift-cluster-api` and the way to the cloud",
		},
		{
			Names: []string{"InvalidMachineSpec", "IPAddressInvalid", "VMBootTypeInvalid"},
			Means: "the provider cannot use what the Machine asks for",
			Do:    "correct it in the template of the set, and delete the Machine",
		},
		{
			Names: []string{"DependencyFailed", "SecurityGroupsSyncFailed", "ELBAttachFailed", "LoadBalancerConfigurationFailed", "LoadBalancerMemberError",
				"FloatingIPError", "VMAddressesFailed", "TagsAttachmentFailed"},
			Means: "what the instance needs beside itself cannot be had, such as a security group, an address, or its place behind a load balancer; " +
				"the instance may exist",
			Do: "repair what the message names. Without one, the provider's log has the cloud's answer",
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
			Do:    "see what they have in common; raise the limit only knowingly",
		},
		{
			Names: []string{"InvalidConfiguration"},
			Means: "the spec cannot be what its author meant; the message names the field",
			Do:    "repair it",
		},
		{
			Names: []string{machinev1beta1.ExternalRemediationTemplateNotFound},
			Means: "the template that `spec.remediationTemplate` names is not there",
			Do:    "make it, or repair the reference",
		},
		{
			Names: []string{machinev1beta1.ExternalRemediationRequestCreationFailed},
			Means: "the API server refuses the request that is made from the template; the message is its own",
			Do:    "repair what it names",
		},
	},
}
