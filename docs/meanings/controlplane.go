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
			Means: "no Machine has the labels of a control plane: the cluster was installed without Machines of the control plane",
			Do:    "nothing, or replace the control plane's hosts one by one by Machines that you create",
		},
		{
			Names: []string{string(generator.NoRunningMachine)},
			Means: "no Machine of the control plane is in the phase `Running`; the message has the phase of each",
			Do:    "read `status.errorMessage` of each Machine, and check that Machine API's controllers run",
		},
		{
			Names: []string{string(controlplane.UnknownPlatform)},
			Means: "the Infrastructure names no platform, or a platform whose providerSpec Poundlock does not support",
			Do:    "nothing; or write a ControlPlaneMachineSet by hand",
		},
		{
			Names: []string{string(generator.UnreadableProviderSpec)},
			Means: "the providerSpec of the Machine that the message names is missing or cannot be read",
			Do:    "correct it",
		},
		{
			Names: []string{string(generator.ForeignProviderSpec)},
			Means: "the Machine that the message names has the providerSpec of another platform",
			Do:    "correct the kind of the Machine's providerSpec, or remove the Machine",
		},
		{
			Names: []string{string(generator.UnsupportedSize)},
			Means: "the Machines' names have a number of indexes other than 2 to 5",
			Do:    "finish the replacement that is under way; otherwise a set cannot manage this control plane",
		},
		{
			Names: []string{string(generator.NotAdmitted)},
			Means: "admission would refuse a set that is made from the newest Machine; the message has the rule in brackets",
			Do:    "`kubectl poundlock explain` describes the rule; correct the Machine's providerSpec, or write the set by hand",
		},
		{
			Names: []string{string(generator.CannotFollow)},
			Means: "somebody's edit of the set, or a field that cannot be changed, does not match the present cluster",
			Do:    "edit the set, or delete it: Poundlock generates it again",
		},
		{
			Names: []string{"WriteRefused"},
			Means: "the API server refuses the set: a webhook or a policy of another component refuses it; the message has its words",
			Do:    "follow the message; Poundlock retries at least every 15 seconds",
		},
		{
			Names: []string{string(generator.AsFound)},
			Means: "the condition is True: the set describes the cluster, except what somebody has edited; the message lists the edits",
			Do:    "inspect it, edit it, activate it",
		},
		{
			Names: []string{"Followed", "Regenerating"},
			Means: "events: Poundlock updated the set; or deleted it, to recreate it with another number of replicas, because nobody had edited it",
			Do:    "nothing",
		},
	},
}

var controlPlaneAuthority = Table{
	Section: "Authority over a ControlPlaneMachineSet",
	Head:    [3]string{"event", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"TemplateReflected", "TemplateDeleted"},
			Means: "Poundlock created, corrected or deleted the infrastructure machine template of the set (`cluster-` and a hash); it deletes a template " +
				"that nothing needs any more",
			Do: "nothing",
		},
		{
			Names: []string{"FailureDomainsReflected"},
			Means: "Poundlock added the set's failure domains to `status.failureDomains` of the infrastructure cluster, which another tool manages " +
				"(`cluster.x-k8s.io/managed-by`)",
			Do: "nothing. Poundlock never removes them again",
		},
	},
}

var controlPlaneDegraded = Table{
	Section: "The control plane's set is Degraded",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{string(controlplane.UnknownPlatform)},
			Means: "the set has failure domains, or Machines that differ from its template, and the Infrastructure `cluster` is missing or has no " +
				"`status.platformStatus.type`: this happens after a backup is restored without status",
			Do: "restore its status from the backup, a YAML file of this one object: `kubectl patch infrastructures.config.openshift.io cluster " +
				"--subresource=status --type=merge -p \"$(sed -n '/^status:/,$p' infrastructure.yaml)\"`. Where the Infrastructure itself is missing, " +
				"create it first: `kubectl create -f infrastructure.yaml`, without `metadata.resourceVersion`, which the API server refuses at a creation. " +
				"The set and its Machines need no change",
		},
		{
			Names: []string{string(controlplane.InvalidSet)},
			Means: "the operator cannot act on the set's spec: a selector or a providerSpec cannot be read, the Infrastructure does not have a failure " +
				"domain, or a template for Cluster API does not convert",
			Do: "correct the field that the message names",
		},
		{
			Names: []string{"NotSynchronized"},
			Means: "Cluster API is to create the set's new Machines, but the template has something that Cluster API cannot express, or the infrastructure " +
				"cluster is missing: such a Machine would never get an instance",
			Do: "correct what the message names; `Synchronized` of the set says the same. Or set `spec.authoritativeAPI` back to `MachineAPI`",
		},
		{
			Names: []string{string(controlplane.RecreateDisabled)},
			Means: "the strategy is `Recreate`, which the manager does not allow",
			Do: "set `spec.strategy.type` to `RollingUpdate` or `OnDelete`; or run the manager with `--control-plane-recreate`, but then etcd has one " +
				"member less while each Machine is replaced",
		},
		{
			Names: []string{string(controlplane.NoReadyMachines)},
			Means: "no Machine of the set runs with a Node that is ready, or there is no Machine: a set cannot create a control plane from nothing",
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
			Do: "if the message names the Node's Machine, restore the Machine's label; otherwise remove the Node, or create a Machine for it, with the " +
				"set's labels",
		},
		{
			Names: []string{string(controlplane.MachinesOfAnother)},
			Means: "a Machine that the set selects has another controller as its owner",
			Do:    "remove the owner reference, or the label by which the set selects the Machine",
		},
		{
			Names: []string{string(controlplane.IndexTaken)},
			Means: "a Machine that the set neither owns nor created, for example one that a person created, has the index of another Machine: the number at " +
				"the end of its name. The set cannot decide which of the two to delete",
			Do: "delete the Machine that is not needed, once etcd is healthy without it: `kubectl get clusteroperators etcd` shows AVAILABLE True and " +
				"DEGRADED False. Or remove from one of the two the label by which the set selects it: `kubectl -n openshift-machine-api label " +
				"machines.machine.openshift.io NAME machine.openshift.io/cluster-api-machine-type-`. The set continues with the other Machine",
		},
		{
			Names: []string{string(controlplane.ExcessIndexes)},
			Means: "the Machines' names have more indexes (the number at the end) than the set has replicas",
			Do: "delete the Machines of a superfluous index, once etcd is healthy without them. If a Machine does not belong to the control plane, remove " +
				"the label by which the set selects it",
		},
		{
			Names: []string{string(controlplane.FailedMachines)},
			Means: "a replacement that the set created has failed, and the set has stopped. Or the only Machine of an index has failed: the message names " +
				"it, and the set still manages the other indexes. Or a Machine has failed while etcd's hook holds another Machine that is being deleted: " +
				"etcd may wait until the failed Machine is gone, so the set replaces nothing meanwhile",
			Do: "`status.errorMessage` of the Machine says why: capacity, quota, a wrong providerSpec. Fix the cause, or the template, then delete the " +
				"Machine. The set creates another one. Never remove etcd's hook: the etcd operator removes it after the failed Machine is deleted and " +
				"another one has joined",
		},
		{
			Names: []string{string(controlplane.AlteredMachines)},
			Means: "a Machine was created from the present template (annotation `poundlock.openshift.io/made-from`) and differs from it: an admission " +
				"webhook, a policy or a person changed it. A replacement would differ as well, so the set creates none",
			Do: "the message names the field. Write the Machine's value into the template, or stop whatever changes it; then delete the Machine, and the " +
				"set replaces it",
		},
		{
			Names: []string{string(controlplane.MachineRefused)},
			Means: "the API server refuses the Machine that the set would create next; the message has the refusal",
			Do:    "correct the template, or the policy, webhook or quota that refuses it. The set retries every 15 seconds",
		},
	},
}

var controlPlaneProgressing = Table{
	Section: "Progressing and Available of the control plane's set",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{string(controlplane.RollingOut)},
			Means: "Machines are being created or deleted; the message names the next Machine, or the Machine for which the set waits",
			Do: "if a Machine is \"not ready yet\", find out why it does not become a Node, as for any other Machine. Events `StepFailed` of the set show " +
				"what the API server refuses",
		},
		{
			Names: []string{string(controlplane.WaitingForHook)},
			Means: "a deleted Machine is held by a hook; the message names it and its owner",
			Do: "for etcd's hook, run `kubectl get clusteroperators etcd`. The etcd operator removes the hook once another member has joined and the other " +
				"members are healthy: repair each Machine that the message calls not ready, or delete it. Under `RollingUpdate`, never remove the hook by " +
				"hand; under `Recreate` the message says when and how",
		},
		{
			Names: []string{string(controlplane.MovingAuthority)},
			Means: "authority over the set, or over one of its Machines, is `Migrating`. Or the set was edited, and Poundlock has not updated the Cluster " +
				"API template for its new Machines yet",
			Do: "see the condition `AuthoritySettled` of the set or the Machine, and `Synchronized` of the set",
		},
		{
			Names: []string{string(controlplane.WaitingForDeletion)},
			Means: "the strategy is `OnDelete`, and Machines are outdated, or an index has two Machines (the strategy was changed during a rollout)",
			Do: "delete the Machines that the message names, one at a time: each after the previous one has been replaced, and after the Nodes that the " +
				"message names are ready",
		},
		{
			Names: []string{string(controlplane.Stopped)},
			Means: "the set is `Degraded`",
			Do:    "fix the problem that the condition `Degraded` names; `kubectl poundlock explain REASON` with the condition's reason has the remedy",
		},
		{
			Names: []string{string(controlplane.Inactive)},
			Means: "the set is Inactive; the message shows what its activation would do",
			Do:    "nothing",
		},
		{
			Names: []string{string(controlplane.UnavailableReplicas)},
			Means: "`Available` is False: an index has no Machine whose Node is ready; the message names the index. A Node that was ready may be not ready " +
				"for 20 minutes (`--control-plane-not-ready-grace`), and a Machine that is being deleted counts until its Node stops",
			Do: "look at the index's Machine and Node. The set does not replace a Machine that is up to date and not ready: delete the Machine, or use a " +
				"MachineHealthCheck for that",
		},
		{
			Names: []string{string(controlplane.NoSet)},
			Means: "there is no set",
			Do:    "nothing",
		},
		{
			Names: []string{string(controlplane.AsExpected)},
			Means: "all is well",
			Do:    "nothing",
		},
	},
}
