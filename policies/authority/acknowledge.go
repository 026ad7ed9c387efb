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
	// ByBlockMove: BlockMoveAnnotation stands on the object while its controller acts; the pass that finds it paused takes it off, when all that
	// it had begun is paused too.
	ByBlockMove
	// ByPatience: each pass reads the pause first and reports nothing. After waiting for longer than a pass takes, Poundlock takes the pause for acknowledged.
	ByPatience
)

// BlockMoveAnnotation keeps `clusterctl move` from an object whose controller still acts.
const BlockMoveAnnotation = clusterctlv1.BlockMoveAnnotation

// infraAcknowledged reads the provider's answer on one of its objects. A release of it that has the condition is believed, whatever others do. lately reports
// that the object was paused so lately that an earlier pass may still run.
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
		if told := infra.HasAnnotation(PausedAnnotation); !told || !lately {
			return either(!told)
		}
	case ByCondition:
	}
	return NotAcknowledged
}

// acknowledged reports whether the controllers of the object under review have acknowledged, on the object itself, the pause that a move asks
// for. Of a provider that answers nothing nobody can tell, so it has not.
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
