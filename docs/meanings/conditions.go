// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
)

var conditions = Table{
	Section: "Conditions",
	Head:    [3]string{"condition", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{authority.ConditionSettled},
			Means: "of a Machine API object: the requested API is authoritative, and the controllers of both sides have acknowledged that. False while a " +
				"migration waits or is on its way",
			Do: "read its reason: `kubectl poundlock explain REASON`",
		},
		{
			Names: []string{authority.ConditionSynchronized},
			Means: "of a Machine API object: its mirror equals the authoritative object in the generation that `status.synchronizedGeneration` names. " +
				"False where the mirror cannot be written",
			Do: "read its reason and message: each field by path",
		},
		{
			Names: []string{authority.ConditionPaused},
			Means: "of either side: this API's controllers have acknowledged that they do not act on the object. " +
				"The Machine API's and Cluster API's controllers set it, and Poundlock waits for it",
			Do: "nothing",
		},
		{
			Names: []string{authority.ConditionMirrored},
			Means: "of a Cluster API MachineSet: its Machine API MachineSet exists. False after the Machine API MachineSet was deleted while Cluster API " +
				"was authoritative",
			Do: "see the runbook MirroredInMachineAPI is False",
		},
		{
			Names: []string{generator.ConditionGenerated},
			Means: "of a ControlPlaneMachineSet that Poundlock generated: the set still describes the cluster. The message lists what somebody has edited",
			Do:    "read its reason",
		},
		{
			Names: []string{controlplane.Available},
			Means: "of a ControlPlaneMachineSet and of a ClusterOperator: the component works now. For a set, each index has a Machine whose Node is ready",
			Do:    "if it is False, read its reason",
		},
		{
			Names: []string{controlplane.Progressing},
			Means: "of a ControlPlaneMachineSet and of a ClusterOperator: Machines or providers are being replaced",
			Do:    "nothing; if it stays True for long, read its reason",
		},
		{
			Names: []string{controlplane.Degraded},
			Means: "of a ControlPlaneMachineSet and of a ClusterOperator: it has stopped because of a problem, and changes nothing until the problem is fixed",
			Do:    "fix what its message names",
		},
		{
			Names: []string{controlplane.Upgradeable},
			Means: "of a ClusterOperator: OpenShift may be upgraded now",
			Do:    "if it is False, wait, or fix what its message names",
		},
		{
			Names: []string{string(machinev1beta1.InstanceExistsCondition)},
			Means: "of a Machine: its instance exists in the cloud",
			Do:    "if it is False, read its reason",
		},
		{
			Names: []string{string(machinev1beta1.MachineCreated)},
			Means: "of a Machine: the provider has accepted the order for the instance",
			Do:    "if it is False, read its message",
		},
		{
			Names: []string{string(machinev1beta1.MachineDrainable)},
			Means: "of a Machine that is being deleted: no lifecycle hook keeps its Node from being drained",
			Do:    "the message names the hook and its owner",
		},
		{
			Names: []string{string(machinev1beta1.MachineDrained)},
			Means: "of a Machine that is being deleted: its Node has no Pods left to evict",
			Do:    "the message names the Pods that are left",
		},
		{
			Names: []string{string(machinev1beta1.MachineTerminable)},
			Means: "of a Machine that is being deleted: no lifecycle hook keeps its instance from being terminated",
			Do:    "the message names the hook and its owner",
		},
		{
			Names: []string{string(machinev1beta1.RemediationAllowedCondition)},
			Means: "of a MachineHealthCheck: the check may delete unhealthy Machines. False while more Machines are unhealthy than `spec.maxUnhealthy` allows",
			Do:    "read its reason",
		},
		{
			Names: []string{string(machinev1beta1.ExternalRemediationTemplateAvailable)},
			Means: "of a MachineHealthCheck: the template that `spec.remediationTemplate` names exists",
			Do:    "create the template, or correct the reference",
		},
		{
			Names: []string{string(machinev1beta1.ExternalRemediationRequestAvailable)},
			Means: "of a MachineHealthCheck: the request for an external remediation was created",
			Do:    "read its message",
		},
	},
}
