// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletionRequest is a deletion of an object whose twin is not being deleted itself. Outcome returns the result, so that admission can warn before the
// deletion. DeletionState.Next decides step by step how the deletion is carried out.
type DeletionRequest struct {
	// Kind is the object's kind. On is the API whose object is deleted.
	Kind string
	On   API
	// Authority is the API that is authoritative for the pair (Authoritative of the Machine API object). A move in progress ends before the deletion is carried
	// out.
	Authority API
	// Owned reports that a controller of Machines, such as a MachineSet, owns the object. If only the Cluster owns the object, it does not count as owned.
	Owned bool
	// Propagation is the propagation policy that the request has for the garbage collector; "" stands for the default, the background.
	Propagation metav1.DeletionPropagation
}

// Fate is what happens to an object of a pair in a deletion.
type Fate string

const (
	// Stays: the object is not deleted. Only its twin may be gone.
	Stays Fate = "Stays"
	// Goes: the object is deleted.
	Goes Fate = "Goes"
	// MadeAgain: the object, a mirror, is deleted, and Poundlock recreates it.
	MadeAgain Fate = "MadeAgain"
)

// Instances is what a deletion does to the instance of a Machine, or to the instances of a MachineSet's Machines.
type Instances string

const (
	// NoInstance: objects of this kind have no instances.
	NoInstance Instances = ""
	// RunOn: all instances keep running.
	RunOn Instances = "RunOn"
	// End: the instances are terminated, and their Machines are deleted.
	End Instances = "End"
	// MayEnd: some instances are terminated. If a MachineSet that is a mirror is deleted in the foreground, they are the instances whose Machines are run by the
	// API in which the set is deleted: the garbage collector deletes these Machines at once, before Poundlock can detach them. The other instances keep running.
	// If an authoritative MachineSet of Cluster API is deleted with --cascade=orphan, some or all instances are terminated: the set's controller deletes its
	// Machines while the garbage collector releases them, and for each Machine the first of the two decides.
	MayEnd Instances = "MayEnd"
)

// Outcome is the result of a deletion: the fate of the object, the fate of its twin, and what happens to the instances.
type Outcome struct {
	Object, Twin Fate
	Instances    Instances
}

// Outcome returns the effect of the deletion (converting › Summary of the rules, › Deletion of Machines; DESIGN §3.3).
func (d DeletionRequest) Outcome() Outcome {
	switch {
	case d.On == d.Authority:
		return Outcome{Goes, Goes, d.ends()}
	case d.Kind == "Machine" && d.Owned:
		return Outcome{Goes, Goes, End}
	case d.On == ClusterAPI:
		return Outcome{MadeAgain, Stays, d.spares()}
	}
	return Outcome{Goes, Stays, d.spares()}
}

// ends returns what happens to the instances when the authoritative object is deleted.
func (d DeletionRequest) ends() Instances {
	switch {
	case d.Kind == "MachineHealthCheck":
		return NoInstance
	case d.Kind == "MachineSet" && d.On == MachineAPI && d.Propagation == metav1.DeletePropagationOrphan:
		return RunOn
	case d.Kind == "MachineSet" && d.Propagation == metav1.DeletePropagationOrphan:
		return MayEnd
	}
	return End
}

// spares returns what happens to the instances when the mirror is deleted.
func (d DeletionRequest) spares() Instances {
	switch {
	case d.Kind == "MachineHealthCheck":
		return NoInstance
	case d.Kind == "MachineSet" && d.Propagation == metav1.DeletePropagationForeground:
		return MayEnd
	}
	return RunOn
}
