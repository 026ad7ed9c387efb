// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/poundlock/poundlock/policies"
)

// Acknowledgement is how a provider's machine controller reports that it is paused, and that it no longer is.
type Acknowledgement uint8

// The ways. Cluster API's contract asks for the condition; a provider that has none yet is known by its kind.
const (
	// ByCondition: the condition Paused.
	ByCondition Acknowledgement = iota
	// ByBlockMove: the controller keeps BlockMoveAnnotation on the object while it acts. The pass that finds the object paused removes it, once all that the
	// controller had begun is paused too.
	ByBlockMove
	// ByPatience: the provider reports nothing, but each of its passes reads the pause first. Poundlock waits for longer than a pass takes, and then counts
	// the pause as acknowledged.
	ByPatience
)

// BlockMoveAnnotation keeps `clusterctl move` from an object whose controller still acts.
const BlockMoveAnnotation = clusterctlv1.BlockMoveAnnotation

// infraAcknowledged reads the provider's acknowledgement on one of its objects. A condition Paused decides, also where the provider's other releases
// acknowledge in another way. lately reports that the object was paused so lately that an earlier pass may still run.
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
// false for a provider that reports nothing.
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
