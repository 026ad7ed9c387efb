// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies"
)

// deleted returns what a DELETE asks for. asks is false if no rule has to answer: Poundlock itself deletes, no twin would stay behind, or no API is
// authoritative.
func deleted(c policies.Change) (d DeletionRequest, asks bool) {
	s := stand(c)
	on := ClusterAPI
	if c.Side == policies.SideMachineAPI {
		on = MachineAPI
	}
	return DeletionRequest{Kind: c.Kind, On: on, Authority: s.authoritative(), Owned: owned(c.Old), Propagation: propagation(c)},
		c.Actor != policies.Poundlock && c.Facts.Twin != nil && !c.Facts.Twin.Deleting() && s.authoritative() != Unset
}

// DeleteDetached warns that the deletion of an object leaves its authoritative twin and the twin's instances running: "the deletion event will not be
// synchronised to the Cluster API equivalent … To ensure users are aware of this situation, webhooks will be introduced to warn users" (converting › Deletion
// of Machines).
func DeleteDetached(c policies.Change) policies.Verdict {
	d, asks := deleted(c)
	o := d.Outcome()
	if !asks && c.Kind == "MachineSet" && c.Actor != policies.Poundlock && c.Facts.Twin == nil && stand(c).authoritative() == ClusterAPI {
		return atOnce(c, o) // Poundlock detaches the set's Machines first, unless the foreground leaves no time
	}
	if !asks || o.Object != Goes || o.Twin != Stays {
		return policies.Verdict{}
	}
	return merge(
		policies.Warn(fmt.Sprintf("this only stops the mirroring: Cluster API is authoritative, and %s. To delete that too: %s", runs(c, stand(c)), deleteThere(c))),
		atOnce(c, o))
}

// atOnce warns which Machines of a set the garbage collector deletes, with their instances, before Poundlock can detach them from the set.
func atOnce(c policies.Change, o Outcome) policies.Verdict {
	if o.Instances != MayEnd {
		return policies.Verdict{}
	}
	api := ClusterAPI
	if c.Side == policies.SideMachineAPI {
		api = MachineAPI
	}
	which := ""
	if ending := c.Facts.Ending; len(ending) > 0 {
		which = fmt.Sprintf(" (%d: %s)", len(ending), nameSome(ending))
	}
	return policies.Warn(
		fmt.Sprintf("in the foreground the collector deletes the set's Machines here at once: those for which %s is authoritative%s are deleted with "+
			"their instances. With --cascade=background none does",
			api.Text(), which))
}

// foregroundNeeds returns the facts that a rule needs about a deletion. The set's Machines matter only to a deletion of a MachineSet in the foreground.
func foregroundNeeds(c policies.Change) policies.Need {
	if c.Kind == "MachineSet" && inForeground(c) {
		return policies.NeedTwin | policies.NeedEnding
	}
	return policies.NeedTwin
}

// runs returns a phrase for what keeps running after the deletion.
func runs(c policies.Change, s standing) string {
	switch c.Kind {
	case "Machine":
		return "its Machine and instance run on"
	case "MachineHealthCheck":
		return "its check goes on to delete Machines that it finds unhealthy"
	}
	return fmt.Sprintf("its set with %s and their instances runs on", amount.Of(max(s.Replicas, setReplicas(c.Facts.Twin)), "Machine"))
}

// deleteThere returns the command that deletes the twin.
func deleteThere(c policies.Change) string {
	resource, _, _ := strings.Cut(there(c), " ")
	return fmt.Sprintf("kubectl -n %s delete %s %s", c.TwinNamespace, resource, c.Name)
}

// setReplicas returns the number of Machines that a MachineSet reports in status.replicas.
func setReplicas(o *policies.Object) int64 {
	var status struct {
		Replicas int64 `json:"replicas"`
	}
	if o != nil {
		_ = json.Unmarshal(orNull(o.Status), &status)
	}
	return status.Replicas
}

// DeleteRecreated warns that Poundlock recreates a deleted mirror whose authoritative object stays (converting › Summary of the rules, footnote 9). For an
// object that is not Poundlock's mirror, it warns instead of what Cluster API deletes with that object.
func DeleteRecreated(c policies.Change) policies.Verdict {
	d, asks := deleted(c)
	o := d.Outcome()
	switch {
	case asks && (strange(c) || notMade(c)):
		return policies.Warn(endsStranger(c))
	case !asks || o.Object != MadeAgain:
		return policies.Verdict{}
	}
	what := "Poundlock will recreate this mirror, and no instance is terminated"
	if o.Instances == MayEnd {
		what = "Poundlock will recreate this mirror"
	}
	return merge(
		policies.Warn(fmt.Sprintf("%s: Machine API is authoritative. To delete the %s: %s", what, c.Kind, deleteThere(c))),
		atOnce(c, o), unlessMoved(c, o))
}

// notMade reports whether the object under review is a paused Cluster API Machine that is not the mirror yet, but that Cluster API's controllers already hold
// by their finalizer. Whatever those controllers began for the Machine is deleted with it.
func notMade(c policies.Change) bool {
	kind, _ := KindNamed(c.Kind)
	return c.Side == policies.SideClusterAPI && c.Kind == "Machine" && stand(c).mirror() && c.Old.HasFinalizer(kind.ClusterAPIFinalizer) &&
		!c.Old.HasFinalizer(SyncFinalizer) && !c.Old.HasAnnotation(MirrorAnnotation) && providerID(c.Old) == ""
}

// endsStranger returns the warning about the deletion of an object that Poundlock did not make: all that Cluster API runs for that object is deleted with it.
func endsStranger(c policies.Change) string {
	what := "its Machines and their instances are deleted"
	switch id := providerID(c.Old); {
	case c.Kind == "MachineHealthCheck":
		what = "its check stops"
	case c.Kind == "Machine" && id != "":
		what = fmt.Sprintf("its instance %s is terminated", id)
	case c.Kind == "Machine":
		what = "an instance that Cluster API creates for it is terminated"
	}
	acts := ", and Cluster API acts on it"
	if c.Old.HasAnnotation(PausedAnnotation) {
		acts = ""
		what += fmt.Sprintf(" once nothing is paused any more (take %s off it, and off its infrastructure machine)", PausedAnnotation)
	}
	return fmt.Sprintf("Poundlock did not make this %s%s: %s, and %s stays as it is. Its mirror is made when this one is gone", c.Kind, acts, what, there(c))
}

// unlessMoved warns of what happens if Poundlock stores the new authority at the moment of the deletion. A deletion of the Machine API object would then get
// a conflict. The deletion of a Cluster API object gets none, because the new authority is stored in another object.
func unlessMoved(c policies.Change, o Outcome) policies.Verdict {
	if !stand(c).moving() || o.Instances == NoInstance {
		return policies.Verdict{}
	}
	return policies.Warn(
		fmt.Sprintf("authority is moving to Cluster API: if the move ends before this deletion is stored, the %s and its instances are deleted. "+
			"To be sure, first cancel the move: %s",
			c.Kind, moveTo(c, MachineAPI)))
}

// DeleteOrphans warns that a set's Machines may be deleted although a deletion asks to orphan them. Cluster API's MachineSet controller deletes the Machines
// of a set that is being deleted, whatever propagation the deletion asks for. The garbage collector may or may not release the Machines before that.
func DeleteOrphans(c policies.Change) policies.Verdict {
	d, asks := deleted(c)
	if !asks || d.On != d.Authority || d.Outcome().Instances != MayEnd {
		return policies.Verdict{}
	}
	return policies.Warn("Cluster API may delete this set's Machines, with their instances, before the garbage collector orphans them",
		"to keep its Machines, first migrate the set: "+moveTo(c, MachineAPI))
}

// DeleteUnknownInstance refuses the deletion of a Machine in the foreground while the provider does not know the Machine's instance. In the foreground the
// garbage collector deletes the provider's machine at once. Cluster API waits for Poundlock's hook (InstanceHookAnnotation), but the garbage collector does
// not wait for Cluster API.
func DeleteUnknownInstance(c policies.Change) policies.Verdict {
	if !unknownInForeground(c) || stand(c).Current == MachineAPI {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "annotations").Key(InstanceHookAnnotation), fmt.Sprintf(
		"the provider does not know this Machine's instance yet, which would keep running if the garbage collector deleted the provider's machine. "+
			"Delete the Machine in the background: %s --cascade=background", deleteCommand(c))))
}

// unknownInForeground reports whether somebody deletes, in the foreground, a Machine that carries Poundlock's hook.
func unknownInForeground(c policies.Change) bool {
	return inForeground(c) && c.Old.HasAnnotation(InstanceHookAnnotation)
}

// inForeground reports whether somebody asks for a deletion in the foreground. That includes an object that is already being deleted in the background,
// because the API server then adds the finalizer foregroundDeletion too. It is false for the actors of cleans: what they delete follows from a deletion that
// was reviewed itself, and a refusal would hold that deletion up.
func inForeground(c policies.Change) bool {
	already := c.Old.Deleting() && c.Old.HasFinalizer(metav1.FinalizerDeleteDependents)
	return !cleans(c) && !already && propagation(c) == metav1.DeletePropagationForeground
}

// cleans reports whether the actor's deletions follow from another deletion: the garbage collector, the namespace controller, or Poundlock itself.
func cleans(c policies.Change) bool {
	return slices.Contains([]policies.Actor{policies.Poundlock, policies.GarbageCollector, policies.NamespaceController}, c.Actor)
}

// DeleteSetOfUnknownInstance is DeleteUnknownInstance for a MachineSet or a MachineDeployment: if the set is deleted in the foreground, the garbage collector
// also deletes the set's Machines in the foreground.
func DeleteSetOfUnknownInstance(c policies.Change) policies.Verdict {
	unknown := c.Facts.UnknownInstances
	if !inForeground(c) || len(unknown) == 0 {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"the provider does not know the instance of Machine %s yet%s, which would keep running if the garbage collector deleted the provider's machine. "+
			"Delete the %s in the background: %s --cascade=background", unknown[0], andMore(c, unknown), c.Kind, deleteCommand(c))))
}

// andMore returns a phrase that counts the Machines of a MachineSet or MachineDeployment that a message does not name. It returns "" if the message names the
// only one.
func andMore(c policies.Change, machines []string) string {
	if len(machines) < 2 {
		return ""
	}
	return fmt.Sprintf(" (and of %s of this %s)", amount.Of(len(machines)-1, "more Machine"), c.Kind)
}

// endsAtOnce reports whether somebody deletes a part of the surroundings with which the providers' machines are deleted at once, regardless of hooks: a
// Cluster in the foreground, a namespace, or a definition of providers' machines.
func endsAtOnce(c policies.Change) bool {
	return inForeground(c) && c.Kind == Cluster || (c.Kind == Namespace || ofProvidersMachines(c)) && !cleans(c) && !c.Old.Deleting()
}

// ofProvidersMachines reports whether the object under review is the CustomResourceDefinition of a provider's machines, or of the objects that a provider
// keeps for instances.
func ofProvidersMachines(c policies.Change) bool {
	resource, group, _ := strings.Cut(c.Old.Metadata.Name, ".")
	return c.Kind == Definition && group == clusterv1.GroupVersionInfrastructure.Group &&
		(strings.HasSuffix(resource, "machines") || resource == "vspherevms" || resource == "openstackservers")
}

// DeleteSurroundingsOfUnknownInstance refuses the deletion of a namespace or a definition, and of a Cluster in the foreground, while a provider does not know
// an instance there. Everything in a namespace or of a definition is deleted at once, so the instance would be left behind, as in DeleteUnknownInstance.
// AllowDeletionAnnotation does not lift this refusal: a person who allows the deletion accepts that instances are terminated, but not that an instance is
// left behind.
func DeleteSurroundingsOfUnknownInstance(c policies.Change) policies.Verdict {
	unknown := c.Facts.UnknownInstances
	if !endsAtOnce(c) || len(unknown) == 0 {
		return policies.Verdict{}
	}
	more := ""
	if len(unknown) > 1 {
		more = fmt.Sprintf(" (and of %s)", amount.Of(len(unknown)-1, "more Machine"))
	}
	get := fmt.Sprintf("kubectl -n %s get machines.cluster.x-k8s.io %s -o yaml", cmp.Or(c.Namespace, c.Name), unknown[0])
	if c.Kind == Definition {
		get = "kubectl get machines.cluster.x-k8s.io -A -o yaml"
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"the provider does not know the instance of Machine %s yet%s, which would keep running: the provider's machine would be deleted with this %s. "+
			"Try again when the Machine has lost the annotation %s: %s",
		unknown[0], more, c.Kind, InstanceHookAnnotation, get)))
}

// UnknownInstance reports whether a provider does not know the instance of a Machine that Cluster API runs, or is about to run. Poundlock's hook holds the
// Machine until the provider knows the instance. machine is the Cluster API Machine, twin its Machine API object.
func UnknownInstance(machine, twin *policies.Object) bool {
	return machine.HasAnnotation(InstanceHookAnnotation) && !machine.Deleting() && Read(twin).Current != MachineAPI
}

// DeleteInfraOfUnknownInstance refuses the deletion of a provider's machine whose instance the provider does not know yet. Such a provider's machine would be
// gone at once, and with it every reference to the instance.
func DeleteInfraOfUnknownInstance(c policies.Change) policies.Verdict {
	if !endsUnknown(c) {
		return policies.Verdict{}
	}
	machine := c.Facts.Twin
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"the provider does not know the instance %s of Machine %s yet, which would keep running, and nobody would terminate it. "+
			"Delete the Machine, which waits until the provider knows it: kubectl -n %s delete machines.cluster.x-k8s.io %s",
		cmp.Or(providerID(c.Old), providerID(machine)), machine.Metadata.Name, c.Namespace, machine.Metadata.Name)))
}

// endsUnknown reports whether a person deletes a provider's machine whose instance the provider does not know.
func endsUnknown(c policies.Change) bool {
	machine := c.Facts.Twin
	return c.Kind == InfraMachine && c.Actor == policies.Anyone && !c.Old.Deleting() && machine != nil && Read(machine).Current == ClusterAPI &&
		providerID(c.Old)+providerID(machine) != "" && unknownToProvider(c)
}

// DeletePropagates warns that the deletion of an owned Machine in one API deletes the authoritative Machine in the other API, and the instance: "if a Machine
// API Machine that is owned is deleted, then the deletion event is synchronised to Cluster API" (converting › Deletion of Machines, footnote 8). The rule
// warns in both directions. It also warns a person who deletes a Machine during its move, because that person may believe that the instance stays with the
// API to which the Machine moves.
func DeletePropagates(c policies.Change) policies.Verdict {
	d, asks := deleted(c)
	if s := stand(c); asks && c.Actor == policies.Anyone && d.On == d.Authority && s.moving() && !c.Old.Deleting() {
		return policies.Warn(fmt.Sprintf("this Machine is on its way from %s to %s: its deletion cancels the move, and the instance is terminated",
			d.Authority.Text(), d.Authority.Other().Text()))
	}
	if o := d.Outcome(); !asks || d.On == d.Authority || o.Twin != Goes || strange(c) || notMade(c) {
		return policies.Verdict{}
	}
	return policies.Warn(fmt.Sprintf("%s is authoritative for this Machine, which a %s owns: it and its instance are deleted too",
		there(c), owner(c.Old)))
}

func owner(o *policies.Object) string {
	for _, ref := range o.Metadata.OwnerReferences {
		if ref.Controller != nil && *ref.Controller {
			return fmt.Sprintf("%s (%s)", ref.Kind, ref.Name)
		}
	}
	return "controller"
}

// DeleteInfrastructure warns a person who deletes a provider's object while Cluster API is authoritative. If an infrastructure machine, or the object that
// the provider keeps for its instance, is deleted, the provider's controller terminates the instance, and the Machine stays without one. Without its
// template, a MachineSet creates no Machine. While the Machine API is authoritative, InfraLocked refuses such a deletion, but the provider's object is still
// deleted together with its Machine or set. For a ControlPlaneMachineSet's template see deleteControlPlanesTemplate.
func DeleteInfrastructure(c policies.Change) policies.Verdict {
	machine := c.Facts.Twin
	if c.Actor != policies.Anyone || c.Old.Deleting() || machine == nil || machine.Deleting() || Read(machine).Current != ClusterAPI {
		return policies.Verdict{}
	}
	if c.Kind == InfraMachineTemplate && machine.Kind == ControlPlane {
		return deleteControlPlanesTemplate(c)
	}
	if c.Kind == InfraMachineTemplate {
		return policies.Warn(
			fmt.Sprintf("while MachineSet %s refers to this %s, it creates no Machine without it: Cluster API is authoritative, and Poundlock does not "+
				"recreate it. To change new Machines, have the set refer to another one",
				machine.Metadata.Name, kindOf(c)))
	}
	if c.Kind == InfraMachine && !c.Old.HasAnnotation(MirrorAnnotation) && len(MachineOwners(c.Old)) == 0 && providerID(c.Old) == "" {
		return policies.Verdict{} // no controller acts on this object for a Machine: it only stands in the mirror's way (ForeignTo)
	}
	name := machine.Metadata.Name
	instead := fmt.Sprintf("To delete the Machine: kubectl -n %s delete machines.cluster.x-k8s.io %s", c.Namespace, name)
	id := cmp.Or(providerID(c.Old), providerID(machine))
	if id == "" {
		return policies.Warn(fmt.Sprintf("Machine %s needs this %s to create its instance: Cluster API is authoritative, and Poundlock does not recreate it. %s",
			name, kindOf(c), instead))
	}
	if endsUnknown(c) || hookedBehind(c) != nil {
		return policies.Verdict{}
	}
	if unknownToProvider(c) {
		return policies.Warn(fmt.Sprintf("this does not terminate the instance %s of Machine %s: the provider does not hold this %s yet, and creates another",
			id, name, kindOf(c)), instead)
	}
	return policies.Warn(fmt.Sprintf("this terminates the instance %s of Machine %s: Cluster API is authoritative, and Poundlock does not recreate this %s. %s",
		id, name, kindOf(c), instead))
}

// deleteControlPlanesTemplate warns what follows from the deletion of a template that Poundlock made for a ControlPlaneMachineSet. Poundlock makes that
// template from the set's own template for the Machine API, and recreates it as long as the set has that own template. If the set refers to the
// infrastructure template instead, the set creates no Machine without it. In any other case there is no warning, because Poundlock deletes such a template
// itself.
func deleteControlPlanesTemplate(c policies.Change) policies.Verdict {
	set := c.Facts.Twin
	change := fmt.Sprintf("kubectl -n %s edit controlplanemachinesets.%s %s", c.TwinNamespace, machinev1beta1.GroupName, set.Metadata.Name)
	switch refers := templateOf(set); {
	case refers == c.Name:
		return policies.Warn(fmt.Sprintf("while %s %s refers to this %s, it creates no Machine without it, and Poundlock does not recreate it. "+
			"To change new Machines, have the set refer to another one: %s", ControlPlane, set.Metadata.Name, kindOf(c), change))
	case refers != "":
		return policies.Verdict{}
	}
	when := ""
	if Read(set).Condition(ConditionSynchronized).Status == metav1.ConditionFalse {
		when = ", once Synchronized of the set is no longer False"
	}
	return policies.Warn(fmt.Sprintf("Poundlock recreates this %s, which it makes from spec.template of %s %s%s: no Machine is created from it. "+
		"To change new Machines, change the set: %s", kindOf(c), ControlPlane, set.Metadata.Name, when, change))
}

// templateOf returns the name of the infrastructure template to which a ControlPlaneMachineSet refers. It returns "" for a set that has its own template for
// the Machine API.
func templateOf(set *policies.Object) string {
	var spec struct {
		Template struct {
			ClusterAPI struct {
				Spec struct {
					InfrastructureRef struct {
						Name string `json:"name"`
					} `json:"infrastructureRef"`
				} `json:"spec"`
			} `json:"machines_v1beta2_cluster_x_k8s_io"`
		} `json:"template"`
	}
	_ = json.Unmarshal(set.Spec, &spec) // the API server's schema admits no spec that fails to decode
	return spec.Template.ClusterAPI.Spec.InfrastructureRef.Name
}

// unknownToProvider reports whether the provider does not hold the object for the instance yet, as Poundlock's hook on the Machine shows. The provider
// terminates an instance only by that object. An object that carries the provider's finalizer counts as held: Poundlock is about to remove its hook.
func unknownToProvider(c policies.Change) bool {
	if c.Kind == InfraInstance && c.Old.HasFinalizer(InfraFinalizer(infraGroupOf(c.Old), c.Old.Kind)) {
		return false
	}
	return slices.ContainsFunc(c.Facts.Owners, func(o *policies.Object) bool { return o.HasAnnotation(InstanceHookAnnotation) })
}
