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
			Means: "no Machine has the labels of a control plane: somebody else installed it, without Machines",
			Do:    "nothing, or replace its hosts one by one with Machines made by hand",
		},
		{
			Names: []string{string(generator.NoRunningMachine)},
			Means: "none of them is in the phase `Running`; the message has each one's",
			Do:    "see why: each one's `status.errorMessage`, and whether Machine API's controllers run",
		},
		{
			Names: []string{string(controlplane.UnknownPlatform)},
			Means: "the Infrastructure names no platform, or one whose providerSpec is not known",
			Do:    "nothing; write a set by hand if you know one that fits",
		},
		{
			Names: []string{string(generator.UnreadableProviderSpec)},
			Means: "the providerSpec of the Machine that is named is none",
			Do:    "correct it",
		},
		{
			Names: []string{string(generator.ForeignProviderSpec)},
			Means: "the Machine that is named has the providerSpec of another platform",
			Do:    "remove it, or correct the kind",
		},
		{
			Names: []string{string(generator.UnsupportedSize)},
			Means: "the names of the Machines have neither 3 nor 5 indexes, nor one less",
			Do:    "finish the replacement that is under way; else a set cannot manage this control plane",
		},
		{
			Names: []string{string(generator.NotAdmitted)},
			Means: "a set made from the newest Machine would be refused; the message has the rule in brackets",
			Do:    "`kubectl poundlock explain` describes the rule; correct the Machine's providerSpec, or write the set by hand",
		},
		{
			Names: []string{string(generator.CannotFollow)},
			Means: "what somebody has edited, or what cannot be changed, does not go together with the cluster as it is now",
			Do:    "edit the set, or delete it: it is generated again",
		},
		{
			Names: []string{"WriteRefused"},
			Means: "the API server does not take it: a webhook or a policy of somebody else's refuses it, in its own words",
			Do:    "follow the message; it is tried again at least every quarter of a minute",
		},
		{
			Names: []string{string(generator.AsFound)},
			Means: "the condition is True: the set describes the cluster, but for what somebody has edited, which the message lists",
			Do:    "inspect it, edit it, activate it",
		},
		{
			Names: []string{"Followed", "Regenerating"},
			Means: "events: the set was brought up to date; or it was deleted to be recreated with other replicas, which nobody had edited",
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
			Means: "the infrastructure machine template of the set (`cluster-` and a hash) was made, put right, or was needed by nobody any more",
			Do:    "nothing",
		},
		{
			Names: []string{"FailureDomainsReflected"},
			Means: "the set's failure domains were added to `status.failureDomains` of the infrastructure cluster, which somebody else manages " +
				"(`cluster.x-k8s.io/managed-by`)",
			Do: "nothing. They are never taken away again",
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
				"`status.platformStatus.type`: a backup that was restored without status leaves that",
			Do: "restore its status from the backup, a YAML file of this one object: " +
				"`kubectl patch infrastructures.config.openshift.io cluster --subresource=status --type=merge -p \"$(sed -n '/^status:/,$p' infrastructure.yaml)\"`. " +
				"Where the Infrastructure itself is missing, create it first: `kubectl create -f infrastructure.yaml`, without `metadata.resourceVersion`, " +
				"which the API server refuses there. The set and its Machines need no change",
		},
		{
			Names: []string{string(controlplane.InvalidSet)},
			Means: "the set cannot be carried out: a selector or a providerSpec that cannot be read, a failure domain that the Infrastructure does not know, a " +
				"template for Cluster API that does not convert",
			Do: "the message has the field. Correct it",
		},
		{
			Names: []string{"NotSynchronized"},
			Means: "the set's new Machines are Cluster API's, and its template has something that Cluster API cannot express, or lacks its infrastructure cluster: " +
				"such a Machine would never get an instance",
			Do: "correct what the message names; `Synchronized` of the set says the same. Or set `spec.authoritativeAPI` back to `MachineAPI`",
		},
		{
			Names: []string{string(controlplane.RecreateDisabled)},
			Means: "the strategy is `Recreate`, which the manager does not allow",
			Do: "set `spec.strategy.type` to `RollingUpdate` or `OnDelete`; or run the manager with `--control-plane-recreate`, knowing that etcd has a member " +
				"less while each Machine is replaced",
		},
		{
			Names: []string{string(controlplane.NoReadyMachines)},
			Means: "none of the Machines runs with a Node that is ready, or there is none: a set does not make a control plane",
			Do:    "is the Machine API's controller running? Are the Nodes `Ready`? Where Machines were never made, delete the set",
		},
		{
			Names: []string{string(controlplane.NotControlPlane)},
			Means: "the set selects a Machine whose Node does not have the role of the control plane, such as a worker's that got the labels. " +
				"It would be deleted beside the Machine of its index",
			Do: "remove the label that the set selects by from the Machine. If its Node belongs to the control plane, label the Node " +
				"`node-role.kubernetes.io/control-plane` again",
		},
		{
			Names: []string{string(controlplane.UnmanagedNodes)},
			Means: "a Node of the control plane has had no Machine for ten minutes",
			Do:    "where the message names its Machine, restore that one's label; else remove the Node, or make its Machine by hand, with the set's labels",
		},
		{
			Names: []string{string(controlplane.MachinesOfAnother)},
			Means: "a Machine that the set selects has another controller",
			Do:    "remove that owner reference, or the label that the set selects by",
		},
		{
			Names: []string{string(controlplane.IndexTaken)},
			Means: "a Machine that the set neither owns nor made, such as one that a person created, is at the index of another: the number that ends its name. " +
				"Which of the two is to go only a person knows",
			Do: "delete the one that is not needed, once etcd is healthy without it: `kubectl get clusteroperators etcd` shows AVAILABLE True and DEGRADED " +
				"False. Or remove from one the label that the set selects by: " +
				"`kubectl -n openshift-machine-api label machines.machine.openshift.io NAME machine.openshift.io/cluster-api-machine-type-`. " +
				"The set goes on with the other",
		},
		{
			Names: []string{string(controlplane.ExcessIndexes)},
			Means: "the Machines' names end with more numbers than the set has replicas",
			Do: "delete the Machines of one index that is too many, once etcd is healthy without; " +
				"remove the label that the set selects by from a Machine that is none of the control plane's",
		},
		{
			Names: []string{string(controlplane.FailedMachines)},
			Means: "a replacement that the set made has failed, and the set has stopped. Or a Machine that is alone at its index has failed: " +
				"the others are looked after meanwhile, and the message names it. Or a Machine has failed while etcd's hook holds another one that is being " +
				"deleted: etcd may wait until the failed one has gone, and the set replaces nothing meanwhile",
			Do: "`status.errorMessage` of the Machine says why: capacity, quota, a wrong providerSpec. Fix that, or the template, then delete the Machine. " +
				"The set creates another one. Never remove etcd's hook: it goes once the failed Machine is deleted and another one has joined",
		},
		{
			Names: []string{string(controlplane.AlteredMachines)},
			Means: "a Machine was created from the present template (annotation `poundlock.openshift.io/made-from`) and differs from it: " +
				"an admission webhook, a policy or a person changed it. A replacement would differ as well, so none is made",
			Do: "the message names the field. Write its value into the template, or stop what changes it; then delete the Machine, and the set replaces it",
		},
		{
			Names: []string{string(controlplane.MachineRefused)},
			Means: "the API server refuses the Machine that the set would create next; the message has its words",
			Do:    "correct the template, or the policy, webhook or quota that refuses it. The set asks again every 15 seconds",
		},
	},
}

var controlPlaneProgressing = Table{
	Section: "Progressing and Available of the control plane's set",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{string(controlplane.RollingOut)},
			Means: "Machines are being created or deleted; the message names the next one, or the one that is waited for",
			Do: "a Machine that is \"not ready yet\": see it as any other that does not become a Node. " +
				"Events named `StepFailed` on the set have what the API server refuses",
		},
		{
			Names: []string{string(controlplane.WaitingForHook)},
			Means: "a deleted Machine is held by a hook; the message names it and its owner",
			Do: "with etcd's: `kubectl get clusteroperators etcd`. It lets go once another member has joined and the rest is healthy: " +
				"bring each Machine that the message calls not ready back, or delete it. Under `RollingUpdate`, never remove it by hand; " +
				"under `Recreate` the message says when and how",
		},
		{
			Names: []string{string(controlplane.MovingAuthority)},
			Means: "authority over the set, or over one of its Machines, is `Migrating`; " +
				"or the set was edited and its new Machines are Cluster API's, whose side has yet to follow",
			Do: "see that object's `AuthoritySettled`; of the set also `Synchronized`",
		},
		{
			Names: []string{string(controlplane.WaitingForDeletion)},
			Means: "the strategy is `OnDelete`, and Machines are outdated, or have another Machine beside them at their index (the strategy was changed in " +
				"mid-rollout)",
			Do: "delete those that the message names, one at a time, each once the last has been replaced, and not before the Nodes that it names are ready",
		},
		{
			Names: []string{string(controlplane.Stopped)},
			Means: "the set is `Degraded`",
			Do:    "fix the problem that the condition `Degraded` names; `kubectl poundlock explain REASON`, with that condition's reason, has what ends it",
		},
		{
			Names: []string{string(controlplane.Inactive)},
			Means: "the set is inactive; the message shows what activating it would do",
			Do:    "nothing",
		},
		{
			Names: []string{string(controlplane.UnavailableReplicas)},
			Means: "`Available` is False: an index has no Machine whose Node serves; the message names it. " +
				"A Node that was ready has 20 minutes (`--control-plane-not-ready-grace`) to be so again, and a Machine that is being deleted counts until its " +
				"Node stops",
			Do: "look at that Machine and its Node. One that is up to date and not ready is not replaced: delete it, or have a MachineHealthCheck do so",
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
