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
			Means: "the Machine has no instance yet",
			Do:    "read the condition `MachineCreated` of the Machine",
		},
		{
			Names: []string{machinev1beta1.InstanceMissingReason},
			Means: "the Machine's instance is gone, because somebody terminated it, or because the Machine is being deleted",
			Do:    "a Machine whose instance is gone is Failed, and stays Failed: delete the Machine, and its set creates another one",
		},
		{
			Names: []string{machine.ReasonCreating},
			Means: "the Machine's controller is requesting the instance, or stopped while it did",
			Do:    "nothing: the controller first asks the provider whether the instance exists, and creates an instance only if there is none",
		},
		{
			Names: []string{machinev1beta1.MachineCreationFailedConditionReason},
			Means: "the provider refuses to create the Machine's instance; the message is the provider's",
			Do:    "fix what the message names. After an error that no retry can fix, the Machine is Failed: then delete the Machine",
		},
		{
			Names: []string{machinev1beta1.MachineCreationSucceededConditionReason},
			Means: "the provider has accepted the request for the Machine's instance",
			Do:    "nothing",
		},
		{
			Names: []string{machinev1beta1.MachineHookPresent},
			Means: "a lifecycle hook holds the deletion of the Machine; the message names the hook and its owner",
			Do:    "ask the hook's owner. If you remove the hook by hand, you lose what the hook protects",
		},
		{
			Names: []string{machine.ReasonOwnNode},
			Means: "the Machine is not deleted yet, because the controller that must delete it runs on the Machine's own Node",
			Do:    "move the controller's Pod to another Node; a second replica takes over by itself",
		},
		{
			Names: []string{machine.ReasonInstanceShared},
			Means: "the Machine is not deleted yet, because another Machine, which the message names, has the same `spec.providerID` and is not being " +
				"deleted. This deletion would terminate the other Machine's instance, and drain its Node",
			Do: "to terminate the instance, delete the other Machine too. If this Machine is only a copy, remove the finalizer " +
				"`machine.machine.openshift.io` from it",
		},
		{
			Names: []string{machine.ReasonControlPlane},
			Means: "the Machine is not deleted yet, because another Machine of the control plane must be deleted first; the message names that Machine",
			Do:    "find out why the deletion of the other Machine does not end",
		},
		{
			Names: []string{machine.ReasonDraining},
			Means: "the Machine's Node is being drained; the message names the Pods that are not evicted yet",
			Do:    "look at the PodDisruptionBudgets of these Pods",
		},
		{
			Names: []string{machinev1beta1.MachineDrainError},
			Means: "the API server refuses to evict a Pod from the Machine's Node, or does not answer; the message is the API server's",
			Do:    "fix what the message names",
		},
		{
			Names: []string{machine.ReasonDrained, machine.ReasonNoNode},
			Means: "the Machine's Node has nothing left to drain, or the Machine has no Node. While a hook holds the Machine, the controller drains the " +
				"Node again if it registers late, or if somebody uncordons it",
			Do: "nothing",
		},
		{
			Names: []string{machine.ReasonDrainSkipped},
			Means: "the Machine's Node is not drained, because the Machine has the annotation `machine.openshift.io/exclude-node-draining`",
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
			Means: "somebody other than Cluster API terminated the Machine's instance in the cloud (AWS)",
			Do:    "delete the Machine: it does not recover, and its set creates another one",
		},
		{
			Names: []string{"InstanceStopped"},
			Means: "somebody stopped the Machine's instance in the cloud (AWS, Power VS)",
			Do:    "start the instance in the cloud. Or delete the Machine, and its set creates another one",
		},
		{
			Names: []string{"InstanceErrored", "InstanceStateError"},
			Means: "the cloud shows the Machine's instance in an error state (Power VS, OpenStack)",
			Do:    "look for the cause in the cloud. If the instance does not recover, delete the Machine, and its set creates another one",
		},
		{
			Names: []string{"InstanceProvisionFailed", "InstanceCreateFailed", "VMProvisionFailed", "VMCreationFailed", "CloningFailed",
				"PoweringOnFailed", "TaskFailed"},
			Means: "the cloud refuses to create or to start the Machine's instance; the message is the cloud's",
			Do: "fix what the message names. If there is no message, run `kubectl -n openshift-cluster-api describe` for the provider's machine, which " +
				"shows its conditions and events; the provider's log has the cloud's answer. The provider retries, unless the Machine has failed: then " +
				"delete the Machine",
		},
		{
			Names: []string{"BootstrapFailed"},
			Means: "the Machine's virtual machine runs, but does not report that it has booted (Azure)",
			Do:    "look at the virtual machine's boot diagnostics. A Machine that has failed does not recover: delete it, and its set creates another one",
		},
		{
			Names: []string{"VCenterUnreachable", "OpenStackError"},
			Means: "the provider cannot reach the cloud, or the cloud refuses its request",
			Do:    "read the error in the message, and check the credentials in `openshift-cluster-api` and the network connection to the cloud",
		},
		{
			Names: []string{"InvalidMachineSpec", "IPAddressInvalid", "VMBootTypeInvalid"},
			Means: "the provider does not accept the Machine's spec",
			Do:    "correct the spec in the template of the set, and delete the Machine",
		},
		{
			Names: []string{"DependencyFailed", "SecurityGroupsSyncFailed", "ELBAttachFailed", "LoadBalancerConfigurationFailed", "LoadBalancerMemberError",
				"FloatingIPError", "VMAddressesFailed", "TagsAttachmentFailed"},
			Means: "the provider cannot get something that the Machine's instance needs, such as a security group, an address, or a place behind a load " +
				"balancer. The instance may exist",
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
			Means: "the MachineHealthCheck deletes nothing, because more Machines are unhealthy than `spec.maxUnhealthy` allows",
			Do:    "find out what the unhealthy Machines have in common, before you raise the limit",
		},
		{
			Names: []string{"InvalidConfiguration"},
			Means: "the spec of the MachineHealthCheck is invalid; the message names the field",
			Do:    "correct the field",
		},
		{
			Names: []string{machinev1beta1.ExternalRemediationTemplateNotFound},
			Means: "the template that `spec.remediationTemplate` of the MachineHealthCheck names does not exist",
			Do:    "create the template, or correct the reference",
		},
		{
			Names: []string{machinev1beta1.ExternalRemediationRequestCreationFailed},
			Means: "the API server refuses the remediation request that the MachineHealthCheck creates from its template; the message is the API server's",
			Do:    "fix what the message names",
		},
	},
}
