// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// mutant is a planted bug: plant changes the rules, and walk must find the bug.
type mutant struct {
	name  string
	plant func(*rules)
	walk  walking
}

// nextBut returns a plant that replaces steps of authority.Next: but gets the state and the step that Next decided on, and returns the step to take instead.
func nextBut(but func(authority.State, authority.Step) authority.Step) func(*rules) {
	return func(r *rules) {
		next := r.next
		r.next = func(s authority.State) authority.Step { return but(s, next(s)) }
	}
}

func deletionBut(but func(authority.DeletionState) authority.DeletionState, step func(authority.DeletionStep) authority.DeletionStep) func(*rules) {
	return func(r *rules) {
		deletion := r.deletion
		r.deletion = func(d authority.DeletionState) authority.DeletionStep { return step(deletion(but(d))) }
	}
}

func sameStep(s authority.DeletionStep) authority.DeletionStep       { return s }
func sameDeletion(d authority.DeletionState) authority.DeletionState { return d }
func waitsFor(s authority.State, step authority.Step, reasons ...string) bool {
	for _, r := range reasons {
		if step.Reason == r && s.Requested.Other() == s.Current {
			return true
		}
	}
	return false
}

// pausesAnyway returns the step Pause in place of a wait for ReasonPausedElsewhere, so it requests a pause of controllers that already report one.
func pausesAnyway(_ authority.State, step authority.Step) authority.Step {
	if step.Reason == authority.ReasonPausedElsewhere {
		return authority.Step{Action: authority.Pause, On: step.On, Reason: authority.ReasonPausing}
	}
	return step
}

// countedBut returns a plant under which Next takes all Machines for counted in the states for which blind returns true.
func countedBut(blind func(authority.State) bool) func(*rules) {
	return func(r *rules) {
		next := r.next
		r.next = func(s authority.State) authority.Step {
			if blind(s) {
				s.Uncounted = 0
			}
			return next(s)
		}
	}
}

func acknowledges(s authority.State) authority.Step {
	return authority.Step{Action: authority.Acknowledge, To: s.Requested, On: authority.WhoMachineAPI, Reason: authority.ReasonStarted}
}

// mutants returns the planted bugs: bugs of other implementations, and this design with one of its precautions left out.
func mutants() []mutant {
	return []mutant{
		{"the target is released before the switch is stored", nextBut(func(s authority.State, step authority.Step) authority.Step {
			if step.Action == authority.Switch && step.To == authority.ClusterAPI && !step.Cancelled && s.ClusterAPI.PauseRequested {
				return authority.Step{Action: authority.Release, On: authority.WhoClusterAPI | authority.WhoInfra, Reason: authority.ReasonReleasing}
			}
			return step
		}), walkOf(flips|crashes, machineOfMachineAPI)},
		{"nobody asks whether the last move has settled", nextBut(func(s authority.State, step authority.Step) authority.Step {
			if waitsFor(s, step, authority.ReasonNotPaused, authority.ReasonNotResumed) && s.Synchronized == "True" && s.CaughtUp {
				return acknowledges(s)
			}
			return pausesAnyway(s, step)
		}), walkOf(flips, machineOfMachineAPI)},
		{"where authority came from is inferred from what is asked for", func(r *rules) {
			next := r.next
			r.next = func(s authority.State) authority.Step {
				if inferred := s.Requested.Other(); s.Current == authority.Migrating && s.Origin != inferred {
					s.Origin, s.CaughtUp = inferred, false // Next then compares the generation of the wrong side
				}
				return next(s)
			}
		}, walkOf(flips, machineOfMachineAPI)},
		{"an old Paused=True is read as the answer", nextBut(pausesAnyway), walkOf(flips|halts, setOfMachineAPI)},
		{"the source's finalizer goes before the target's is there", nextBut(func(s authority.State, step authority.Step) authority.Step {
			if step.Action == authority.AddFinalizer && s.Requested == s.Origin.Other() {
				return authority.Step{Action: authority.Switch, To: s.Requested, On: authority.WhoMachineAPI, Drop: authority.WhoMachineAPI,
					Reason: authority.ReasonCompleted}
			}
			return step
		}), walkOf(flips, machineOfMachineAPI)},
		{"the switch does not wait until the mirror has caught up", func(r *rules) {
			next := r.next
			r.next = func(s authority.State) authority.Step {
				if s.Current == authority.Migrating {
					s.CaughtUp, s.Synchronized = true, "True"
				}
				return next(s)
			}
		}, walkOf(flips|edits, machineOfMachineAPI)},
		{"the provider's object is released before its Machine is held", nextBut(func(s authority.State, step authority.Step) authority.Step {
			if s.Current == authority.ClusterAPI && s.Infra.PauseRequested && s.Infra.Acknowledged == authority.AcknowledgedPaused &&
				s.MachineAPI.Acknowledged == authority.AcknowledgedPaused {
				return authority.Step{Action: authority.Release, On: authority.WhoInfra, Reason: authority.ReasonReleasing}
			}
			return step
		}), walkOf(flips|deletes, newMachineForClusterAPI)},
		{"a move to Machine API does not ask for the instance's ID", func(r *rules) {
			next := r.next
			r.next = func(s authority.State) authority.Step {
				if s.Current == authority.ClusterAPI || s.Current == authority.Migrating && s.Origin == authority.ClusterAPI {
					s.Instance = authority.InstanceKnown
				}
				return next(s)
			}
		}, walkOf(flips|crashes, birthInClusterAPI)},
		{"nobody asks for the instance's ID again once the source has paused", func(r *rules) {
			next := r.next
			r.next = func(s authority.State) authority.Step {
				if s.Current == authority.Migrating {
					s.Instance = authority.InstanceKnown
				}
				return next(s)
			}
		}, walkOf(flips|crashes|decides, newMachineForClusterAPI)},
		{"a person's decision outlives the pause of the source", func(r *rules) { r.decidesOnce = true }, walkOf(flips|crashes|decides, newMachineForClusterAPI)},
		{"the handoff compares generations alone, which a label of the last moment does not bump", func(r *rules) { r.forgetsLabels = true },
			walkOf(flips|labels, setOfMachineAPI)},
		{"a check moves whose requests to remediate are open", func(r *rules) { r.forgetsRequests = true }, walkOf(flips|remediates, checkOfMachineAPI)},
		{"requests to remediate are looked at before the check has paused, and not after", nextBut(func(s authority.State, step authority.Step) authority.Step {
			if s.RequestsOpen && s.Current == authority.Migrating {
				s.RequestsOpen = false
				return authority.Next(s)
			}
			return step
		}), walkOf(flips|remediates, checkOfMachineAPI)},
		{"a set acts while a mark of long ago would have it delete a Machine", func(r *rules) { r.forgetsMarks = true },
			movingSets(authority.MachineAPI, false, flips|remediates)},
		{"a Machine moves back that the garbage collector is about to delete", nextBut(func(s authority.State, _ authority.Step) authority.Step {
			s.Detached = false
			return authority.Next(s)
		}), walkOf(flips, detachedOfClusterAPI)},
		{"a move goes on although the Machine API's controller, with its gate off, has ended the instance",
			nextBut(func(s authority.State, _ authority.Step) authority.Step {
				s.Ended = false
				return authority.Next(s)
			}), walkOf(flips|ungates, endedOnItsWay)},
		{"a Machine whose move back is cancelled keeps its machine finalizer while it is deleted", nextBut(func(s authority.State, _ authority.Step) authority.Step {
			s.Loose = true
			return authority.Next(s)
		}), walkOf(ungates, deletedOnItsWayBack)},
		{"a move back is cancelled although the Machine API's controller, with its gate off, has begun to end the instance",
			nextBut(func(s authority.State, _ authority.Step) authority.Step {
				s.Ended = false
				return authority.Next(s)
			}), walkOf(ungates, deletedOnItsWayBack)},
		{"the mirror stops while authority moves", func(r *rules) { r.stopsInTransit = true }, walkOf(flips, machineOfMachineAPI)},
		{"the mirror reads which API is authoritative before it reads what it writes to", func(r *rules) { r.authorityFirst = true },
			walkOf(flips|edits|torn|anyDelay, setOfMachineAPI)},
		{"a row lets a neighbour write what a mirror has of its authority", func(r *rules) { r.wideRow = true }, walkOf(flips|visits, setOfMachineAPI)},
		{"a row of a move lasts longer than its writer takes to acknowledge the pause", func(r *rules) { r.rowsOutlast = true },
			walkOf(flips|visits, machineOfMachineAPI)},
		{"the mirror puts back what a neighbour wrote to it for its authority", func(r *rules) { r.carriesNothing = true }, walkOf(flips|visits, setOfMachineAPI)},
		{"what makes the mirror changes one that was made meanwhile", func(r *rules) { r.createsOver = true }, walkOf(flips|edits|leaders, setOfMachineAPI)},
		{"patches carry no resourceVersion", func(r *rules) { r.unlocked = true }, walkOf(flips|edits|leaders, setOfMachineAPI)},
		{"nobody is patient with a provider that never answers", func(r *rules) { r.impatient = true }, walkOf(flips|crashes, machineNeverAcknowledged)},
		{"an instance is created without a fresh read of which API is authoritative", func(r *rules) { r.staleGate = true },
			walkOf(flips|crashes, machineOfMachineAPI)},
		{"the Machine API's controller says that it is paused, and works on", func(r *rules) {
			gate := r.gate
			r.gate = func(s authority.Shape, on bool) authority.Gate {
				g := gate(s, on)
				g.Act = g.Act || s.Current == authority.ClusterAPI
				return g
			}
		}, walkOf(flips, machineOfMachineAPI)},
		{"an unowned mirror's deletion is propagated", deletionBut(func(d authority.DeletionState) authority.DeletionState { d.Owned = true; return d }, sameStep),
			walkOf(deletes, machineOfMachineAPI)},
		{"a deletion is carried over while authority moves",
			deletionBut(func(d authority.DeletionState) authority.DeletionState { d.InTransit = false; return d }, sameStep),
			walkOf(flips|deletes, machineOfMachineAPI)},
		{"a Machine API mirror goes before Cluster API is released",
			deletionBut(func(d authority.DeletionState) authority.DeletionState { d.Unreleased = false; return d }, sameStep),
			walkOf(deletes, newMachineForClusterAPI)},
		{"a stale sync finalizer is nobody's to remove", deletionBut(sameDeletion, func(s authority.DeletionStep) authority.DeletionStep {
			if s == authority.Forget {
				return authority.KeepMirroring
			}
			return s
		}), walkOf(deletes|recreates, machineOfClusterAPI)},
		{"children are not detached", deletionBut(sameDeletion, func(s authority.DeletionStep) authority.DeletionStep {
			if s == authority.DetachChildren {
				return authority.ReleaseMirror
			}
			return s
		}), familyOf(authority.ClusterAPI, authority.MachineAPI, 0)},
		{"children are not detached, and nobody asks whose parent went",
			deletionBut(func(d authority.DeletionState) authority.DeletionState { d.Parent = authority.Parent{}; return d },
				func(s authority.DeletionStep) authority.DeletionStep {
					if s == authority.DetachChildren {
						return authority.ReleaseMirror
					}
					return s
				}), familyOf(authority.ClusterAPI, authority.ClusterAPI, 0)},
		{"a Machine for which the Machine API is authoritative is only marked when its set's mirror goes", func(r *rules) { r.marksOnly = true },
			familyOf(authority.ClusterAPI, authority.MachineAPI, 0)},
		{"a set moves although the other does not count one of its Machines", countedBut(func(authority.State) bool { return true }),
			movingSets(authority.MachineAPI, false, flips|edits)},
		{"the same, back to Machine API", countedBut(func(authority.State) bool { return true }), movingSets(authority.ClusterAPI, false, flips|edits)},
		{"the same, of a set that was just created and is asked back", countedBut(func(authority.State) bool { return true }),
			movingSets(authority.MachineAPI, true, flips)},
		{"Machines are counted at the request alone, and not when the source has paused",
			countedBut(func(s authority.State) bool { return s.Current == authority.Migrating }),
			movingSets(authority.ClusterAPI, false, flips|edits)},
		{"a set's Machines are listed before it is known that it has paused", func(r *rules) { r.countsBefore = true },
			movingSets(authority.ClusterAPI, false, flips|edits)},
		{"a Machine is not given back to a set that was recreated", func(r *rules) { r.forgetsOwner = true },
			movingSets(authority.MachineAPI, false, flips|edits|deletes)},
		{"the same, to the Machine API's set", func(r *rules) { r.forgetsOwner = true }, movingSets(authority.ClusterAPI, false, flips|edits|deletes)},
		{"what is deleted with its namespace is taken for a request",
			deletionBut(func(d authority.DeletionState) authority.DeletionState { d.Surroundings = authority.Stay; return d }, sameStep),
			familyOf(authority.MachineAPI, authority.MachineAPI, vanishes)},
		{"what is deleted while the feature gate is off is taken for a request",
			deletionBut(func(d authority.DeletionState) authority.DeletionState { d.Gate = authority.GateOn; return d }, sameStep),
			familyOf(authority.ClusterAPI, authority.ClusterAPI, ungates)},
		{"authority moves to an API whose namespace is being deleted", func(r *rules) { r.looksAway = true }, walkOf(flips|vanishes, machineOfMachineAPI)},
		{"nobody looks for a twin when a controller is about to begin", func(r *rules) { r.bothBegin = true }, walkOf(twice, newMachine)},
		{"a move ends although its Machine was deleted before", func(r *rules) { r.announcesNothing = true }, walkOf(flips|deletes, machineOfMachineAPI)},
		{"a restored infrastructure machine gets an owner before it is paused", func(r *rules) { r.ownsFirst = true }, walkOf(twice, besideRestored)},
		{"a restored infrastructure machine that is being deleted gets an owner before it is paused", func(r *rules) { r.ownsLeaving = true },
			walkOf(crashes, besideEnding)},
		{"what Cluster API has begun becomes the mirror when it is paused", func(r *rules) { r.pauseSuffices = true }, walkOf(twice|crashes, newInClusterAPI)},
		{"a Machine goes whose finalizer somebody removed, and its instance stays", func(r *rules) { r.leavesInstance = true },
			walkOf(flips|deletes|strips, machineOfMachineAPI)},
		{"a set moves, and is deleted, although the other does not count one of its Machines", countedBut(func(authority.State) bool { return true }),
			familyOf(authority.ClusterAPI, authority.MachineAPI, flips)},
		{"a set that is deleted on its way moves on", nextBut(func(s authority.State, _ authority.Step) authority.Step {
			s.MachineAPI.Deleting, s.ClusterAPI.Deleting = false, false
			return authority.Next(s)
		}), familyOf(authority.ClusterAPI, authority.MachineAPI, flips)},
		{"the deletion of a set is carried over while authority moves",
			deletionBut(func(d authority.DeletionState) authority.DeletionState { d.InTransit = false; return d }, sameStep),
			familyOf(authority.MachineAPI, authority.MachineAPI, flips)},
		{"a Machine is not given back to a set that was recreated and whose mirror is being deleted", func(r *rules) { r.forgetsOwner = true },
			familyOf(authority.ClusterAPI, authority.ClusterAPI, flips|recreates)},
		{"the set that goes on loses the Machine that the other API runs", func(r *rules) { r.losesOwner = true },
			familyOf(authority.ClusterAPI, authority.MachineAPI, 0)},
		{"a switch does not store that the object exists which is authoritative from then on", func(r *rules) { r.forgetsSwitched = true },
			walkOf(flips|aways, machineOfMachineAPI)},
		{"an adoption does not store that the object exists", func(r *rules) { r.forgetsAdopted = true }, walkOf(recreates|aways, machineOfClusterAPI)},
		{"the same, by the Machine API's controller", func(r *rules) { r.forgetsReviewed = true }, walkOf(recreates|aways, machineOfClusterAPI)},
		{"Cluster API is released before anything stored says that its object exists", nextBut(func(s authority.State, _ authority.Step) authority.Step {
			s.Unrecorded = false
			return authority.Next(s)
		}), walkOf(aways, newMachineForClusterAPI)},
		{"a pair that was adopted while Poundlock was away is mirrored before it is stored that the object exists", func(r *rules) { r.recordsLast = true },
			walkOf(recreates|aways|crashes, machineOfClusterAPI)},
		{"a mirror goes before it is held, and nobody releases what is deleted", func(r *rules) { r.deletesLoose = true }, walkOf(flips|aways, machineOfMachineAPI)},
		{"what a provider keeps for an instance is not paused with its machine", func(r *rules) { r.pausesAlone = true }, walkOf(flips, onVSphere.newForClusterAPI)},
		{"the same, on OpenStack", func(r *rules) { r.pausesAlone = true }, walkOf(flips, onOpenStack.newForClusterAPI)},
		{"Machine API takes a Machine over while what is kept for its instance has not acknowledged its pause", func(r *rules) { r.asksAlone = true },
			walkOf(flips, onVSphere.newForClusterAPI)},
		{"the same, on OpenStack", func(r *rules) { r.asksAlone = true }, walkOf(flips, onOpenStack.newForClusterAPI)},
		{"nothing keeps a Machine until its provider knows the instance", func(r *rules) { r.neverHooks, r.movesEarly = true, true },
			walkOf(deletes, onOpenStack.toClusterAPI)},
		{"the hook goes when the object for the instance exists, and the provider does not hold it", func(r *rules) { r.hookGoesEarly = true },
			walkOf(deletes, onOpenStack.toClusterAPI)},
		{"a Machine is deleted in the foreground whose provider does not know its instance", func(r *rules) { r.letsForeground = true },
			walkOf(deletes, onOpenStack.toClusterAPI)},
		{"the mirror makes no object for the instance, and nobody waits for it", func(r *rules) { r.keepsNone, r.movesEarly = true, true },
			walkOf(deletes, onVSphere.toClusterAPI)},
		{"a Machine moves whose object for the instance is gone, or about to go", func(r *rules) { r.movesEarly = true }, walkOf(flips, onVSphere.unkept)},
		{"a Machine API object goes before what is kept for its instance is released", func(r *rules) { r.forgetsKept = true },
			walkOf(deletes, onOpenStack.toMachineAPI)},
		{"a provider's machine goes while what is kept for its instance acts", func(r *rules) { r.letsActingGo = true }, walkOf(deletes, onOpenStack.leftActing)},
		{"the finalizer goes off what is kept for a stranger's machine", func(r *rules) { r.takesStrangers = true }, walkOf(twice, onOpenStack.stranger)},
		{"a move does not wait for what the mirror recreated on the way", nextBut(func(s authority.State, step authority.Step) authority.Step {
			if s.Current == authority.Migrating && step.Reason == authority.ReasonNotPaused && step.On&^(authority.WhoClusterAPI|authority.WhoInfra) == 0 &&
				s.Requested == authority.ClusterAPI && s.Origin == authority.MachineAPI {
				s.ClusterAPI.Acknowledged, s.Infra.Acknowledged = authority.AcknowledgedPaused, authority.AcknowledgedPaused
				return authority.Next(s)
			}
			return step
		}), walkOf(deletes, onVSphere.remade)},
	}
}
