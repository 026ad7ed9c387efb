// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// op is one request that Poundlock makes to the API server.
type op uint8

const (
	noOp op = iota

	// The handoff's requests.
	adopt
	leaveM
	leaveC
	pauseC
	pauseI
	announce
	releaseC
	releaseI
	pauseK
	releaseK
	holdM
	holdC
	holdI
	dropM
	dropC
	dropI
	switchM
	switchC
	backM
	backC
	storeOrigin

	// The mirror's requests.
	enrolM
	enrolC
	markI
	freeI
	makeI
	makeIKnowing
	fixI
	fixIKnowing
	makeC
	fixC
	makeCHooked
	fixCHooked
	unhook
	makeK
	freeK
	deleteK
	makeM
	fixM
	fixMKnowing
	carryM
	carryC
	scaleM
	scaleC
	synchronize
	fail
	recordM
	deleteM
	deleteC
	deleteI
	letGoM
	letGoC
	keepI
	finishM
	finishC
	unmarkC
	unmarkI
	unmarkM
	compare
)

// request is what the model knows of an op. on is the object that it is sent to.
type request struct {
	on which
	// words describe the request in a story, after the name of the actor.
	words string
	lock  lock
	// grows reports whether the write changes the object's generation. Only writes of status and metadata do not.
	grows bool
	// does applies the change to w. It returns false if the API server refuses the request.
	does func(w *pair, p *pass) bool
}

// lock is the precondition of a request. The API server refuses the request if its object is no longer what was read.
type lock uint8

const (
	// byVersion: the resourceVersion must be the one that was read.
	byVersion lock = iota
	// byUID: the object to delete must be the one that was read, by its UID. It may have been written since.
	byUID
	// create: no object of that name may exist.
	create
	// inMemory: the op is no request. It only changes what Poundlock's process remembers.
	inMemory
)

func puts(o which, bits object) func(*pair, *pass) bool {
	return func(w *pair, _ *pass) bool {
		// The API server refuses a new finalizer on an object that is being deleted.
		if w.at(o).has(leaving) && bits&^*w.at(o)&(syncFin|ctlFin) != 0 {
			return false
		}
		w.at(o).set(bits)
		return true
	}
}

func takes(o which, bits object) func(*pair, *pass) bool {
	return func(w *pair, _ *pass) bool { w.at(o).clear(bits); return true }
}

func turns(to authority.API, cancelled bool) func(*pair, *pass) bool {
	return func(w *pair, _ *pass) bool {
		w.m.setStatus(to)
		w.m.setOrigin(to)
		w.m.clear(decided)
		if !cancelled {
			w.m.clear(synced | failed | caught | compared)
			w.m.set(recorded)
		}
		return true
	}
}

func leaves(from authority.API) func(*pair, *pass) bool {
	return func(w *pair, _ *pass) bool {
		w.m.setStatus(authority.Migrating)
		w.m.clear(decided)
		w.m.setOrigin(from)
		return true
	}
}

func removes(o which) func(*pair, *pass) bool {
	return func(w *pair, _ *pass) bool {
		w.at(o).set(there | leaving)
		return true
	}
}

// requests describes each op, with the lock that reconcilers/handoff/apply.go, mirroring/next.go and mirroring/deletion send.
var requests = [...]request{
	adopt: {ofM, "stores which API is authoritative for the new object", byVersion, false, func(w *pair, _ *pass) bool {
		if w.m.status() == authority.Unset {
			w.m.setStatus(w.m.requested())
			w.m.setOrigin(w.m.requested())
			if w.m&(ctlFin|pid) == 0 {
				w.m.set(untouched)
			}
			if w.c.has(there) {
				w.m.set(recorded)
			}
		}
		return true
	}},
	leaveM:      {ofM, "stores Migrating, from Machine API", byVersion, false, leaves(authority.MachineAPI)},
	leaveC:      {ofM, "stores Migrating, from Cluster API", byVersion, false, leaves(authority.ClusterAPI)},
	pauseC:      {ofC, "pauses the Cluster API object", byVersion, false, puts(ofC, pauseRequested)},
	pauseI:      {ofI, "pauses the provider's object", byVersion, false, puts(ofI, pauseRequested)},
	announce:    {ofC, "announces to the Cluster API object that Cluster API is about to become authoritative", byVersion, false, puts(ofC, announced)},
	releaseC:    {ofC, "releases the Cluster API object", byVersion, false, takes(ofC, pauseRequested|announced)},
	pauseK:      {ofK, "pauses what is kept for the instance", byVersion, false, puts(ofK, pauseRequested)},
	releaseK:    {ofK, "releases what is kept for the instance", byVersion, false, takes(ofK, pauseRequested|pauseSeen)},
	releaseI:    {ofI, "releases the provider's object", byVersion, false, takes(ofI, pauseRequested|pauseSeen)},
	holdM:       {ofM, "puts the machine finalizer on the Machine API object", byVersion, false, puts(ofM, ctlFin)},
	holdC:       {ofC, "puts the machine finalizer on the Cluster API object", byVersion, false, puts(ofC, ctlFin)},
	holdI:       {ofI, "puts the finalizer on the provider's object", byVersion, false, puts(ofI, ctlFin)},
	dropM:       {ofM, "takes the machine finalizer off the Machine API object", byVersion, false, takes(ofM, ctlFin)},
	dropC:       {ofC, "takes the machine finalizer off the Cluster API object", byVersion, false, takes(ofC, ctlFin)},
	dropI:       {ofI, "takes the finalizer off the provider's object", byVersion, false, takes(ofI, ctlFin)},
	switchM:     {ofM, "switches to Machine API", byVersion, false, turns(authority.MachineAPI, false)},
	switchC:     {ofM, "switches to Cluster API", byVersion, false, turns(authority.ClusterAPI, false)},
	backM:       {ofM, "goes back to Machine API", byVersion, false, turns(authority.MachineAPI, true)},
	backC:       {ofM, "goes back to Cluster API", byVersion, false, turns(authority.ClusterAPI, true)},
	storeOrigin: {ofM, "stores synchronizedAPI", byVersion, false, func(w *pair, _ *pass) bool { w.m.setOrigin(w.m.status()); return true }},

	enrolM:       {ofM, "puts the sync finalizer on the Machine API object", byVersion, false, puts(ofM, syncFin)},
	enrolC:       {ofC, "marks the Cluster API object and puts the sync finalizer on it", byVersion, false, puts(ofC, syncFin|mark)},
	markI:        {ofI, "marks the provider's object", byVersion, false, puts(ofI, mark)},
	freeI:        {ofI, "takes the finalizer off the provider's object, which is being deleted", byVersion, false, takes(ofI, ctlFin)},
	makeI:        {ofI, "makes the provider's object, paused", create, true, becomeI(false)},
	makeIKnowing: {ofI, "makes the provider's object, paused", create, true, becomeI(true)},
	fixI:         {ofI, "makes the provider's object equal", byVersion, true, becomeI(false)},
	fixIKnowing:  {ofI, "makes the provider's object equal", byVersion, true, becomeI(true)},
	makeC:        {ofC, "makes the Cluster API object, paused", create, true, becomeC(false)},
	fixC:         {ofC, "makes the Cluster API object equal", byVersion, true, becomeC(false)},
	makeCHooked:  {ofC, "makes the Cluster API object, paused, with Poundlock's hook", create, true, becomeC(true)},
	fixCHooked:   {ofC, "makes the Cluster API object equal, with Poundlock's hook", byVersion, true, becomeC(true)},
	unhook:       {ofC, "takes Poundlock's hook off the Cluster API object", byVersion, false, takes(ofC, hooked)},
	makeK: {ofK, "makes what the provider is to keep for the instance, paused", create, false, func(w *pair, p *pass) bool {
		w.makesKept(pauseRequested | pid | dangling)
		if w.i.has(there) && p.gone&ofI == 0 {
			w.k ^= owned | dangling
		}
		return true
	}},
	freeK:   {ofK, "takes the finalizer off what is kept for the instance, which is being deleted", byVersion, false, takes(ofK, ctlFin)},
	deleteK: {ofK, "deletes what is kept for the instance", byUID, true, removes(ofK)},
	makeM: {ofM, "makes the Machine API object of a Machine that Cluster API's set made", create, true, func(w *pair, p *pass) bool {
		if !w.m.has(there) {
			w.m = wants | recorded // by the owner of its request
		}
		return becomeM(w, p)
	}},
	fixM:        {ofM, "makes the Machine API object equal", byVersion, true, becomeM},
	fixMKnowing: {ofM, "makes the Machine API object equal", byVersion, true, func(w *pair, p *pass) bool { w.m.set(pid); return becomeM(w, p) }},
	carryM:      {ofM, "carries over to the Machine API object what a neighbour wrote to its mirror", byVersion, false, carries(ofM, ofC)},
	carryC:      {ofC, "carries over to the Cluster API object what a neighbour wrote to its mirror", byVersion, false, carries(ofC, ofM)},
	scaleM:      {ofM, "scales the Machine API object like its mirror", byVersion, true, carries(ofM, ofC)},
	scaleC:      {ofC, "scales the Cluster API object like its mirror", byVersion, true, carries(ofC, ofM)},
	synchronize: {ofM, "stores Synchronized", byVersion, false, func(w *pair, p *pass) bool {
		w.m.clear(failed)
		w.m.set(synced | recorded)
		if p.grown&side(w.source()) == 0 {
			w.m.set(caught)
		}
		return true
	}},
	fail: {ofM, "stores Synchronized=False", byVersion, false, func(w *pair, _ *pass) bool {
		w.m.clear(synced)
		if w.m.set(failed); w.c.has(there) {
			w.m.set(recorded)
		}
		return true
	}},
	recordM: {ofM, "stores that the Cluster API object exists", byVersion, false, puts(ofM, recorded)},
	deleteM: {ofM, "deletes the Machine API object", byUID, true, removes(ofM)},
	deleteC: {ofC, "deletes the Cluster API object", byUID, true, removes(ofC)},
	deleteI: {ofI, "deletes the provider's object", byUID, true, removes(ofI)},
	letGoM:  {ofM, "takes every finalizer off the Machine API mirror", byVersion, false, takes(ofM, syncFin|ctlFin)},
	letGoC:  {ofC, "takes every finalizer off the Cluster API mirror", byVersion, false, takes(ofC, syncFin|ctlFin)},
	keepI:   {ofI, "takes the provider's object out of the collector's reach", byVersion, false, takes(ofI, owned|dangling)},
	finishM: {ofM, "takes the sync finalizer off the Machine API object", byVersion, false, takes(ofM, syncFin)},
	finishC: {ofC, "takes the sync finalizer off the Cluster API object", byVersion, false, takes(ofC, syncFin)},
	unmarkC: {ofC, "takes finalizer and mark off the Cluster API object", byVersion, false, takes(ofC, syncFin|mark)},
	unmarkI: {ofI, "takes the mark off the provider's object", byVersion, false, takes(ofI, mark)},
	unmarkM: {ofM, "takes the sync finalizer off the Machine API object", byVersion, false, takes(ofM, syncFin)},
	compare: {ofM, "has nothing left to do, and remembers what the mirror is made from", inMemory, false, func(w *pair, p *pass) bool {
		if w.m.has(there) && (p.edited|p.grown)&side(w.source()) == 0 {
			w.m.set(compared)
		}
		return true
	}},
}

// carries returns the write that carries over to the object `to` what a neighbour wrote to the object `mirror`. If mirror was written again since it was read,
// something is still to be carried over.
func carries(to, mirror which) func(*pair, *pass) bool {
	return func(w *pair, p *pass) bool {
		if p.dirty&mirror == 0 {
			w.at(to).clear(lacking)
		}
		return true
	}
}

// becomeI returns the apply of the provider's object: marked, paused, and owned by the Cluster API object if there is one. knowing: the applied object has the
// ID of the instance.
func becomeI(knowing bool) func(*pair, *pass) bool {
	return func(w *pair, p *pass) bool {
		if !w.i.has(there) { // what exists is paused before (pauseI)
			w.i.set(pauseRequested)
		}
		w.i.set(there | mark)
		w.i.clear(theirs)
		if w.i.clear(pid); knowing {
			w.i.set(pid)
		}
		switch {
		case p.gone&ofC != 0:
			w.i.clear(owned)
			w.i.set(dangling)
		case w.c.has(there):
			w.i.clear(dangling)
			w.i.set(owned)
		}
		return true
	}
}

// becomeC returns the apply of the Cluster API object: marked, paused if it is created, and with the spec that the Machine API object had when it was read.
// hook: with Poundlock's hook.
func becomeC(hook bool) func(*pair, *pass) bool {
	return func(w *pair, p *pass) bool {
		if w.c.has(leaving) && !w.c.has(syncFin) {
			return false
		}
		if !w.c.has(there) { // the mirror pauses nothing that exists
			w.c.set(pauseRequested)
		}
		w.c.set(there | mark | syncFin)
		if w.c.clear(theirs | hooked); hook {
			w.c.set(hooked)
		}
		w.c = w.c&^lacking | w.m&lacking
		if w.c.clear(fresh); w.m.has(fresh) && p.edited&ofM == 0 && p.gone&ofM == 0 {
			w.c.set(fresh)
		}
		return true
	}
}

// becomeM is the apply of the Machine API object.
func becomeM(w *pair, p *pass) bool {
	if w.m.has(leaving) && !w.m.has(syncFin) {
		return false
	}
	w.m = w.m&^lacking | w.c&lacking
	w.m.set(there | syncFin)
	w.m.clear(fresh)
	if w.c.has(fresh) && p.edited&ofC == 0 && p.gone&ofC == 0 || !w.c.has(there) { // if the Cluster API object is gone, this is the last that was asked
		w.m.set(fresh)
	}
	return true
}

// plan is the number of a list of ops that are left to do; 0 is none.
type plan uint16

// plans stores lists of ops, and gives each a number, so that a state stays small.
type plans struct {
	lists [][]op
	cares []cares
	at    map[string]plan
}

// cares are the changes by others that the rest of a plan depends on, as sets of objects.
type cares struct{ dirty, gone, grown, edited which }

func caresOf(ops []op) (c cares) {
	for _, o := range ops {
		r := requests[o]
		if r.lock == byVersion {
			c.dirty |= r.on
		}
		switch o {
		case carryM, scaleM:
			c.dirty |= ofC
		case carryC, scaleC:
			c.dirty |= ofM
		}
		switch {
		case r.lock == byUID:
			c.gone |= r.on
		case o == compare:
			c.edited |= ofM | ofC
			c.grown |= ofM | ofC | ofI
		case o == synchronize:
			c.grown |= ofM | ofC | ofI
		case o == makeK:
			c.gone |= ofI
		case r.grows:
			c.edited |= ofM | ofC
			c.gone |= ofM | ofC
		}
	}
	return c
}

func (p *plans) of(ops []op) plan {
	if len(ops) == 0 {
		return 0
	}
	if p.at == nil {
		p.at, p.lists, p.cares = map[string]plan{}, [][]op{nil}, make([]cares, 1)
	}
	key := make([]byte, len(ops))
	for i, o := range ops {
		key[i] = byte(o)
	}
	id, ok := p.at[string(key)]
	if !ok {
		id = plan(len(p.lists))
		p.lists, p.cares, p.at[string(key)] = append(p.lists, ops), append(p.cares, caresOf(ops)), id
	}
	return id
}

// accepts applies the request r to w, and reports whether the API server accepted it.
func (p *pairs) accepts(w *pair, at *pass, r *request) bool {
	switch {
	case r.lock == inMemory:
		return r.does(w, at)
	case r.lock == byVersion && at.dirty&r.on != 0 && !p.unlocked:
		return false
	case r.lock == create && r.on != ofM && w.m.has(emptied):
		return false // nothing can be created in a namespace that is being deleted
	case r.lock == create:
		return (!w.at(r.on).has(there) || p.createsOver) && r.does(w, at)
	case !w.at(r.on).has(there):
		return r.lock == byUID // a deletion of what is gone has what it wanted
	case r.lock == byUID && at.gone&r.on != 0:
		return false
	case r.lock == byUID && w.at(r.on).has(leaving):
		return true
	}
	return r.does(w, at)
}

// goOn emits the change in which a pass makes its next request.
func (t *turn) goOn(by mover, name string, left plan, at func(*pair) *pass) {
	what := name + " " + requests[t.plans.lists[left][0]].words
	t.may(by, what, func(w *pair) { t.carryOn(w, by, at(w)) })
}

// carryOn makes the next request of a pass. If the API server refuses it, the pass ends.
func (p *pairs) carryOn(w *pair, a mover, at *pass) {
	ops := p.plans.lists[at.left]
	r := &requests[ops[0]]
	was := *w.at(r.on)
	if !p.accepts(w, at, r) {
		*at = pass{} // the next pass reads everything again
		return
	}
	if p.decidesOnce && r.on == ofM {
		w.m.set(was & decided)
	}
	if p.forgetsSwitched && ops[0] == switchC || p.forgetsAdopted && ops[0] == adopt {
		w.m.clear(recorded)
	}
	at.dirty, at.gone = at.dirty&^r.on, at.gone&^r.on // the answer shows what is stored
	if at.left = p.plans.of(ops[1:]); at.left == 0 {
		*at = pass{}
	}
	if r.lock != inMemory {
		w.changed(r.on, was, a, r.grows)
	}
}

// stop emits two changes for a pass under way: the manager dies, or it loses its lease without noticing.
func (t *turn) stop(name string, in phase, at func(*pair) *pass) {
	if in == idle {
		return
	}
	if t.can(crashes) {
		t.might("the manager dies in the middle of a "+name, func(n *pair) { *at(n) = pass{}; n.m.clear(compared) })
	}
	if t.can(leaders) && t.was.former.phase == idle {
		t.might("another manager becomes leader while the former one is in the middle of a "+name, func(n *pair) { n.former, *at(n) = *at(n), pass{} })
	}
}
