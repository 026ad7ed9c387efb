// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// course is how far authority over the sets of a family has moved.
type course struct {
	current, origin, requested authority.API
	// paused: Cluster API's set has the pause annotation. m and c are what the controllers of the two sets have acknowledged last.
	paused bool
	m, c   authority.AcknowledgedState
	// behind: the mirror has not copied the authoritative set since authority moved.
	behind bool
	// step is what the handoff has decided on and not written yet. lateM, lateC: the set of Machine API, or of Cluster API, was written since the handoff read it.
	step         authority.Step
	lateM, lateC bool
}

// settled returns the course of sets for which an API is authoritative, with all acknowledgements.
func settled(a authority.API) course {
	c := course{current: a, origin: a, requested: a, m: authority.AcknowledgedPaused, c: authority.AcknowledgedUnpaused}
	if a == authority.MachineAPI {
		c.paused, c.m, c.c = true, authority.AcknowledgedUnpaused, authority.AcknowledgedPaused
	}
	return c
}

func (c course) source() authority.API {
	if c.current == authority.Migrating {
		return c.origin
	}
	return c.current
}

// adoptsNothing reports whether the set of an API is paused, and so adopts no Machine.
func (c course) adoptsNothing(a authority.API) bool {
	if a == authority.MachineAPI {
		return c.source() == authority.ClusterAPI
	}
	return c.paused
}

func (c course) String() string {
	return fmt.Sprintf("status %s, from %s, asked for %s, Cluster API's set paused %v, answers %d and %d", c.current, c.origin, c.requested, c.paused, c.m, c.c)
}

// writtenM and writtenC report whether the set of Machine API, or of Cluster API, was written.
func (w *family) writtenM(was *family) bool {
	is, old := w.course, was.course
	return w.sm != was.sm || is.current != old.current || is.requested != old.requested || is.m != old.m || is.behind != old.behind
}

func (w *family) writtenC(was *family) bool {
	return w.sc != was.sc || w.course.paused != was.course.paused || w.course.c != was.course.c
}

// outrun marks a decision of the handoff as late if the sets were written after it.
func (c *course) outrun(w, was *family) {
	if c.step.Action == "" || was.course.step.Action == "" {
		return
	}
	c.lateM, c.lateC = c.lateM || w.writtenM(was), c.lateC || w.writtenC(was)
}

// familyHandoff is the handoff of the sets. It reads the sets and their Machines, and then writes the step that follows. Without moves, it only has to release
// a set that the mirror recreated paused.
type familyHandoff struct{}

// Moves implements actor.
func (familyHandoff) Moves(t *familyTurn) {
	w := &t.was
	step := w.course.step
	switch {
	case !t.alone(): // nobody needs it
	case step.Action != "":
		t.may(handoff, "the handoff: "+words(step, w.course.lateM, w.course.lateC), func(w *family) {
			if !(onMachineAPI(step) && w.course.lateM) && !(onClusterAPI(step) && w.course.lateC) {
				w.write(step)
			}
			w.course.step, w.course.lateM, w.course.lateC = authority.Step{}, false, false
		})
		if t.can(crashes) {
			t.may(user, "the manager dies before the handoff has written", func(w *family) {
				w.course.step, w.course.lateM, w.course.lateC = authority.Step{}, false, false
			})
		}
	case w.sm.has(here):
		if next := t.handsOff(w); next.Action.Acts() {
			next.Message = ""
			t.may(handoff, "the handoff looks at the MachineSets", func(w *family) { w.course.step = next })
		}
	}
}

// handsOff returns the handoff's next step, which is authority.Next with what the handoff would read.
func (f *families) handsOff(w *family) authority.Step {
	c := w.course
	s := authority.State{Enabled: true, Requested: c.requested, Current: c.current, Origin: c.origin, CaughtUp: !c.behind && w.sm.has(synch),
		Instance: authority.InstanceKnown, Uncounted: w.uncounted(), Synchronized: metav1.ConditionTrue,
		MachineAPI: authority.Party{Exists: true, Deleting: w.sm.has(going), Acknowledged: c.m}}
	s.TargetLeaves = w.namespaceDeleted && (c.source() == authority.MachineAPI)
	if w.sc.has(here) {
		s.ClusterAPI = authority.Party{Exists: true, Deleting: w.sc.has(going), PauseRequested: c.paused, Acknowledged: c.c, Finalizer: authority.FinalizerAbsent}
		if w.sc.has(holds) {
			s.ClusterAPI.Finalizer = authority.FinalizerPresent
		}
	}
	return f.rules.next(s)
}

// uncounted returns the sides that count a Machine which the other side does not count.
func (w *family) uncounted() (who authority.Who) {
	for _, k := range w.machines {
		who |= countedAlone(k.m, k.c)
	}
	return who
}

func (w *family) write(step authority.Step) {
	c := &w.course
	switch step.Action {
	case authority.Acknowledge:
		c.current, c.origin = authority.Migrating, c.current
	case authority.Pause:
		c.paused = w.sc.has(here) || c.paused
	case authority.Release:
		c.paused = false
	case authority.AddFinalizer:
		if w.sc.presence() == authority.Present {
			w.sc |= holds
		}
	case authority.Switch:
		c.current, c.origin = step.To, step.To
		c.behind = !step.Cancelled
	case authority.Adopt, authority.Rest, authority.Wait, authority.Settle:
	}
}

// acknowledgesM emits the acknowledgement of Machine API's set controller, and reports whether one is due. The controller acknowledges nothing on a set that is
// being deleted.
func (t *familyTurn) acknowledgesM() bool {
	is := authority.AcknowledgedPaused
	if t.was.course.current == authority.MachineAPI {
		is = authority.AcknowledgedUnpaused
	}
	if t.was.sm.presence() != authority.Present || t.was.course.m == is {
		return false
	}
	t.may(controller, "Machine API's set controller acknowledges who is authoritative", func(w *family) { w.course.m = is })
	return true
}

// acknowledgesC emits the acknowledgement of Cluster API's set controller, and reports whether one is due.
func (t *familyTurn) acknowledgesC() bool {
	is := authority.AcknowledgedUnpaused
	if t.was.course.paused {
		is = authority.AcknowledgedPaused
	}
	if t.was.course.c == is {
		return false
	}
	t.may(controller, "Cluster API's set controller acknowledges whether it is paused", func(w *family) {
		if w.course.c = is; is == authority.AcknowledgedUnpaused && !w.sc.has(going) {
			w.sc |= holds
		}
	})
	return true
}

// unsettled returns what is wrong with a handoff at rest.
func (f *families) unsettled(w *family) string {
	if f.may&flips == 0 || w.sm.presence() != authority.Present || w.sc.presence() != authority.Present || w.namespaceDeleted {
		return ""
	}
	if step := f.handsOff(w); step.Action != authority.Settle {
		return fmt.Sprintf("the handoff does not settle: %s %s", step.Action, step.Reason)
	}
	return ""
}
