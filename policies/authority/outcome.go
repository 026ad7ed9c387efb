// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletionRequest is a deletion that somebody asks for, of an object that has a twin which is not being deleted itself. Deletion.Next is how it is brought
// about, step by step; Outcome is what comes of it, so that admission can say so beforehand.
type DeletionRequest struct {
	// Kind is the object's kind, On the API that it is deleted in.
	Kind string
	On   API
	// Authority is the authoritative API of it: Authoritative of the Machine API object. A move that is under way ends first.
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

// Instances is what becomes of the instances behind a Machine, or behind the Machines of a MachineSet.
type Instances string

const (
	// NoInstance: none stands behind the kind.
	NoInstance Instances = ""
	// RunOn: none ends.
	RunOn Instances = "RunOn"
	// End: they end, and the Machines with them.
	End Instances = "End"
	// MayEnd: of a mirror in the foreground, those end whose Machines are in the hands of the API that the set is deleted in: the collector deletes them
	// at once, before anybody can take them out of its reach. The others run on. Of Cluster API's set authoritative that is to leave orphans, all or some end:
	// its controller deletes its Machines, and the collector releases them, whichever is first.
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

// ends is what the end of the authoritative object does.
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

// spares is what the end of a mirror does.
func (d DeletionRequest) spares() Instances {
	switch {
	case d.Kind == "MachineHealthCheck":
		return NoInstance
	case d.Kind == "MachineSet" && d.Propagation == metav1.DeletePropagationForeground:
		return MayEnd
	}
	return RunOn
}
