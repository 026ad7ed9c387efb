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

// deleted returns what a DELETE asks for. asks is false if the rules about deletions have nothing to say, because Poundlock itself deletes the object, no twin
// would stay behind, or no API is authoritative.
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
		return atOnce(c, o) // the Machine API set is the only one left: Poundlock detaches its Machines first, unless the foreground leaves no time
	}
	if !asks || o.Object != Goes || o.Twin != Stays {
		return policies.Verdict{}
	}
	return merge(
		policies.Warn(fmt.Sprintf("this deletion only stops the mirroring: Cluster API is authoritative, and %s. To delete the Cluster API object too: %s",
			runs(c, stand(c)), deleteThere(c))),
		atOnce(c, o))
}

// atOnce warns which Machines of a set the garbage collector deletes, with their instances, before Poundlock can detach the Machines from the set. It warns of
// nothing if the outcome says that no instance may end.
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
		fmt.Sprintf("with --cascade=foreground the garbage collector deletes this API's Machines of the set at once. Those for which %s is authoritative%s are "+
			"deleted with their instances. With --cascade=background this does not happen",
			api.Text(), which))
}

// foregroundNeeds returns the facts that a rule needs about a deletion. It includes the set's Machines only if a MachineSet is deleted in the foreground.
func foregroundNeeds(c policies.Change) policies.Need {
	if c.Kind == "MachineSet" && inForeground(c) {
		return policies.NeedTwin | policies.NeedEnding
	}
	return policies.NeedTwin
}

// runs returns a phrase that says what keeps running after the deletion.
func runs(c policies.Change, s standing) string {
	switch c.Kind {
	case "Machine":
		return "Cluster API's Machine and its instance keep running"
	case "MachineHealthCheck":
		return "Cluster API's check continues to delete unhealthy Machines"
	}
	return fmt.Sprintf("Cluster API's set keeps running with %s and their instances", amount.Of(max(s.Replicas, setReplicas(c.Facts.Twin)), "Machine"))
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

// DeleteRecreated warns that Poundlock recreates a deleted mirror if the authoritative object stays (converting › Summary of the rules, footnote 9). If the
// object is not Poundlock's mirror, the warning says instead what Cluster API deletes with that object.
func DeleteRecreated(c policies.Change) policies.Verdict {
	d, asks := deleted(c)
	o := d.Outcome()
	switch {
	case asks && (strange(c) || notMade(c)):
		return policies.Warn(endsStranger(c))
	case !asks || o.Object != MadeAgain || arrives(c):
		return policies.Verdict{}
	}
	what := "Poundlock will recreate this mirror, and no instance is terminated"
	if o.Instances == MayEnd {
		what = "Poundlock will recreate this mirror"
	}
	return merge(
		policies.Warn(fmt.Sprintf("%s: Machine API is authoritative. To delete the %s: %s", what, c.Kind, deleteThere(c))),
		atOnce(c, o))
}

// notMade reports whether the object under review is a paused Cluster API Machine that is not the mirror yet, but already has the finalizer of Cluster API's
// controllers. Whatever those controllers have begun for the Machine is deleted with the Machine.
func notMade(c policies.Change) bool {
	kind, _ := KindNamed(c.Kind)
	return c.Side == policies.SideClusterAPI && c.Kind == "Machine" && stand(c).mirror() && c.Old.HasFinalizer(kind.ClusterAPIFinalizer) &&
		!c.Old.HasFinalizer(SyncFinalizer) && !c.Old.HasAnnotation(MirrorAnnotation) && providerID(c.Old) == ""
}

// endsStranger returns the warning about the deletion of an object that Poundlock did not make. Cluster API deletes everything that it runs for such an object.
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
		what += fmt.Sprintf(" once this object is unpaused (remove the annotation %s from this object and from its infrastructure machine)", PausedAnnotation)
	}
	return fmt.Sprintf("Poundlock did not create this %s%s: %s, and %s stays as it is. Poundlock creates the mirror once this object is gone",
		c.Kind, acts, what, there(c))
}

// DeleteOrphans warns that a set's Machines may be deleted although the request asks to orphan them. Cluster API's MachineSet controller deletes the Machines
// of a set that is being deleted, whatever propagation policy the request has. The garbage collector may or may not release the Machines before that.
func DeleteOrphans(c policies.Change) policies.Verdict {
	d, asks := deleted(c)
	if !asks || d.On != d.Authority || d.Outcome().Instances != MayEnd {
		return policies.Verdict{}
	}
	return policies.Warn("Cluster API may delete this set's Machines, with their instances, before the garbage collector orphans them",
		"to keep its Machines, first migrate the set: "+moveTo(c, MachineAPI))
}

// DeleteUnknownInstance refuses the deletion of a Machine in the foreground while the provider does not know the Machine's instance. In the foreground, the
// garbage collector deletes the provider's machine at once. Poundlock's hook on the Machine (InstanceHookAnnotation) makes only Cluster API wait, and not the
// garbage collector. So the instance would be left behind.
func DeleteUnknownInstance(c policies.Change) policies.Verdict {
	if !unknownInForeground(c) || stand(c).Current == MachineAPI {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "annotations").Key(InstanceHookAnnotation), fmt.Sprintf(
		"the provider does not know this Machine's instance yet. The instance would keep running if the garbage collector deleted the infrastructure machine now. "+
			"Delete the Machine in the background: %s --cascade=background", deleteCommand(c))))
}

// unknownInForeground reports whether somebody deletes a Machine in the foreground that carries Poundlock's hook.
func unknownInForeground(c policies.Change) bool {
	return inForeground(c) && c.Old.HasAnnotation(InstanceHookAnnotation)
}

// inForeground reports whether somebody asks for a deletion in the foreground. It is true even if the object is already being deleted in the background,
// because the API server then adds the finalizer foregroundDeletion too. It is false for the actors of cleans. What they delete follows from a deletion that
// was reviewed itself, and a refusal would hold that deletion up.
func inForeground(c policies.Change) bool {
	already := c.Old.Deleting() && c.Old.HasFinalizer(metav1.FinalizerDeleteDependents)
	return !cleans(c) && !already && propagation(c) == metav1.DeletePropagationForeground
}

// cleans reports whether the actor's deletions follow from another deletion. That is so for the garbage collector, the namespace controller and Poundlock
// itself.
func cleans(c policies.Change) bool {
	return slices.Contains([]policies.Actor{policies.Poundlock, policies.GarbageCollector, policies.NamespaceController}, c.Actor)
}

// DeleteSetOfUnknownInstance does for a MachineSet or a MachineDeployment what DeleteUnknownInstance does for a Machine. If the set is deleted in the
// foreground, the garbage collector also deletes the set's Machines in the foreground.
func DeleteSetOfUnknownInstance(c policies.Change) policies.Verdict {
	unknown := c.Facts.UnknownInstances
	if !inForeground(c) || len(unknown) == 0 {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"the provider does not know the instance of Machine %s yet%s. The instance would keep running if the garbage collector deleted the infrastructure machine "+
			"now. Delete the %s in the background: %s --cascade=background", unknown[0], andMore(c, unknown), c.Kind, deleteCommand(c))))
}

// andMore returns a phrase that says how many more Machines of the set there are than the one that the message names. It returns "" if there are no more.
func andMore(c policies.Change, machines []string) string {
	if len(machines) < 2 {
		return ""
	}
	return fmt.Sprintf(" (and of %s of this %s)", amount.Of(len(machines)-1, "more Machine"), c.Kind)
}

// endsAtOnce reports whether somebody makes a deletion that deletes providers' machines at once, regardless of hooks. That is the deletion of a Cluster in the
// foreground, of a namespace, or of a CRD of providers' machines.
func endsAtOnce(c policies.Change) bool {
	return inForeground(c) && c.Kind == Cluster || (c.Kind == Namespace || ofProvidersMachines(c)) && !cleans(c) && !c.Old.Deleting()
}

// ofProvidersMachines reports whether the object under review is the CRD of a provider's machines, or of the objects that a provider keeps for instances.
func ofProvidersMachines(c policies.Change) bool {
	resource, group, _ := strings.Cut(c.Old.Metadata.Name, ".")
	return c.Kind == Definition && group == clusterv1.GroupVersionInfrastructure.Group &&
		(strings.HasSuffix(resource, "machines") || resource == "vspherevms" || resource == "openstackservers")
}

// DeleteSurroundingsOfUnknownInstance refuses the deletion of a namespace or a CRD, and of a Cluster in the foreground, while a provider does not know an
// instance of a Machine there. Such a deletion deletes the provider's machine at once, so the instance would be left behind (DeleteUnknownInstance).
// AllowDeletionAnnotation does not lift this refusal: a person who allows the deletion accepts that instances are terminated, but not that an instance is left
// behind.
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
		"the provider does not know the instance of Machine %s yet%s. The infrastructure machine would be deleted with this %s, and the instance would keep "+
			"running. "+
			"Try again once the Machine no longer has the annotation %s: %s",
		unknown[0], more, c.Kind, InstanceHookAnnotation, get)))
}

// UnknownInstance reports whether Cluster API runs a Machine, or is about to run it, whose instance the provider does not know yet. Poundlock's hook holds the
// Machine until the provider knows the instance. machine is the Cluster API Machine, and twin is its Machine API object.
func UnknownInstance(machine, twin *policies.Object) bool {
	return machine.HasAnnotation(InstanceHookAnnotation) && !machine.Deleting() && Read(twin).Current != MachineAPI
}

// DeleteInfraOfUnknownInstance refuses the deletion of a provider's machine whose instance the provider does not know yet. The provider's machine would be gone
// at once, and every reference to the instance with it.
func DeleteInfraOfUnknownInstance(c policies.Change) policies.Verdict {
	if !endsUnknown(c) {
		return policies.Verdict{}
	}
	machine := c.Facts.Twin
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"the provider does not know the instance %s of Machine %s yet, so the instance would keep running and nothing would terminate it. Delete the Machine "+
			"instead. Its deletion waits until the provider knows the instance: kubectl -n %s delete machines.cluster.x-k8s.io %s",
		cmp.Or(providerID(c.Old), providerID(machine)), machine.Metadata.Name, c.Namespace, machine.Metadata.Name)))
}

// endsUnknown reports whether a person deletes a provider's machine whose instance the provider does not know yet.
func endsUnknown(c policies.Change) bool {
	machine := c.Facts.Twin
	return c.Kind == InfraMachine && c.Actor == policies.Anyone && !c.Old.Deleting() && machine != nil && Read(machine).Current == ClusterAPI &&
		providerID(c.Old)+providerID(machine) != "" && unknownToProvider(c)
}

// DeletePropagates warns that the deletion of an owned Machine in one API also deletes the authoritative Machine in the other API, with its instance: "if a
// Machine API Machine that is owned is deleted, then the deletion event is synchronised to Cluster API" (converting › Deletion of Machines, footnote 8). The
// rule warns in both directions. It also warns a person who deletes a Machine during the Machine's move. That person may believe that the instance stays with
// the API to which the Machine moves.
func DeletePropagates(c policies.Change) policies.Verdict {
	d, asks := deleted(c)
	if s := stand(c); asks && c.Actor == policies.Anyone && d.On == d.Authority && s.moving() && !c.Old.Deleting() {
		return policies.Warn(fmt.Sprintf("this Machine is moving from %s to %s: its deletion cancels the move and terminates the instance",
			d.Authority.Text(), d.Authority.Other().Text()))
	}
	if o := d.Outcome(); !asks || d.On == d.Authority || o.Twin != Goes || strange(c) || notMade(c) {
		return policies.Verdict{}
	}
	return policies.Warn(fmt.Sprintf("%s is authoritative for this Machine, and a %s owns the Machine: the authoritative object and its instance are deleted "+
		"too",
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

// DeleteInfrastructure warns a person who deletes a provider's object while Cluster API is authoritative. If the object is an infrastructure machine or is kept
// for an instance, the provider's controller terminates the instance, and the Machine stays without one. If the object is a template, the MachineSet can create
// no Machine without it. While the Machine API is authoritative, InfraLocked refuses such a deletion by itself, but the provider's object is still deleted
// together with its Machine or set. deleteControlPlanesTemplate is for a ControlPlaneMachineSet's template.
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
			fmt.Sprintf("MachineSet %s refers to this %s and creates no Machine without it. Cluster API is authoritative, so Poundlock does not recreate it. To "+
				"change new Machines, have the set refer to another template",
				machine.Metadata.Name, kindOf(c)))
	}
	if c.Kind == InfraMachine && !c.Old.HasAnnotation(MirrorAnnotation) && len(MachineOwners(c.Old)) == 0 && providerID(c.Old) == "" {
		return policies.Verdict{} // no controller acts on this object for a Machine: it only has the name that the mirror needs (ForeignTo)
	}
	name := machine.Metadata.Name
	instead := fmt.Sprintf("To delete the Machine: kubectl -n %s delete machines.cluster.x-k8s.io %s", c.Namespace, name)
	id := cmp.Or(providerID(c.Old), providerID(machine))
	if id == "" {
		return policies.Warn(fmt.Sprintf("Machine %s needs this %s to create its instance. Cluster API is authoritative, so Poundlock does not recreate this "+
			"object. %s",
			name, kindOf(c), instead))
	}
	if endsUnknown(c) || hookedBehind(c) != nil {
		return policies.Verdict{}
	}
	if unknownToProvider(c) {
		return policies.Warn(fmt.Sprintf("this deletion does not terminate the instance %s of Machine %s: the provider has not yet added its finalizer to this "+
			"%s, and "+
			"creates another such object",
			id, name, kindOf(c)), instead)
	}
	return policies.Warn(fmt.Sprintf("this deletion terminates the instance %s of Machine %s: Cluster API is authoritative, so Poundlock does not recreate "+
		"this %s. %s",
		id, name, kindOf(c), instead))
}

// deleteControlPlanesTemplate warns what follows if a person deletes a template that Poundlock made for a ControlPlaneMachineSet. Poundlock makes that template
// from the set's own template for the Machine API, and recreates it as long as the set has its own template. If the set refers to the infrastructure template
// instead, the set cannot create a Machine without it. In any other case there is no warning, because Poundlock deletes such a template itself.
func deleteControlPlanesTemplate(c policies.Change) policies.Verdict {
	set := c.Facts.Twin
	change := fmt.Sprintf("kubectl -n %s edit controlplanemachinesets.%s %s", c.TwinNamespace, machinev1beta1.GroupName, set.Metadata.Name)
	switch refers := templateOf(set); {
	case refers == c.Name:
		return policies.Warn(fmt.Sprintf("%s %s refers to this %s and creates no Machine without it, and Poundlock does not recreate it. To change new Machines, "+
			"have the set refer to another template: %s", ControlPlane, set.Metadata.Name, kindOf(c), change))
	case refers != "":
		return policies.Verdict{}
	}
	when := ""
	if Read(set).Condition(ConditionSynchronized).Status == metav1.ConditionFalse {
		when = ", once Synchronized of the set is no longer False"
	}
	return policies.Warn(fmt.Sprintf("Poundlock recreates this %s from spec.template of %s %s%s. No Machine is created from this object. To change new "+
		"Machines, change the set: %s", kindOf(c), ControlPlane, set.Metadata.Name, when, change))
}

// templateOf returns the name of the infrastructure template to which a ControlPlaneMachineSet refers. It returns "" for a set that has its own template for
// the Machine API instead.
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

// unknownToProvider reports whether the provider does not hold the object for the instance yet. It decides by Poundlock's hook on the Machine, because a
// provider can terminate an instance only through that object. If the object has the provider's finalizer, the provider holds it, and Poundlock is about to
// remove the hook.
func unknownToProvider(c policies.Change) bool {
	if c.Kind == InfraInstance && c.Old.HasFinalizer(InfraFinalizer(infraGroupOf(c.Old), c.Old.Kind)) {
		return false
	}
	return slices.ContainsFunc(c.Facts.Owners, func(o *policies.Object) bool { return o.HasAnnotation(InstanceHookAnnotation) })
}
