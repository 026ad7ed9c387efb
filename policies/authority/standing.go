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

// standing is what the authority over its pair means for the object under review.
type standing struct {
	// mapi is the Machine API object of the pair, as stored; nil where there is none.
	mapi *policies.Object
	Shape
	side policies.Side
}

// stand reads it from the change. Facts.Twin must have been gathered on every side but the Machine API's, whose objects have the fields of authority
// themselves.
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

// Strictest is the twin that decides about a change, of those that share the object: several sets may make their machines from one template. It is the
// first that locks the object for the actor, else the first that locks it at all, else the first; nil where there is none.
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

// stored is the object under review as the API server has it; on CREATE, as it is asked for.
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
	// An empty status locks the Cluster API side until Poundlock has stored which API is authoritative (DESIGN §3.3).
	return s.mapi != nil && (s.Current == MachineAPI || s.Current == Unset)
}

// moving reports whether authority over the pair is between the two APIs.
func (s standing) moving() bool { return s.mapi != nil && s.Current == Migrating }

// locked reports whether a user may not change the object under review.
func (s standing) locked() bool { return s.mirror() || s.moving() }

// seenTo reports whether one of Cluster API's controllers acts on an object that Poundlock did not make and that is not paused (ForeignTo). It has its own
// instance, and if the object were locked, the controller could not even terminate that.
func (s standing) seenTo(c policies.Change) bool {
	return s.mirror() && c.Side != policies.SideMachineAPI && !c.Old.HasAnnotation(PausedAnnotation) && !c.Old.HasAnnotation(MirrorAnnotation) &&
		(c.Actor == policies.ClusterAPIController || c.Actor == policies.InfrastructureController || c.Actor == policies.Anyone && seenToWithoutAccount(c))
}

// seenToWithoutAccount reports whether the object belongs to a machine that Poundlock did not make, and to a provider whose controllers have no account of
// their own (Provider.Account), so that anybody may write to it. An object that has, or is to have, the ID of Machine API's instance stays locked.
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

// keptFor reports whether what a provider keeps for an instance has this instance ID.
func keptFor(kept *policies.Object, id string) bool {
	key := instanceKeyKept(kept)
	return key != "" && key == providerBehind(kept).instanceKey(id)
}

// controls reports whether the actor is a controller of this side's objects.
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

// sideOf reports whether a side belongs to an API: the infrastructure side is Cluster API's.
func sideOf(api API, side policies.Side) bool {
	if side == policies.SideMachineAPI {
		return api == MachineAPI
	}
	return api == ClusterAPI
}

// propagation is what the API server does with the dependents of what is deleted: what the request asks for, or else what the first of the two finalizers
// does that the object has. So a set with the finalizer foregroundDeletion is deleted in the foreground even if the request does not ask for that.
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

// owned reports whether a controller of Machines owns the object. A mirror that only the Cluster owns is unowned in the sense of the rules (converting ›
// Summary of the rules).
func owned(o *policies.Object) bool {
	return o != nil && metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: o.Metadata.OwnerReferences}) != nil
}

// here names the object under review, as an argument of kubectl.
func here(c policies.Change) string { return address(c.Resource.String(), c.Namespace, c.Name) }

// there names its twin; for a provider's object, the Machine API object of its Machine.
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

// moveTo is the command that moves the pair to an API.
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
