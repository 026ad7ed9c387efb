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
			Description: "The spec of a Machine API object may not be changed while Cluster API is authoritative for it, but for spec.authoritativeAPI. " +
				"The autoscaler alone may change replicas. The etcd operator alone may add its hook, EtcdQuorumOperator, to a control plane Machine, and " +
				"remove it; the mirror carries that over. Beneath providerSpec an empty object or list that is added or removed is a change, elsewhere it " +
				"equals an absent one.",
			Remedy: "Change the Cluster API object of the same name, or move authority to Machine API first.",
			On:     on(mapi(kinds, onUpdate)), Check: SpecLocked,
		},
		{
			ID: "authority/spec-locked", Clause: admission,
			Description: "The spec of a Cluster API object may not be changed while Machine API is authoritative for its twin, or while no API is yet; " +
				"the autoscaler alone may change replicas. A default that Cluster API's webhooks add is no change.",
			Remedy: "Change the Machine API object of the same name, or move authority to Cluster API first.",
			On:     on(capi(kinds, onUpdate)), Needs: always(policies.NeedTwin), Check: SpecLocked,
		},
		{
			ID: "authority/in-transit", Clause: "converting › Migration of resources",
			Description: "While authority is moving, the spec of the Machine API object may not be changed, but for spec.authoritativeAPI and the hook of " +
				"the etcd operator.",
			Remedy: "Try again in a moment, or set spec.authoritativeAPI back to cancel the move.",
			On:     on(mapi(kinds, onUpdate)), Check: InTransit,
		},
		{
			ID: "authority/in-transit", Clause: "converting › Migration of resources",
			Description: "While authority is moving, the spec of the Cluster API object may not be changed. The controllers that were authoritative may " +
				"finish what is in flight, on either side, until they have acknowledged their pause, and a MachineSet of Cluster API's writes in place onto " +
				"its Machines as ever.",
			Remedy: "Try again in a moment, or set spec.authoritativeAPI of the Machine API object back to cancel the move.",
			On:     on(capi(kinds, onUpdate)), Needs: always(policies.NeedTwin), Check: InTransit,
		},
		{
			ID: "authority/infra-locked", Clause: admission,
			Description: "A provider's machine or template may be neither changed nor deleted while it mirrors an object for which Machine API is " +
				"authoritative, or whose authority is moving. The same holds for what the provider keeps for the machine's instance (a VSphereVM, an " +
				"OpenStackServer). Cluster API's controllers may write to what Poundlock did not create and what is not paused. " +
				"A paused VSphereVM or OpenStackServer that names another instance than its Machine may be deleted. Anybody may remove a finalizer from what is " +
				"being deleted, the provider's if it is paused and Machine API authoritative, and may add the provider's to what Poundlock did not create: " +
				"without it an instance would be left behind. vSphere's controllers have no account of their own: " +
				"so anybody may add vSphere's own finalizer to a VSphereMachine or VSphereVM, and may write to a VSphereMachine that Poundlock did not create " +
				"and that is not paused, and to its VSphereVM. An empty object or list that is added or removed is a change. " +
				"A default that the provider's webhooks add is not.",
			Remedy: "Change the providerSpec of the Machine API object, or move authority to Cluster API first.",
			On:     on(infra(pausedInfra, []admissionv1.Operation{admissionv1.Update, admissionv1.Delete})),
			Needs:  keeperMatters, Check: InfraLocked,
		},
		{
			ID: "authority/infra-locked", Clause: authOf,
			Description: "While Cluster API is not authoritative for a Machine, only the provider may create what it keeps for the Machine's instance (a " +
				"VSphereVM, an OpenStackServer). Anybody else may create it paused: the provider's controller acts on the instance because of it.",
			Remedy: "Create it with the annotation cluster.x-k8s.io/paused, or leave it to the provider, which makes it after the move to Cluster API.",
			On:     on(infra([]string{InfraInstance}, onCreate)), Needs: when(unpausedByOthers, policies.NeedTwin), Check: InfraInstanceStandsStill,
		},
		{
			ID: "authority/scale-locked", Clause: "converting › The Cluster Autoscaler in mixed MachineSet clusters",
			Description: "The set that is not authoritative may not be scaled through its scale subresource, but by the autoscaler. " +
				"While authority is moving, nobody may scale either set.",
			Remedy: "Scale the set of the authoritative API: the message has the command.",
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
			Description: "What the autoscaler and its operator write to a mirror is carried over from their field managers alone, cluster-autoscaler and " +
				"cluster-autoscaler-operator: it is refused under another one, which Poundlock would put back. Through the scale subresource only a field " +
				"manager that the request names is seen.",
			Remedy: "Run the autoscaler under its own program's name, or name the field manager with --field-manager.",
			On: on(mapi([]string{"Machine", "MachineSet"}, onUpdate), capi([]string{"Machine", "MachineSet"}, onUpdate),
				sub("scale", mapi(machineSet, onUpdate)), sub("scale", capi(machineSet, onUpdate))),
			Needs: carriedNeeds, Check: CarriedManager,
		},
		{
			ID: "authority/scale-unseen", Clause: "converting › The Cluster Autoscaler in mixed MachineSet clusters",
			Description: "While Cluster API is authoritative for a MachineSet whose new Machines Machine API cannot express, the autoscaler may not scale it " +
				"up: it reads Machine API's Machines alone, and would not see the new ones. It may not scale such a set down either, while the set has Machines " +
				"without a Machine API object. Anybody else who scales the set of Cluster API up is warned.",
			Remedy: "Repair the field that is named, in Cluster API, or scale the set of Cluster API yourself.",
			On:     on(sub("scale", mapi(machineSet, onUpdate)), sub("scale", capi(machineSet, onUpdate)), mapi(machineSet, onUpdate)),
			Needs:  func(c policies.Change) policies.Need { return when(scalesUnseen, unseenNeeds(c))(c) }, Check: ScaleUnseen,
		},
		{
			ID: "authority/metadata-reserved", Clause: admission,
			Description: "On the Machine API object that is not authoritative, or whose authority is moving, nobody may add, change or remove a label or " +
				"annotation of kubernetes.io, k8s.io, x-k8s.io, openshift.io or a domain beneath them, nor the label machine-template-hash. Nor may anybody add an " +
				"annotation that Cluster API takes for a hook without a name, such as pre-drain.delete.hook.machine.cluster.x-k8s.io. " +
				"Anybody may remove the annotation cluster.x-k8s.io/paused that a person has set: the controllers of the Machine API obey it. Poundlock sets it " +
				"there on a MachineHealthCheck alone (authority/check-paused). " +
				"While Cluster API is authoritative, the autoscaler may mark a Machine for deletion, and its operator may write the limits of autoscaling on a " +
				"MachineSet. The mirror copies both to the Cluster API object, and their removal. The autoscaler may remove its mark while authority is " +
				"moving, too.",
			Remedy: "Set it on the Cluster API object, whose value the mirror follows: the message has its name there and the command.",
			On:     on(mapi(kinds, onUpdate)), Check: MetadataReserved,
		},
		{
			ID: "authority/metadata-reserved", Clause: admission,
			Description: "On the Cluster API object, too, while Machine API is authoritative for its twin, nobody may add, change or remove such a " +
				"reserved label or annotation: of kubernetes.io, k8s.io, x-k8s.io, openshift.io or a domain beneath them, the label " +
				"machine-template-hash, or a hook without a name. Only the autoscaler may mark a Machine with cluster.x-k8s.io/delete-machine, or " +
				"remove the mark. It may remove the mark while authority is moving, too. The mirror copies both to the Machine API object.",
			Remedy: "Set it on the Machine API object, whose value the mirror follows: the message has its name there and the command.",
			On:     on(capi(kinds, onUpdate)), Needs: always(policies.NeedTwin), Check: MetadataReserved,
		},
		{
			ID: "authority/metadata-conflict", Clause: admission,
			Description: "On the object that is not authoritative, a label or annotation that the authority's object carries may only be set to the authority's value.",
			Remedy:      "Change it on the authoritative object.",
			On:          on(mapi(kinds, onUpdate), capi(kinds, onUpdate)), Needs: when(metadataMatters, policies.NeedTwin), Check: MetadataConflict,
		},
		{
			ID: "authority/metadata-free", Clause: admission,
			Description: "Every other label and annotation of the object that is not authoritative is the user's, and the mirror keeps it; " +
				"so is kubectl.kubernetes.io/last-applied-configuration, which every apply writes.",
			Remedy: "None is needed.",
			On:     on(mapi(kinds, onUpdate), capi(kinds, onUpdate)), Needs: always(0), Check: MetadataFree,
		},
		{
			ID: "authority/provider-id", Clause: deletion,
			Description: "Once spec.providerID of a mirrored Machine API Machine is stored, only its controllers may change it: " +
				"it names the instance that is deleted with the Machine.",
			Remedy: "Leave it as it is; for another instance create another Machine.",
			On:     on(mapi(machine, onUpdate)), Check: ProviderIDKept,
		},
		{
			ID: "authority/provider-id", Clause: deletion,
			Description: "While Cluster API is authoritative, only its controllers may change the stored spec.providerID of a mirrored Cluster API Machine " +
				"or of its provider's machine, or spec.instanceID and spec.biosUUID of a VSphereVM: they name the instance that is deleted with " +
				"the Machine.",
			Remedy: "Leave it as it is; for another instance create another Machine.",
			On:     on(capi(machine, onUpdate), infra([]string{InfraMachine, InfraInstance}, onUpdate)), Needs: when(changesInstance, policies.NeedTwin),
			Check: ProviderIDKept,
		},
		{
			ID: "authority/provider-id", Clause: authOf,
			Description: "Only controllers may give a Machine or a provider's machine the spec.providerID of another Machine, or give a provider's machine " +
				"the spec.instanceID of another one. Only controllers may write a spec.providerID that is no ID of an instance on this cloud: " +
				"most providers look at the last part of an ID alone. Nobody may give a VSphereVM the spec.biosUUID of another Machine's virtual " +
				"machine.",
			Remedy: "Leave spec.providerID out, wait until the other Machine is gone, or write the ID in the form that the message has.",
			On:     on(mapi(machine, onWrite), capi(machine, onWrite), infra([]string{InfraMachine, InfraInstance}, onWrite)),
			Needs:  when(namesInstance, policies.NeedHolders), Check: ProviderIDUnique,
		},
		{
			ID: "authority/provider-id", Clause: deletion,
			Description: "What a provider keeps for an instance (a VSphereVM, an OpenStackServer) that another Machine has may be deleted only while it is " +
				"paused, and nobody may unpause it. Its controller would terminate the instance, or act on it, even if the object has no owner.",
			Remedy: "Pause it with the annotation cluster.x-k8s.io/paused, delete it, and remove its finalizers last: the message has the commands.",
			On:     on(infra([]string{InfraInstance}, []admissionv1.Operation{admissionv1.Update, admissionv1.Delete})),
			Needs:  when(endsOrFreesKept, policies.NeedHolders), Check: KeptOfAnother,
		},
		{
			ID: "authority/provider-id", Clause: authOf,
			Description: "A provider's machine for a Machine that has an instance may be created only with the Machine's spec.providerID. While Machine " +
				"API is authoritative, it may also be created paused.",
			Remedy: "Give it the spec.providerID of the Machine.",
			On:     on(infra([]string{InfraMachine}, onCreate)), Needs: when(makesUnnamed, policies.NeedTwin), Check: ProviderIDGiven,
		},
		{
			ID: "authority/provider-status", Clause: authOf,
			Description: "status.providerStatus of a Machine API Machine names its instance, even while spec.providerID is empty. " +
				"Only Machine API's controllers and Poundlock may write it.",
			Remedy: "Leave it as it is; for another instance create another Machine.",
			On:     on(sub("status", mapi(machine, onUpdate))), Check: ProviderStatusOwned,
		},
		{
			ID: "authority/provider-status", Clause: authOf,
			Description: "Not even a controller may name another Machine's instance in status.providerStatus of a Machine API Machine or in the status of " +
				"a provider's machine. Only the provider's controllers may name an instance in the status of a provider's machine, or of what the " +
				"provider keeps for the instance (an OpenStackServer).",
			Remedy: "Leave it out; for another instance create another Machine.",
			On:     on(sub("status", mapi(machine, onUpdate)), sub("status", infra([]string{InfraMachine, InfraInstance}, onUpdate))),
			Needs:  when(statusSharesInstance, policies.NeedHolders), Check: ProviderStatusUnique,
		},
		{
			ID: "authority/pause-condition", Clause: "converting › Pausing of Cluster API controllers",
			Description: "A person may not add, change or remove the condition Paused in the status of a mirrored object of Cluster API, of a provider's machine, or " +
				"of what the provider keeps for the instance: a move hands the machine over once the controllers have acknowledged the pause by this condition. " +
				"Anybody may remove it from an object that is not paused. ServiceAccounts are not asked, because Cluster API's controllers write the condition first " +
				"in each pass: a wrong setting of their identities would stop them.",
			Remedy: "Leave the condition as it is, and patch only the other parts of status.",
			On:     on(sub("status", capi(kinds, onUpdate)), sub("status", infra([]string{InfraMachine, InfraInstance}, onUpdate))),
			Needs:  when(changesPaused, policies.NeedTwin), Check: PauseCondition,
		},
		{
			ID: "authority/infra-owner", Clause: authOf,
			Description: "Only Cluster API may make a Machine the owner of a provider's machine to which that Machine does not refer. The provider acts on " +
				"each provider's machine that a Machine owns, even while the Machine is paused. A provider's machine that has an instance may be " +
				"unpaused while its paused Machine is being deleted.",
			Remedy: "Leave the owner reference out: Cluster API adds it.",
			On:     on(infra([]string{InfraMachine}, onWrite)), Needs: when(gainsOwner, policies.NeedOwners), Check: InfraOwner,
		},
		{
			ID: "authority/infra-owner", Clause: authOf,
			Description: "What a provider keeps for an instance (a VSphereVM, an OpenStackServer) may not get a provider's machine as its owner if none " +
				"exists with the UID of the owner reference. The garbage collector would delete the object, and the object's controller would " +
				"terminate the instance.",
			Remedy: "Leave the owner reference out, or write the UID of the provider's machine.",
			On:     on(infra([]string{InfraInstance}, onWrite)), Needs: when(gainsKeeper, policies.NeedOwners), Check: InstanceOwner,
		},
		{
			ID: "authority/infra-owner", Clause: deletion,
			Description: "The owners that a provider's machine has, or that the object which the provider keeps for its instance has, may not be replaced " +
				"by owners of other kinds. The garbage collector deletes an object if none of its owners exists, and the object's controller " +
				"would terminate the instance. An object may not be created either if its only owners are MachineSets, MachineDeployments or " +
				"Clusters that do not exist by their UID. A warning names owners that Poundlock may not read.",
			Remedy: "Leave metadata.ownerReferences as they are, and out of a manifest that was stored.",
			On:     on(infra([]string{InfraMachine, InfraInstance}, onWrite)), Needs: when(replacesOwners, policies.NeedTwin|policies.NeedOwners),
			Check: InfraUnowned,
		},
		{
			ID: "authority/infra-owner", Clause: deletion,
			Description: "No update may leave a provider's machine, or the object which the provider keeps for its instance, with owners that " +
				"are all gone, by their UIDs. This holds for an update that adds such owners and for one that removes the last owner that exists. If the " +
				"only owner that could exist is of a kind that Poundlock may not read, the update passes with a warning.",
			Remedy: "Keep an owner that exists, or leave none.",
			On:     on(infra([]string{InfraMachine, InfraInstance}, onUpdate)), Needs: when(changesItsOwners, policies.NeedTwin|policies.NeedOwners),
			Check: LastOwner,
		},
		{
			ID: "authority/infra-owner", Clause: authOf,
			Description: "A Cluster API Machine may not refer to a provider's machine that belongs to another Machine: deleting the first Machine would " +
				"terminate the other one's instance. A mirrored Machine may not refer to another provider's machine than before: that would be a " +
				"second instance. A Machine may not refer to a provider's machine of another name than its own if a Machine API Machine has that " +
				"name: most providers find an instance by the name of their machine.",
			Remedy: "Refer to a provider's machine of its own; for another instance create another Machine.",
			On:     on(capi(machine, onWrite)), Needs: when(refersAnew, policies.NeedLiveInfra|policies.NeedTwin|policies.NeedNamesake), Check: InfraTaken,
		},
		{
			ID: "authority/infra-owner", Clause: authOf,
			Description: "A Machine API Machine may not be created under the name of a provider's machine that belongs to a Cluster API Machine of another " +
				"name. It could not be mirrored, and most providers find an instance by the name of their machine.",
			Remedy: "Create it under another name.",
			On:     on(mapi(machine, onCreate)), Needs: when(namesAnew, policies.NeedLiveTwin|policies.NeedNamesake), Check: NamedAsInfra,
		},
		{
			ID: "authority/propagation", Clause: "converting › Pausing of Cluster API controllers",
			Description: "Cluster API's own identity may write onto paused Machines and provider's machines what its MachineSet propagates in place: " +
				"labels and annotations, but none of Poundlock's, and of a Machine's spec bootstrap.dataSecretName, deletion, minReadySeconds, " +
				"readinessGates and taints.",
			Remedy: "Do not put Poundlock's labels or annotations into the template of a Cluster API MachineSet.",
			On:     on(capi(machine, onUpdate), infra([]string{InfraMachine}, onUpdate)), Needs: when(propagates, policies.NeedTwin), Check: Propagation,
		},
		{
			ID: "authority/finalizers-owned", Clause: deletion,
			Description: "Users may not change the sync finalizer and the owner references of an object that has a twin. The controllers of the " +
				"authoritative side and the garbage collector write the owner references, and Cluster API's controllers write those of what " +
				"Poundlock did not make and is not paused. The control-plane-machine-set-operator may make a ControlPlaneMachineSet the owner of " +
				"a control plane Machine, and release it, whichever API is authoritative. The ClusterVersion may become the owner of the " +
				"release's MachineHealthCheck machine-api-termination-handler. ACM's AppliedManifestWork may become an owner beside others if it " +
				"is not their controller. A person may take a MachineDeployment off the owners of a Cluster API MachineSet for which Cluster API " +
				"is authoritative, or that is moving from it: until then the set cannot move to Machine API. Nobody may add the finalizer " +
				"foregroundDeletion to a Cluster API Machine or MachineSet: each later deletion would become a foreground deletion, which does " +
				"not wait for hooks.",
			Remedy: "Leave them as they are: delete the authoritative object, or the parent, to end a mirror. Ask for the foreground with the deletion itself.",
			On:     on(mapi(kinds, onUpdate), capi(kinds, onUpdate)), Needs: when(ownershipMatters, policies.NeedTwin), Check: FinalizersOwned,
		},
		{
			ID: "authority/finalizers-owned", Clause: deletion,
			Description: "A Machine or MachineSet may not be created, with a twin or without, if it names owners (a MachineSet, a ControlPlaneMachineSet, " +
				"a MachineDeployment, the Cluster) and none of them exists by its UID. The garbage collector would delete the object, and the " +
				"deletion would end instances. If the only owner that could exist is of a kind that Poundlock may not read, the object is created " +
				"with a warning.",
			Remedy: "Leave metadata.ownerReferences out of the manifest: Poundlock and the API's own controllers restore the owner.",
			On:     on(mapi([]string{"Machine", "MachineSet"}, onCreate), capi([]string{"Machine", "MachineSet"}, onCreate)),
			Needs:  when(createsOwned, policies.NeedLiveTwin|policies.NeedOwners), Check: CreateOwned,
		},
		{
			ID: "authority/finalizers-owned", Clause: deletion,
			Description: "No update may leave a Machine or MachineSet with owners that are all gone, by their UIDs. This holds for an update that adds such " +
				"owners and for one that removes the last owner that exists. The rule holds neither for the object's own controllers and the " +
				"garbage collector, nor for anybody while the object is being deleted.",
			Remedy: "Keep an owner that exists, or leave none.",
			On:     on(mapi([]string{"Machine", "MachineSet"}, onUpdate), capi([]string{"Machine", "MachineSet"}, onUpdate)),
			Needs:  when(changesItsOwners, policies.NeedTwin|policies.NeedOwners), Check: LastOwner,
		},
		{
			ID: "authority/finalizers-owned", Clause: deletion,
			Description: "A MachineDeployment may not be created if it names owners and none of them exists by its UID. The garbage collector would delete " +
				"it, and with it its MachineSets, their Machines and the instances.",
			Remedy: "Leave metadata.ownerReferences out of the manifest: Cluster API's controllers restore the owner.",
			On:     on(capi([]string{MachineDeployment}, onCreate)), Needs: when(createsOwned, policies.NeedOwners), Check: CreateOwned,
		},
		{
			ID: "authority/finalizers-owned", Clause: deletion,
			Description: "No update may leave a MachineDeployment with owners that are all gone, by their UIDs: the garbage collector would delete it, and " +
				"with it its MachineSets, their Machines and the instances.",
			Remedy: "Keep an owner that exists, or leave none.",
			On:     on(capi([]string{MachineDeployment}, onUpdate)), Needs: when(changesItsOwners, policies.NeedOwners), Check: LastOwner,
		},
		{
			ID: "authority/finalizer-fence", Clause: deletion,
			Description: "Nobody may add machine.machine.openshift.io to a Machine while the authority over it (status, or spec while status is empty) is " +
				"not MachineAPI: controllers add it before they call a cloud.",
			Remedy: "Leave the finalizer out of the manifest, or move the Machine to Machine API first.",
			On:     on(mapi(machine, onWrite)), Check: FinalizerFence,
		},
		{
			ID: "authority/created-twice", Clause: authOf,
			Description: "While a Cluster API Machine of the same name is not paused, or may have an instance of its own, nobody may add " +
				"machine.machine.openshift.io to a Machine for which Machine API is authoritative: " +
				"of two Machines that are created in the same moment, the review of neither creation sees the other. " +
				"Where the twin cannot be looked up, the controller has to try again.",
			Remedy: "Delete one of the two Machines, or, where Cluster API has not begun, annotate the Cluster API Machine and its infrastructure machine " +
				"with cluster.x-k8s.io/paused to make them the mirror.",
			On: on(mapi(machine, onUpdate)), Needs: when(Begins, policies.NeedLiveTwin|policies.NeedLiveInfra), Check: CreatedTwice,
		},
		{
			ID: "authority/created-twice", Clause: authOf,
			Description: "While a Machine API Machine of the same name is not Cluster API's, nobody may add machine.cluster.x-k8s.io to a Cluster API " +
				"Machine that is not paused. Where the twin cannot be looked up, the controller has to try again.",
			Remedy: "Delete one of the two Machines, or annotate the Cluster API Machine and its infrastructure machine with cluster.x-k8s.io/paused " +
				"to make them the mirror.",
			On: on(capi(machine, onUpdate)), Needs: when(Begins, policies.NeedLiveTwin), Check: CreatedTwice,
		},
		{
			ID: "authority/created-twice", Clause: authOf,
			Description: "Nobody may create the first Machine of a MachineSet while the other API has a MachineSet of the same name that was created at the same " +
				"moment (within five minutes) and acts, too: each would create as many Machines as were asked for. A set that has Machines goes on. " +
				"Where the other set cannot be looked up, the controller has to try again.",
			Remedy: "Delete one of the two MachineSets, or, where that of Cluster API has no Machines, annotate it with cluster.x-k8s.io/paused to make it the mirror.",
			On:     on(mapi(machine, onCreate), capi(machine, onCreate)), Needs: when(CreatesForSet, policies.NeedOwnerSet), Check: SetCreatedTwice,
		},
		{
			ID: "authority/status-owned", Clause: "converting › API Extensions",
			Description: "status.authoritativeAPI, status.synchronizedAPI, status.synchronizedGeneration and the condition Synchronized are Poundlock's " +
				"alone; an empty authoritativeAPI may become the stored spec's, and an absent synchronizedGeneration 0 with it for ClusterAPI. " +
				"Nobody but Poundlock and the Machine API's controllers may add or change the conditions AuthoritySettled and Paused: " +
				"a move goes on once Paused is True. The Machine API's controllers leave it True until Machine API is " +
				"authoritative, and do not turn it to True after that.",
			Remedy: "Read the object again, and write other parts of status with a patch, not a replacement of the whole.",
			On:     on(sub("status", mapi(withControlPlane(kinds), onUpdate))), Check: StatusOwned,
		},
		{
			ID: "authority/paused-owned", Clause: "converting › Pausing of Cluster API controllers",
			Description: "The annotation cluster.x-k8s.io/paused of an object that has a twin is Poundlock's alone. " +
				"The creator of an object beside a twin for which Machine API is authoritative may pause it, so that it becomes the mirror.",
			Remedy: "To unpause the object, migrate it to its own API: Poundlock pauses the objects of the API that is not authoritative.",
			On:     on(capi(kinds, onUpdate), infra(pausedInfra, onUpdate)), Needs: when(pauseMatters, policies.NeedTwin), Check: PausedOwned,
		},
		{
			ID: "authority/check-paused", Clause: "converting › MachineHealthCheck Synchronisation",
			Description: "The annotation cluster.x-k8s.io/paused of a Machine API MachineHealthCheck that is not authoritative stays as Poundlock has " +
				"written it: the controller that OpenShift ships does not read " +
				"authoritativeAPI, and obeys this annotation alone.",
			Remedy: "Migrate the MachineHealthCheck to Machine API: its controller is unpaused then.",
			On:     on(mapi([]string{"MachineHealthCheck"}, onUpdate)), Check: CheckPaused,
		},
		{
			ID: "authority/create-machineapi", Clause: admission,
			Description: "A Machine API object may be created beside its Cluster API twin only with spec.authoritativeAPI: " +
				"ClusterAPI, while that is not being deleted, and a MachineSet only with the twin's selector, but for the label of the cluster. " +
				"Beside its own paused mirror, as in a restore, it may be created for Machine API, a Machine with the mirror's spec.providerID. What the provider " +
				"keeps for the instance (an OpenStackServer, a VSphereVM) must be paused, too, and name that instance or none.",
			Remedy: "Set spec.authoritativeAPI: ClusterAPI and the selector that the message has, create it, wait until it is synchronized, then move it.",
			On:     on(mapi(kinds, onCreate)), Needs: besideTwin, Check: CreateMachineAPI,
		},
		{
			ID: "authority/create-machineapi", Clause: authOf,
			Description: "A Machine API Machine may not be created under the name of what the provider keeps for an instance (a VSphereVM, an " +
				"OpenStackServer) while that object is not paused. The provider's controller may find the Machine's instance by the name, and " +
				"terminates the instance that it finds when the object is deleted.",
			Remedy: "Delete that object first, wait until it is gone, or create the Machine under another name.",
			On:     on(mapi(machine, onCreate)), Needs: when(namesAnew, policies.NeedLiveTwin|policies.NeedNamesake), Check: BesideKept,
		},
		{
			ID: "authority/create-for-set", Clause: authOf,
			Description: "The Machine API's controllers may not create a Machine for a MachineSet for which Cluster API is authoritative, nor while " +
				"authority moves, once they have acknowledged their pause: with their feature gate off they do not look at authoritativeAPI.",
			Remedy: "Turn the feature gate MachineAPIMigration on for the Machine API's controllers, or migrate the MachineSet to Machine API.",
			On:     on(mapi(machine, onCreate)), Needs: when(createsForSet, policies.NeedOwners), Check: CreateForSet,
		},
		{
			ID: "authority/create-clusterapi", Clause: authOf,
			Description: "Beside its Machine API twin, a Cluster API object may be created only with the pause annotation. " +
				"Where Cluster API is authoritative, it may be created only after the twin's controllers have acknowledged their pause.",
			Remedy: "Create it with the annotation cluster.x-k8s.io/paused, or under another name.",
			On:     on(capi(kinds, onCreate)), Needs: always(policies.NeedLiveTwin), Check: CreateClusterAPI,
		},
		{
			ID: "authority/uninitialised", Clause: authOf,
			Description: "While status.authoritativeAPI is empty, spec.authoritativeAPI may not be changed; all else may.",
			Remedy:      "Try again in a moment.",
			On:          on(mapi(kinds, onUpdate)), Check: Uninitialised,
		},
		{
			ID: "authority/request-blocked", Clause: workflow,
			Description: "A request for a move is refused only where it can never be fulfilled: the object, its twin, the infrastructure machine or what the " +
				"provider keeps for the instance (a VSphereVM, an OpenStackServer) is being deleted, the object is the release's MachineHealthCheck " +
				"machine-api-termination-handler, which the cluster-version-operator keeps as it is, or a MachineSet is annotated " +
				"metal3.io/autoscale-to-hosts, by which a controller of Machine API decides its replicas whichever API is authoritative.",
			Remedy: "Wait until the deletion is over; leave the release's MachineHealthCheck with Machine API; remove the annotation.",
			On:     on(mapi(kinds, onUpdate)), Needs: when(moves, policies.NeedLiveTwin|policies.NeedInfra), Check: RequestBlocked,
		},
		{
			ID: "authority/request-warning", Clause: workflow,
			Description: "A request for a move is stored, and warns: of each field that does not convert, of taints, which Cluster API takes only with its " +
				"feature gate MachineTaintPropagation on, of a Synchronized condition that is not True, of what the move will wait for, Machines that only one " +
				"of two MachineSets counts and a namespace that is being deleted included, of a Cluster that is paused, of a drain and preDrain hooks that " +
				"Cluster API leaves out where it finds no Machine of the control plane, of MachineSets that would adopt the Machine, or MachineDeployments the " +
				"MachineSet, of the machines that it concerns, of a role that becomes a Node's label, of a Secret of boot data, " +
				"on Azure an identity that is named, on OpenStack a server group, " +
				"or on vSphere a host name and the cluster's tag, that new ones would lack, and of who else writes to the object and will be refused: " +
				"the machine-config-operator its boot images, Hive, the managed-upgrade-operator, GitOps; and of a MachineHealthCheck whose " +
				"spec.remediationTemplate does not exist in the namespace of Cluster API. A request that is taken back warns that it is cancelled, and the " +
				"decision that no instance exists of what follows from it.",
			Remedy: "Repair the fields that are named, edit or delete the Machines that are named, or set spec.authoritativeAPI back.",
			On:     on(mapi(kinds, onUpdate)),
			Needs: func(c policies.Change) policies.Need {
				return when(moves, policies.NeedLiveTwin|policies.NeedInfra|policies.NeedConversion|policies.NeedUncounted|policies.NeedHolders|
					policies.NeedSets|policies.NeedSurroundings|policies.NeedRemediation)(c) | when(movesToUndrained, policies.NeedUndrained)(c)
			},
			Check: RequestWarning,
		},
		{
			ID: "authority/unconvertible", Clause: "converting › A feature implemented in Machine API is not present in Cluster API",
			Description: "A change of the authoritative object, or of the provider's object behind it, warns of each field that the other API cannot " +
				"express: it is stored, and a later move will not start. While Cluster API is authoritative for a MachineSet, and the field is one of its template, the " +
				"set's new Machines get no Machine API object either. A change of labels and annotations alone warns of those. " +
				"So does the creation of a template that an authoritative " +
				"MachineSet of Cluster API refers to, as when somebody replaces it under its name. So does the creation of a Machine API object for Cluster " +
				"API, which can make nothing of it. Taints are named too, unless the twin has some: Cluster API refuses them with its feature gate " +
				"MachineTaintPropagation off, as it is by default.",
			Remedy: "Repair the fields that are named before moving, docs/fields lists them all; turn the gate on for taints.",
			On:     on(mapi(kinds, onWrite), capi(kinds, onWrite), infra(infraKinds, onUpdate), infra([]string{InfraMachineTemplate}, onCreate)),
			Needs:  when(contentMatters, policies.NeedTwin|policies.NeedConversion), Check: Unconvertible,
		},
		{
			ID: "authority/set-adopts", Clause: authOf,
			Description: "The creation of a Machine API Machine without an owner warns if the selector of a MachineSet matches it for which the other API " +
				"is authoritative. The set may not adopt it while that is so. Once the Machine has moved there, the set adopts it, and may delete it. If the set's " +
				"mirror owns the Cluster API Machine already, Poundlock makes the set the owner at once.",
			Remedy: "Give the Machine other labels, or the authority of the MachineSet.",
			On:     on(mapi(machine, onCreate)), Needs: when(comesUnowned, policies.NeedSets|policies.NeedTwin), Check: SetAdopts,
		},
		{
			ID: "authority/selectors-overlap", Clause: authOf,
			Description: "The creation of a MachineSet, or a change of its selector or of its template's labels, warns if it and another MachineSet of its API " +
				"select new Machines of one another, and if it adopts Machines that no MachineSet owns. A set that adopts Machines deletes those beyond its " +
				"replicas, with their instances.",
			Remedy: "Give each MachineSet a label of its own in spec.selector and spec.template.metadata.labels.",
			On:     on(mapi(machineSet, onWrite), capi(machineSet, onWrite)),
			Needs:  when(selectsMachinesAnew, policies.NeedSiblings), Check: SelectorsOverlap,
		},
		{
			ID: "authority/relabelled", Clause: authOf,
			Description: "A change of a Machine's labels, in the API that is authoritative for it, warns if the MachineSet that owns the Machine no longer " +
				"selects it, and if another set selects it while no set owns it. A set creates a Machine in the place of one that it does not select, and " +
				"deletes those that it selects beyond its replicas.",
			Remedy: "Keep the labels of spec.selector. To replace a Machine, delete it.",
			On:     on(mapi(machine, onUpdate), capi(machine, onUpdate)),
			Needs:  when(relabels, policies.NeedSiblings), Check: Relabelled,
		},
		{
			ID: "authority/selectors-overlap", Clause: deletion,
			Description: "The deletion of a MachineSet with --cascade=orphan is refused if another MachineSet, on which its API acts, selects Machines that are left " +
				"without a set, and has fewer replicas than Machines then: it would adopt them, and delete its surplus with the instances, although the deletion " +
				"asks to keep them. Where it has room for them, a warning names it.",
			Remedy: "First delete the other MachineSet if nobody needs it, or remove from the Machines a label that only its selector has. " +
				"To delete the Machines too, leave out --cascade=orphan.",
			On:    on(mapi(machineSet, onDelete), capi(machineSet, onDelete)),
			Needs: when(leavesOrphans, policies.NeedTwin|policies.NeedSiblings), Check: OrphansAdopted,
		},
		{
			ID: "authority/deployment-adopts", Clause: authOf,
			Description: "Poundlock warns if the selector of a MachineDeployment matches a mirrored MachineSet that no MachineDeployment owns, whichever of " +
				"the two comes last. The MachineDeployment adopts the set as soon as Cluster API is authoritative for it, and may replace its Machines by those " +
				"of its own template; if the set lacks the label machine-template-hash, Cluster API may fail on the MachineDeployment instead, and replace " +
				"nothing. While it owns the set, the set cannot move to Machine API.",
			Remedy: "Narrow spec.selector of the MachineDeployment, or change the labels of the MachineSet first.",
			On:     on(capi([]string{MachineDeployment}, onWrite), mapi([]string{"MachineSet"}, onWrite), capi([]string{"MachineSet"}, onUpdate)),
			Needs:  when(selectsAnew, policies.NeedSets), Check: DeploymentAdopts,
		},
		{
			ID: "authority/deployment-deletes", Clause: deletion,
			Description: "The deletion of a MachineDeployment warns, and names the MachineSets that are deleted with it and for which Cluster API is " +
				"authoritative, or was until a move that has not ended. Cluster API's controller deletes each MachineSet that the " +
				"MachineDeployment owns, with --cascade=orphan too. The deletion also cancels such a move.",
			Remedy: "To keep their Machines, pause the MachineDeployment instead.",
			On:     on(capi([]string{MachineDeployment}, onDelete)),
			Needs:  always(policies.NeedSets), Check: DeploymentDeletes,
		},
		{
			ID: "authority/delete-detached", Clause: deletion,
			Description: "The deletion of a Machine API MachineSet, a MachineHealthCheck or an unowned Machine for which Cluster API is authoritative " +
				"warns: what Cluster API runs stays. A deletion in the foreground also deletes the set's Machine API Machines at once, and " +
				"terminates the instances of those that Machine API runs.",
			Remedy: "To delete its machines too, delete the Cluster API object.",
			On:     on(mapi(kinds, onDelete)), Needs: foregroundNeeds, Check: DeleteDetached,
		},
		{
			ID: "authority/delete-recreated", Clause: table,
			Description: "Deleting a Cluster API MachineSet, a MachineHealthCheck or an unowned Machine for which Machine API is authoritative warns: " +
				"Poundlock recreates it. In the foreground the garbage collector deletes the set's Machines at once, with the instances of those that Cluster " +
				"API runs. If authority is moving to Cluster API and the move ends first, the Machines are deleted with their instances. " +
				"If Poundlock did not create the object and Cluster API acts on it, the warning names what is deleted with it.",
			Remedy: "Delete the Machine API object.",
			On:     on(capi(kinds, onDelete)), Needs: foregroundNeeds, Check: DeleteRecreated,
		},
		{
			ID: "authority/delete-orphans", Clause: deletion,
			Description: "Deleting a Cluster API MachineSet for which Cluster API is authoritative with --cascade=orphan warns: " +
				"its controller may delete its Machines before the garbage collector orphans them.",
			Remedy: "Migrate the set to Machine API first, and delete that set with --cascade=orphan.",
			On:     on(capi(machineSet, onDelete)), Needs: always(policies.NeedTwin), Check: DeleteOrphans,
		},
		{
			ID: "authority/delete-unknown-instance", Clause: deletion,
			Description: "A Cluster API Machine with Poundlock's hook " + InstanceHookAnnotation +
				", whose provider does not know the instance yet, may not be deleted in the foreground: the garbage collector would delete the provider's " +
				"machine past the hook, and leave the instance behind. What the garbage collector and the namespace controller delete is not held up.",
			Remedy: "Delete it in the background, which waits for the hook, or try again when Poundlock has removed the hook.",
			On:     on(capi(machine, onDelete)), Needs: when(unknownInForeground, policies.NeedTwin), Check: DeleteUnknownInstance,
		},
		{
			ID: "authority/delete-unknown-instance", Clause: deletion,
			Description: "A Cluster API MachineSet or a MachineDeployment may not be deleted in the foreground while a provider does not know the instance " +
				"of one of its Machines: the garbage collector would leave the instance behind.",
			Remedy: "Delete it in the background, or try again when Poundlock has removed the hook from the Machine that is named.",
			On:     on(capi(machineSet, onDelete), capi([]string{MachineDeployment}, onDelete)),
			Needs:  when(inForeground, policies.NeedUnknownInstances), Check: DeleteSetOfUnknownInstance,
		},
		{
			ID: "authority/delete-unknown-instance", Clause: deletion,
			Description: "While Cluster API is authoritative for a Machine whose instance the provider does not know yet (it has Poundlock's hook " +
				InstanceHookAnnotation + "), only controllers may delete its provider's machine: the instance would be left behind.",
			Remedy: "Delete the Cluster API Machine, whose deletion waits for the hook. Or try again when Poundlock has removed the hook.",
			On:     on(infra([]string{InfraMachine}, onDelete)), Needs: always(policies.NeedTwin | policies.NeedOwners), Check: DeleteInfraOfUnknownInstance,
		},
		{
			ID: "authority/delete-unknown-instance", Clause: deletion,
			Description: "While the provider does not know the instance of a Cluster API Machine (it has Poundlock's hook " + InstanceHookAnnotation +
				"), nobody may delete its namespace or the CRD of the provider's machines, or its Cluster in the foreground, even if their " +
				"deletion is allowed: what is deleted with them does not wait for the hook.",
			Remedy: "Try again when Poundlock has removed the hook from the Machine that is named.",
			On: on(policies.Scope{Side: policies.Surroundings, Kinds: []string{Namespace, Definition, Cluster},
				Operations: []admissionv1.Operation{admissionv1.Delete}}),
			Needs: when(endsAtOnce, policies.NeedUnknownInstances), Check: DeleteSurroundingsOfUnknownInstance,
		},
		{
			ID: "authority/delete-hooked", Clause: "converting › Machine lifecycle hooks",
			Description: "A mirrored Cluster API Machine that Machine API does not run may not be deleted in the foreground while it has a preDrain or " +
				"preTerminate hook, such as etcd's on a control plane Machine: the garbage collector would delete the provider's machine past the hook. " +
				"Without a hook, a warning names the Node that is not drained. What the garbage collector and the namespace controller delete is not held up.",
			Remedy: "Delete it in the background, which waits for hooks and drains the Node.",
			On:     on(capi(machine, onDelete)), Needs: when(inForeground, policies.NeedTwin|policies.NeedUndrained), Check: DeleteHooked,
		},
		{
			ID: "authority/delete-hooked", Clause: "converting › Machine lifecycle hooks",
			Description: "A Cluster API MachineSet or a MachineDeployment may not be deleted in the foreground while one of its Machines has a preDrain or " +
				"preTerminate hook: the garbage collector would delete the provider's machine without waiting for the hook. Without a hook, a " +
				"warning names a Machine whose Node is not drained.",
			Remedy: "Delete it in the background, which waits for hooks and drains Nodes.",
			On:     on(capi(machineSet, onDelete), capi([]string{MachineDeployment}, onDelete)),
			Needs:  when(inForeground, policies.NeedUnknownInstances|policies.NeedUndrained), Check: DeleteSetOfHooked,
		},
		{
			ID: "authority/delete-hooked", Clause: "converting › Machine lifecycle hooks",
			Description: "While Cluster API is authoritative for a Machine that has a preDrain or preTerminate hook, only controllers may delete its " +
				"provider's machine, or what the provider keeps for its instance. The provider would terminate the instance without waiting for " +
				"the hook, and before the Node is drained. A Machine that is being deleted, and for whose infrastructure Cluster API waits " +
				"already, has no hook left to wait for, so its provider's machine may be deleted.",
			Remedy: "Delete the Cluster API Machine, which waits for hooks, drains the Node, and deletes the provider's machine last.",
			On:     on(infra([]string{InfraMachine, InfraInstance}, onDelete)), Needs: always(policies.NeedTwin | policies.NeedOwners), Check: DeleteInfraOfHooked,
		},
		{
			ID: "authority/delete-propagates", Clause: deletion,
			Description: "The deletion of an owned Machine in the API that is not authoritative warns: the authoritative Machine and its instance are " +
				"deleted, too. While a Machine is moving, its deletion in the API that it leaves warns, too: the move is cancelled, and the " +
				"instance is terminated.",
			Remedy: "None is needed where the machine is to go.",
			On:     on(mapi(machine, onDelete), capi(machine, onDelete)), Needs: always(policies.NeedTwin), Check: DeletePropagates,
		},
		{
			ID: "authority/delete-paused", Clause: "converting › Pausing of Cluster API controllers",
			Description: "Deleting a paused Cluster API Machine or MachineSet that has no Machine API object warns: Cluster API leaves what is paused alone, so " +
				"that the deletion does not end while the annotation cluster.x-k8s.io/paused is there.",
			Remedy: "To have Cluster API terminate the instance, type the commands of the warning in their order: the provider's finalizer comes first. To keep it, " +
				"create the Machine API object again first.",
			On:    on(capi([]string{"Machine", "MachineSet"}, onDelete)),
			Needs: when(deletesPaused, policies.NeedTwin), Check: DeletePaused,
		},
		{
			ID: "authority/delete-undrained", Clause: "converting › Machine lifecycle hooks",
			Description: "The deletion of a Machine or MachineSet for which Cluster API is authoritative warns while Cluster API finds no Machine of the " +
				"control plane. Cluster API's controller then neither waits for a preDrain hook nor drains the Node. It does wait for " +
				"preTerminate hooks.",
			Remedy: "Drain the Node before the Machine is deleted. Or have Poundlock mirror the Machines of the control plane, which need not migrate.",
			On:     on(mapi(machine, onDelete), capi([]string{"Machine", "MachineSet"}, onDelete)),
			Needs:  when(deletesUndrained, policies.NeedTwin|policies.NeedUndrained), Check: DeleteUndrained,
		},
		{
			ID: "authority/delete-undrained", Clause: "converting › Machine lifecycle hooks",
			Description: "A person who reduces spec.replicas of a MachineSet for which Cluster API is authoritative is warned while Cluster API finds no " +
				"Machine of the control plane: its controller then neither waits for preDrain hooks nor drains Nodes.",
			Remedy: "Drain the Node of a Machine, annotate the Machine with cluster.x-k8s.io/delete-machine, and then scale the set.",
			On:     on(capi(machineSet, onUpdate), sub("scale", capi(machineSet, onUpdate))),
			Needs:  when(shrinks, policies.NeedTwin|policies.NeedUndrained), Check: ShrinkUndrained,
		},
		{
			ID: "authority/delete-infrastructure", Clause: deletion,
			Description: "While Cluster API is authoritative for a Machine, the deletion of its provider's machine, or of what the provider keeps for its " +
				"instance, warns: the object's controller terminates the instance, and the Machine stays without one. If Poundlock's hook on the " +
				"Machine shows that the provider has not found the instance yet, the warning is that the instance keeps running. The deletion of " +
				"a template warns that its MachineSet creates no Machine without it. Poundlock recreates the template that it made for a " +
				"ControlPlaneMachineSet, and the warning says so.",
			Remedy: "Delete the Cluster API Machine, whose infrastructure machine is deleted with it; have a set refer to another template first. To change " +
				"new Machines of the control plane, change the ControlPlaneMachineSet.",
			On: on(infra(pausedInfra, onDelete)), Needs: always(policies.NeedTwin | policies.NeedOwners), Check: DeleteInfrastructure,
		},
		{
			ID: "authority/template-authority", Clause: "converting › Creation of new Machines",
			Description: "spec.template.spec.authoritativeAPI may differ from the set's; a warning names the API of new Machines.",
			Remedy:      "None is needed where that is meant.",
			On:          on(mapi(machineSet, onWrite)), Check: TemplateAuthority,
		},
		{
			ID: "authority/new-machines", Clause: "converting › Creation of new Machines",
			Description: "If the new Machines of a MachineSet become Cluster API's without a move of the set, because of its creation or of " +
				"spec.template.spec.authoritativeAPI, warnings name what Machine API does for new Machines and Cluster API does not: boot data " +
				"that OpenShift does not copy, a role that becomes a label of Nodes, an OpenStack server group, a subnet on AWS, host name and " +
				"tag on vSphere. The creation of a Machine for Cluster API warns of its role. A request to move has the same warnings " +
				"(authority/request-warning).",
			Remedy: "Do what the warning names before the set creates a Machine.",
			On:     on(mapi(machineSet, onWrite), mapi([]string{"Machine"}, onCreate)),
			Needs:  when(begins, policies.NeedTwin), Check: NewMachines,
		},
		{
			ID: "authority/surroundings", Clause: "DESIGN §3.3 › Deletion of the surroundings",
			Description: "The namespaces, CRDs, the Cluster and the infrastructure cluster in which mirrors live may not be deleted while they carry " +
				"poundlock.openshift.io/holds-mirrors, which nobody but Poundlock removes.",
			Remedy: "Migrate everything to the API that stays, then stop Poundlock and run kubectl poundlock cleanup. Or annotate the object with " +
				"poundlock.openshift.io/allow-deletion=true, then delete it.",
			On: on(policies.Scope{Side: policies.Surroundings, Kinds: []string{Namespace, Definition, Cluster, InfraCluster},
				Operations: []admissionv1.Operation{admissionv1.Update, admissionv1.Delete}}), Check: SurroundingsKept,
		},
		{
			ID: "authority/moves-end", Clause: "DESIGN §3.3 › Deletion of the surroundings",
			Description: "While a Machine is asked to move to the API that stays, a namespace, a CRD or the Cluster may not be deleted, even if an " +
				"annotation allows its deletion: the deletion would end the move, and the instance with it. The value " + AllowsControlPlane +
				" allows it, with a warning.",
			Remedy: "Wait until the Machines have moved, or cancel their moves.",
			On:     on(policies.Scope{Side: policies.Surroundings, Kinds: []string{Namespace, Definition, Cluster}, Operations: onDelete}),
			Needs:  when(asksForControlPlane, policies.NeedEnding), Check: MovesEnd,
		},
		{
			ID: "authority/control-plane-ends", Clause: "DESIGN §3.3 › Deletion of the surroundings",
			Description: "Deleting a namespace, a CRD or the Cluster with which Machines of the control plane are deleted warns and names them: " +
				"with the Cluster, they do not wait for etcd's hook. If a majority of them would not stay, the deletion is refused, also where " +
				"poundlock.openshift.io/allow-deletion is true. A Machine that is Failed and whose condition InstanceExists is False does not count as one that " +
				"stays: its instance is gone, and its etcd member, which etcd still counts, has no vote.",
			Remedy: "Migrate the control plane's Machines to the API that stays, and replace one that is Failed. Or annotate the object with " +
				"poundlock.openshift.io/allow-deletion=" + AllowsControlPlane + ", which ends the control plane.",
			On:    on(policies.Scope{Side: policies.Surroundings, Kinds: []string{Namespace, Definition, Cluster}, Operations: onDelete}),
			Needs: when(asksForControlPlane, policies.NeedEnding), Check: ControlPlaneEnds,
		},
		{
			ID: "authority/control-plane-last", Clause: "converting › Machine lifecycle hooks",
			Description: "A control plane Machine for which Cluster API is authoritative may not be deleted while every other one is being deleted. " +
				"Cluster API's controller would then neither wait for preDrain hooks, among them etcd's, nor drain Nodes. The deletion of Cluster " +
				"API's last mirror of a control plane Machine warns: until Poundlock has recreated it, no deletion in Cluster API waits for " +
				"preDrain hooks.",
			Remedy: "Wait until the others are replaced. To end the control plane, annotate the Machine with " +
				"poundlock.openshift.io/allow-deletion=" + AllowsControlPlane + ".",
			On:    on(mapi(machine, onDelete), capi(machine, onDelete)),
			Needs: when(mayEndMaster, policies.NeedTwin|policies.NeedEnding), Check: ControlPlaneLast,
		},
		{
			ID: "authority/hooks-skipped", Clause: "converting › Machine lifecycle hooks",
			Description: "Cluster API's controller may not delete the provider's machine of a control plane Machine while a preDrain hook holds the " +
				"Machine. The controller skips preDrain hooks, etcd's included, while every control plane Machine is being deleted, as after " +
				"several deletions at the same moment, or while Poundlock is away.",
			Remedy: "None is needed: the hooks go once the Machines are replaced. To end the control plane, annotate one of its Machines with " +
				"poundlock.openshift.io/allow-deletion=" + AllowsControlPlane + ".",
			On:    on(infra([]string{InfraMachine}, onDelete)),
			Needs: when(endsWithMachine, policies.NeedTwin|policies.NeedMasters), Check: HooksSkipped,
		},
		{
			ID: "authority/control-plane-label", Clause: "converting › Machine lifecycle hooks",
			Description: "Nobody may remove the label cluster.x-k8s.io/control-plane from a Machine for which Cluster API is authoritative while another label " +
				"says that it is of the control plane. Cluster API counts by it: while no Machine has it, no deletion waits for preDrain hooks, etcd's included, " +
				"or drains a Node.",
			Remedy: "Keep the label, or remove the labels of role and type in the same request.",
			On:     on(capi(machine, onUpdate)), Needs: when(losesControlPlaneLabel, policies.NeedTwin), Check: ControlPlaneLabel,
		},
		{
			ID: "authority/etcd-hook", Clause: "converting › Machine lifecycle hooks",
			Description: "A person who removes etcd's hook, EtcdQuorumOperator, from a Machine that is being deleted is warned, on the side of the API that is " +
				"authoritative: its instance is terminated, even if the etcd member on it has not left. The etcd operator is not warned.",
			Remedy: "Leave the hook to the etcd operator, which removes it once a replacement votes. Otherwise remove the member from etcd, too.",
			On:     on(mapi(machine, onUpdate), capi(machine, onUpdate)),
			Needs:  etcdHookNeeds, Check: EtcdHookRemoved,
		},
		{
			ID: "authority/machine-finalizer", Clause: deletion,
			Description: "A person who removes the finalizer by which a controller terminates the instance (machine.machine.openshift.io, " +
				"machine.cluster.x-k8s.io, or the provider's on its machine and on what it keeps for the instance) from an object that is being " +
				"deleted is warned, on the side of the API that is authoritative: without the finalizer nobody terminates the instance. If " +
				"another Machine has the instance, too, the warning says so, and that nothing is to be terminated. Controllers are not warned, " +
				"and nobody is warned if the instance is known to be gone. vSphere's controllers have no account of their own, so a warning is " +
				"given there only to a request that names its field manager, as kubectl's requests do.",
			Remedy: "Leave the finalizer, and look at why the controller does not finish. Otherwise terminate the instance in the cloud yourself.",
			On:     on(mapi(machine, onUpdate), capi(machine, onUpdate), infra([]string{InfraMachine, InfraInstance}, onUpdate)),
			Needs:  machineFinalizerNeeds, Check: MachineFinalizerRemoved,
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
