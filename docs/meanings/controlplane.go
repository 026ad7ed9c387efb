// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

import (
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
)

var notGenerated = Table{
	Section: "No ControlPlaneMachineSet is generated, or the generated one does not follow",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{string(generator.NoControlPlaneMachines)},
			Means: "Poundlock generates no ControlPlaneMachineSet because no Machine has the labels of a control plane: the cluster was installed without " +
				"Machines for its control plane",
			Do: "nothing. Or replace the control plane's hosts one by one by Machines that you create",
		},
		{
			Names: []string{string(generator.NoRunningMachine)},
			Means: "Poundlock generates no ControlPlaneMachineSet because no Machine of the control plane is in the phase `Running`; the message has the " +
				"phase of each Machine",
			Do: "read `status.errorMessage` of each Machine, and check that Machine API's controllers run",
		},
		{
			Names: []string{string(controlplane.UnknownPlatform)},
			Means: "Poundlock generates no ControlPlaneMachineSet because the Infrastructure names no platform, or a platform whose providerSpec Poundlock " +
				"does not support",
			Do: "nothing. Or write a ControlPlaneMachineSet by hand",
		},
		{
			Names: []string{string(generator.UnreadableProviderSpec)},
			Means: "Poundlock generates no ControlPlaneMachineSet because the providerSpec of the Machine that the message names is missing or cannot be read",
			Do:    "correct the providerSpec",
		},
		{
			Names: []string{string(generator.ForeignProviderSpec)},
			Means: "Poundlock generates no ControlPlaneMachineSet because the Machine that the message names has the providerSpec of another platform",
			Do:    "correct the kind of the Machine's providerSpec, or remove the Machine",
		},
		{
			Names: []string{string(generator.UnsupportedSize)},
			Means: "Poundlock generates no ControlPlaneMachineSet because the control plane has fewer than 2 or more than 5 indexes (the number at the end " +
				"of a Machine's name)",
			Do: "if a Machine is being replaced, finish the replacement. Otherwise no ControlPlaneMachineSet can manage this control plane",
		},
		{
			Names: []string{string(generator.NotAdmitted)},
			Means: "Poundlock generates no ControlPlaneMachineSet because admission would refuse a set with the providerSpec of the newest Machine; the " +
				"message has the rule in brackets",
			Do: "`kubectl poundlock explain RULE` describes the rule. Correct the Machine's providerSpec, or write the set by hand",
		},
		{
			Names: []string{string(generator.CannotFollow)},
			Means: "Poundlock cannot update the generated ControlPlaneMachineSet: a value that somebody edited, or a field that cannot be changed, does " +
				"not match the present cluster",
			Do: "edit the set. Or delete the set, and Poundlock generates it again",
		},
		{
			Names: []string{"WriteRefused"},
			Means: "a webhook or a policy of another component refuses the ControlPlaneMachineSet that Poundlock generates; the message has the refusal",
			Do:    "follow the message; Poundlock retries at least every 15 seconds",
		},
		{
			Names: []string{string(generator.AsFound)},
			Means: "the condition is True: the generated ControlPlaneMachineSet describes the cluster, except for what somebody has edited; the message " +
				"lists the edits",
			Do: "inspect the set, edit it if necessary, and activate it",
		},
		{
			Names: []string{"Followed", "Regenerating"},
			Means: "Poundlock updated the ControlPlaneMachineSet (`Followed`), or deleted the set to recreate it with another number of replicas, because " +
				"nobody had edited it (`Regenerating`)",
			Do: "nothing",
		},
	},
}

var controlPlaneAuthority = Table{
	Section: "Authority over a ControlPlaneMachineSet",
	Head:    [3]string{"event", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"TemplateReflected", "TemplateDeleted"},
			Means: "Poundlock created or corrected the infrastructure machine template of the ControlPlaneMachineSet (`TemplateReflected`), or deleted one " +
				"that nothing needs any more (`TemplateDeleted`). The template's name is `cluster-` and a hash",
			Do: "nothing",
		},
		{
			Names: []string{"FailureDomainsReflected"},
			Means: "Poundlock added the failure domains of the ControlPlaneMachineSet to `status.failureDomains` of the infrastructure cluster, which " +
				"another tool manages (`cluster.x-k8s.io/managed-by`)",
			Do: "nothing. Poundlock never removes these failure domains again",
		},
	},
}

var controlPlaneDegraded = Table{
	Section: "The control plane's set is Degraded",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{string(controlplane.UnknownPlatform)},
			Means: "the set has failure domains, or Machines that differ from its template, but the Infrastructure `cluster` is missing or has no " +
				"`status.platformStatus.type`. This happens after a backup is restored without its status",
			Do: "restore the status of the Infrastructure from the backup, a YAML file of this one object: `kubectl patch " +
				"infrastructures.config.openshift.io cluster --subresource=status --type=merge -p \"$(sed -n '/^status:/,$p' infrastructure.yaml)\"`. If " +
				"the Infrastructure itself is missing, create it first: `kubectl create -f infrastructure.yaml`, without `metadata.resourceVersion`, which " +
				"the API server refuses in a new object. The set and its Machines need no change",
		},
		{
			Names: []string{string(controlplane.InvalidSet)},
			Means: "the operator cannot act on the spec of the ControlPlaneMachineSet: a selector or a providerSpec cannot be read, the Infrastructure " +
				"does not have one of the set's failure domains, or the set's template cannot be converted for Cluster API",
			Do: "correct the field that the message names",
		},
		{
			Names: []string{"NotSynchronized"},
			Means: "Cluster API is to create the set's new Machines, but the set's template has a field that Cluster API cannot express, or the " +
				"infrastructure cluster is missing. A Machine of this template would never get an instance",
			Do: "correct what the message names; the condition `Synchronized` of the set has the same message. Or set `spec.authoritativeAPI` back to " +
				"`MachineAPI`",
		},
		{
			Names: []string{string(controlplane.RecreateDisabled)},
			Means: "the strategy of the ControlPlaneMachineSet is `Recreate`, which the manager's flags do not allow",
			Do: "set `spec.strategy.type` to `RollingUpdate` or `OnDelete`. Or run the manager with `--control-plane-recreate`: then etcd has one member " +
				"less while each Machine is replaced",
		},
		{
			Names: []string{string(controlplane.NoReadyMachines)},
			Means: "the ControlPlaneMachineSet has no Machine whose Node is ready. A set cannot create a control plane from nothing",
			Do:    "check that the Machine API's controllers run, and that the Nodes are `Ready`. If the control plane never had Machines, delete the set",
		},
		{
			Names: []string{string(controlplane.NotControlPlane)},
			Means: "the set selects a Machine whose Node does not have the role of the control plane, for example a worker that got the labels. The set " +
				"would treat it as a second Machine of its index, and delete it",
			Do: "remove from the Machine the label by which the set selects it. If the Machine's Node belongs to the control plane, instead label the Node " +
				"`node-role.kubernetes.io/control-plane` again",
		},
		{
			Names: []string{string(controlplane.UnmanagedNodes)},
			Means: "a Node of the control plane has had no Machine for ten minutes",
			Do: "if the message names the Node's Machine, restore the Machine's label. Otherwise remove the Node, or create a Machine for the Node, with " +
				"the set's labels",
		},
		{
			Names: []string{string(controlplane.MachinesOfAnother)},
			Means: "a Machine that the set selects has another controller as its owner",
			Do:    "remove the owner reference, or the label by which the set selects the Machine",
		},
		{
			Names: []string{string(controlplane.IndexTaken)},
			Means: "two Machines have the same index (the number at the end of the name), and the set neither owns nor created one of the two: for " +
				"example, a person created it. The set cannot decide which of the two Machines to delete",
			Do: "delete the Machine that is not needed, once etcd is healthy without this Machine: `kubectl get clusteroperators etcd` shows AVAILABLE " +
				"True and DEGRADED False. Or remove from one of the two Machines the label by which the set selects it: `kubectl -n openshift-machine-api " +
				"label machines.machine.openshift.io NAME machine.openshift.io/cluster-api-machine-type-`. The set continues with the other Machine",
		},
		{
			Names: []string{string(controlplane.ExcessIndexes)},
			Means: "the set's Machines have more indexes (the number at the end of a Machine's name) than the set has replicas",
			Do: "delete the Machines of an index that is not needed, once etcd is healthy without them. If a Machine does not belong to the control plane, " +
				"remove from it the label by which the set selects it",
		},
		{
			Names: []string{string(controlplane.FailedMachines)},
			Means: "a Machine that the set created as a replacement has failed, and the set has stopped. Or the only Machine of an index has failed: the " +
				"message names this Machine, and the set still manages the other indexes. Or a Machine has failed while etcd's hook holds another Machine " +
				"that is being deleted: etcd may wait until the failed Machine is gone, so the set replaces nothing meanwhile",
			Do: "`status.errorMessage` of the Machine has the cause: capacity, quota, a wrong providerSpec. Fix the cause, or the template, then delete " +
				"the Machine. The set creates another one. Never remove etcd's hook: the etcd operator removes it after the failed Machine is deleted and " +
				"another Machine has joined",
		},
		{
			Names: []string{string(controlplane.AlteredMachines)},
			Means: "a Machine that the set created from the present template (annotation `poundlock.openshift.io/made-from`) differs from the template, " +
				"because an admission webhook, a policy or a person changed the Machine. The same would happen to a replacement, so the set creates none",
			Do: "write the Machine's value of the field that the message names into the template, or stop whatever changes the field. Then delete the " +
				"Machine, and the set replaces it",
		},
		{
			Names: []string{string(controlplane.MachineRefused)},
			Means: "the API server refuses the Machine that the set would create next; the message has the refusal",
			Do:    "correct the template, or the policy, webhook or quota that refuses the Machine. The set retries every 15 seconds",
		},
	},
}

var controlPlaneProgressing = Table{
	Section: "Progressing and Available of the control plane's set",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{string(controlplane.RollingOut)},
			Means: "the ControlPlaneMachineSet is creating or deleting Machines; the message names the next Machine, or the Machine for which the set waits",
			Do: "if the message calls a Machine \"not ready yet\", find out why the Machine does not become a Node, as for any other Machine. Events " +
				"`StepFailed` of the set have the refusals of the API server",
		},
		{
			Names: []string{string(controlplane.WaitingForHook)},
			Means: "the ControlPlaneMachineSet waits because a lifecycle hook holds a Machine that is being deleted; the message names the hook and its owner",
			Do: "for etcd's hook, run `kubectl get clusteroperators etcd`. The etcd operator removes the hook once another member has joined and the other " +
				"members are healthy: repair each Machine that the message calls not ready, or delete it. With the strategy `RollingUpdate`, never remove " +
				"the hook by hand. With `Recreate`, the message has the moment and the command",
		},
		{
			Names: []string{string(controlplane.MovingAuthority)},
			Means: "the ControlPlaneMachineSet waits because authority over the set, or over one of its Machines, is `Migrating`. Or somebody edited the " +
				"set, and Poundlock has not updated the Cluster API template for new Machines yet",
			Do: "read the condition `AuthoritySettled` of the set or the Machine, and `Synchronized` of the set",
		},
		{
			Names: []string{string(controlplane.WaitingForDeletion)},
			Means: "the strategy of the ControlPlaneMachineSet is `OnDelete`, so the set waits for a person to delete Machines. Machines are outdated, or " +
				"an index has two Machines because the strategy was changed during a rollout",
			Do: "delete the Machines that the message names, one at a time. Delete each Machine only after the previous one has been replaced and the " +
				"Nodes that the message names are ready",
		},
		{
			Names: []string{string(controlplane.Stopped)},
			Means: "the ControlPlaneMachineSet does nothing because it is `Degraded`",
			Do:    "fix the problem that the condition `Degraded` names: `kubectl poundlock explain REASON` with the reason of `Degraded` has the remedy",
		},
		{
			Names: []string{string(controlplane.Inactive)},
			Means: "the ControlPlaneMachineSet does nothing because its `spec.state` is Inactive; the message shows what its activation would do",
			Do:    "nothing",
		},
		{
			Names: []string{string(controlplane.UnavailableReplicas)},
			Means: "`Available` of the ControlPlaneMachineSet is False: an index has no Machine whose Node is ready; the message names the index. A Node " +
				"that was ready may be not ready for 20 minutes (`--control-plane-not-ready-grace`), and a Machine that is being deleted counts until its " +
				"Node stops",
			Do: "look at the Machine and the Node of this index. The set does not replace a Machine that is up to date and not ready: delete the Machine, " +
				"or use a MachineHealthCheck for that",
		},
		{
			Names: []string{string(controlplane.NoSet)},
			Means: "the cluster has no ControlPlaneMachineSet",
			Do:    "nothing",
		},
		{
			Names: []string{string(controlplane.AsExpected)},
			Means: "the condition shows no problem of the ControlPlaneMachineSet",
			Do:    "nothing",
		},
	},
}
