// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// Begins reports whether a request adds to a Machine the machine finalizer, after which its controller has an instance created. Rules look for the twin in the
// review of that request, since the review of a creation does not see a twin that is created at the same moment. A Machine is stored before it gets its machine
// finalizer, so of the two reviews that add the finalizers, at least one sees the other Machine. If the lookup fails, the request is refused, and the
// controller retries.
func Begins(c policies.Change) bool {
	if c.Operation == admissionv1.Delete || c.Subresource != "" || c.Kind != "Machine" || c.Actor == policies.Poundlock {
		return false
	}
	kind, _ := KindNamed(c.Kind)
	adds := func(finalizer string) bool { return c.New.HasFinalizer(finalizer) && !c.Old.HasFinalizer(finalizer) }
	switch c.Side {
	case policies.SideMachineAPI:
		return adds(kind.MachineAPIFinalizer)
	case policies.SideClusterAPI:
		return adds(kind.ClusterAPIFinalizer) && !c.New.HasAnnotation(PausedAnnotation)
	}
	return false
}

// CreatedTwice refuses that a Machine gets the machine finalizer (Begins) while the Machine of its name in the other API may have an instance, or may get one.
// "only one controller" acts on a machine (converting › Authority of resources and controller reconciliations), even if the Machines of both APIs were created
// at the same moment.
func CreatedTwice(c policies.Change) policies.Verdict {
	if !Begins(c) || c.Facts.Twin == nil {
		return policies.Verdict{}
	}
	s := stand(c)
	why := ""
	switch {
	case c.Side == policies.SideClusterAPI && Authoritative(s.Shape) == ClusterAPI && !s.moving():
	case c.Side == policies.SideClusterAPI:
		why = neither(there(c))
	case fenceOpen(s): // otherwise FinalizerFence refuses the finalizer
		if why = besideClusterAPI(c, c.Facts.Twin, there(c)); why == "" && c.Facts.Infra != nil {
			why = besideClusterAPI(c, c.Facts.Infra, fmt.Sprintf("its %s %s/%s", c.Facts.Infra.Kind, c.TwinNamespace, c.Facts.Infra.Metadata.Name))
		}
	}
	if why == "" {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(finalizersPath, why))
}

func neither(acts string) string {
	return fmt.Sprintf("%s exists too, and is not paused in Cluster API. Each API would create an instance, so neither starts. Delete one of the two "+
		"Machines, or annotate the Cluster API Machine and its infrastructure machine with %s to make them the mirror",
		acts, PausedAnnotation)
}

// besideClusterAPI returns why Machine API must not have an instance created for c.New while Cluster API's object o exists; "" if it may. If o was paused after
// its creation, its controller may have asked for an instance before the pause.
func besideClusterAPI(c policies.Change, o *policies.Object, name string) string {
	kind, _ := KindNamed(c.Kind)
	id := providerID(o)
	switch foreign := ForeignTo(kind, c.New, o); {
	case !stopped(o), foreign == ForeignGoing, foreign == ForeignActs:
		return neither(name)
	case foreign == ForeignStopping:
		return name + " was paused, but its controllers have not acknowledged the pause yet (condition Paused=True). Machine API starts once they have"
	case foreign == ForeignBegun, id != "" && providerID(c.New) == "":
		return fmt.Sprintf("Cluster API may have created an instance for %s, so Machine API would create a second one. Delete one of the two Machines. If you "+
			"delete the Cluster API Machine, remove the annotation %s from it, and from its infrastructure machine once that is being deleted too, so that their "+
			"controllers terminate the instance",
			name, PausedAnnotation)
	}
	return ""
}

// creationsAtOnce is the time within which two objects may have been created without the review of either creation seeing the other object: a request may take
// a minute, and the clocks of two API servers differ.
const creationsAtOnce = 5 * time.Minute

// CreatesForSet reports whether a request creates a Machine for a MachineSet of its own API.
func CreatesForSet(c policies.Change) bool {
	return c.Operation == admissionv1.Create && c.Subresource == "" && c.Kind == "Machine" && c.Actor != policies.Poundlock &&
		OwningSet(c.New, c.Side) != ""
}

// HasMachines reports whether a MachineSet's controller has reported a Machine.
func HasMachines(set *policies.Object) bool { return setReplicas(set) > 0 }

// SetsCreatedTwice reports whether two MachineSets of one name were created at the same moment and the controllers of both act. The review of neither creation
// saw the other set then. It is false for sets that were created one after the other: both existed before Poundlock was installed, and Poundlock leaves both
// alone.
func SetsCreatedTwice(machineAPI, clusterAPI *policies.Object) bool {
	return machineAPI != nil && clusterAPI != nil && !machineAPI.Deleting() && !clusterAPI.Deleting() &&
		Authoritative(Read(machineAPI)) == MachineAPI && !stopped(clusterAPI) &&
		machineAPI.Metadata.CreationTimestamp.Sub(clusterAPI.Metadata.CreationTimestamp.Time).Abs() < creationsAtOnce
}

// SetCreatedTwice refuses the first Machine of a MachineSet if the set of its name in the other API was created at the same moment and acts, too. So at most
// one of the two begins to create Machines: each set is stored before its first Machine is reviewed, so at least one of these two reviews sees the other set. A
// set that has Machines may create more.
func SetCreatedTwice(c policies.Change) policies.Verdict {
	machineAPI, clusterAPI := c.Facts.OwnerSet, c.Facts.OwnerSetTwin
	if !CreatesForSet(c) || HasMachines(machineAPI) {
		return policies.Verdict{}
	}
	if c.Side == policies.SideClusterAPI {
		machineAPI, clusterAPI = clusterAPI, machineAPI
	}
	if !SetsCreatedTwice(machineAPI, clusterAPI) {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(ownersPath, fmt.Sprintf("MachineSet %s was created in both APIs at the same moment, and each set would create its "+
		"own Machines. Therefore a set without Machines creates none. %s", clusterAPI.Metadata.Name, KeepOneSet(machineAPI, clusterAPI))))
}

// KeepOneSet returns a text with the commands by which a person keeps one of two MachineSets of one name whose controllers both act.
func KeepOneSet(machineAPI, clusterAPI *policies.Object) string {
	kind, _ := KindNamed("MachineSet")
	command := func(api API, o *policies.Object, verb, more string) string {
		return fmt.Sprintf("kubectl -n %s %s %s %s%s", o.Metadata.Namespace, verb, kind.DefinitionIn(api), o.Metadata.Name, more)
	}
	with := func(o *policies.Object) string {
		if n := setReplicas(o); n > 0 {
			return fmt.Sprintf(" (also deletes its Machines, now %d, with their instances)", n)
		}
		return ""
	}
	mirror := ""
	if !HasMachines(clusterAPI) {
		mirror = ", or, to make it the mirror, " + command(ClusterAPI, clusterAPI, "annotate", " "+PausedAnnotation+"=")
	}
	return fmt.Sprintf("To keep Machine API's MachineSet: %s%s%s. To keep Cluster API's MachineSet: %s%s",
		command(ClusterAPI, clusterAPI, "delete", ""), with(clusterAPI), mirror, command(MachineAPI, machineAPI, "delete", ""), with(machineAPI))
}
