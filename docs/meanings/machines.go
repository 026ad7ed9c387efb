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
