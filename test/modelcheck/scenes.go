// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/poundlock/poundlock/policies/authority"
)

// scene is a state that walks begin in, and the kind of pair and provider that they walk.
type scene struct {
	name string
	set  bool
	// check: the pair is a MachineHealthCheck. The model treats a check as a set on which no controller puts a finalizer.
	check bool
	// neverAcknowledges: the provider never acknowledges a pause.
	neverAcknowledges bool
	// keeps is whether the provider keeps an object for each instance, and who creates that object for an instance of Machine API's.
	keeps keeps
	// family describes the pair of MachineSets that owns the Machine; zero: no set owns it.
	family authority.Parent
	world  func() pair
}

func ownedBy(a authority.API) authority.Parent {
	return authority.Parent{Authority: a, MachineAPI: authority.Present, ClusterAPI: authority.Present}
}

var (
	machineOfMachineAPI         = scene{name: "a Machine that is Machine API's", world: ofMachineAPI}
	machineNeverAcknowledged    = scene{name: "a Machine that is Machine API's, of a provider that never answers", neverAcknowledges: true, world: ofMachineAPI}
	newMachineNeverAcknowledged = scene{name: "a new Machine for Cluster API, of a provider that never answers",
		neverAcknowledges: true, world: func() pair { return pair{m: there | fresh | wants} }}
	birthInMachineAPI      = scene{name: "a Machine for which Machine API has asked for an instance", world: bornInMachineAPI}
	birthInClusterAPI      = scene{name: "a Machine for which Cluster API has asked for an instance", world: bornInClusterAPI}
	birthNeverAcknowledged = scene{name: "a Machine for which a provider that never answers has asked for an instance",
		neverAcknowledges: true, world: func() pair {
			w := bornInClusterAPI()
			w.c.clear(paused)
			w.i.clear(acting)
			w.core.seen, w.infra.seen = w.showC(), w.showI()
			return w
		}}
	birthBeforeAdoption = scene{name: "a Machine that is Cluster API's alone, which has asked for an instance", world: bornBeforeAdoption}
	ownedOfMachineAPI   = scene{name: "a Machine that is Machine API's, owned by a MachineSet", family: ownedBy(authority.MachineAPI), world: ofMachineAPI}
	newMachine          = scene{name: "a new Machine", world: func() pair { return pair{m: there | fresh} }}
	besideRestored      = scene{name: "a new Machine, with a restored object", world: func() pair { return pair{m: there | fresh, i: there | mark} }}
	besideEnding        = scene{name: "a Machine that is Machine API's, with a restored object that somebody deletes", world: func() pair {
		w := ofMachineAPI()
		w.i, w.restored = there|mark|ctlFin|leaving|pid, true
		return w
	}}
	newMachineForClusterAPI = scene{name: "a new Machine for Cluster API", world: func() pair { return pair{m: there | fresh | wants} }}
	newInClusterAPI         = scene{name: "a new Machine in Cluster API", world: func() pair { return pair{c: there | fresh, i: there} }}
	machineOfClusterAPI     = scene{name: "a Machine that is Cluster API's alone", world: ofClusterAPI}
	ownedOfClusterAPI       = scene{name: "a Machine that a mirrored MachineSet of Cluster API has made",
		family: ownedBy(authority.ClusterAPI), world: ofClusterAPI}
	// The garbage collector deletes the Machine API object in the end, however late.
	detachedOfClusterAPI = scene{name: "a Machine of Cluster API's, detached from its Machine API MachineSet that is gone",
		family: authority.Parent{MachineAPI: authority.Absent, ClusterAPI: authority.Present}, world: func() pair {
			w := mirroredOfClusterAPI()
			w.k = 0
			w.m.set(detached)
			return w
		}}
	endedOnItsWay = scene{name: "a Machine on its way to Cluster API that is deleted, and a controller with its feature gate off", world: func() pair {
		w := onItsWay.world()
		w.m.set(ungated | leaving)
		w.will = maybe
		return w
	}}
	deletedOnItsWayBack = scene{name: "a Machine on its way back to Machine API that is deleted, and a controller with its feature gate off", world: func() pair {
		w := mirroredOfClusterAPI()
		w.m.clear(wants)
		w.m.set(ctlFin | ungated | leaving)
		w.m.setStatus(authority.Migrating)
		for _, o := range []*object{&w.c, &w.i} {
			o.clear(acting)
			o.set(pauseRequested | paused)
		}
		w.k, w.will = 0, maybe
		w.core.seen, w.infra.seen = w.showC(), w.showI()
		return w
	}}
	onItsWay = scene{name: "a Machine on its way to Cluster API", world: func() pair {
		w := remade()
		w.k = 0
		w.core.seen, w.infra.seen = w.showC(), w.showI()
		return w
	}}
	setOfMachineAPI   = scene{name: "a MachineSet that is Machine API's", set: true, world: ofMachineAPISet}
	onOpenStack       = kept(keptByProvider, "on OpenStack")
	onVSphere         = kept(keptByMirror, "on vSphere")
	checkOfMachineAPI = scene{name: "a MachineHealthCheck that is Machine API's", set: true, check: true, world: ofMachineAPISet}
)

// keeping holds the scenes of a provider that keeps an object for each instance.
type keeping struct {
	machineOfMachineAPI, newForClusterAPI, birth, ofClusterAPI, newInClusterAPI scene
	// In these two scenes the move is requested from the start.
	toClusterAPI, toMachineAPI scene
	// leftActing: an older Poundlock has not paused the object that is kept for the instance.
	leftActing scene
	// returning: the Machine has just moved to Cluster API. It is asked to move back before the provider has created its object for the instance.
	returning scene
	// remade: the Machine is on its way to Cluster API, and the mirror has recreated the object for the instance.
	remade scene
	// unkept: Synchronized is still True, but the mirror has yet to recreate the object for the instance, or to put the hook on the Machine.
	unkept scene
	// stranger: where the mirror of a new Machine would be, there is a Machine that only Cluster API has, and that a person has paused. The object that is kept
	// for the stranger's instance is being deleted.
	stranger scene
}

// keepsFew reports whether the provider creates the object for the instance (OpenStack), and the mirror does not. Then few states follow from deletions.
func (k keeping) keepsFew() bool { return k.toClusterAPI.keeps == keptByProvider }

func kept(by keeps, where string) keeping {
	in := func(name string, world func() pair) scene {
		return scene{name: name + ", " + where, keeps: by, neverAcknowledges: by == keptByProvider, world: func() pair {
			w := world()
			if by == keptByProvider {
				w.i.clear(acting | paused)
				w.k.clear(acting | paused)
				if w.i.has(pauseRequested) {
					w.i.set(pauseSeen)
				}
			}
			w.core.seen, w.infra.seen, w.instance.seen = w.showC(), w.showI(), w.showK()|w.instance.seen&leftover
			return w
		}}
	}
	return keeping{
		machineOfMachineAPI: in(machineOfMachineAPI.name, ofMachineAPI),
		newForClusterAPI:    in(newMachineForClusterAPI.name, newMachineForClusterAPI.world),
		birth:               in(birthInClusterAPI.name, func() pair { return withInstance(bornInClusterAPI()) }),
		ofClusterAPI:        in(machineOfClusterAPI.name, func() pair { return withInstance(ofClusterAPI()) }),
		newInClusterAPI:     in(newInClusterAPI.name, newInClusterAPI.world),
		toClusterAPI: in("a Machine that moves to Cluster API", func() pair {
			w := ofMachineAPI()
			w.m.set(wants)
			return w
		}),
		toMachineAPI: in("a Machine that moves to Machine API", func() pair {
			w := mirroredOfClusterAPI()
			w.m.clear(wants)
			return w
		}),
		returning: in("a Machine that has just moved to Cluster API, and is asked back", returning),
		remade:    in("a Machine on its way to Cluster API, whose object for the instance was recreated", remade),
		unkept:    in("a Machine that is to move to Cluster API, whose object for the instance is gone", unkept),
		stranger:  in("a paused Machine of Cluster API's alone, and a new one of Machine API's", stranger),
		leftActing: in("a Machine that is Machine API's, and what is kept for its instance acts", func() pair {
			w := mirroredOfClusterAPI()
			w.m.clear(wants | paused)
			w.m.set(acting | ctlFin)
			w.m.setStatus(authority.MachineAPI)
			w.m.setOrigin(authority.MachineAPI)
			w.cloud = byM
			for _, o := range []*object{&w.c, &w.i} {
				o.clear(acting)
				o.set(pauseRequested | paused)
			}
			w.instance.seen.set(leftover)
			return w
		}),
	}
}

// returning returns a Machine that has just moved to Cluster API, and is asked to move back to Machine API.
func returning() pair {
	w := mirroredOfClusterAPI()
	w.m.clear(wants)
	w.c.set(hooked)
	w.k, w.cloud = 0, byM
	return w
}

// remade returns a Machine on its way to Cluster API. The mirror has just recreated the object for its instance, so the provider has not held that object yet.
func remade() pair {
	w := mirroredOfClusterAPI()
	w.m.set(ctlFin)
	w.m.setStatus(authority.Migrating)
	w.m.setOrigin(authority.MachineAPI)
	for _, o := range []*object{&w.c, &w.i} {
		o.clear(acting)
		o.set(pauseRequested | paused)
	}
	w.k, w.cloud = there|pauseRequested|pid|owned, byM
	return w
}

// unkept returns a Machine of Machine API's. Its mirror was recreated, except for the object for the instance.
func unkept() pair {
	w := remade()
	w.m.clear(paused)
	w.m.set(acting)
	w.m.setStatus(authority.MachineAPI)
	w.k = 0
	return w
}

// stranger returns a new Machine of Machine API's beside a paused Machine of its name that only Cluster API has.
func stranger() pair {
	w := withInstance(ofClusterAPI())
	w.m = there | fresh | acting
	w.m.setStatus(authority.MachineAPI)
	w.m.setOrigin(authority.MachineAPI)
	for _, o := range []*object{&w.c, &w.i, &w.k} {
		o.clear(acting | fresh)
		o.set(pauseRequested | paused | theirs)
	}
	w.k.set(leaving)
	return w
}

// mirroredOfClusterAPI returns a Machine for which Cluster API is authoritative, with its mirror and its instance.
func mirroredOfClusterAPI() pair {
	w := bornInClusterAPI()
	w.cloud &^= answer
	w.m.set(pid)
	w.i.set(pid)
	return withInstance(w)
}

// withInstance adds to w the object that the provider keeps for an instance which Cluster API has made.
func withInstance(w pair) pair {
	w.k = there | ctlFin | acting | owned | w.i&pid
	return w
}

func ofMachineAPI() pair {
	m := there | fresh | pid | ctlFin | acting
	m.setStatus(authority.MachineAPI)
	m.setOrigin(authority.MachineAPI)
	return pair{m: m, cloud: byM}
}

func ofMachineAPISet() pair {
	w := ofMachineAPI()
	w.m.clear(pid | ctlFin)
	w.cloud = 0
	return w
}

func ofClusterAPI() pair {
	w := pair{c: there | fresh | ctlFin | acting, i: there | ctlFin | acting | pid | owned, cloud: byC}
	w.core.seen, w.infra.seen = w.showC(), w.showI()
	return w
}

// bornInMachineAPI returns a Machine with an instance whose ID is not stored: its controller died after its call to the cloud and before it stored the answer.
func bornInMachineAPI() pair {
	w := ofMachineAPI()
	w.m.clear(pid)
	return w
}

// bornInClusterAPI returns a mirrored Machine of Cluster API's. The provider's controller has called the cloud and has not yet stored the answer.
func bornInClusterAPI() pair {
	w := bornBeforeAdoption()
	w.m = there | fresh | wants | paused | syncFin | synced | caught
	w.m.setStatus(authority.ClusterAPI)
	w.m.setOrigin(authority.ClusterAPI)
	w.c.set(mark | syncFin)
	w.i.set(mark)
	w.core.seen, w.infra.seen = w.showC(), w.showI()
	return w
}

func bornBeforeAdoption() pair {
	w := ofClusterAPI()
	w.i.clear(pid)
	w.cloud |= answer
	w.core.seen, w.infra.seen = w.showC(), w.showI()
	return w
}

// walking performs a walk under the given rules. The int is the most states that it visits.
type walking func(rules, int) result

// walkOf returns the walk of a pair from scene s. may lists what can happen in it beside the promised turns.
func walkOf(may deeds, s scene) walking {
	return func(r rules, most int) result {
		m := &pairs{rules: r, set: s.set, check: s.check, neverAcknowledges: s.neverAcknowledges, keeps: s.keeps, family: s.family, may: may,
			begin:    map[string]pair{s.name: s.world()},
			handoffs: map[[4]object]plan{}, mirrors: map[[4]object]plan{}, parties: map[[4]object]providersParty{}, asked: map[asking]op{},
			gates: map[object]gate{}, answers: map[review]bool{}}
		if m.can(visits) {
			m.writes = m.neighbourWrites()
		}
		return resultOf(m, most)
	}
}

// familyOf returns the walk of two MachineSets and a Machine. The first two parameters are the APIs that are authoritative for the sets and for the Machine.
func familyOf(set, machine authority.API, may deeds) walking {
	return families{set: set, machine: machine, may: may}.walk
}

// calmFamilyOf returns the walk that familyOf returns, except that people delete nothing in it.
func calmFamilyOf(set, machine authority.API, may deeds) walking {
	return families{set: set, machine: machine, may: may, calm: true}.walk
}

func (f families) walk(r rules, most int) result {
	name := fmt.Sprintf("MachineSets that are %s's, with a Machine that is %s's", f.set.Text(), f.machine.Text())
	f.rules, f.begin = r, map[string]family{name: newFamily(1, f.set, f.machine)}
	return resultOf(&f, most)
}

// bound is one walk of the proof. Walks with quick are part of `make test`.
type bound struct {
	name  string
	walk  walking
	quick bool
}

// bounds returns the walks of the proof. Each names what can happen in it beside the turns that every actor is promised.
func bounds() []bound {
	var out []bound
	add := func(quick bool, s scene, may deeds) {
		out = append(out, bound{s.name + ": " + may.String(), walkOf(may, s), quick})
	}
	add(true, machineOfMachineAPI, flips|edits|crashes)
	add(true, newMachine, flips|edits|crashes)
	add(true, newMachineForClusterAPI, flips|edits|crashes)
	add(true, machineNeverAcknowledged, flips|edits|crashes)
	add(true, newMachineNeverAcknowledged, flips|edits|crashes)
	add(true, machineOfClusterAPI, flips|recreates|crashes)
	add(true, birthInMachineAPI, flips|edits|crashes)
	add(true, newMachine, flips|crashes|decides)
	add(true, newMachineForClusterAPI, flips|crashes|decides)
	add(true, birthInClusterAPI, flips|edits|crashes)
	add(true, birthNeverAcknowledged, flips|crashes)
	add(true, newMachineNeverAcknowledged, flips|crashes|decides)
	add(true, birthBeforeAdoption, flips|recreates|crashes)
	add(true, machineOfMachineAPI, deletes)
	add(true, ownedOfMachineAPI, deletes)
	add(true, setOfMachineAPI, flips|edits|torn|anyDelay|crashes)
	add(true, setOfMachineAPI, flips|deletes)
	add(true, detachedOfClusterAPI, flips|crashes)
	add(true, endedOnItsWay, flips|ungates|crashes)
	add(true, deletedOnItsWayBack, flips|ungates|crashes)
	add(false, onItsWay, deletes|ungates)
	add(false, detachedOfClusterAPI, flips|torn|anyDelay|skips)
	add(false, onItsWay, flips|deletes|ungates|crashes)
	add(true, checkOfMachineAPI, flips|edits|torn|anyDelay|crashes)
	add(true, checkOfMachineAPI, flips|deletes)
	add(true, checkOfMachineAPI, flips|remediates|torn|anyDelay|crashes)
	add(true, setOfMachineAPI, flips|edits|visits|crashes)
	add(true, checkOfMachineAPI, flips|visits|labels|crashes)
	add(true, setOfMachineAPI, flips|labels|torn|anyDelay|crashes)
	add(true, machineOfMachineAPI, flips|labels|crashes)
	add(true, machineOfMachineAPI, flips|visits|crashes)
	add(true, machineOfMachineAPI, flips|vanishes)
	add(true, newMachine, twice|crashes)
	add(true, newInClusterAPI, twice|crashes)
	add(true, besideRestored, twice|crashes)
	add(true, besideEnding, crashes)
	add(false, besideEnding, flips|crashes)
	for _, on := range []keeping{onOpenStack, onVSphere} {
		add(true, on.machineOfMachineAPI, flips|edits|crashes)
		add(true, on.newForClusterAPI, flips|crashes)
		add(true, on.birth, flips|crashes)
		add(true, on.ofClusterAPI, flips|recreates)
		add(on.keepsFew(), on.toClusterAPI, deletes)
		add(false, on.toMachineAPI, deletes)
		add(true, on.leftActing, flips|crashes)
		add(true, on.returning, torn)
		add(true, on.stranger, twice)
		add(true, on.unkept, flips|crashes)

		add(false, on.remade, deletes)
		add(false, on.machineOfMachineAPI, deletes)
		add(false, on.machineOfMachineAPI, flips|vanishes)
		add(false, on.newInClusterAPI, twice|deletes)
		add(false, on.machineOfMachineAPI, flips|deletes)
		add(false, on.newForClusterAPI, flips|deletes)
		add(false, on.machineOfMachineAPI, flips|torn|anyDelay)
		add(false, on.machineOfMachineAPI, flips|skips)
		add(false, on.machineOfMachineAPI, flips|visits)
	}

	add(true, machineOfMachineAPI, flips|aways)
	add(true, newMachineForClusterAPI, aways)
	add(true, machineOfClusterAPI, recreates|aways|crashes)
	add(true, setOfMachineAPI, flips|aways|torn|anyDelay|crashes)
	add(true, checkOfMachineAPI, flips|aways|torn|anyDelay|crashes)
	add(false, machineOfMachineAPI, flips|aways|torn|crashes)
	add(false, newMachineForClusterAPI, flips|aways|crashes)
	add(false, birthBeforeAdoption, recreates|aways)
	add(false, ownedOfMachineAPI, flips|aways)
	add(false, machineNeverAcknowledged, flips|aways)
	add(false, newMachine, twice|deletes)
	add(false, besideRestored, twice|flips)
	add(false, newInClusterAPI, twice|deletes)
	add(false, newMachine, twice|flips|crashes)
	add(false, newInClusterAPI, twice|flips)
	add(false, newMachine, twice|skips)
	add(false, newInClusterAPI, twice|skips)
	add(false, newMachineForClusterAPI, flips|edits|visits|crashes)
	add(false, machineOfMachineAPI, flips|edits|visits|deletes)
	add(false, setOfMachineAPI, flips|visits|labels|torn|anyDelay|crashes)
	add(false, machineOfMachineAPI, flips|visits|labels|torn)
	add(false, machineNeverAcknowledged, flips|visits|crashes)
	add(false, setOfMachineAPI, flips|edits|torn|anyDelay|crashes|skips|leaders)
	add(false, machineOfMachineAPI, flips|edits|torn|anyDelay)
	add(false, machineOfMachineAPI, flips|edits|skips|leaders)
	add(false, machineOfMachineAPI, flips|halts)
	add(false, machineNeverAcknowledged, flips|skips|torn|anyDelay)
	add(false, machineNeverAcknowledged, flips|deletes)
	add(false, newMachineNeverAcknowledged, flips|deletes)
	add(false, machineOfMachineAPI, deletes|torn|crashes)
	add(false, machineOfMachineAPI, flips|deletes)
	add(false, ownedOfMachineAPI, flips|deletes)
	add(false, machineOfMachineAPI, flips|deletes|strips)
	add(false, machineOfMachineAPI, flips|vanishes|crashes)
	add(false, machineNeverAcknowledged, flips|vanishes)
	add(false, newMachine, flips|vanishes)
	add(false, newMachineForClusterAPI, flips|vanishes)
	add(false, setOfMachineAPI, flips|vanishes|crashes)
	add(false, newMachine, deletes)
	add(false, newMachineForClusterAPI, deletes|crashes)
	add(false, newMachine, flips|deletes)
	add(false, newMachineForClusterAPI, flips|deletes)
	add(false, machineOfClusterAPI, flips|recreates|deletes)
	add(false, ownedOfClusterAPI, flips|deletes)
	add(false, setOfMachineAPI, flips|deletes|recreates|crashes)
	for _, set := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		for _, machine := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
			name := fmt.Sprintf("MachineSets that are %s's, with a Machine that is %s's: ", set.Text(), machine.Text())
			add := func(quick bool, may deeds) {
				out = append(out, bound{name + (deletes | may).String(), familyOf(set, machine, may), quick})
			}
			add(set == authority.ClusterAPI && machine == authority.ClusterAPI, 0)
			add(false, edits|crashes)
			add(false, recreates)
			add(false, vanishes)
			add(false, ungates)
			add(set == authority.MachineAPI, flips)
			add(false, flips|recreates|crashes)
			add(false, flips|vanishes)
			if set == authority.ClusterAPI && machine == authority.ClusterAPI {
				out = append(out, bound{name + (edits | crashes | ungates).String(), calmFamilyOf(set, machine, edits|crashes|ungates), true})
			}
		}
	}
	for _, authoritative := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		for _, fresh := range []bool{false, true} {
			if fresh && authoritative == authority.ClusterAPI {
				continue
			}
			for _, may := range []deeds{flips | edits, flips | edits | deletes, flips | edits | crashes | refusals, flips | remediates, flips | edits | remediates} {
				out = append(out, bound{nameOfSets(authoritative, fresh) + ": " + may.String(), movingSets(authoritative, fresh, may),
					authoritative == authority.ClusterAPI && may == flips|edits || authoritative == authority.MachineAPI && may == flips|remediates && !fresh})
			}
		}
	}
	return out
}

var deedNames = []struct {
	deeds
	name string
}{
	{flips, "requests and aborts"}, {edits, "edits or scaling"}, {deletes, "deletions"},
	{recreates, "objects recreated"}, {crashes, "crashes"}, {halts, "Cluster.spec.paused"},
	{torn, "reads at two moments"}, {anyDelay, "at any time"}, {skips, "caches that lag by two versions"},
	{leaders, "a former leader"}, {decides, "a person who decides"},
	{vanishes, "a namespace that is deleted"},
	{visits, "neighbours that write"},
	{twice, "Machines created in both APIs at once"},
	{refusals, "Machines that do not convert"},
	{labels, "labels of the last moment"},
	{remediates, "requests to remediate"},
	{ungates, "a feature gate that is off for a while"},
	{strips, "finalizers removed by hand"},
	{aways, "Poundlock removed for a while"},
}

func (d deeds) String() string {
	out := ""
	for _, n := range deedNames {
		if d&n.deeds != 0 {
			out += ", " + n.name
		}
	}
	return out[2:]
}

// result is what a walk found. whole: the walk visited every state.
type result struct {
	states, transitions, depth int
	took                       time.Duration
	whole                      bool
	flaw                       *flaw
}

func (r result) String() string {
	end := "all"
	switch {
	case r.flaw != nil:
		end = "up to a flaw"
	case !r.whole:
		end = "the nearest; circles not judged"
	}
	return fmt.Sprintf("%9d states (%s), %10d transitions, depth %3d, %5.1fs", r.states, end, r.transitions, r.depth, r.took.Seconds())
}

// resultOf walks the model m, and returns what the walk found.
func resultOf[W comparable](m model[W], most int) result {
	w, f := explore(m, most)
	return result{len(w.prints), w.transitions, w.depth, w.took, w.whole, f}
}
