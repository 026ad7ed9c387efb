// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletionRequest is a deletion of an object whose twin is not being deleted itself. DeletionState.Next carries it out step by step; Outcome is its result, so
// that admission can warn beforehand.
type DeletionRequest struct {
	// Kind is the object's kind, On the API that it is deleted in.
	Kind string
	On   API
	// Authority is its authoritative API: Authoritative of the Machine API object. A move in progress ends first.
	Authority API
	// Owned: a controller of Machines owns it (a MachineSet; not merely the Cluster).
	Owned bool
	// Propagation is what is asked of the garbage collector; "" is its default, the background.
	Propagation metav1.DeletionPropagation
}

// Fate is what becomes of an object.
type Fate string

const (
	// Stays: it is as it was, but for its twin.
	Stays Fate = "Stays"
	// Goes: it is deleted.
	Goes Fate = "Goes"
	// MadeAgain: it is deleted, and its mirror is recreated.
	MadeAgain Fate = "MadeAgain"
)

// Instances is what happens to the instances of a Machine, or of the Machines of a MachineSet.
type Instances string

const (
	// NoInstance: the kind has none.
	NoInstance Instances = ""
	// RunOn: none ends.
	RunOn Instances = "RunOn"
	// End: they end, and the Machines with them.
	End Instances = "End"
	// MayEnd: some are terminated. If a mirror is deleted in the foreground, they are those whose Machines belong to the API in which the set is deleted: the
	// collector deletes them at once, before Poundlock can detach them. The others keep running. If an authoritative set of Cluster API is deleted with
	// orphans, all or some are: its controller deletes its Machines while the collector releases them, whichever is first.
	MayEnd Instances = "MayEnd"
)

// Outcome is what comes of a deletion.
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

// ends is what deleting the authoritative object does.
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

// spares is what deleting a mirror does.
func (d DeletionRequest) spares() Instances {
	switch {
	case d.Kind == "MachineHealthCheck":
		return NoInstance
	case d.Kind == "MachineSet" && d.Propagation == metav1.DeletePropagationForeground:
		return MayEnd
	}
	return RunOn
}
