// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// actor is somebody who acts in a model. Moves calls the turn with every change that the actor may make next.
type actor[Turn any] interface{ Moves(Turn) }

// The actors of each model. Each has a file that is named after it.
var (
	pairActors = []actor[*turn]{
		pairHandoff{}, pairMirror{}, pairFormerLeader{},
		pairMachineController{}, coreController, provider, instanceController,
		pairNamespaceController{}, pairCollector{}, pairPatience{},
		pairPerson{}, pairHealthCheck{}, pairNeighbours{}, pairAbsence{},
	}
	familyActors = []actor[*familyTurn]{
		familyHandoff{}, familyMirror{},
		familyMachineAPISet{}, familyClusterAPISet{}, familyMachineController{},
		familyCollector{}, familyNamespaceController{}, familyPerson{}, familyGate{},
	}
	setsActors = []actor[*setTurn]{
		setsHandoff{}, setsMirror{},
		setsMachineAPISet{}, setsClusterAPISet{}, setsMachineController{},
		setsPerson{}, setsHealthCheck{},
	}
)

// mover is who is promised a turn: an actor, or a part of an actor that goes on whatever the rest does. Nobody is promised what a person does.
type mover uint8

const (
	user mover = iota
	handoff
	mirror
	former
	machineAPI
	core
	infra
	instance
	// Each cache is a mover of its own: it catches up whatever its controller does meanwhile.
	coreCache
	infraCache
	instanceCache
	collector
	clock
	// controller is any controller of a family, or of sets that move. machines is any controller of their Machines.
	controller
	machines
	gateOperator
	installer
)
