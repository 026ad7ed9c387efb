// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/poundlock/poundlock/policies"
)

// Acknowledgement is how a provider's machine controller reports that it is paused, and that it is no longer paused.
type Acknowledgement uint8

// The ways to acknowledge. Cluster API's contract asks for the condition. Poundlock knows by the kind of its machine which provider has no condition yet.
const (
	// ByCondition: the controller sets the condition Paused.
	ByCondition Acknowledgement = iota
	// ByBlockMove: the controller keeps BlockMoveAnnotation on the object while the controller acts. The pass that finds the object paused removes the
	// annotation, once everything that the controller had begun is paused too.
	ByBlockMove
	// ByPatience: the provider reports nothing, but each pass of its controller first reads whether the object is paused. Poundlock waits longer than a pass
	// takes, and then counts the pause as acknowledged.
	ByPatience
)

// BlockMoveAnnotation prevents `clusterctl move` of an object whose controller still acts.
const BlockMoveAnnotation = clusterctlv1.BlockMoveAnnotation

// infraAcknowledged returns the state of the provider's acknowledgement on one of its objects. If the object has the condition Paused, that condition
// decides, even if other releases of the provider acknowledge in another way. lately reports that the object was paused so recently that an earlier pass of
// the controller may still run.
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

// acknowledged reports whether the controllers of the object under review have acknowledged, on the object itself, the pause that a move asks for. It is
// false for a provider that reports nothing (ByPatience).
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
