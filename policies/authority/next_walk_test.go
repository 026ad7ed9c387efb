// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/poundlock/poundlock/policies/authority"
)

// TestNextInEveryState calls Next for every state that the type can hold, whether it can be reached or not.
func TestNextInEveryState(t *testing.T) {
	n := 0
	everyState(func(s State) {
		n++
		step := Next(s)
		if strings.Count(step.Message, "To cancel, ") > 1 {
			t.Fatalf("a command is given twice: %s", step.Message)
		}
		for _, broken := range brokenBy(s, step) {
			t.Fatalf("%s\nin   %+v\nstep %+v", broken, s, step)
		}
	})
	t.Logf("%d states", n)
}

func everyState(visit func(State)) {
	var cores, mapis []Party
	for _, p := range everyParty() {
		if p.Finalizer != NoFinalizer || !p.Exists {
			cores = append(cores, p)
		}
		mapis = append(mapis, p)
	}
	for _, set := range []bool{false, true} {
		infras := cores
		if set {
			infras = []Party{{}, {Exists: true, PauseRequested: true}}
		}
		for _, current := range []API{Unset, MachineAPI, ClusterAPI, Migrating} {
			for _, requested := range []API{Unset, MachineAPI, ClusterAPI} {
				for _, origin := range []API{Unset, MachineAPI, ClusterAPI} {
					if current != Migrating && origin != current {
						continue // read only in transit
					}
					for _, synchronized := range []metav1.ConditionStatus{"", "True", "False"} {
						for bits := range 12 {
							instance := []Instance{InstanceKnown, InstanceUnknown, InstanceStarting, InstanceShared, InstanceOfAnother, InstanceAlsoKept}[bits/2]
							if current == Migrating && instance == InstanceStarting || bits == 2 || bits == 6 || bits == 8 || bits == 10 {
								continue // asked only before a move, and only if the mirror has caught up
							}
							if source := current; instance == InstanceOfAnother && source != ClusterAPI && (source != Migrating || origin != ClusterAPI) {
								continue // only for an authoritative Machine of Cluster API
							}
							s := State{Enabled: true, Current: current, Requested: requested, Origin: origin, InfraActs: !set,
								Synchronized: synchronized, CaughtUp: bits&1 != 0, Instance: instance}
							for _, s.MachineAPI = range mapis {
								if s.Blind = s.MachineAPI.PauseRequested; s.Blind && !set {
									continue // no controller of a Machine obeys the annotation
								}
								for _, s.ClusterAPI = range cores {
									for _, s.Infra = range infras {
										visit(s)
										if p := s.ClusterAPI; p.Deleting && p.Finalizer == FinalizerAbsent && s.Infra.Exists {
											s.InfraNamesInstance = true // it only matters in this case
											visit(s)
											s.InfraNamesInstance = false
										}
										if s.Unprepared = !set && current == Migrating && origin == MachineAPI; s.Unprepared {
											visit(s) // it is only reported in this case
											s.Unprepared = false
										}
										if s.Unowned = !set && requested.Other() != Unset; s.Unowned {
											visit(s)
											s.Unowned = false
										}
										if s.Ended = current == Migrating && holdsDeletedTarget(s); s.Ended {
											visit(s) // it only matters in this case
											s.Ended = false
										}
									}
									if set {
										for _, s.Uncounted = range []Who{WhoMachineAPI, WhoClusterAPI, 0} {
											visit(s)
										}
										s.Judged, s.RequestsOpen = true, !s.RequestsOpen
										visit(s)
										s.Judged = false
										visit(s)
										s.RequestsOpen = false
									}
								}
							}
						}
					}
				}
			}
		}
	}
}

// holdsDeletedTarget reports whether, during a move from Cluster API, the Machine API object is being deleted and has the machine finalizer.
func holdsDeletedTarget(s State) bool {
	return s.Origin == ClusterAPI && s.MachineAPI.Deleting && s.MachineAPI.Finalizer == FinalizerPresent
}

func everyParty() []Party {
	all := []Party{{}}
	for bits := range 4 {
		for _, value := range []AcknowledgedState{NotAcknowledged, AcknowledgedUnpaused, AcknowledgedPaused} {
			for _, hold := range []FinalizerState{NoFinalizer, FinalizerAbsent, FinalizerPresent} {
				all = append(all, Party{Exists: true, Deleting: bits&1 != 0, PauseRequested: bits&2 != 0, Acknowledged: value, Finalizer: hold})
			}
		}
	}
	return all
}

var actions = []Action{Rest, Adopt, Acknowledge, Pause, AddFinalizer, Switch, Release, Wait, Settle}

// brokenBy returns what a step would break. It judges without looking at how Next decides.
func brokenBy(s State, step Step) (broken []string) {
	claim := func(ok bool, sentence string) {
		if !ok {
			broken = append(broken, sentence)
		}
	}
	claim(slices.Contains(actions, step.Action), "the action is known")
	claim(step.Reason != "" && step.Message != "", "every step has a reason and a message")
	claim(step.Action == Rest || step.Action == Settle || step.On != 0, "a step is about somebody")
	claim(s.MachineAPI.Exists || step.Action == Rest, "nothing is done to what is gone")

	source, target := partiesOf(s, s.Origin), partiesOf(s, s.Origin.Other())
	gone := goneFrom(s)
	switch step.Action {
	case Acknowledge:
		claim(s.Current.Other() != Unset && step.To == s.Current.Other() && step.To == s.Requested, "only a request is acknowledged")
		claim(s.Synchronized == "True" && s.CaughtUp, "a request is acknowledged on a mirror that is up to date")
		claim(allOf(partiesOf(s, step.To), func(p Party) bool { return p.Acknowledged == AcknowledgedPaused && !p.Deleting }),
			"the target has acknowledged its pause")
		claim(allOf(partiesOf(s, s.Current), func(p Party) bool { return p.Acknowledged == AcknowledgedUnpaused && !p.PauseRequested && !p.Deleting }),
			"the source has acknowledged that it acts")
		claim(s.Uncounted == 0, "both sets count the same Machines")
		claim(!s.RequestsOpen, "no request to remediate outlives a move")
		claim(s.Instance == InstanceKnown, "a machine in the making stays")
	case Switch:
		claim(s.Current == Migrating && s.Origin.Other() != Unset, "a switch comes from Migrating, of a known origin")
		claim(step.To == s.Origin || allOf(source, func(p Party) bool {
			return !p.Exists || p.Acknowledged == AcknowledgedPaused && (p.PauseRequested || s.Origin == MachineAPI)
		}), "the source stands still")
		claim(step.To == s.Origin || gone || s.Synchronized == "True" && s.CaughtUp, "the mirror has caught up")
		claim(step.To == s.Origin || gone || s.Instance != InstanceUnknown && s.Instance != InstanceShared && s.Instance != InstanceAlsoKept && s.Instance != InstanceOfAnother, "the instance is known, and nobody else's")
		claim(step.To == s.Requested || step.To == s.Origin || gone, "a switch goes where it is asked to, or back")
		claim(step.To == s.Origin || gone || s.Uncounted == 0, "both sets count the same Machines")
		claim(step.To == s.Origin || gone || !s.RequestsOpen, "no request to remediate outlives a move")
		claim(step.To == s.Origin || gone || !s.Unprepared, "Cluster API begins with nothing of a failure of the Machine API's")
		claim(step.To != s.Origin || step.Cancelled, "going back is called cancelled")
		if step.To == s.Origin {
			target = source
		}
		claim(allOf(target, func(p Party) bool { return p.Finalizer != FinalizerAbsent || p.Deleting }), "the next authoritative hold their finalizers")
		claim(step.Drop&whoOf(step.To) == 0, "the next authoritative keep their finalizers")
		claim(step.To != ClusterAPI || !holdsDeletedTarget(s) || step.Drop.Has(WhoMachineAPI) && !s.Ended,
			"authority goes to Cluster API once no controller without its feature gate can end the instance")
	case Release:
		if step.On == WhoMachineAPI {
			claim(s.Current == MachineAPI, "no controller of the Machine API is released before the switch is stored")
			claim(allOf(partiesOf(s, ClusterAPI), func(p Party) bool {
				return !p.Exists || p.Acknowledged == AcknowledgedPaused || p.Deleting && p.Finalizer == NoFinalizer
			}), "it is not released while Cluster API acts")
			break
		}
		claim(s.Current == ClusterAPI, "nobody is released before the switch is stored")
		claim(s.MachineAPI.Acknowledged == AcknowledgedPaused || s.MachineAPI.Deleting && s.MachineAPI.Finalizer == NoFinalizer,
			"nobody is released while the Machine API acts")
		claim(!s.ClusterAPI.Deleting || s.ClusterAPI.Finalizer == FinalizerPresent || s.InfraNamesInstance, "nobody is released for a Machine that goes at once")
		claim(!s.Judged || s.ClusterAPI.Deleting || !s.ClusterAPI.PauseRequested, "no set is released that would delete a Machine by an old mark")
		claim(!s.Uncounted.Has(WhoMachineAPI) || s.ClusterAPI.Deleting || !s.ClusterAPI.PauseRequested,
			"no set is released that would create a Machine in the place of another")
	case Pause:
		claim(s.Current == Migrating || step.On&whoOf(s.Current) == 0, "an authority is not paused")
	case AddFinalizer:
		claim(s.Current == Migrating, "finalizers are handed over in transit")
	case Adopt:
		claim(s.Current == Unset, "only the new is adopted")
	case Settle:
		claim(s.Requested == Unset || s.Requested == s.Current, "what is settled is as requested")
	}
	return broken
}

func partiesOf(s State, a API) []Party {
	switch {
	case a == MachineAPI:
		return []Party{s.MachineAPI}
	case s.InfraActs:
		return []Party{s.ClusterAPI, s.Infra}
	}
	return []Party{s.ClusterAPI}
}

func whoOf(a API) Who {
	if a == MachineAPI {
		return WhoMachineAPI
	}
	return WhoClusterAPI | WhoInfra
}

func allOf(ps []Party, is func(Party) bool) bool {
	return !slices.ContainsFunc(ps, func(p Party) bool { return !is(p) })
}

// goneFrom reports whether the source can no longer clean up after the machine.
func goneFrom(s State) bool {
	lost := func(p Party) bool { return p.Deleting && p.Finalizer == FinalizerAbsent }
	if s.Origin == ClusterAPI {
		return lost(s.ClusterAPI) || s.InfraActs && (!s.Infra.Exists || lost(s.Infra)) || s.Ended && holdsDeletedTarget(s)
	}
	return lost(s.MachineAPI)
}

// world is a model of one machine (or set): what is stored, and what each controller has seen of it. Everybody who may write can do so at any moment: the user,
// both APIs' controllers with views that lag, the mirror, and a handoff that may be slow, or crash between any two writes.
type world struct {
	set                  bool
	check                bool // a set without finalizers
	blind                bool // a check whose Machine API controller only obeys the annotation, and never acknowledges
	spec, status, origin API
	mapi, core, infra    thing
	synced, caughtUp     bool
	instance             bool

	// pending is the handoff's step that is not written yet. dirty are the objects that were written since it was decided.
	pending Step
	dirty   Who
}

type thing struct {
	exists, pauseRequested, deleting, fin bool
	acknowledged                          AcknowledgedState
	// seesActing is the controller's view: whether it may act, by what it has seen.
	seesActing bool
	// coming are the later values of seesActing that the controller has not seen yet, in order: a for act, p for pause. A watch lags.
	coming string
}

// learn adds to coming whether the controller may act by what is stored now. A watch that lags by more than three changes has skipped some.
func (th *thing) learn(mayAct bool) {
	last, order := "p", "p"
	if th.seesActing {
		last = "a"
	}
	if n := len(th.coming); n > 0 {
		last = th.coming[n-1:]
	}
	if mayAct {
		order = "a"
	}
	if th.exists && order != last {
		th.coming += order
	}
	if len(th.coming) > 3 {
		th.coming = th.coming[2:]
	}
}

func (th *thing) look() {
	if th.coming != "" {
		th.seesActing, th.coming = th.coming[0] == 'a', th.coming[1:]
	}
}

func (w *world) publish() {
	w.mapi.learn(w.mayAct(WhoMachineAPI))
	w.core.learn(w.mayAct(WhoClusterAPI))
	w.infra.learn(w.mayAct(WhoInfra))
}

func (w world) state() State {
	hold := func(th thing, none bool) FinalizerState {
		switch {
		case none:
			return NoFinalizer
		case th.fin:
			return FinalizerPresent
		}
		return FinalizerAbsent
	}
	party := func(th thing, none bool) Party {
		if !th.exists {
			return Party{}
		}
		return Party{Exists: true, Deleting: th.deleting, PauseRequested: th.pauseRequested, Acknowledged: th.acknowledged, Finalizer: hold(th, none)}
	}
	s := State{Enabled: true, Requested: w.spec, Current: w.status, Origin: w.origin, InfraActs: !w.set, Blind: w.blind,
		MachineAPI: party(w.mapi, w.set), ClusterAPI: party(w.core, w.check), Synchronized: "Unknown", CaughtUp: w.caughtUp, Instance: InstanceKnown}
	if !w.set {
		s.Infra = party(w.infra, false)
	}
	if w.blind {
		s.MachineAPI.Acknowledged = w.judged()
	}
	if w.synced {
		s.Synchronized = "True"
	}
	return s
}

// judged returns the acknowledgement that a blind controller is taken to have given. It is taken to have paused once it has seen the last order to pause, which
// stands for the end of Poundlock's patience.
func (w world) judged() AcknowledgedState {
	switch {
	case !w.mapi.pauseRequested:
		return AcknowledgedUnpaused
	case w.mapi.seesActing || w.mapi.coming != "":
		return NotAcknowledged
	}
	return AcknowledgedPaused
}

func (w world) source() API {
	if w.status == Migrating {
		return w.origin
	}
	return w.status
}

// next returns the worlds that one change by any writer can lead to.
func (w world) next() []world {
	var out []world
	add := func(change func(*world)) {
		n := w
		change(&n)
		n.publish()
		out = append(out, n)
	}
	add(func(n *world) { // the user
		if n.status != Unset && !n.mapi.deleting {
			n.spec, n.dirty, n.caughtUp = n.spec.Other(), n.dirty|WhoMachineAPI, n.caughtUp && n.source() != MachineAPI
		}
	})
	add(func(n *world) { n.mapi.deleting, n.dirty = true, n.dirty|WhoMachineAPI })
	out = append(out, w.controllers()...)
	add((*world).mirror)
	if w.pending == (Step{}) {
		add((*world).decide)
		return out
	}
	for last := 1; last <= 3; last++ {
		add(func(n *world) { n.write(last) })
	}
	return out
}

// controllers returns the worlds that the controllers can make. Each of them may see a change, acknowledge, add its finalizer, or write to its object. Each is
// a step of its own, and follows from what the controller saw last.
func (w world) controllers() []world {
	var out []world
	add := func(change func(*world)) {
		n := w
		change(&n)
		n.publish()
		out = append(out, n)
	}
	for _, c := range []struct {
		who Who
		of  func(*world) *thing
	}{
		{WhoMachineAPI, func(n *world) *thing { return &n.mapi }},
		{WhoClusterAPI, func(n *world) *thing { return &n.core }},
		{WhoInfra, func(n *world) *thing { return &n.infra }},
	} {
		if !c.of(&w).exists {
			continue
		}
		add(func(n *world) { c.of(n).look() })
		add(func(n *world) {
			th := c.of(n)
			if c.who == WhoMachineAPI && n.set && (th.deleting || n.blind) {
				return // a MachineSet that is being deleted never acknowledges
			}
			th.acknowledged, n.dirty = AcknowledgedPaused, n.dirty|c.who
			if th.seesActing {
				th.acknowledged = AcknowledgedUnpaused
			}
		})
		add(func(n *world) {
			th := c.of(n)
			if adds := th.seesActing || c.who == WhoClusterAPI; adds && !th.deleting && !(n.set && c.who == WhoMachineAPI) && !n.check && !th.fin {
				th.fin, n.dirty = true, n.dirty|c.who
			}
		})
		add(func(n *world) {
			if c.of(n).seesActing {
				n.caughtUp, n.dirty = n.caughtUp && whoOf(n.source())&c.who == 0, n.dirty|c.who
			}
		})
	}
	return out
}

func (w *world) mayAct(who Who) bool {
	if who == WhoMachineAPI && w.blind {
		return !w.mapi.pauseRequested && !w.mapi.deleting
	}
	if who == WhoMachineAPI {
		return w.status == MachineAPI || w.status == Unset && w.spec == MachineAPI
	}
	if who == WhoClusterAPI {
		return !w.core.pauseRequested
	}
	return !w.infra.pauseRequested
}

func (w *world) mirror() {
	if w.source() == Unset {
		return
	}
	if !w.core.exists {
		w.core = thing{exists: true, pauseRequested: true}
		w.infra = thing{exists: !w.set, pauseRequested: !w.set}
	}
	w.synced, w.caughtUp, w.dirty = true, true, w.dirty|WhoMachineAPI|WhoClusterAPI|WhoInfra
}

func (w *world) decide() {
	if step := Next(w.state()); step.Action.Acts() {
		w.pending, w.dirty = step, 0
	}
}

// write makes the first n writes of the pending step. A write is refused if its object has been written since the step was decided.
func (w *world) write(n int) {
	step := w.pending
	w.pending = Step{}
	for _, do := range w.writes(step) {
		if n == 0 || w.dirty.Has(do.who) {
			return
		}
		do.write()
		n--
	}
}

type write struct {
	who   Who
	write func()
}

func (w *world) writes(step Step) []write {
	var out []write
	each := func(on Who, change func(*thing)) {
		for _, o := range []struct {
			who Who
			of  *thing
		}{{WhoInfra, &w.infra}, {WhoClusterAPI, &w.core}, {WhoMachineAPI, &w.mapi}} {
			if on.Has(o.who) {
				out = append(out, write{o.who, func() { change(o.of) }})
			}
		}
	}
	switch step.Action {
	case Adopt:
		out = append(out, write{WhoMachineAPI, func() { w.status, w.origin = step.To, step.To }})
	case Acknowledge:
		out = append(out, write{WhoMachineAPI, func() { w.status, w.origin = Migrating, w.status }})
	case Pause:
		each(step.On, func(th *thing) { th.pauseRequested = true })
	case Release:
		each(step.On, func(th *thing) { th.pauseRequested = false })
	case AddFinalizer:
		each(step.On, func(th *thing) { th.fin = true })
	case Switch:
		each(step.Drop, func(th *thing) { th.fin = false })
		// The finalizer and the status of one object take two writes. The second is based on what the first returned.
		out = append(out, write{WhoMachineAPI, func() {
			w.status, w.synced, w.caughtUp, w.origin = step.To, w.synced && step.Cancelled, w.caughtUp && step.Cancelled, step.To
		}})
	}
	return out
}

// wrong returns the invariant of DESIGN §4 that is violated, or "".
func (w world) wrong() string {
	switch cluster := w.core.seesActing || w.infra.seesActing; {
	case w.mapi.seesActing && cluster:
		return "both sides' controllers are able to act"
	case w.instance && !w.mapi.fin && !(w.core.fin && w.infra.fin):
		return "nobody who could delete the instance holds a finalizer"
	case w.status == MachineAPI && cluster:
		return "Cluster API acts although Machine API is authoritative"
	case w.status == ClusterAPI && w.mapi.seesActing:
		return "Machine API acts although Cluster API is authoritative"
	}
	return ""
}

// TestHandoffWalk visits every world that the writers can reach together, from each state in which a cluster may start. It also lets each world come to rest.
func TestHandoffWalk(t *testing.T) {
	for name, start := range map[string]world{
		"a machine that is Machine API's": {spec: MachineAPI, status: MachineAPI, origin: MachineAPI, instance: true,
			mapi: thing{exists: true, fin: true, acknowledged: AcknowledgedUnpaused, seesActing: true}},
		"a new machine for Cluster API": {spec: ClusterAPI, mapi: thing{exists: true}},
		"a machine that was Cluster API's alone": {spec: ClusterAPI, instance: true, mapi: thing{exists: true},
			core:  thing{exists: true, fin: true, acknowledged: AcknowledgedUnpaused, seesActing: true},
			infra: thing{exists: true, fin: true, acknowledged: AcknowledgedUnpaused, seesActing: true}},
		"a set that is Machine API's": {set: true, spec: MachineAPI, status: MachineAPI, origin: MachineAPI,
			mapi: thing{exists: true, acknowledged: AcknowledgedUnpaused, seesActing: true}},
		"a check that is Cluster API's": {set: true, check: true, spec: ClusterAPI, status: ClusterAPI, origin: ClusterAPI,
			mapi: thing{exists: true, acknowledged: AcknowledgedPaused}, core: thing{exists: true, acknowledged: AcknowledgedUnpaused, seesActing: true}},
		"a check that is Machine API's, whose controller is blind": {set: true, check: true, blind: true, spec: MachineAPI, status: MachineAPI, origin: MachineAPI,
			mapi: thing{exists: true, seesActing: true}},
		"a check that is Cluster API's, whose controller in Machine API is blind": {set: true, check: true, blind: true, spec: ClusterAPI, status: ClusterAPI, origin: ClusterAPI,
			mapi: thing{exists: true, pauseRequested: true}, core: thing{exists: true, acknowledged: AcknowledgedUnpaused, seesActing: true}},
	} {
		t.Run(name, func(t *testing.T) { walkFrom(t, start) })
	}
}

func walkFrom(t *testing.T, start world) {
	met := map[Step]bool{}
	seen := map[world]struct{}{start: {}}
	from := map[world]world{}
	calm := map[world]string{}
	for queue := []world{start}; len(queue) > 0; {
		w := queue[0]
		queue = queue[1:]
		for _, n := range w.next() {
			if _, ok := seen[n]; ok {
				continue
			}
			seen[n] = struct{}{}
			from[n] = w
			met[Step{Action: n.pending.Action, To: n.pending.To, Cancelled: n.pending.Cancelled}] = true
			if wrong := n.wrong(); wrong != "" {
				t.Fatalf("%s\n%s", wrong, story(from, n))
			}
			queue = append(queue, n)
			if stuck := n.comesToRest(calm); stuck != "" {
				t.Fatalf("%s\n%s", stuck, story(from, n))
			}
		}
	}
	t.Logf("%d worlds", len(seen))
	for _, step := range []Step{
		{Action: Acknowledge, To: MachineAPI}, {Action: Acknowledge, To: ClusterAPI}, {Action: Pause}, {Action: AddFinalizer}, {Action: Release},
		{Action: Switch, To: MachineAPI}, {Action: Switch, To: ClusterAPI},
		{Action: Switch, To: MachineAPI, Cancelled: true}, {Action: Switch, To: ClusterAPI, Cancelled: true},
	} {
		if !met[step] && !(start.check && step.Action == AddFinalizer) {
			t.Errorf("the walk never came to %+v", step)
		}
	}
}

// comesToRest lets everybody except the user go on in turn. It returns what is wrong at the end, or "".
func (w world) comesToRest(known map[world]string) (stuck string) {
	w.pending, w.dirty = Step{}, 0
	if s, ok := known[w]; ok {
		return s
	}
	key := w
	defer func() { known[key] = stuck }()
	for range 40 {
		before := w
		w.handoff(inARow)
		w.round()
		if w == before {
			break
		}
	}
	step := Next(w.state())
	switch {
	case w.status == Migrating:
		return "the handoff does not end"
	case w.mapi.deleting && step.Action != Wait && step.Action != Settle:
		return "the handoff of what is being deleted does not come to rest"
	case !w.mapi.deleting && (step.Action != Settle || w.spec != w.status):
		return "the handoff does not settle: " + step.Reason
	case w.instance && !w.mapi.seesActing && !w.core.seesActing:
		return "nobody acts"
	}
	return ""
}

// inARow is the most steps that the handoff takes in a row before it has to wait for somebody.
const inARow = 8

func (w *world) handoff(most int) {
	for range most {
		if w.decide(); w.pending == (Step{}) {
			return
		}
		w.write(9)
	}
	panic("the handoff goes round in circles")
}

// round gives everybody except the handoff and the user one turn.
func (w *world) round() {
	w.publish()
	for _, th := range []*thing{&w.mapi, &w.core, &w.infra} {
		for th.coming != "" {
			th.look()
		}
		if !th.exists || w.set && th == &w.mapi && th.deleting {
			continue
		}
		if th.acknowledged = AcknowledgedPaused; th.seesActing {
			th.acknowledged = AcknowledgedUnpaused
		}
	}
	w.mirror()
	w.dirty = 0
}

func story(from map[world]world, w world) string {
	var out string
	for {
		out = fmt.Sprintf("%+v\n", w) + out
		before, ok := from[w]
		if !ok {
			return out
		}
		w = before
	}
}
