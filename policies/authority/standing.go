// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// standing is the authority over a pair, as the review of one of the pair's objects sees it.
type standing struct {
	// mapi is the stored Machine API object of the pair; nil if there is none.
	mapi *policies.Object
	Shape
	side policies.Side
}

// stand returns the standing of the object under review: who is authoritative for its pair. Only Machine API objects have the fields of authority. So on every
// side except the Machine API's, Facts.Twin must have been gathered before.
func stand(c policies.Change) standing {
	mapi := c.Facts.Twin
	if c.Side == policies.SideMachineAPI {
		mapi = stored(c)
	}
	shape := Read(mapi)
	if c.Side == policies.SideMachineAPI && c.Operation == admissionv1.Create {
		// An API server drops status on create, so a manifest's status is ignored.
		shape = Shape{Requested: shape.Requested}
	}
	return standing{mapi: mapi, Shape: shape, side: c.Side}
}

// Strictest returns the one of twins that decides about a change of an object that they share. Twins share an object if several MachineSets make their machines
// from one template. Strictest returns the first twin that locks the object for the actor, else the first that locks it at all, else the first; nil for none.
func Strictest(c policies.Change, twins []*policies.Object) *policies.Object {
	for _, locks := range []func(standing) bool{
		func(s standing) bool { return s.locked() && !s.seenTo(c) },
		standing.locked,
		func(standing) bool { return true },
	} {
		for _, twin := range twins {
			if c.Facts.Twin = twin; locks(stand(c)) {
				return twin
			}
		}
	}
	return nil
}

// stored returns the object under review as the API server has it; on CREATE, the requested object; for /scale, the set that is scaled.
func stored(c policies.Change) *policies.Object {
	switch {
	case c.Subresource == "scale":
		return c.Facts.Stored
	case c.Old != nil:
		return c.Old
	}
	return c.New
}

func (s standing) authoritative() API { return Authoritative(s.Shape) }

// mirror reports whether the object under review is the one that is not authoritative. During a move both objects are locked: see moving.
func (s standing) mirror() bool {
	if s.side == policies.SideMachineAPI {
		return s.Current == ClusterAPI
	}
	// While the status is empty, the Cluster API side is locked until Poundlock has stored which API is authoritative (DESIGN §3.3).
	return s.mapi != nil && (s.Current == MachineAPI || s.Current == Unset)
}

// moving reports whether authority over the pair is moving from one API to the other.
func (s standing) moving() bool { return s.mapi != nil && s.Current == Migrating }

// locked reports whether a user may not change the object under review.
func (s standing) locked() bool { return s.mirror() || s.moving() }

// seenTo reports whether the request is by one of Cluster API's controllers, or may be by a provider's controller (seenToWithoutAccount), on a mirror that
// Poundlock did not make and that is not paused (ForeignTo). Such an object has its own instance. If the object were locked, the controllers could not even
// terminate this instance.
func (s standing) seenTo(c policies.Change) bool {
	return s.mirror() && c.Side != policies.SideMachineAPI && !c.Old.HasAnnotation(PausedAnnotation) && !c.Old.HasAnnotation(MirrorAnnotation) &&
		(c.Actor == policies.ClusterAPIController || c.Actor == policies.InfrastructureController || c.Actor == policies.Anyone && seenToWithoutAccount(c))
}

// seenToWithoutAccount reports whether anybody may write to the object, because the provider's controllers have no account of their own (Provider.Account). The
// object must be a provider's machine that Poundlock did not make, or the object that the provider keeps for the instance of such a machine. An object that
// has, or is to have, the ID of the Machine API Machine's instance stays locked.
func seenToWithoutAccount(c policies.Change) bool {
	if c.Old == nil || !hasNoAccount(c.Old.Kind) {
		return false
	}
	if providerOf(c.Old.Kind).Machine == c.Old.Kind {
		return strange(c)
	}
	id, machine := providerID(c.Facts.Twin), c.Facts.Infra
	return machine != nil && !machine.HasAnnotation(PausedAnnotation) && ForeignTo(Kind{Name: "Machine"}, c.Facts.Twin, machine) != NotForeign &&
		!keptFor(c.Old, id) && !keptFor(c.New, id)
}

// keptFor reports whether an object that a provider keeps for an instance has the given instance ID.
func keptFor(kept *policies.Object, id string) bool {
	key := instanceKeyKept(kept)
	return key != "" && key == providerBehind(kept).instanceKey(id)
}

// controls reports whether the actor is one of the controllers of a side's objects.
func controls(a policies.Actor, side policies.Side) bool {
	switch a {
	case policies.MachineAPIController:
		return side == policies.SideMachineAPI
	case policies.ClusterAPIController:
		return side == policies.SideClusterAPI
	case policies.InfrastructureController:
		return side == policies.SideInfrastructure
	}
	return false
}

// sideOf reports whether a side belongs to an API. The infrastructure side belongs to Cluster API.
func sideOf(api API, side policies.Side) bool {
	if side == policies.SideMachineAPI {
		return api == MachineAPI
	}
	return api == ClusterAPI
}

// propagation returns how a deletion treats the dependents of the deleted object: as the request asks or, if it does not ask, as the object's first finalizer
// of the two foregroundDeletion and orphan says; "" if neither decides. So a set with the finalizer foregroundDeletion is deleted in the foreground even if the
// request does not ask for that.
func propagation(c policies.Change) metav1.DeletionPropagation {
	if c.Propagation != "" || c.Old == nil {
		return c.Propagation
	}
	for _, f := range c.Old.Metadata.Finalizers {
		switch f {
		case metav1.FinalizerDeleteDependents:
			return metav1.DeletePropagationForeground
		case metav1.FinalizerOrphanDependents:
			return metav1.DeletePropagationOrphan
		}
	}
	return ""
}

// owned reports whether the object has a controlling owner, such as a Machine's MachineSet. A mirror that only the Cluster owns counts as unowned in the rules
// (converting › Summary of the rules).
func owned(o *policies.Object) bool {
	return o != nil && metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: o.Metadata.OwnerReferences}) != nil
}

// here returns the object under review as a text of the form RESOURCE.GROUP NAMESPACE/NAME.
func here(c policies.Change) string { return address(c.Resource.String(), c.Namespace, c.Name) }

// there returns the twin of the object under review as a text of the form RESOURCE.GROUP NAMESPACE/NAME; for a provider's object, the Machine API object of its
// Machine or set.
func there(c policies.Change) string {
	group := machinev1beta1.GroupName
	if c.Side == policies.SideMachineAPI {
		group = clusterv1.GroupVersion.Group
	}
	resource, name := c.Resource.Resource, c.Name
	if c.Side == policies.SideInfrastructure {
		resource, name = "machines", twinName(c)
		switch {
		case c.Facts.Twin != nil && c.Facts.Twin.Kind == ControlPlane:
			resource = "controlplanemachinesets"
		case c.Kind == InfraMachineTemplate:
			resource = "machinesets"
		}
	}
	return address(resource+"."+group, c.TwinNamespace, name)
}

func twinName(c policies.Change) string {
	if c.Facts.Twin != nil {
		return c.Facts.Twin.Metadata.Name
	}
	return c.Name
}

func address(resource, namespace, name string) string {
	return fmt.Sprintf("%s %s/%s", resource, namespace, name)
}

// moveTo returns the command by which a person moves the pair to an API.
func moveTo(c policies.Change, api API) string {
	target := there(c)
	if c.Side == policies.SideMachineAPI {
		target = here(c)
	}
	resource, object, _ := strings.Cut(target, " ")
	namespace, name, _ := strings.Cut(object, "/")
	return migrateCommand(namespace, resource, name, api)
}

func migrateCommand(namespace, resource, name string, api API) string {
	return fmt.Sprintf(`kubectl -n %s patch %s %s --type merge -p '{"spec":{"authoritativeAPI":"%s"}}'`, namespace, resource, name, api)
}
