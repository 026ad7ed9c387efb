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
			Means: "the API that was requested for a Machine API object is authoritative, and the controllers of both APIs have acknowledged that. The " +
				"condition is False while a migration waits or is on its way",
			Do: "read the condition's reason, and run `kubectl poundlock explain REASON`",
		},
		{
			Names: []string{authority.ConditionSynchronized},
			Means: "the mirror of a Machine API object equals the authoritative object in the generation that `status.synchronizedGeneration` names. The " +
				"condition is False if Poundlock cannot write the mirror",
			Do: "read the condition's reason, and its message, which names each field by path",
		},
		{
			Names: []string{authority.ConditionPaused},
			Means: "the controllers of the object's API have acknowledged that they do not act on the object. The controllers of Machine API and of " +
				"Cluster API write this condition, each to their own objects, and Poundlock waits for it",
			Do: "nothing",
		},
		{
			Names: []string{authority.ConditionMirrored},
			Means: "the Machine API MachineSet of a Cluster API MachineSet exists. The condition is False after the Machine API MachineSet was deleted " +
				"while Cluster API was authoritative",
			Do: "see the runbook MirroredInMachineAPI is False",
		},
		{
			Names: []string{generator.ConditionGenerated},
			Means: "Poundlock generated this ControlPlaneMachineSet, and the set still describes the cluster. The message lists what somebody has edited",
			Do:    "if it is False, read its reason",
		},
		{
			Names: []string{controlplane.Available},
			Means: "the component works now. For a ControlPlaneMachineSet, each index has a Machine whose Node is ready. A ClusterOperator has this " +
				"condition too",
			Do: "if it is False, read its reason",
		},
		{
			Names: []string{controlplane.Progressing},
			Means: "a ControlPlaneMachineSet is replacing Machines. On a ClusterOperator, the condition means that the operator is replacing Machines or " +
				"providers",
			Do: "nothing; if it stays True for long, read its reason",
		},
		{
			Names: []string{controlplane.Degraded},
			Means: "a ControlPlaneMachineSet, or the operator of a ClusterOperator, has stopped because of a problem, and changes nothing until the " +
				"problem is fixed",
			Do: "fix what the condition's message names",
		},
		{
			Names: []string{controlplane.Upgradeable},
			Means: "the component of this ClusterOperator does not prevent an upgrade of OpenShift now",
			Do:    "if it is False, wait, or fix what its message names",
		},
		{
			Names: []string{string(machinev1beta1.InstanceExistsCondition)},
			Means: "the Machine's instance exists in the cloud",
			Do:    "if it is False, read its reason",
		},
		{
			Names: []string{string(machinev1beta1.MachineCreated)},
			Means: "the provider has accepted the request for the Machine's instance",
			Do:    "if it is False, read its message",
		},
		{
			Names: []string{string(machinev1beta1.MachineDrainable)},
			Means: "the Machine is being deleted, and no lifecycle hook keeps its Node from being drained",
			Do:    "if it is False, its message names the hook and the hook's owner",
		},
		{
			Names: []string{string(machinev1beta1.MachineDrained)},
			Means: "the Machine is being deleted, and its Node has no Pods left to evict",
			Do:    "if it is False, its message names the Pods that are left",
		},
		{
			Names: []string{string(machinev1beta1.MachineTerminable)},
			Means: "the Machine is being deleted, and no lifecycle hook keeps its instance from being terminated",
			Do:    "if it is False, its message names the hook and the hook's owner",
		},
		{
			Names: []string{string(machinev1beta1.RemediationAllowedCondition)},
			Means: "the MachineHealthCheck may delete unhealthy Machines. The condition is False while more Machines are unhealthy than " +
				"`spec.maxUnhealthy` allows",
			Do: "if it is False, read its reason",
		},
		{
			Names: []string{string(machinev1beta1.ExternalRemediationTemplateAvailable)},
			Means: "the template that `spec.remediationTemplate` of the MachineHealthCheck names exists",
			Do:    "if it is False, create the template, or correct the reference",
		},
		{
			Names: []string{string(machinev1beta1.ExternalRemediationRequestAvailable)},
			Means: "the MachineHealthCheck could create its request for an external remediation",
			Do:    "if it is False, read its message",
		},
	},
}
