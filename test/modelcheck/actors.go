// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// actor is somebody who acts in a world. Moves calls the turn with every change that the actor may make next.
type actor[Turn any] interface{ Moves(Turn) }

// The actors of each model. Each has a file of its name.
var (
	pairActors = []actor[*turn]{
		pairHandoff{}, pairMirror{}, pairFormerLeader{},
		pairMachineController{}, coreController, provider, instanceController,
		pairNamespaceController{}, pairCollector{}, pairPatience{},
		pairPerson{}, pairHealthCheck{}, pairNeighbours{}, pairAbsence{},
	}
	familyActors = []actor[*familyTurn]{
		familyMirror{},
		familyMachineAPISet{}, familyClusterAPISet{}, familyMachineController{},
		familyCollector{}, familyNamespaceController{}, familyPerson{}, familyGate{},
	}
	setsActors = []actor[*setTurn]{
		setsHandoff{}, setsMirror{},
		setsMachineAPISet{}, setsClusterAPISet{}, setsMachineController{},
		setsPerson{}, setsHealthCheck{},
	}
)

// mover is who is promised a turn: an actor, or a part of one that goes on whatever the rest does. What a person does is promised to nobody.
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
	// A cache that lags catches up, whatever its controller does meanwhile.
	coreCache
	infraCache
	instanceCache
	collector
	clock
	// controller is any of the controllers of a family, or of sets that move, machines any of their Machines'.
	controller
	machines
	gateOperator
	installer
)
