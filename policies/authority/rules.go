// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
)

// Parts from which Rules composes the scopes of rules: lists of kinds and lists of operations.
var (
	kinds      = names(Kinds())
	machine    = []string{"Machine"}
	machineSet = []string{"MachineSet"}
	infraKinds = []string{InfraMachine, InfraMachineTemplate}
	// pausedInfra are the kinds of a provider's objects that are paused while Machine API is authoritative.
	pausedInfra = []string{InfraMachine, InfraMachineTemplate, InfraInstance}

	onCreate = []admissionv1.Operation{admissionv1.Create}
	onUpdate = []admissionv1.Operation{admissionv1.Update}
	onDelete = []admissionv1.Operation{admissionv1.Delete}
	onWrite  = []admissionv1.Operation{admissionv1.Create, admissionv1.Update}
)

// withControlPlane returns a copy of kinds with ControlPlaneMachineSet appended. That kind has the fields of authority, but no counterpart in Cluster API.
func withControlPlane(kinds []string) []string { return append(slices.Clone(kinds), ControlPlane) }

func names(kinds []Kind) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.Name)
	}
	return out
}

func mapi(kinds []string, ops []admissionv1.Operation) policies.Scope {
	return policies.Scope{Side: policies.SideMachineAPI, Kinds: kinds, Operations: ops}
}

func capi(kinds []string, ops []admissionv1.Operation) policies.Scope {
	return policies.Scope{Side: policies.SideClusterAPI, Kinds: kinds, Operations: ops}
}

func infra(kinds []string, ops []admissionv1.Operation) policies.Scope {
	return policies.Scope{Side: policies.SideInfrastructure, Kinds: kinds, Operations: ops}
}

func sub(name string, s policies.Scope) policies.Scope {
	s.Subresource = name
	return s
}

func on(scopes ...policies.Scope) []policies.Scope { return scopes }

// always returns the Needs function of a rule that needs n for every change.
func always(n policies.Need) func(policies.Change) policies.Need {
	return func(policies.Change) policies.Need { return n }
}

// when returns the Needs function of a rule that needs n for those changes to which it applies, and nothing for others.
func when(applies func(policies.Change) bool, n policies.Need) func(policies.Change) policies.Need {
	return func(c policies.Change) policies.Need {
		if applies(c) {
			return n
		}
		return 0
	}
}

const (
	admission = "converting › Admission of non-authoritative resources"
	authOf    = "converting › Authority of resources and controller reconciliations"
	deletion  = "converting › Deletion of Machines"
	table     = "converting › Summary of the rules outlined above"
	workflow  = "converting › Workflow extension"
)

// Rules returns every rule of admission about authority, in the order in which their answers are printed: what a person must know first comes first. If a rule
// needs different facts on different sides, the set has one row for each side.
func Rules() policies.Set {
	return policies.Set{
		{
			ID: "authority/spec-locked", Clause: admission,
			Description: "While Cluster API is authoritative for a Machine API object, the object's spec may not be changed, except for spec.authoritativeAPI. " +
				"Only the autoscaler may change spec.replicas. Only the etcd operator may add its hook, EtcdQuorumOperator, to a control plane Machine, or remove " +
				"the hook, and Poundlock copies both changes to the Cluster API Machine. Beneath providerSpec, adding or removing an empty object or list counts " +
				"as a change. Elsewhere, an empty object or list equals an absent one.",
			Remedy: "Change the Cluster API object of the same name, or move authority to Machine API first.",
			On:     on(mapi(kinds, onUpdate)), Check: SpecLocked,
		},
		{
			ID: "authority/spec-locked", Clause: admission,
			Description: "While Machine API is authoritative for the Machine API object of the same name, or while no API is authoritative yet, the spec of " +
				"the Cluster API object may not be changed. Only the autoscaler may change spec.replicas. A default that Cluster API's webhooks add does not count " +
				"as a change.",
			Remedy: "Change the Machine API object of the same name, or move authority to Cluster API first.",
			On:     on(capi(kinds, onUpdate)), Needs: always(policies.NeedTwin), Check: SpecLocked,
		},
		{
			ID: "authority/in-transit", Clause: "converting › Migration of resources",
			Description: "While authority is moving, the spec of the Machine API object may not be changed, except for spec.authoritativeAPI and the hook of " +
				"the etcd operator (EtcdQuorumOperator).",
			Remedy: "Try again in a moment, or set spec.authoritativeAPI back to cancel the move.",
			On:     on(mapi(kinds, onUpdate)), Check: InTransit,
		},
		{
			ID: "authority/in-transit", Clause: "converting › Migration of resources",
			Description: "While authority is moving, the spec of the Cluster API object may not be changed. The controllers of the API that was authoritative " +
				"may finish their work on both objects until they have acknowledged their pause. A Cluster API MachineSet may still propagate fields to its " +
				"Machines in place.",
			Remedy: "Try again in a moment, or set spec.authoritativeAPI of the Machine API object back to cancel the move.",
			On:     on(capi(kinds, onUpdate)), Needs: always(policies.NeedTwin), Check: InTransit,
		},
		{
			ID: "authority/infra-locked", Clause: admission,
			Description: "An infrastructure machine or template (such as an AWSMachine or an AWSMachineTemplate) may be neither changed nor deleted while it " +
				"mirrors an object for which Machine API is authoritative, or whose authority is moving. The same applies to the object that a provider keeps for " +
				"a Machine's instance (a VSphereVM or an OpenStackServer). Cluster API's controllers may write to an object that Poundlock did not create and that " +
				"is not paused. A paused VSphereVM or OpenStackServer that names another instance than its Machine may be deleted. While an object is being " +
				"deleted, anybody may remove its finalizers, but the provider's finalizer only if Machine API is authoritative and the object is paused, or is an " +
				"infrastructure machine that no Machine owns. Anybody may add the provider's finalizer to an object that Poundlock did not create: without the " +
				"finalizer, the instance would be left behind. vSphere's controllers have no service account of their own. So anybody may add vSphere's " +
				"finalizer to a VSphereMachine or a VSphereVM. Anybody may also " +
				"write to a VSphereMachine that Poundlock did not create and that is not paused, and to its VSphereVM. Adding or removing an empty object or list " +
				"counts as a change. A default that the provider's webhooks add does not.",
			Remedy: "Change the providerSpec of the Machine API object, or move authority to Cluster API first.",
			On:     on(infra(pausedInfra, []admissionv1.Operation{admissionv1.Update, admissionv1.Delete})),
			Needs:  keeperMatters, Check: InfraLocked,
		},
		{
			ID: "authority/infra-locked", Clause: authOf,
			Description: "A provider keeps a VSphereVM or an OpenStackServer for the instance of a Machine. While Cluster API is not authoritative for the " +
				"Machine, only the provider may create this object unpaused, because the provider's controller then acts on the instance. Anybody else may create " +
				"it with the annotation cluster.x-k8s.io/paused.",
			Remedy: "Create the object with the annotation cluster.x-k8s.io/paused, or leave the creation to the provider, which creates the object after the " +
				"move to Cluster API.",
			On: on(infra([]string{InfraInstance}, onCreate)), Needs: when(unpausedByOthers, policies.NeedTwin), Check: InfraInstanceStandsStill,
		},
		{
			ID: "authority/scale-locked", Clause: "converting › The Cluster Autoscaler in mixed MachineSet clusters",
			Description: "Only the autoscaler may scale the MachineSet of the API that is not authoritative through the scale subresource. While authority is " +
				"moving, nobody may scale either of the two MachineSets.",
			Remedy: "Scale the MachineSet of the authoritative API. The message has the command.",
			On:     on(sub("scale", mapi(machineSet, onUpdate)), sub("scale", capi(machineSet, onUpdate))),
			Needs: func(c policies.Change) policies.Need {
				if c.Side == policies.SideMachineAPI {
					return policies.NeedStored
				}
				return policies.NeedStored | policies.NeedTwin
			},
			Check: ScaleLocked,
		},
		{
			ID: "authority/carried-manager", Clause: "converting › The Cluster Autoscaler in mixed MachineSet clusters",
			Description: "The autoscaler and its operator may write some fields and annotations to a mirror, and Poundlock copies them to the authoritative " +
				"object. Poundlock recognizes these writes by their field managers, cluster-autoscaler and cluster-autoscaler-operator. Poundlock would restore " +
				"the old value after a write by another field manager, so such a write is refused. In a request to the scale subresource, Poundlock sees the field " +
				"manager only if the request names it.",
			Remedy: "Run the autoscaler under the name of its own program, or set the field manager with --field-manager.",
			On: on(mapi([]string{"Machine", "MachineSet"}, onUpdate), capi([]string{"Machine", "MachineSet"}, onUpdate),
				sub("scale", mapi(machineSet, onUpdate)), sub("scale", capi(machineSet, onUpdate))),
			Needs: carriedNeeds, Check: CarriedManager,
		},
		{
			ID: "authority/scale-unseen", Clause: "converting › The Cluster Autoscaler in mixed MachineSet clusters",
			Description: "While Cluster API is authoritative for a MachineSet whose new Machines Machine API cannot express, the autoscaler may not scale the " +
				"MachineSet up. The autoscaler reads only Machine API's Machines, so it would not see the new Machines. The autoscaler may not scale such a " +
				"MachineSet down either while the set has Machines without a Machine API object. Anybody else who scales Cluster API's MachineSet up gets a " +
				"warning.",
			Remedy: "In Cluster API, fix the field that the message names, or scale Cluster API's MachineSet yourself.",
			On:     on(sub("scale", mapi(machineSet, onUpdate)), sub("scale", capi(machineSet, onUpdate)), mapi(machineSet, onUpdate)),
			Needs:  func(c policies.Change) policies.Need { return when(scalesUnseen, unseenNeeds(c))(c) }, Check: ScaleUnseen,
		},
		{
			ID: "authority/metadata-reserved", Clause: admission,
			Description: "Labels and annotations of kubernetes.io, k8s.io, x-k8s.io, openshift.io or a domain beneath them are reserved, and so is the label " +
				"machine-template-hash. On a Machine API object that is not authoritative, or whose authority is moving, nobody may add, change or remove them. " +
				"Nobody may add an annotation that Cluster API treats as a hook without a name, such as pre-drain.delete.hook.machine.cluster.x-k8s.io. Anybody " +
				"may remove the annotation cluster.x-k8s.io/paused that a person has set, because Machine API's controllers obey it. (Poundlock sets this " +
				"annotation only on a MachineHealthCheck: authority/check-paused.) While Cluster API is authoritative, the autoscaler may mark a Machine for " +
				"deletion, and its operator may write the limits of autoscaling on a MachineSet. Poundlock copies both, and their removal, to the Cluster API " +
				"object. The autoscaler may remove its mark even while authority is moving.",
			Remedy: "Set the label or annotation on the Cluster API object: Poundlock copies it to the Machine API object. The message has its name in Cluster " +
				"API, and the command.",
			On: on(mapi(kinds, onUpdate)), Check: MetadataReserved,
		},
		{
			ID: "authority/metadata-reserved", Clause: admission,
			Description: "Labels and annotations of kubernetes.io, k8s.io, x-k8s.io, openshift.io or a domain beneath them are reserved, and so are the label " +
				"machine-template-hash and a hook without a name. While Machine API is authoritative for an object, nobody may add, change or remove them on the " +
				"Cluster API object. Only the autoscaler may mark a Machine with cluster.x-k8s.io/delete-machine, or remove the mark, and Poundlock copies both " +
				"changes to the Machine API object. The autoscaler may remove its mark even while authority is moving.",
			Remedy: "Set the label or annotation on the Machine API object: Poundlock copies it to the Cluster API object. The message has its name in Machine " +
				"API, and the command.",
			On: on(capi(kinds, onUpdate)), Needs: always(policies.NeedTwin), Check: MetadataReserved,
		},
		{
			ID: "authority/metadata-conflict", Clause: admission,
			Description: "If the authoritative object has a label or annotation, nobody may set the same label or annotation of the other API's object to " +
				"another value.",
			Remedy: "Change the value on the authoritative object.",
			On:     on(mapi(kinds, onUpdate), capi(kinds, onUpdate)), Needs: when(metadataMatters, policies.NeedTwin), Check: MetadataConflict,
		},
		{
			ID: "authority/metadata-free", Clause: admission,
			Description: "On the object that is not authoritative, users may write each label and annotation that is not reserved and that the authoritative " +
				"object does not have, and Poundlock keeps it. This includes kubectl.kubernetes.io/last-applied-configuration, which every apply writes.",
			Remedy: "None is needed.",
			On:     on(mapi(kinds, onUpdate), capi(kinds, onUpdate)), Needs: always(0), Check: MetadataFree,
		},
		{
			ID: "authority/provider-id", Clause: deletion,
			Description: "Once spec.providerID of a mirrored Machine API Machine is stored, only Machine API's controllers may change it. The field names the " +
				"instance that is terminated when the Machine is deleted.",
			Remedy: "Leave spec.providerID as it is. To use another instance, create another Machine.",
			On:     on(mapi(machine, onUpdate)), Check: ProviderIDKept,
		},
		{
			ID: "authority/provider-id", Clause: deletion,
			Description: "While Cluster API is authoritative for a Machine, only controllers may change the stored ID of its instance: spec.providerID of the " +
				"Cluster API Machine, spec.providerID and spec.instanceID of its infrastructure machine (such as an AWSMachine), and spec.biosUUID of a VSphereVM. " +
				"These fields name the instance that is terminated when the Machine is deleted.",
			Remedy: "Leave the ID as it is. To use another instance, create another Machine.",
			On:     on(capi(machine, onUpdate), infra([]string{InfraMachine, InfraInstance}, onUpdate)), Needs: when(changesInstance, policies.NeedTwin),
			Check: ProviderIDKept,
		},
		{
			ID: "authority/provider-id", Clause: authOf,
			Description: "Only controllers may give a Machine or an infrastructure machine (such as an AWSMachine) the spec.providerID of another Machine, or " +
				"an infrastructure machine the spec.instanceID of another one. Only controllers may write a spec.providerID that is not an ID of an instance on " +
				"this cloud, because most providers look only at the last part of an ID. Nobody may give a VSphereVM the spec.biosUUID of another Machine's " +
				"virtual machine.",
			Remedy: "Leave the ID out, wait until the other Machine is gone, or write the ID in the form that the message shows.",
			On:     on(mapi(machine, onWrite), capi(machine, onWrite), infra([]string{InfraMachine, InfraInstance}, onWrite)),
			Needs:  when(namesInstance, policies.NeedHolders), Check: ProviderIDUnique,
		},
		{
			ID: "authority/provider-id", Clause: deletion,
			Description: "A provider keeps a VSphereVM or an OpenStackServer for an instance. If the instance belongs to another Machine, this object may be " +
				"deleted only while it is paused, and nobody may unpause it. The object's controller would terminate the instance, or act on it, even if the " +
				"object has no owner.",
			Remedy: "Pause the object with the annotation cluster.x-k8s.io/paused, delete it, and remove its finalizers last. The message has the commands.",
			On:     on(infra([]string{InfraInstance}, []admissionv1.Operation{admissionv1.Update, admissionv1.Delete})),
			Needs:  when(endsOrFreesKept, policies.NeedHolders), Check: KeptOfAnother,
		},
		{
			ID: "authority/provider-id", Clause: authOf,
			Description: "If a Machine has an instance, its infrastructure machine (such as an AWSMachine) may be created only with the Machine's " +
				"spec.providerID. While Machine API is authoritative for the Machine, the infrastructure machine may also be created paused.",
			Remedy: "Set spec.providerID to the same value as in the Machine.",
			On:     on(infra([]string{InfraMachine}, onCreate)), Needs: when(makesUnnamed, policies.NeedTwin), Check: ProviderIDGiven,
		},
		{
			ID: "authority/provider-status", Clause: authOf,
			Description: "status.providerStatus of a Machine API Machine names the Machine's instance, even while spec.providerID is empty. Only Machine API's " +
				"controllers and Poundlock may write status.providerStatus.",
			Remedy: "Leave status.providerStatus as it is. To use another instance, create another Machine.",
			On:     on(sub("status", mapi(machine, onUpdate))), Check: ProviderStatusOwned,
		},
		{
			ID: "authority/provider-status", Clause: authOf,
			Description: "Nobody, not even a controller, may name another Machine's instance in status.providerStatus of a Machine API Machine, or in the " +
				"status of an infrastructure machine (such as an AWSMachine). Only the provider's controllers may name an instance in the status of an " +
				"infrastructure machine, or of the object that the provider keeps for the instance (an OpenStackServer).",
			Remedy: "Leave the instance out of the status. To use another instance, create another Machine.",
			On:     on(sub("status", mapi(machine, onUpdate)), sub("status", infra([]string{InfraMachine, InfraInstance}, onUpdate))),
			Needs:  when(statusSharesInstance, policies.NeedHolders), Check: ProviderStatusUnique,
		},
		{
			ID: "authority/pause-condition", Clause: "converting › Pausing of Cluster API controllers",
			Description: "Cluster API's controllers acknowledge a pause by the condition Paused, and a move waits for this acknowledgement. So a person may " +
				"not add, change or remove the condition in the status of a mirrored Cluster API object, of an infrastructure machine (such as an AWSMachine), or " +
				"of the object that a provider keeps for an instance (a VSphereVM or an OpenStackServer). Anybody may remove the condition from an object that is " +
				"not paused. ServiceAccounts are exempt, because Cluster API's controllers write the condition first in each pass: if their identities were " +
				"configured wrongly, a refusal would stop them.",
			Remedy: "Leave the condition as it is, and patch only the other parts of status.",
			On:     on(sub("status", capi(kinds, onUpdate)), sub("status", infra([]string{InfraMachine, InfraInstance}, onUpdate))),
			Needs:  when(changesPaused, policies.NeedTwin), Check: PauseCondition,
		},
		{
			ID: "authority/infra-owner", Clause: authOf,
			Description: "A provider acts on each infrastructure machine (such as an AWSMachine) that a Machine owns, even while the Machine is paused. So " +
				"only Cluster API may make a Machine the owner of an infrastructure machine to which the Machine does not refer. While a paused Machine is being " +
				"deleted, its infrastructure machine may be unpaused if it has an instance.",
			Remedy: "Leave the owner reference out: Cluster API adds it.",
			On:     on(infra([]string{InfraMachine}, onWrite)), Needs: when(gainsOwner, policies.NeedOwners), Check: InfraOwner,
		},
		{
			ID: "authority/infra-owner", Clause: authOf,
			Description: "A provider keeps a VSphereVM or an OpenStackServer for an instance. Nobody may make an infrastructure machine (such as a " +
				"VSphereMachine) its owner if none exists with the UID of the owner reference. The garbage collector would delete the VSphereVM or " +
				"OpenStackServer, and the object's controller would terminate the instance.",
			Remedy: "Leave the owner reference out, or write the UID of the existing infrastructure machine.",
			On:     on(infra([]string{InfraInstance}, onWrite)), Needs: when(gainsKeeper, policies.NeedOwners), Check: InstanceOwner,
		},
		{
			ID: "authority/infra-owner", Clause: deletion,
			Description: "The owners of an infrastructure machine (such as an AWSMachine), or of the object that a provider keeps for an instance (a VSphereVM " +
				"or an OpenStackServer), may not be replaced by owners of other kinds. The garbage collector deletes an object if none of its owners exists, and " +
				"the object's controller would then terminate the instance. Nor may such an object be created if its only owners are MachineSets, " +
				"MachineDeployments or Clusters, and none of them exists with the UID of the owner reference. If Poundlock may not read an owner, a warning names " +
				"that owner.",
			Remedy: "Leave metadata.ownerReferences as they are. If you create the object from a stored manifest, leave them out of the manifest.",
			On:     on(infra([]string{InfraMachine, InfraInstance}, onWrite)), Needs: when(replacesOwners, policies.NeedTwin|policies.NeedOwners),
			Check: InfraUnowned,
		},
		{
			ID: "authority/infra-owner", Clause: deletion,
			Description: "An update of an infrastructure machine (such as an AWSMachine), or of the object that a provider keeps for an instance (a VSphereVM " +
				"or an OpenStackServer), may not leave the object with owner references if none of the owners exists by its UID. This applies to an update that " +
				"adds such owners and to one that removes the last owner that exists. If the only owner that could exist is of a kind that Poundlock may not read, " +
				"the update is stored with a warning.",
			Remedy: "Keep an owner that exists, or remove all owner references.",
			On:     on(infra([]string{InfraMachine, InfraInstance}, onUpdate)), Needs: when(changesItsOwners, policies.NeedTwin|policies.NeedOwners),
			Check: LastOwner,
		},
		{
			ID: "authority/infra-owner", Clause: authOf,
			Description: "A Cluster API Machine may not refer to an infrastructure machine (such as an AWSMachine) that belongs to another Machine: deleting " +
				"the first Machine would terminate the instance of the other Machine. A mirrored Machine may not be changed to refer to another infrastructure " +
				"machine: the Machine would get a second instance. A Machine may not refer to an infrastructure machine of another name than its own if a Machine " +
				"API Machine has that name: most providers find an instance by the name of the infrastructure machine.",
			Remedy: "Refer to the Machine's own infrastructure machine. To use another instance, create another Machine.",
			On:     on(capi(machine, onWrite)), Needs: when(refersAnew, policies.NeedLiveInfra|policies.NeedTwin|policies.NeedNamesake), Check: InfraTaken,
		},
		{
			ID: "authority/infra-owner", Clause: authOf,
			Description: "A Machine API Machine may not be created with the name of an infrastructure machine (such as an AWSMachine) that belongs to a " +
				"Cluster API Machine of another name. Poundlock could not mirror the new Machine, and most providers find an instance by the name of the " +
				"infrastructure machine.",
			Remedy: "Create the Machine under another name.",
			On:     on(mapi(machine, onCreate)), Needs: when(namesAnew, policies.NeedLiveTwin|policies.NeedNamesake), Check: NamedAsInfra,
		},
		{
			ID: "authority/propagation", Clause: "converting › Pausing of Cluster API controllers",
			Description: "A Cluster API MachineSet propagates some fields of its template in place to its Machines and their infrastructure machines (such as " +
				"AWSMachines). Only Cluster API's own identity may do this while these objects are paused. It may write labels and annotations, except " +
				"Poundlock's, and these fields of a Machine's spec: bootstrap.dataSecretName, deletion, minReadySeconds, readinessGates and taints.",
			Remedy: "Do not put Poundlock's labels or annotations into the template of a Cluster API MachineSet.",
			On:     on(capi(machine, onUpdate), infra([]string{InfraMachine}, onUpdate)), Needs: when(propagates, policies.NeedTwin), Check: Propagation,
		},
		{
			ID: "authority/finalizers-owned", Clause: deletion,
			Description: "Users may change neither the sync finalizer nor the owner references of an object that exists in both APIs. The controllers of the " +
				"authoritative API and the garbage collector may write the owner references. Cluster API's controllers may also write those of an object that " +
				"Poundlock did not create and that is not paused. The control-plane-machine-set-operator may make a ControlPlaneMachineSet the owner of a control " +
				"plane Machine, and remove this owner, whichever API is authoritative. The ClusterVersion may become the owner of the release's MachineHealthCheck " +
				"machine-api-termination-handler. ACM's AppliedManifestWork may become an additional owner if it is not the controller. A person may remove a " +
				"MachineDeployment from the owners of a Cluster API MachineSet if Cluster API is authoritative for the set, or was authoritative before the " +
				"current move: while the MachineDeployment owns the set, the set cannot move to Machine API. Nobody may add the finalizer foregroundDeletion to a " +
				"Cluster API Machine or MachineSet: each later deletion would become a foreground deletion, which does not wait for hooks.",
			Remedy: "Leave the finalizers and owner references as they are. To remove a mirror, delete the authoritative object or its owner. To delete in the " +
				"foreground, use --cascade=foreground.",
			On: on(mapi(kinds, onUpdate), capi(kinds, onUpdate)), Needs: when(ownershipMatters, policies.NeedTwin), Check: FinalizersOwned,
		},
		{
			ID: "authority/finalizers-owned", Clause: deletion,
			Description: "A Machine or MachineSet, mirrored or not, may not be created if it names owners (a MachineSet, a ControlPlaneMachineSet, a " +
				"MachineDeployment, the Cluster) and none of them exists by its UID. The garbage collector would delete the object, and the deletion would " +
				"terminate instances. If the only owner that could exist is of a kind that Poundlock may not read, the object is created with a warning.",
			Remedy: "Leave metadata.ownerReferences out of the manifest: Poundlock and the API's own controllers restore the owner.",
			On:     on(mapi([]string{"Machine", "MachineSet"}, onCreate), capi([]string{"Machine", "MachineSet"}, onCreate)),
			Needs:  when(createsOwned, policies.NeedLiveTwin|policies.NeedOwners), Check: CreateOwned,
		},
		{
			ID: "authority/finalizers-owned", Clause: deletion,
			Description: "An update of a Machine or MachineSet may not leave the object with owner references if none of the owners exists by its UID. This " +
				"applies to an update that adds such owners and to one that removes the last owner that exists. The object's own controllers and the garbage " +
				"collector are exempt, and so is everybody while the object is being deleted.",
			Remedy: "Keep an owner that exists, or remove all owner references.",
			On:     on(mapi([]string{"Machine", "MachineSet"}, onUpdate), capi([]string{"Machine", "MachineSet"}, onUpdate)),
			Needs:  when(changesItsOwners, policies.NeedTwin|policies.NeedOwners), Check: LastOwner,
		},
		{
			ID: "authority/finalizers-owned", Clause: deletion,
			Description: "A MachineDeployment may not be created if it names owners and none of them exists by its UID. The garbage collector would delete the " +
				"MachineDeployment with its MachineSets, their Machines and the instances.",
			Remedy: "Leave metadata.ownerReferences out of the manifest: Cluster API's controllers restore the owner.",
			On:     on(capi([]string{MachineDeployment}, onCreate)), Needs: when(createsOwned, policies.NeedOwners), Check: CreateOwned,
		},
		{
			ID: "authority/finalizers-owned", Clause: deletion,
			Description: "An update of a MachineDeployment may not leave it with owner references if none of the owners exists by its UID. The garbage " +
				"collector would delete the MachineDeployment with its MachineSets, their Machines and the instances.",
			Remedy: "Keep an owner that exists, or remove all owner references.",
			On:     on(capi([]string{MachineDeployment}, onUpdate)), Needs: when(changesItsOwners, policies.NeedOwners), Check: LastOwner,
		},
		{
			ID: "authority/finalizer-fence", Clause: deletion,
			Description: "Machine API's controllers add the finalizer machine.machine.openshift.io to a Machine before they call a cloud. While " +
				"status.authoritativeAPI of the Machine (or spec.authoritativeAPI, if the status is empty) is not MachineAPI, nobody may add this finalizer.",
			Remedy: "Leave the finalizer out of the manifest, or move the Machine to Machine API first.",
			On:     on(mapi(machine, onWrite)), Check: FinalizerFence,
		},
		{
			ID: "authority/created-twice", Clause: authOf,
			Description: "If a Machine is created in both APIs at the same moment, the review of neither creation sees the other Machine. So nobody may add " +
				"the finalizer machine.machine.openshift.io to a Machine for which Machine API is authoritative while the Cluster API Machine of the same name is " +
				"not paused, or may have an instance of its own. If Poundlock cannot look up the Cluster API Machine, the request is refused, and the controller " +
				"has to try again.",
			Remedy: "Delete one of the two Machines. Or, if Cluster API has not begun to create an instance, annotate the Cluster API Machine and its " +
				"infrastructure machine with cluster.x-k8s.io/paused to make them the mirror.",
			On: on(mapi(machine, onUpdate)), Needs: when(Begins, policies.NeedLiveTwin|policies.NeedLiveInfra), Check: CreatedTwice,
		},
		{
			ID: "authority/created-twice", Clause: authOf,
			Description: "If a Machine is created in both APIs at the same moment, the review of neither creation sees the other Machine. So nobody may add " +
				"the finalizer machine.cluster.x-k8s.io to a Cluster API Machine that is not paused while Cluster API is not authoritative for the Machine API " +
				"Machine of the same name. If Poundlock cannot look up the Machine API Machine, the request is refused, and the controller has to try again.",
			Remedy: "Delete one of the two Machines. Or annotate the Cluster API Machine and its infrastructure machine with cluster.x-k8s.io/paused to make " +
				"them the mirror.",
			On: on(capi(machine, onUpdate)), Needs: when(Begins, policies.NeedLiveTwin), Check: CreatedTwice,
		},
		{
			ID: "authority/created-twice", Clause: authOf,
			Description: "If a MachineSet is created in both APIs at the same moment (within five minutes) and both APIs act on it, each set would create all " +
				"the Machines that were asked for. So nobody may create the first Machine of such a MachineSet. A set that already has Machines may create more. " +
				"If Poundlock cannot look up the other API's MachineSet, the request is refused, and the controller has to try again.",
			Remedy: "Delete one of the two MachineSets. Or, if Cluster API's MachineSet has no Machines, annotate it with cluster.x-k8s.io/paused to make it " +
				"the mirror.",
			On: on(mapi(machine, onCreate), capi(machine, onCreate)), Needs: when(CreatesForSet, policies.NeedOwnerSet), Check: SetCreatedTwice,
		},
		{
			ID: "authority/status-owned", Clause: "converting › API Extensions",
			Description: "Only Poundlock may write status.authoritativeAPI, status.synchronizedAPI, status.synchronizedGeneration and the condition " +
				"Synchronized. Anybody may set an empty status.authoritativeAPI to the stored spec.authoritativeAPI and, if this is ClusterAPI, an absent " +
				"status.synchronizedGeneration to 0 with it. Only Poundlock and Machine API's controllers may add or change the conditions AuthoritySettled and " +
				"Paused, because a move continues once Paused is True. Machine API's controllers leave Paused True until Machine API is authoritative, and do not " +
				"set it to True after that.",
			Remedy: "Read the object again, and patch only the other parts of status instead of replacing the whole status.",
			On:     on(sub("status", mapi(withControlPlane(kinds), onUpdate))), Check: StatusOwned,
		},
		{
			ID: "authority/paused-owned", Clause: "converting › Pausing of Cluster API controllers",
			Description: "Only Poundlock may change the annotation cluster.x-k8s.io/paused of a Cluster API object that also exists in Machine API, and of its " +
				"infrastructure object. If Machine API is authoritative, the creator of a Cluster API object of the same name may set the annotation, so that the " +
				"object becomes the mirror.",
			Remedy: "To unpause the object, migrate it to Cluster API: Poundlock pauses the objects of the API that is not authoritative.",
			On:     on(capi(kinds, onUpdate), infra(pausedInfra, onUpdate)), Needs: when(pauseMatters, policies.NeedTwin), Check: PausedOwned,
		},
		{
			ID: "authority/check-paused", Clause: "converting › MachineHealthCheck Synchronisation",
			Description: "Poundlock pauses a Machine API MachineHealthCheck that is not authoritative by the annotation cluster.x-k8s.io/paused. Nobody else " +
				"may change this annotation. The controller that OpenShift ships does not read authoritativeAPI, so only the annotation stops it from remediating " +
				"Machines.",
			Remedy: "Migrate the MachineHealthCheck to Machine API: Poundlock then unpauses it.",
			On:     on(mapi([]string{"MachineHealthCheck"}, onUpdate)), Check: CheckPaused,
		},
		{
			ID: "authority/create-machineapi", Clause: admission,
			Description: "If a Cluster API object of the same name exists, a Machine API object may be created only with spec.authoritativeAPI: ClusterAPI, " +
				"and only while the Cluster API object is not being deleted. A MachineSet must also have the selector of the Cluster API MachineSet, except for " +
				"the label of the cluster. If the Cluster API object is a paused mirror, as in a restore, the Machine API object may also be created with " +
				"spec.authoritativeAPI: MachineAPI. A Machine must then have the mirror's spec.providerID. The object that the provider keeps for the instance (a " +
				"VSphereVM or an OpenStackServer) must be paused too, and must name that instance or none.",
			Remedy: "Set spec.authoritativeAPI: ClusterAPI and, for a MachineSet, the selector that the message shows. Create the object, wait until " +
				"Synchronized is True, and then move it.",
			On: on(mapi(kinds, onCreate)), Needs: besideTwin, Check: CreateMachineAPI,
		},
		{
			ID: "authority/create-machineapi", Clause: authOf,
			Description: "A Machine API Machine may not be created with the name of an unpaused VSphereVM or OpenStackServer, which a provider keeps for an " +
				"instance. The provider's controller may find the Machine's instance by this name, and would terminate the instance when the VSphereVM or " +
				"OpenStackServer is deleted.",
			Remedy: "Delete the VSphereVM or OpenStackServer and wait until it is gone, or create the Machine under another name.",
			On:     on(mapi(machine, onCreate)), Needs: when(namesAnew, policies.NeedLiveTwin|policies.NeedNamesake), Check: BesideKept,
		},
		{
			ID: "authority/create-for-set", Clause: authOf,
			Description: "While Cluster API is authoritative for a MachineSet, Machine API's controllers may not create Machines for it. While authority is " +
				"moving, they may not do so once they have acknowledged their pause. Without this rule, controllers whose feature gate MachineAPIMigration is off " +
				"would create Machines, because they do not read authoritativeAPI.",
			Remedy: "Turn the feature gate MachineAPIMigration on for the Machine API's controllers, or migrate the MachineSet to Machine API.",
			On:     on(mapi(machine, onCreate)), Needs: when(createsForSet, policies.NeedOwners), Check: CreateForSet,
		},
		{
			ID: "authority/create-surplus", Clause: deletion,
			Description: "While Cluster API is authoritative for a MachineSet, Machine API may still run some of the set's Machines. Nobody may create a Cluster " +
				"API Machine for such a MachineSet if the set has the Machines that spec.replicas asks for, or more. Machines that Machine API runs count even if their " +
				"mirrors are gone, because somebody deleted the CRD, restored a backup or removed finalizers. Without this rule, Cluster API would create a Machine for " +
				"each mirror that it does not see, and would delete as many Machines with their instances when it sees the mirrors again. If Poundlock cannot count " +
				"the Machines, the request is refused, and the controller has to try again.",
			Remedy: "To get another Machine, scale the MachineSet. If mirrors are gone, Poundlock recreates them, and Cluster API tries again. If a Machine cannot " +
				"be mirrored, its condition Synchronized has the reason.",
			On: on(capi(machine, onCreate)), Needs: when(CreatesForClusterAPISet, policies.NeedOwnerSet|policies.NeedOwnerCount), Check: CreateSurplus,
		},
		{
			ID: "authority/create-clusterapi", Clause: authOf,
			Description: "If a Machine API object of the same name exists and Cluster API is not authoritative for it, a Cluster API object may be created " +
				"only with the annotation cluster.x-k8s.io/paused. If Cluster API is authoritative, the Cluster API object may be created only after Machine API's " +
				"controllers have acknowledged their pause.",
			Remedy: "Create the object with the annotation cluster.x-k8s.io/paused, or under another name. If Cluster API is authoritative, try again once the " +
				"condition Paused of the Machine API object is True.",
			On: on(capi(kinds, onCreate)), Needs: always(policies.NeedLiveTwin), Check: CreateClusterAPI,
		},
		{
			ID: "authority/uninitialised", Clause: authOf,
			Description: "While status.authoritativeAPI is empty, spec.authoritativeAPI may not be changed. All other fields may be changed.",
			Remedy:      "Try again in a moment: Poundlock sets status.authoritativeAPI soon after an object is created.",
			On:          on(mapi(kinds, onUpdate)), Check: Uninitialised,
		},
		{
			ID: "authority/request-blocked", Clause: workflow,
			Description: "A request to move is refused only if the move can never happen. This is the case if the object, its twin in the other API, its " +
				"infrastructure machine (such as an AWSMachine) or the object that the provider keeps for the instance (a VSphereVM or an OpenStackServer) is " +
				"being deleted. The release's MachineHealthCheck machine-api-termination-handler cannot move, because the cluster-version-operator restores its " +
				"spec. A MachineSet with the annotation metal3.io/autoscale-to-hosts cannot move, because a controller of Machine API sets the set's replicas, " +
				"whichever API is authoritative.",
			Remedy: "Wait until the deletion is complete, or remove the annotation metal3.io/autoscale-to-hosts. Leave the release's MachineHealthCheck with " +
				"Machine API.",
			On: on(mapi(kinds, onUpdate)), Needs: when(moves, policies.NeedLiveTwin|policies.NeedInfra), Check: RequestBlocked,
		},
		{
			ID: "authority/request-warning", Clause: workflow,
			Description: "A request to move is stored, and warnings name what can delay the move: fields that do not convert; taints, which Cluster API " +
				"accepts only with its feature gate MachineTaintPropagation on; a condition Synchronized that is not True; and everything for which the move will " +
				"wait, such as Machines that only one of two MachineSets counts, or a namespace that is being deleted. Warnings also name the Machines that the " +
				"request concerns, and what will differ after the move: a Cluster that is paused; drains and preDrain hooks that Cluster API skips if it finds no " +
				"control plane Machine; and MachineSets that would adopt the Machine, or MachineDeployments that would adopt the MachineSet. For new Machines, " +
				"warnings name a role that becomes a label of the Node, a missing Secret of boot data, an identity on Azure, a server group on OpenStack, and on " +
				"vSphere a host name and the cluster's tag. Warnings also name who else writes to the object and will be refused (the machine-config-operator with " +
				"boot images, Hive, the managed-upgrade-operator, GitOps), and a MachineHealthCheck's spec.remediationTemplate that does not exist in Cluster " +
				"API's namespace. If you take a request back, a warning says that the move is cancelled. If you declare that no instance exists, a warning says " +
				"what follows.",
			Remedy: "Fix the fields that the warnings name, edit or delete the Machines that they name, or set spec.authoritativeAPI back.",
			On:     on(mapi(kinds, onUpdate)),
			Needs: func(c policies.Change) policies.Need {
				return when(moves, policies.NeedLiveTwin|policies.NeedInfra|policies.NeedConversion|policies.NeedUncounted|policies.NeedHolders|
					policies.NeedSets|policies.NeedSurroundings|policies.NeedRemediation)(c) | when(movesToUndrained, policies.NeedUndrained)(c)
			},
			Check: RequestWarning,
		},
		{
			ID: "authority/unconvertible", Clause: "converting › A feature implemented in Machine API is not present in Cluster API",
			Description: "If the authoritative object, or its infrastructure object, is changed, warnings name each field that the other API cannot express. " +
				"The change is stored, but a later move will not start. If the field is in the template of a MachineSet for which Cluster API is authoritative, " +
				"the set's new Machines get no Machine API object either. If only labels and annotations change, only these are named. The same warnings are given " +
				"if somebody creates the infrastructure template to which an authoritative Cluster API MachineSet refers, for example to replace it, and if " +
				"somebody creates a Machine API object with spec.authoritativeAPI: ClusterAPI that Cluster API cannot express. Taints are named too, unless the " +
				"object has some in both APIs: Cluster API refuses taints while its feature gate MachineTaintPropagation is off, which is the default.",
			Remedy: "Before you move the object, fix the fields that the warnings name (docs/fields lists all fields). For taints, turn on Cluster API's " +
				"feature gate MachineTaintPropagation.",
			On:    on(mapi(kinds, onWrite), capi(kinds, onWrite), infra(infraKinds, onUpdate), infra([]string{InfraMachineTemplate}, onCreate)),
			Needs: when(contentMatters, policies.NeedTwin|policies.NeedConversion), Check: Unconvertible,
		},
		{
			ID: "authority/set-adopts", Clause: authOf,
			Description: "If a Machine API Machine without an owner is created, and the selector of a MachineSet matches the Machine, a warning names the " +
				"MachineSet if the other API is authoritative for it. The MachineSet may not adopt the Machine yet. Once the Machine has moved to that API, the " +
				"MachineSet adopts the Machine, and may delete it. If the MachineSet's mirror owns the Cluster API Machine already, Poundlock makes the MachineSet " +
				"the owner at once.",
			Remedy: "Give the Machine other labels, or create it with the same authoritativeAPI as the MachineSet.",
			On:     on(mapi(machine, onCreate)), Needs: when(comesUnowned, policies.NeedSets|policies.NeedTwin), Check: SetAdopts,
		},
		{
			ID: "authority/selectors-overlap", Clause: authOf,
			Description: "If a MachineSet is created, or its selector or the labels of its template change, there is a warning in two cases. In the first " +
				"case, this MachineSet or another one of the same API selects new Machines of the other. At the creation, this includes sets that exist only in " +
				"the other API. In the second case, the MachineSet adopts Machines that no MachineSet owns. A MachineSet that adopts Machines deletes those " +
				"beyond its spec.replicas with their instances.",
			Remedy: "Give each MachineSet a label of its own in spec.selector and spec.template.metadata.labels.",
			On:     on(mapi(machineSet, onWrite), capi(machineSet, onWrite)),
			Needs:  when(selectsMachinesAnew, policies.NeedSiblings), Check: SelectorsOverlap,
		},
		{
			ID: "authority/relabelled", Clause: authOf,
			Description: "If somebody changes a Machine's labels in the authoritative API, there is a warning in two cases. If the MachineSet that owns the " +
				"Machine no longer selects it, the set creates another Machine in its place. If no MachineSet owns the Machine and a set selects it, the set " +
				"adopts the Machine, and deletes Machines beyond its spec.replicas. If the Machine moves, or is asked to, the sets of the other API count, too.",
			Remedy: "Keep the labels that are in spec.selector of the MachineSet. To replace a Machine, delete it.",
			On:     on(mapi(machine, onUpdate), capi(machine, onUpdate)),
			Needs:  when(relabels, policies.NeedTwin|policies.NeedSiblings), Check: Relabelled,
		},
		{
			ID: "authority/selectors-overlap", Clause: deletion,
			Description: "If a MachineSet is deleted with --cascade=orphan, another MachineSet whose API acts on it may select Machines that are left without " +
				"a set. That set would adopt the Machines, and delete those beyond its spec.replicas with their instances, although --cascade=orphan asks to keep " +
				"them. So the deletion is refused if that set would delete Machines. If it would not, a warning names the set.",
			Remedy: "First delete the other MachineSet if nobody needs it, or remove from the Machines a label that only the selector of that MachineSet has. " +
				"To delete the Machines too, leave out --cascade=orphan.",
			On:    on(mapi(machineSet, onDelete), capi(machineSet, onDelete)),
			Needs: when(leavesOrphans, policies.NeedTwin|policies.NeedSiblings), Check: OrphansAdopted,
		},
		{
			ID: "authority/deployment-adopts", Clause: authOf,
			Description: "If the selector of a MachineDeployment matches a mirrored MachineSet that no MachineDeployment owns, a warning says so, whichever of " +
				"the two is written last. The MachineDeployment adopts the MachineSet as soon as Cluster API is authoritative for the set, and may replace the " +
				"set's Machines with new ones from its own template. If the set lacks the label machine-template-hash, Cluster API may fail on the " +
				"MachineDeployment instead, and replace nothing. While the MachineDeployment owns the set, the set cannot move to Machine API.",
			Remedy: "Narrow spec.selector of the MachineDeployment, or change the labels of the MachineSet first.",
			On:     on(capi([]string{MachineDeployment}, onWrite), mapi([]string{"MachineSet"}, onWrite), capi([]string{"MachineSet"}, onUpdate)),
			Needs:  when(selectsAnew, policies.NeedSets), Check: DeploymentAdopts,
		},
		{
			ID: "authority/deployment-deletes", Clause: deletion,
			Description: "If a MachineDeployment is deleted, Cluster API's controller deletes each MachineSet that it owns, even with --cascade=orphan. A " +
				"warning names those of the MachineSets for which Cluster API is authoritative, or was authoritative before a move that is not complete. The " +
				"deletion also cancels such a move.",
			Remedy: "To keep the Machines of these MachineSets, pause the MachineDeployment instead.",
			On:     on(capi([]string{MachineDeployment}, onDelete)),
			Needs:  always(policies.NeedSets), Check: DeploymentDeletes,
		},
		{
			ID: "authority/delete-detached", Clause: deletion,
			Description: "If Cluster API is authoritative for a MachineSet, a MachineHealthCheck or a Machine without an owner, deleting the Machine API " +
				"object causes a warning: the Cluster API object, its Machines and their instances stay. If a MachineSet is deleted in the foreground, the garbage " +
				"collector also deletes the set's Machine API Machines at once, and the instances of those for which Machine API is authoritative are terminated.",
			Remedy: "To delete Cluster API's Machines too, delete the Cluster API object.",
			On:     on(mapi(kinds, onDelete)), Needs: foregroundNeeds, Check: DeleteDetached,
		},
		{
			ID: "authority/delete-recreated", Clause: table,
			Description: "If Machine API is authoritative for a MachineSet, a MachineHealthCheck or a Machine without an owner, deleting the Cluster API " +
				"object causes a warning: Poundlock recreates the object. If a MachineSet is deleted in the foreground, the garbage collector deletes the set's " +
				"Cluster API Machines at once, with the instances of those for which Cluster API is authoritative. If Poundlock did not create the object and " +
				"Cluster API acts on it, the warning names what is deleted with the object.",
			Remedy: "To delete the object in both APIs, delete the Machine API object.",
			On:     on(capi(kinds, onDelete)), Needs: foregroundNeeds, Check: DeleteRecreated,
		},
		{
			ID: "authority/delete-arriving", Clause: "converting › Migration of resources",
			Description: "Right before Cluster API becomes authoritative, Poundlock announces that in the pause annotation of the Cluster API object. From then on " +
				"until Cluster API is authoritative, nobody may delete this object: before, the deletion cancels the move, and afterwards it deletes the Machines " +
				"with their instances. While no replica of Poundlock answers, such a deletion is refused too.",
			Remedy: "Try again once status.authoritativeAPI is ClusterAPI, or set spec.authoritativeAPI: MachineAPI first.",
			On:     on(capi(kinds, onDelete)), Needs: always(policies.NeedTwin), Check: DeleteArriving,
		},
		{
			ID: "authority/delete-orphans", Clause: deletion,
			Description: "If Cluster API is authoritative for a MachineSet, deleting the Cluster API MachineSet with --cascade=orphan causes a warning: its " +
				"controller may delete the Machines before the garbage collector orphans them.",
			Remedy: "First migrate the MachineSet to Machine API, then delete Machine API's MachineSet with --cascade=orphan.",
			On:     on(capi(machineSet, onDelete)), Needs: always(policies.NeedTwin), Check: DeleteOrphans,
		},
		{
			ID: "authority/delete-unknown-instance", Clause: deletion,
			Description: "While the provider does not know the instance of a Cluster API Machine yet, the Machine has Poundlock's hook " +
				InstanceHookAnnotation + ". Such a Machine may not be deleted in the foreground: the garbage collector would delete the infrastructure machine " +
				"(such as an AWSMachine) without waiting for the hook, and the instance would be left behind. Deletions by the garbage collector and the namespace " +
				"controller are not refused.",
			Remedy: "Delete the Machine in the background, which waits for the hook. Or try again when Poundlock has removed the hook.",
			On:     on(capi(machine, onDelete)), Needs: when(unknownInForeground, policies.NeedTwin), Check: DeleteUnknownInstance,
		},
		{
			ID: "authority/delete-unknown-instance", Clause: deletion,
			Description: "While the provider does not know the instance of a Machine yet, its Cluster API MachineSet or MachineDeployment may not be deleted " +
				"in the foreground: the garbage collector would delete the infrastructure machine (such as an AWSMachine), and the instance would be left behind.",
			Remedy: "Delete the MachineSet or MachineDeployment in the background. Or try again when Poundlock has removed its hook from the Machine that the " +
				"message names.",
			On:    on(capi(machineSet, onDelete), capi([]string{MachineDeployment}, onDelete)),
			Needs: when(inForeground, policies.NeedUnknownInstances), Check: DeleteSetOfUnknownInstance,
		},
		{
			ID: "authority/delete-unknown-instance", Clause: deletion,
			Description: "While the provider does not know the instance of a Machine yet, the Cluster API Machine has Poundlock's hook " +
				InstanceHookAnnotation + ". While Cluster API is authoritative for such a Machine, only controllers may delete its infrastructure machine (such as " +
				"an AWSMachine): otherwise the instance would be left behind.",
			Remedy: "Delete the Cluster API Machine, whose deletion waits for the hook. Or try again when Poundlock has removed the hook.",
			On:     on(infra([]string{InfraMachine}, onDelete)), Needs: always(policies.NeedTwin | policies.NeedOwners), Check: DeleteInfraOfUnknownInstance,
		},
		{
			ID: "authority/delete-unknown-instance", Clause: deletion,
			Description: "While the provider does not know the instance of a Cluster API Machine yet, the Machine has Poundlock's hook " +
				InstanceHookAnnotation + ". Nobody may then delete the Machine's namespace or the CRD of its infrastructure machine, or delete its Cluster in the " +
				"foreground, even if an annotation allows the deletion. The infrastructure machine would be deleted without waiting for the hook.",
			Remedy: "Try again when Poundlock has removed the hook from the Machine that the message names.",
			On: on(policies.Scope{Side: policies.Surroundings, Kinds: []string{Namespace, Definition, Cluster},
				Operations: []admissionv1.Operation{admissionv1.Delete}}),
			Needs: when(endsAtOnce, policies.NeedUnknownInstances), Check: DeleteSurroundingsOfUnknownInstance,
		},
		{
			ID: "authority/delete-hooked", Clause: "converting › Machine lifecycle hooks",
			Description: "A mirrored Cluster API Machine with a preDrain or preTerminate hook (such as etcd's on a control plane Machine) may not be deleted " +
				"in the foreground, unless Machine API is authoritative for it. The garbage collector would delete the infrastructure machine (such as an " +
				"AWSMachine) without waiting for the hook. If the Machine has no hook, a warning names the Node that is not drained. Deletions by the garbage " +
				"collector and the namespace controller are not refused.",
			Remedy: "Delete the Machine in the background, which waits for hooks and drains the Node.",
			On:     on(capi(machine, onDelete)), Needs: when(inForeground, policies.NeedTwin|policies.NeedUndrained), Check: DeleteHooked,
		},
		{
			ID: "authority/delete-hooked", Clause: "converting › Machine lifecycle hooks",
			Description: "A Cluster API MachineSet or MachineDeployment may not be deleted in the foreground while one of its Machines has a preDrain or " +
				"preTerminate hook: the garbage collector would delete the infrastructure machine (such as an AWSMachine) without waiting for the hook. If no " +
				"Machine has a hook, a warning names a Machine whose Node is not drained.",
			Remedy: "Delete the MachineSet or MachineDeployment in the background, which waits for hooks and drains Nodes.",
			On:     on(capi(machineSet, onDelete), capi([]string{MachineDeployment}, onDelete)),
			Needs:  when(inForeground, policies.NeedUnknownInstances|policies.NeedUndrained), Check: DeleteSetOfHooked,
		},
		{
			ID: "authority/delete-hooked", Clause: "converting › Machine lifecycle hooks",
			Description: "While Cluster API is authoritative for a Machine that has a preDrain or preTerminate hook, only controllers may delete its " +
				"infrastructure machine (such as an AWSMachine), or the object that the provider keeps for its instance (a VSphereVM or an OpenStackServer). The " +
				"provider would terminate the instance without waiting for the hook, and before the Node is drained. If the Machine is being deleted and Cluster " +
				"API already waits for the deletion of the infrastructure machine, no hook is left to wait for, so anybody may delete the infrastructure machine.",
			Remedy: "Delete the Cluster API Machine, which waits for hooks, drains the Node, and deletes the provider's machine last.",
			On:     on(infra([]string{InfraMachine, InfraInstance}, onDelete)), Needs: always(policies.NeedTwin | policies.NeedOwners), Check: DeleteInfraOfHooked,
		},
		{
			ID: "authority/delete-propagates", Clause: deletion,
			Description: "If a Machine has an owner (such as a MachineSet), deleting it in the API that is not authoritative causes a warning: the " +
				"authoritative Machine and its instance are deleted too. While a Machine is moving, deleting it in the API that it leaves causes a warning: the " +
				"move is cancelled, and the instance is terminated.",
			Remedy: "None is needed if you want to delete the Machine and its instance.",
			On:     on(mapi(machine, onDelete), capi(machine, onDelete)), Needs: always(policies.NeedTwin), Check: DeletePropagates,
		},
		{
			ID: "authority/delete-paused", Clause: "converting › Pausing of Cluster API controllers",
			Description: "Deleting a paused Cluster API Machine or MachineSet that has no Machine API object causes a warning. Cluster API does not act on " +
				"paused objects, so the deletion does not end while the object has the annotation cluster.x-k8s.io/paused. There is a warning too if Cluster API is " +
				"authoritative and the Cluster is paused (spec.paused), which holds all of the Cluster's objects.",
			Remedy: "To have Cluster API terminate the instance, run the commands of the warning in their order: the provider's finalizer comes first. To keep " +
				"the instance, create the Machine API object again first. If the Cluster is paused, ask who paused it, and unpause it.",
			On:    on(mapi(machine, onDelete), capi([]string{"Machine", "MachineSet"}, onDelete)),
			Needs: when(mayBeHeld, policies.NeedTwin|policies.NeedPausedCluster), Check: DeletePaused,
		},
		{
			ID: "authority/delete-undrained", Clause: "converting › Machine lifecycle hooks",
			Description: "While Cluster API finds no control plane Machine, its controller neither waits for preDrain hooks nor drains Nodes. (It still waits " +
				"for preTerminate hooks.) So deleting a Machine or MachineSet for which Cluster API is authoritative causes a warning.",
			Remedy: "Drain the Node before you delete the Machine. Or have Poundlock mirror the control plane's Machines: they need not migrate.",
			On:     on(mapi(machine, onDelete), capi([]string{"Machine", "MachineSet"}, onDelete)),
			Needs:  when(deletesUndrained, policies.NeedTwin|policies.NeedUndrained), Check: DeleteUndrained,
		},
		{
			ID: "authority/delete-undrained", Clause: "converting › Machine lifecycle hooks",
			Description: "While Cluster API finds no control plane Machine, its controller neither waits for preDrain hooks nor drains Nodes. So a person who " +
				"reduces spec.replicas of a MachineSet for which Cluster API is authoritative gets a warning.",
			Remedy: "Drain the Node of a Machine, annotate the Machine with cluster.x-k8s.io/delete-machine, and then scale the MachineSet.",
			On:     on(capi(machineSet, onUpdate), sub("scale", capi(machineSet, onUpdate))),
			Needs:  when(shrinks, policies.NeedTwin|policies.NeedUndrained), Check: ShrinkUndrained,
		},
		{
			ID: "authority/delete-infrastructure", Clause: deletion,
			Description: "While Cluster API is authoritative for a Machine, deleting its infrastructure machine (such as an AWSMachine), or the object that " +
				"the provider keeps for its instance (a VSphereVM or an OpenStackServer), causes a warning: the object's controller terminates the instance, and " +
				"the Machine stays without one. If the provider does not know the instance yet (the Machine has Poundlock's hook), the warning says that the " +
				"instance keeps running. Deleting an infrastructure template (such as an AWSMachineTemplate) causes a warning: the MachineSet that refers to the " +
				"template creates no Machine without it. If Poundlock created the template for a ControlPlaneMachineSet, the warning says that Poundlock recreates " +
				"it.",
			Remedy: "To delete a Machine, delete the Cluster API Machine: its infrastructure machine is deleted with it. Before you delete a template, have " +
				"the MachineSet refer to another one. To change new control plane Machines, change the ControlPlaneMachineSet.",
			On: on(infra(pausedInfra, onDelete)), Needs: always(policies.NeedTwin | policies.NeedOwners), Check: DeleteInfrastructure,
		},
		{
			ID: "authority/template-authority", Clause: "converting › Creation of new Machines",
			Description: "spec.template.spec.authoritativeAPI of a MachineSet may differ from the set's own authoritativeAPI. If it does, a warning names the " +
				"API of the set's new Machines.",
			Remedy: "None is needed if the new Machines are meant for that API.",
			On:     on(mapi(machineSet, onWrite)), Check: TemplateAuthority,
		},
		{
			ID: "authority/new-machines", Clause: "converting › Creation of new Machines",
			Description: "If a MachineSet is created for Cluster API, or if spec.template.spec.authoritativeAPI gives its new Machines to Cluster API, " +
				"warnings name what differs for new Machines in Cluster API: boot data that OpenShift does not copy, a role that becomes a label of Nodes, a " +
				"server group on OpenStack, a subnet on AWS, and the host name and tag on vSphere. The creation of a Machine for Cluster API causes a warning " +
				"about its role. A request to move causes the same warnings (authority/request-warning).",
			Remedy: "Do what the warning names before the set creates a Machine.",
			On:     on(mapi(machineSet, onWrite), mapi([]string{"Machine"}, onCreate)),
			Needs:  when(begins, policies.NeedTwin), Check: NewMachines,
		},
		{
			ID: "authority/surroundings", Clause: "DESIGN §3.3 › Deletion of the surroundings",
			Description: "Poundlock marks the namespaces, the CRDs, the Cluster and the infrastructure cluster that mirrors need with the annotation " +
				"poundlock.openshift.io/holds-mirrors. An object with this annotation may not be deleted, and only Poundlock may remove the annotation.",
			Remedy: "Migrate everything to the API that stays, then stop Poundlock and run kubectl poundlock cleanup. Or annotate the object with " +
				"poundlock.openshift.io/allow-deletion=true, and then delete it.",
			On: on(policies.Scope{Side: policies.Surroundings, Kinds: []string{Namespace, Definition, Cluster, InfraCluster},
				Operations: []admissionv1.Operation{admissionv1.Update, admissionv1.Delete}}), Check: SurroundingsKept,
		},
		{
			ID: "authority/moves-end", Clause: "DESIGN §3.3 › Deletion of the surroundings",
			Description: "A namespace, a CRD or the Cluster may not be deleted while a Machine is asked to move to the API that stays, even if an annotation " +
				"allows the deletion. The deletion would end the move and terminate the instance. If the value of poundlock.openshift.io/allow-deletion is " +
				AllowsControlPlane + ", the deletion is allowed with a warning.",
			Remedy: "Wait until the Machines have moved, or cancel their moves.",
			On:     on(policies.Scope{Side: policies.Surroundings, Kinds: []string{Namespace, Definition, Cluster}, Operations: onDelete}),
			Needs:  when(asksForControlPlane, policies.NeedEnding), Check: MovesEnd,
		},
		{
			ID: "authority/control-plane-ends", Clause: "DESIGN §3.3 › Deletion of the surroundings",
			Description: "If control plane Machines are deleted together with a namespace, a CRD or the Cluster, a warning names them. If they are deleted " +
				"with the Cluster, they do not wait for etcd's hook. The deletion is refused unless a majority of the control plane Machines stays, even if " +
				"poundlock.openshift.io/allow-deletion is true. A Machine that is Failed and whose condition InstanceExists is False does not count as one that " +
				"stays: its instance is gone, so its etcd member has no vote, although etcd still counts the member.",
			Remedy: "Migrate the control plane Machines to the API that stays, and replace a Failed one. To delete the control plane anyway, annotate the " +
				"object with poundlock.openshift.io/allow-deletion=" +
				AllowsControlPlane + ".",
			On:    on(policies.Scope{Side: policies.Surroundings, Kinds: []string{Namespace, Definition, Cluster}, Operations: onDelete}),
			Needs: when(asksForControlPlane, policies.NeedEnding), Check: ControlPlaneEnds,
		},
		{
			ID: "authority/control-plane-last", Clause: "converting › Machine lifecycle hooks",
			Description: "A control plane Machine for which Cluster API is authoritative may not be deleted while all other control plane Machines are being " +
				"deleted. Cluster API's controller would then neither wait for preDrain hooks, including etcd's, nor drain Nodes. Deleting Cluster API's last " +
				"mirror of a control plane Machine causes a warning: until Poundlock has recreated the mirror, no deletion in Cluster API waits for preDrain hooks.",
			Remedy: "Wait until the other Machines are replaced. To delete the control plane anyway, annotate the Machine with " +
				"poundlock.openshift.io/allow-deletion=" +
				AllowsControlPlane + ".",
			On:    on(mapi(machine, onDelete), capi(machine, onDelete)),
			Needs: when(mayEndMaster, policies.NeedTwin|policies.NeedEnding), Check: ControlPlaneLast,
		},
		{
			ID: "authority/hooks-skipped", Clause: "converting › Machine lifecycle hooks",
			Description: "While every control plane Machine is being deleted, Cluster API's controller skips preDrain hooks, including etcd's. This can happen " +
				"after several deletions at the same moment, or while Poundlock is unavailable. So the controller may not delete the infrastructure machine (such " +
				"as an AWSMachine) of a control plane Machine while a preDrain hook holds the Machine.",
			Remedy: "None is needed: the owners of the hooks remove them once the Machines are replaced. To delete the control plane anyway, annotate one of " +
				"its Machines with poundlock.openshift.io/allow-deletion=" +
				AllowsControlPlane + ".",
			On:    on(infra([]string{InfraMachine}, onDelete)),
			Needs: when(endsWithMachine, policies.NeedTwin|policies.NeedMasters), Check: HooksSkipped,
		},
		{
			ID: "authority/control-plane-label", Clause: "converting › Machine lifecycle hooks",
			Description: "Cluster API counts control plane Machines by the label cluster.x-k8s.io/control-plane. While no Machine has this label, no deletion " +
				"waits for preDrain hooks, including etcd's, or drains a Node. So nobody may remove the label from a Machine for which Cluster API is " +
				"authoritative while another label marks it as a control plane Machine.",
			Remedy: "Keep the label, or remove the labels of role and type in the same request.",
			On:     on(capi(machine, onUpdate)), Needs: when(losesControlPlaneLabel, policies.NeedTwin), Check: ControlPlaneLabel,
		},
		{
			ID: "authority/etcd-hook", Clause: "converting › Machine lifecycle hooks",
			Description: "If a person removes etcd's hook, EtcdQuorumOperator, from a Machine that is being deleted, in the API that is authoritative, a " +
				"warning says that the instance is terminated even if its etcd member has not left. The etcd operator gets no warning.",
			Remedy: "Leave the hook to the etcd operator, which removes it once a replacement votes. If you remove the hook, remove the member from etcd too.",
			On:     on(mapi(machine, onUpdate), capi(machine, onUpdate)),
			Needs:  etcdHookNeeds, Check: EtcdHookRemoved,
		},
		{
			ID: "authority/machine-finalizer", Clause: deletion,
			Description: "Each controller that terminates an instance holds its object by a finalizer: machine.machine.openshift.io, machine.cluster.x-k8s.io, " +
				"or the provider's finalizer on the infrastructure machine (such as an AWSMachine) and on the object that it keeps for the instance (a VSphereVM " +
				"or an OpenStackServer). If a person removes the finalizer from an object that is being deleted, in the API that is authoritative, a warning says " +
				"that nothing then terminates the instance. If another Machine has the same instance, the warning says so, and that you must terminate nothing. " +
				"Controllers get no warning, and nobody does if the instance is known to be gone. vSphere's controllers have no service account of their own, so a " +
				"request for vSphere's objects gets a warning only if it names its field manager, as kubectl does.",
			Remedy: "Leave the finalizer, and find out why the controller does not finish. If you remove the finalizer anyway, terminate the instance in the " +
				"cloud yourself.",
			On:    on(mapi(machine, onUpdate), capi(machine, onUpdate), infra([]string{InfraMachine, InfraInstance}, onUpdate)),
			Needs: machineFinalizerNeeds, Check: MachineFinalizerRemoved,
		},
	}
}

// metadataMatters reports whether a request changes labels or annotations of an object that is locked, or that may be locked. Only a Machine API object shows
// by itself whether it is locked. For every other object only its twin shows that, so metadataMatters reports true for each such change: SpecLocked looks the
// twin up anyway.
func metadataMatters(c policies.Change) bool {
	return len(metadataChanges(c)) > 0 && (c.Side != policies.SideMachineAPI || stand(c).locked())
}

func ownershipMatters(c policies.Change) bool {
	return c.Old.HasFinalizer(SyncFinalizer) != c.New.HasFinalizer(SyncFinalizer) || asksForForeground(c) ||
		!sameOwners(c)
}

func pauseMatters(c policies.Change) bool {
	return c.Old.Metadata.Annotations[PausedAnnotation] != c.New.Metadata.Annotations[PausedAnnotation] ||
		c.Old.HasAnnotation(PausedAnnotation) != c.New.HasAnnotation(PausedAnnotation)
}

// keeperMatters returns the needs of InfraLocked: NeedTwin, and also NeedInfra for an object that a provider keeps for an instance (such as a VSphereVM). Such
// an object belongs to the Machine to which the provider's machine belongs.
func keeperMatters(c policies.Change) policies.Need {
	if c.Kind == InfraInstance {
		return policies.NeedTwin | policies.NeedInfra
	}
	return policies.NeedTwin
}

// besideTwin returns the needs of a rule about the creation of a Machine API object beside its twin. If the new object requests Cluster API, it is to be the
// mirror, and only the twin is needed: a mirror may be created beside any twin that is not being deleted, whatever the twin's infrastructure machine is.
func besideTwin(c policies.Change) policies.Need {
	switch {
	case Read(c.New).Requested == ClusterAPI:
		return policies.NeedLiveTwin
	case c.Kind == "Machine":
		return policies.NeedLiveTwin | policies.NeedLiveInfra | policies.NeedInfra
	}
	return policies.NeedLiveTwin | policies.NeedLiveInfra
}

// contentMatters reports whether changesAuthority may be true, as far as that can be decided before the twin is read.
func contentMatters(c policies.Change) bool {
	if c.Operation == admissionv1.Create {
		return c.Side == policies.SideMachineAPI || reads(c)
	}
	if c.Side == policies.SideMachineAPI && stand(c).authoritative() != MachineAPI || requestsHere(c) {
		return false
	}
	return changesContent(c)
}
