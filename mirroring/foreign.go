// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// inTheWay returns a sentence about the object that has the place of the mirror and that Poundlock may not write to, with the remedy; "" if there is none.
func (s steps) inTheWay() string {
	if s.Source() == authority.MachineAPI {
		if why := s.foreign(s.Core); why != "" {
			return why
		}
	}
	if s.Kind.Infra != authority.InfraMachine {
		return "" // nobody else's template has this name: a template is named after its content
	}
	if s.Infra == nil && s.Referrer != "" {
		return fmt.Sprintf("Machine %s of Cluster API refers to %s %s, which does not exist, but whose name the mirror needs. If Poundlock created the "+
			"mirror, Machine %[1]s would refer to the mirror, and the deletion of Machine %[1]s would not end. Delete Machine %[1]s, or correct its "+
			"spec.infrastructureRef: Poundlock then creates the mirror. Or %[4]s",
			s.Referrer, s.InfraKind().Kind, s.InfraName(), s.renamed())
	}
	if why := s.foreign(s.Infra); why != "" {
		return why
	}
	return s.foreignKept()
}

// foreignKept returns why an object does not become the mirror's although it has the name of the object that the provider keeps for the Machine's instance:
// somebody else made the object, and its spec is not that of the Machine. It returns "" if there is no such object.
func (s steps) foreignKept() string {
	o := s.InfraInstance
	if s.Source() != authority.MachineAPI || !authority.ForeignKept(pairs.ObjectOf(o), pairs.ObjectOf(s.MachineAPI)) {
		return ""
	}
	why := fmt.Sprintf("%s, which has the name of the object that the provider keeps for this Machine's instance, belongs to no machine of the provider",
		pairs.Describe(o))
	id := authority.KeptInstance(pairs.ObjectOf(o))
	switch {
	case pairs.PresenceOf(o) == authority.Deleting:
		return why + ", and is being deleted: Poundlock creates the mirror once that object is gone"
	case id != "" && !pairs.IsPaused(o):
		return fmt.Sprintf("%s, and has an instance of its own, %s: delete that object with its instance: %s", why, id, command(o, "delete", "--wait=false"))
	case id != "":
		why = fmt.Sprintf("%s, and names another instance, %s, which keeps running", why, id)
	}
	return fmt.Sprintf("%s. Delete that object, and Poundlock creates the mirror. The deletion terminates nothing, because the object is paused: %s",
		why, command(o, "delete", "--wait=false"))
}

// pauseKept returns the write that pauses the object of foreignKept if that object names no instance. The object's controller may find this Machine's instance
// by the name, and would terminate that instance when the object is deleted.
func (s steps) pauseKept() *pairs.Write {
	o := s.InfraInstance
	if s.foreignKept() == "" || pairs.IsPaused(o) || authority.KeptInstance(pairs.ObjectOf(o)) != "" {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: o, Reason: authority.ReasonForeignTwin,
		Note:  "paused " + pairs.Describe(o) + ", whose controller could act on the instance of " + pairs.Describe(s.MachineAPI),
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.PausedAnnotation: "true"}})}
}

// standOff returns the write that adds BesideForeignAnnotation to a Machine API object beside a foreign object (one that is not its mirror). It does so in two
// cases. A Machine has the annotation until it has begun, so that it does not begin even while no replica of Poundlock answers (cel.BeginsBesideForeign). A
// MachineSet has it if it was created at the same moment as one of Cluster API, so that at most one of the two sets begins (cel.ForSetPolicies).
func (s steps) standOff() *pairs.Write {
	if s.Source() != authority.MachineAPI || pairs.PresenceOf(s.MachineAPI) != authority.Present {
		return nil
	}
	switch {
	case s.Kind.Name == "Machine" && !slices.Contains(s.MachineAPI.GetFinalizers(), authority.MachineAPIMachineFinalizer):
	case s.Kind.Name == "MachineSet" && s.oneSetWaits():
	default:
		return s.standOffNoMore()
	}
	if _, has := s.MachineAPI.GetAnnotations()[authority.BesideForeignAnnotation]; has {
		return nil
	}
	return s.besideForeign("")
}

// oneSetWaits reports whether admission prevents one MachineSet of the pair from creating its first Machine, because both sets were created at the same moment.
func (s steps) oneSetWaits() bool {
	machineAPI, clusterAPI := pairs.ObjectOf(s.MachineAPI), pairs.ObjectOf(s.Core)
	return authority.SetsCreatedTwice(machineAPI, clusterAPI) && !(authority.HasMachines(machineAPI) && authority.HasMachines(clusterAPI))
}

// setActs returns why Poundlock does not touch a Cluster API MachineSet that acts on its own, and the ways out. If a user paused this set while it has
// Machines, the set would become the mirror, and its Machines would have no Machine API object.
func (s steps) setActs() string {
	both := "Both sets may stay as they are: each API then creates its own Machines, and neither set can migrate"
	if s.oneSetWaits() {
		both = "Both sets were created at the same moment. To avoid a second Machine for each replica, a set without Machines creates none " +
			"(authority/created-twice)"
	}
	pause := ""
	if authority.HasMachines(pairs.ObjectOf(s.Core)) {
		pause = ". Do not pause Cluster API's set: its Machines would have no Machine API object, and the set could not migrate"
	}
	return fmt.Sprintf("%s, which has the mirror's name but is not the mirror, is not paused, so Cluster API acts on it. %s. %s%s",
		pairs.Describe(s.Core), both, authority.KeepOneSet(pairs.ObjectOf(s.MachineAPI), pairs.ObjectOf(s.Core)), pause)
}

// standOffNoMore returns the write that removes the annotation that standOff adds.
func (s steps) standOffNoMore() *pairs.Write {
	if _, has := s.MachineAPI.GetAnnotations()[authority.BesideForeignAnnotation]; !has {
		return nil
	}
	return s.besideForeign(nil)
}

func (s steps) besideForeign(value any) *pairs.Write {
	return &pairs.Write{Verb: pairs.Patch, Object: s.MachineAPI, Reason: authority.ReasonForeignTwin,
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.BesideForeignAnnotation: value}})}
}

// runsAnother returns why Poundlock does not touch the infrastructure machine of another Machine, and the ways out. The first way out terminates nothing.
// Deleting only that infrastructure machine would terminate the instance of the other Machine, which still refers to it.
func (s steps) runsAnother(owner string) string {
	its := ""
	if id := pairs.Nested(s.Infra, "spec", "providerID"); id != "" {
		its = " and has the instance " + id
	}
	return fmt.Sprintf("%s, which has the mirror's name but is not the mirror, belongs to Machine %s of Cluster API%s. Do not delete only the "+
		"infrastructure machine: this would terminate the instance of Machine %[2]s. Both Machines may stay as they are: each API then acts on its own "+
		"object, and this Machine cannot migrate. To migrate this Machine, %[4]s. Or delete Machine %[2]s with its instance",
		pairs.Describe(s.Infra), owner, its, s.renamed())
}

// refersToAnothers returns why Poundlock does not mirror an authoritative Cluster API Machine that refers to another Machine's infrastructure machine. Deleting
// this Machine is no way out, because Cluster API deletes the infrastructure machine that a Machine refers to, even if that belongs to another Machine.
func (s steps) refersToAnothers(owner string) string {
	return fmt.Sprintf("%s, to which Machine %s of Cluster API refers, belongs to Machine %s and has the instance %s. Do not delete Machine %[2]s: Cluster "+
		"API would also delete that infrastructure machine, and the instance of Machine %[3]s. Delete Machine %[3]s with its instance, or leave both "+
		"Machines as they are: then Machine %[2]s cannot migrate",
		pairs.Describe(s.Infra), s.Name, owner, pairs.Nested(s.Infra, "spec", "providerID"))
}

// renamed returns a sentence that explains how a user gives a Machine API Machine another name.
func (s steps) renamed() string {
	if id := pairs.Nested(s.MachineAPI, "spec", "providerID"); id != "" {
		return fmt.Sprintf("delete Machine %s of the Machine API with its instance %s, and create it under another name", s.Name, id)
	}
	return fmt.Sprintf("delete Machine %s of the Machine API, which has no instance in its spec.providerID, and create it under another name", s.Name)
}

// ownerOfInfra returns the name of the Machine that owns o, if o is an infrastructure machine that has the mirror's name and belongs to another Machine. It
// returns "" for any other object.
func (s steps) ownerOfInfra(o *unstructured.Unstructured) string {
	if o != s.Infra || s.Kind.Infra != authority.InfraMachine {
		return ""
	}
	owners := authority.MachineOwners(pairs.ObjectOf(o))
	if len(owners) == 0 || slices.Contains(owners, s.Name) {
		return ""
	}
	return owners[0]
}

func (s steps) foreign(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	if s.IsMirror(o) {
		return s.unnamed(o)
	}
	begun := s.Kind.Name != "Machine" || slices.Contains(s.MachineAPI.GetFinalizers(), s.Kind.MachineAPIFinalizer)
	free := "Delete the Cluster API object with its instance, or leave both objects as they are: each API then acts on its own object, and this object " +
		"cannot migrate"
	if !begun {
		free = "Machine API creates no second instance (authority/created-twice). Delete this Machine, or delete the Cluster API Machine with its instance"
	}
	foreign := authority.ForeignTo(s.Kind, pairs.ObjectOf(s.MachineAPI), pairs.ObjectOf(o))
	if s.Source() == authority.ClusterAPI && foreign != authority.NotForeign && foreign != authority.ForeignGoing { // it has no Machine yet
		if owners := authority.MachineOwners(pairs.ObjectOf(o)); len(owners) > 0 {
			return fmt.Sprintf("%s, which belongs to Machine %s, has the name that the mirror's infrastructure machine needs: delete this Machine of the Machine "+
				"API, and create it under another name", pairs.Describe(o), owners[0])
		}
		return pairs.Describe(o) + " belongs to no Machine, and has the name that the mirror's infrastructure machine needs: delete that object" +
			s.commands(o)
	}
	if owner := s.ownerOfInfra(o); owner != "" && foreign != authority.NotForeign && foreign != authority.ForeignGoing {
		return s.runsAnother(owner)
	}
	switch foreign {
	case authority.ForeignGoing:
		return pairs.Describe(o) + ", which has the mirror's name but is not the mirror, is being deleted: Poundlock creates the mirror once that object " +
			"is gone" + s.commands(o)
	case authority.ForeignInstance:
		return fmt.Sprintf("%s, which has the mirror's name but is not the mirror, has an instance of its own, %s. If Poundlock made that object the "+
			"mirror, no object would name that instance. %s%s",
			pairs.Describe(o), pairs.Nested(o, "spec", "providerID"), free, s.commands(o))
	case authority.ForeignActs:
		if s.Kind.Name == "MachineSet" && o == s.Core {
			return s.setActs()
		}
		if o == s.Infra && s.Core == nil && len(authority.MachineOwners(pairs.ObjectOf(o))) == 0 {
			return fmt.Sprintf("%s, which has the mirror's name but is not the mirror, belongs to no Machine. Annotate that object with %s, which makes it the "+
				"mirror and overwrites its spec. Or delete that object%s",
				pairs.Describe(o), authority.PausedAnnotation, s.commands(o))
		}
		if !begun && s.Core != nil && (s.Infra == nil || len(authority.MachineOwners(pairs.ObjectOf(s.Infra))) == 0) {
			return fmt.Sprintf("%s, which has this Machine's name, was also created, and is not paused. To avoid a second instance, neither API creates an "+
				"instance (authority/created-twice). Delete one of the two Machines, or annotate the Cluster API Machine and its infrastructure machine "+
				"with %s to make them the mirror",
				pairs.Describe(o), authority.PausedAnnotation)
		}
		return fmt.Sprintf("%s, which has the mirror's name but is not the mirror, is not paused, so Cluster API acts on it. %s. To make that object the "+
			"mirror, which overwrites its spec, annotate it with %s%s",
			pairs.Describe(o), free, authority.PausedAnnotation, s.commands(o))
	case authority.ForeignStopping:
		return pairs.Describe(o) + ", which has the mirror's name but is not the mirror, becomes the mirror as soon as its controllers acknowledge that it " +
			"is paused (condition Paused)"
	case authority.ForeignBegun:
		return fmt.Sprintf("%s, which has the mirror's name but is not the mirror, may have an instance whose ID its controllers have not stored. If "+
			"Poundlock made that object the mirror, no object would name that instance. Delete the Cluster API Machine with its instance%s",
			pairs.Describe(o), s.commands(o))
	case authority.NotForeign:
	}
	return ""
}

// commands returns the commands by which a user deletes the object in the way, in the order in which they must run. They are needed if a deletion is not
// enough, because the object's controllers delete nothing while it is paused. It returns "" if nothing is paused.
func (s steps) commands(o *unstructured.Unstructured) string {
	if s.hasOwnInstance(o) || o == s.Core && s.hasOwnInstance(s.stranger(s.Infra)) {
		return fmt.Sprintf(". Leave the Cluster API object paused: otherwise its controllers would terminate this Machine's instance. Instead, remove the "+
			"controllers' finalizers: %s",
			free(o))
	}
	core, infra := s.stranger(s.Core), (*unstructured.Unstructured)(nil)
	if s.Kind.Infra == authority.InfraMachine {
		infra = s.stranger(s.Infra)
	}
	if core == nil && infra != nil && len(authority.MachineOwners(pairs.ObjectOf(infra))) == 0 {
		return s.withoutProvider(infra)
	}
	if why := s.unknownToProvider(infra); why != "" {
		return why + strings.Join(append(append(let(core), let(infra)...), s.letInstance(infra)...), "; ")
	}
	infra, commands := keep(infra)
	instance, more := s.keepInstance(infra)
	commands = append(append(append(append(commands, more...), s.endCore(core)...), s.endInfra(core, infra)...), endKept(instance)...)
	if !pairs.IsPaused(core) && !pairs.IsPaused(infra) || len(commands) == 0 {
		return ""
	}
	return ". While that object is paused, its controllers delete nothing. To delete the object, run in this order: " + strings.Join(commands, "; ")
}

// hasOwnInstance reports whether an object has the ID of this Machine's instance, in any spelling of the ID.
func (s steps) hasOwnInstance(o *unstructured.Unstructured) bool {
	return o != nil && authority.SameInstance(pairs.ObjectOf(o), pairs.ObjectOf(s.MachineAPI))
}

// stranger returns o if Poundlock did not make it, else nil.
func (s steps) stranger(o *unstructured.Unstructured) *unstructured.Unstructured {
	if s.IsMirror(o) {
		return nil
	}
	return o
}

// endCore returns the commands that delete the Cluster API Machine, and unpause it if a finalizer keeps it. Admission lets a user remove the pause once the
// object is being deleted.
func (s steps) endCore(core *unstructured.Unstructured) []string {
	if core == nil {
		return nil
	}
	return append(end(core), unpause(core)...)
}

// endInfra returns the commands that delete the infrastructure machine. If its Machine owns it, the commands wait until Cluster API deletes the infrastructure
// machine, which happens after Cluster API has drained the Machine. Only then they unpause it, so that the provider's controller acts after the drain.
func (s steps) endInfra(core, infra *unstructured.Unstructured) []string {
	switch {
	case infra == nil:
		return nil
	case core == nil || !slices.ContainsFunc(infra.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == core.GetUID() }):
		return append(end(infra), unpause(infra)...)
	case len(unpause(infra)) == 0 || infra.GetDeletionTimestamp() != nil:
		return unpause(infra)
	}
	return append([]string{await(infra)}, unpause(infra)...)
}

// withoutProvider returns the way out if no Machine owns an infrastructure machine and its finalizers keep it. The provider does nothing for such a machine,
// and does not terminate its instance. But the controller of the object that the provider keeps for the instance terminates the instance, unless it is paused.
// It returns "" if a deletion is enough.
func (s steps) withoutProvider(infra *unstructured.Unstructured) string {
	id, kept := pairs.Nested(infra, "spec", "providerID"), s.keepsFor(infra)
	acts := kept && !pairs.IsPaused(s.InfraInstance)
	if len(infra.GetFinalizers()) == 0 && (id == "" || acts) {
		return ""
	}
	commands := let(infra)
	if kept && !acts {
		commands = append(commands, s.letInstance(infra)...)
	}
	first := "To delete the object, run: "
	if id != "" && !acts {
		first = "Terminate the instance " + id + " in the cloud. Then run: "
	}
	return ". The provider does nothing for an infrastructure machine that no Machine owns. " + first + strings.Join(commands, "; ")
}

// unknownToProvider returns the beginning of the way out if the provider cannot find the instance. The provider finds an instance only through the object that
// it keeps for the instance. If that object does not exist or does not name the instance, the provider would leave the instance behind, or search for one by
// the name, which is also the name of this Machine's instance. It returns "" in all other cases.
func (s steps) unknownToProvider(infra *unstructured.Unstructured) string {
	if infra == nil || s.InstancesUnserved || !pairs.IsPaused(infra) || authority.KeptInstance(pairs.ObjectOf(s.InfraInstance)) != "" {
		return ""
	}
	kept, id := authority.InfraInstanceKind(infra.GetKind()), pairs.Nested(infra, "spec", "providerID")
	if kept == "" || id == "" {
		return ""
	}
	return fmt.Sprintf(". The provider finds that instance only through an object %s, which does not exist or does not name the instance. So the provider "+
		"would not terminate the instance: terminate the instance %s in the cloud. Then delete the objects that are left while they stay paused, in this "+
		"order: ", kept, id)
}

// letInstance does what let does, for the object that the provider keeps for the instance of somebody else's machine. It needs no command to delete the object,
// because the garbage collector deletes it with the machine.
func (s steps) letInstance(infra *unstructured.Unstructured) []string {
	if !s.keepsFor(infra) || len(s.InfraInstance.GetFinalizers()) == 0 {
		return nil
	}
	return []string{await(s.InfraInstance), free(s.InfraInstance)}
}

// keepsFor reports whether the object that the provider keeps for an instance (InfraInstance) belongs to the provider's machine infra.
func (s steps) keepsFor(infra *unstructured.Unstructured) bool {
	return infra != nil && s.InfraInstance != nil &&
		slices.ContainsFunc(s.InfraInstance.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == infra.GetUID() })
}

// let returns the commands that delete an object without waiting for its controllers: the second one removes the finalizers.
func let(o *unstructured.Unstructured) []string {
	if o == nil {
		return nil
	}
	out := end(o)
	if len(o.GetFinalizers()) > 0 {
		out = append(out, free(o))
	}
	return out
}

func free(o *unstructured.Unstructured) string {
	return command(o, "patch", `--type merge -p '{"metadata":{"finalizers":null}}'`)
}

// keepInstance does what keep does, for the object that the provider keeps for the instance of somebody else's machine. The provider deletes that object first,
// and waits until it is gone.
func (s steps) keepInstance(infra *unstructured.Unstructured) (kept *unstructured.Unstructured, commands []string) {
	if o := s.InfraInstance; s.keepsFor(infra) && (o.GetDeletionTimestamp() == nil || pairs.IsPaused(o)) {
		return hold(o)
	}
	return nil, nil
}

// endKept returns the commands that unpause the object that the provider keeps for an instance. They wait until the provider has deleted the object, because
// before that, admission lets nobody unpause it.
func endKept(o *unstructured.Unstructured) []string {
	if o == nil || len(unpause(o)) == 0 {
		return nil
	}
	if o.GetDeletionTimestamp() != nil {
		return unpause(o)
	}
	return append([]string{await(o)}, unpause(o)...)
}

// await returns the command that waits until an object has a deletion timestamp.
func await(o *unstructured.Unstructured) string {
	return fmt.Sprintf("kubectl -n %s wait %s/%s --for=jsonpath='{.metadata.deletionTimestamp}' --timeout=15m", o.GetNamespace(), resource(o), o.GetName())
}

// keep returns the command that adds the provider's finalizer to a machine that has an instance and lost the finalizer, as after a restore. Without the
// finalizer Cluster API would consider the machine deleted, and leave the instance behind. It also returns the machine as it is after the command.
func keep(infra *unstructured.Unstructured) (kept *unstructured.Unstructured, commands []string) {
	if infra == nil || pairs.Nested(infra, "spec", "providerID") == "" {
		return infra, nil
	}
	return hold(infra)
}

// hold returns the command that adds the provider's finalizer to a paused object without it, and the object as it is after that command. An object that is not
// paused needs no command, because its controllers add the finalizer.
func hold(o *unstructured.Unstructured) (held *unstructured.Unstructured, commands []string) {
	own := authority.InfraFinalizer(o.GroupVersionKind().Group, o.GetKind())
	if o.GetDeletionTimestamp() != nil || !pairs.IsPaused(o) || slices.Contains(o.GetFinalizers(), own) {
		return o, nil
	}
	held = o.DeepCopy()
	held.SetFinalizers(append(held.GetFinalizers(), own))
	return held, []string{command(o, "patch", fmt.Sprintf(`--type merge -p '{"metadata":{"finalizers":["%s"]}}'`, strings.Join(held.GetFinalizers(), `","`)))}
}

func end(o *unstructured.Unstructured) []string {
	if o.GetDeletionTimestamp() != nil {
		return nil
	}
	return []string{command(o, "delete", "--wait=false")}
}

// unpause returns the command that unpauses an object. It returns nil for an object that is not paused, and for one without finalizers, which is gone as soon
// as it is deleted.
func unpause(o *unstructured.Unstructured) []string {
	if !pairs.IsPaused(o) || len(o.GetFinalizers()) == 0 {
		return nil
	}
	return []string{command(o, "annotate", authority.PausedAnnotation+"-")}
}

func command(o *unstructured.Unstructured, verb, more string) string {
	return fmt.Sprintf("kubectl -n %s %s %s %s %s", o.GetNamespace(), verb, resource(o), o.GetName(), more)
}

func resource(o *unstructured.Unstructured) string {
	kind, _, _ := strings.Cut(pairs.Describe(o), " ")
	return strings.ToLower(kind)
}

// unnamed returns a sentence about a mirror that names an instance that its Machine does not name. This happens after a restore, or while Machine API's
// controllers rewrite the Machine. If the mirror were overwritten, no object would name the instance. It returns "" if the Machine names the instance, or if
// the mirror names none.
func (s steps) unnamed(mirror *unstructured.Unstructured) string {
	id := pairs.Nested(mirror, "spec", "providerID")
	if s.Kind.Name != "Machine" || id == "" || pairs.Nested(s.MachineAPI, "spec", "providerID") != "" || s.MachineAPI.GetDeletionTimestamp() != nil {
		return ""
	}
	if s.Source() == authority.ClusterAPI {
		return fmt.Sprintf("%s has the instance %s, but this Machine, for which Cluster API is authoritative, has no spec.providerID, and its Cluster API "+
			"Machine does not exist. Restore the Cluster API Machine with spec.providerID: %[2]s. Or delete this Machine, which terminates nothing, and create it "+
			"again with that spec.providerID", pairs.Describe(mirror), id)
	}
	if phase := pairs.Nested(s.MachineAPI, "status", "phase"); phase == "Provisioned" || phase == "Running" {
		return fmt.Sprintf("%s, the mirror, has the instance %s, but this Machine, whose phase is %s, has no spec.providerID at the moment. Wait until "+
			"Machine API's controllers find the instance and write spec.providerID again. If they do not, set spec.providerID: %[2]s",
			pairs.Describe(mirror), id, phase)
	}
	return fmt.Sprintf("%s, the mirror, has the instance %s, but this Machine has no spec.providerID. Set spec.providerID: %[2]s, or delete this Machine",
		pairs.Describe(mirror), id)
}
