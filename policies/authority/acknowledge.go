// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/poundlock/poundlock/policies"
)

// Acknowledgement is how a provider's machine controller reports that it is paused, and that it is no longer paused.
type Acknowledgement uint8

// The ways to acknowledge a pause. Cluster API's contract asks for the condition. For providers that do not set the condition yet, Poundlock knows the way by
// the kind of the provider's machine.
const (
	// ByCondition: the controller sets the condition Paused.
	ByCondition Acknowledgement = iota
	// ByBlockMove: the controller keeps BlockMoveAnnotation on the object while the controller acts. When a pass of the controller finds the object paused, and
	// everything that the controller had begun is paused too, it removes the annotation.
	ByBlockMove
	// ByPatience: the provider reports nothing, but each pass of its controller first checks whether the object is paused. Poundlock waits longer than a pass
	// takes, and then counts the pause as acknowledged.
	ByPatience
)

// BlockMoveAnnotation prevents `clusterctl move` of an object whose controller still acts.
const BlockMoveAnnotation = clusterctlv1.BlockMoveAnnotation

// infraAcknowledged returns what one of the provider's objects shows about the acknowledgement of a pause. If the object has the condition Paused, the
// condition decides, even if other releases of the provider acknowledge in another way. lately reports that the object was paused so recently that an earlier
// pass of the controller may still run.
func infraAcknowledged(infra *policies.Object, lately bool) AcknowledgedState {
	if infra == nil {
		return NotAcknowledged
	}
	if a := answer(Paused(infra).Status); a != NotAcknowledged {
		return a
	}
	switch Acknowledges(infra.Kind) {
	case ByBlockMove:
		return either(infra.HasAnnotation(BlockMoveAnnotation))
	case ByPatience:
		if requested := infra.HasAnnotation(PausedAnnotation); !requested || !lately {
			return either(!requested)
		}
	case ByCondition:
	}
	return NotAcknowledged
}

// acknowledged reports whether the object under review itself shows that its controllers have acknowledged the pause that a move asks for. It is false for a
// provider that reports nothing (ByPatience).
func acknowledged(c policies.Change) bool {
	o := stored(c)
	switch c.Side {
	case policies.SideMachineAPI:
		return Read(o).Condition(ConditionPaused).Status == "True"
	case policies.SideClusterAPI:
		return o.HasAnnotation(PausedAnnotation) && Paused(o).Status == "True"
	case policies.SideInfrastructure:
		return o.HasAnnotation(PausedAnnotation) && infraAcknowledged(o, true) == AcknowledgedPaused
	case policies.Surroundings:
	}
	return false
}

func either(acting bool) AcknowledgedState {
	if acting {
		return AcknowledgedUnpaused
	}
	return AcknowledgedPaused
}
