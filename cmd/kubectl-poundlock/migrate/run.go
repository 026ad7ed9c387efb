// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/policies/authority"
)

// Run is the progress of a plan: how far each object has moved.
type Run struct {
	to      authority.API
	atOnce  int
	timeout time.Duration
	began   time.Time
	objects []*object
}

type stage int

const (
	waiting stage = iota
	asked
	there
	// ended: the object was cancelled or deleted, and does not arrive.
	ended
)

// object is one object of a run.
type object struct {
	ref     key
	stage   stage
	since   time.Time
	written string
	// arrived reports that the new API is authoritative, and only acknowledgements are missing.
	arrived bool
	// back reports that authority goes back, so that there is nothing to cancel.
	back bool
	// before is why authority was not settled when the move was requested. Status keeps this reason until the manager has seen the request.
	before string
	// version is the resourceVersion of the last request.
	version string
}

type key struct{ kind, namespace, name string }

func keyOf(p inventory.Pair) key { return key{p.Kind.Name, p.Namespaces.MachineAPI, p.Name} }

// NewRun returns the run of a plan. At most atOnce objects are in progress at a time (0: no bound), and none for longer than timeout (0: for ever).
func NewRun(plan []PlannedMove, to authority.API, atOnce int, timeout time.Duration, now time.Time) *Run {
	r := &Run{to: to, atOnce: atOnce, timeout: timeout, began: now}
	for _, s := range plan {
		switch s.Action {
		case Ask:
			r.objects = append(r.objects, &object{ref: keyOf(s.Pair), since: now})
		case Follow:
			r.objects = append(r.objects, &object{ref: keyOf(s.Pair), since: now, stage: asked})
		}
	}
	return r
}

// Line is a line of progress about an object.
type Line struct {
	Ref string
	// After is how long the object has been in progress.
	After time.Duration
	// What is what happened, in words. Detail may be empty.
	What, Detail string
	Good, Bad    bool
	// Arrived is set when an object arrives: how many of Total have arrived. Left is the time that the rest takes at the same rate; 0 for the last.
	Arrived, Total int
	Left           time.Duration
}

// Outcome is the result of evaluating the fleet.
type Outcome struct {
	Lines []Line
	// Ask are the objects to request now.
	Ask []inventory.Pair
	// Failed reports an error that does not fix itself. TimedOut reports that an object took too long.
	Failed, TimedOut bool
	// Done reports that everything has arrived.
	Done bool
}

// Look compares the fleet with the run's previous state. It returns what has changed, and which objects to request next.
func (r *Run) Look(f *inventory.Fleet, now time.Time) Outcome {
	var out Outcome
	pairs := map[key]inventory.Pair{}
	for _, p := range f.Pairs {
		pairs[keyOf(p)] = p
	}
	for _, o := range r.objects {
		p, exists := pairs[o.ref]
		if o.stage == asked && !o.older(p) {
			r.follow(o, p, exists, now, &out)
		}
	}
	if !out.Failed && !out.TimedOut {
		r.next(pairs, &out)
	}
	out.Done = !slices.ContainsFunc(r.objects, func(o *object) bool { return o.stage != there })
	return out
}

// next adds to the outcome the objects to request now: as many as may be in progress.
func (r *Run) next(pairs map[key]inventory.Pair, out *Outcome) {
	onTheWay := r.count(asked)
	for _, o := range r.objects {
		if o.stage != waiting || r.atOnce > 0 && onTheWay >= r.atOnce {
			continue
		}
		p, exists := pairs[o.ref]
		if !exists || p.MachineAPI == nil {
			o.stage = ended
			out.add(o, 0, Line{What: "no longer exists", Bad: true})
			out.Failed = true
			return
		}
		if o.older(p) {
			continue // the request was refused, and the watch has yet to bring the newer version
		}
		out.Ask = append(out.Ask, p)
		onTheWay++
	}
}

// Asked records that a request was stored.
func (r *Run) Asked(p inventory.Pair, now time.Time) {
	if o := r.find(p); o != nil {
		o.stage, o.since, o.version, o.before = asked, now, p.MachineAPI.Metadata.ResourceVersion, unsettled(standing.Of(p))
		o.written = askedFor // the request has been reported, with its warnings
	}
}

// Stale records that a request was refused because the object has changed since it was read.
func (r *Run) Stale(p inventory.Pair) {
	if o := r.find(p); o != nil {
		o.version = p.MachineAPI.Metadata.ResourceVersion
	}
}

func (r *Run) find(p inventory.Pair) *object {
	for _, o := range r.objects {
		if o.ref == keyOf(p) {
			return o
		}
	}
	return nil
}

// older reports whether the object is as it was before the last request, because a watch lags.
func (o *object) older(p inventory.Pair) bool {
	return p.MachineAPI != nil && o.version == p.MachineAPI.Metadata.ResourceVersion
}

// Tally is how many objects have arrived, are in progress, were cancelled or deleted, and are not requested yet.
type Tally struct{ Arrived, OnTheWay, Ended, Left int }

// Tally counts the objects.
func (r *Run) Tally() Tally {
	return Tally{r.count(there), r.count(asked), r.count(ended), r.count(waiting)}
}

// Total is the number of objects.
func (t Tally) Total() int { return t.Arrived + t.OnTheWay + t.Ended + t.Left }

// Text returns the tally in words. about says, in brackets, what becomes of the objects in progress; "" says nothing.
func (t Tally) Text(about string) string {
	text := fmt.Sprintf("%d done, %d on the way%s, ", t.Arrived, t.OnTheWay, about)
	if t.Ended > 0 {
		text += fmt.Sprintf("%d cancelled or deleted, ", t.Ended)
	}
	return text + fmt.Sprintf("%d not requested", t.Left)
}

func (r *Run) count(s stage) int {
	n := 0
	for _, o := range r.objects {
		if o.stage == s {
			n++
		}
	}
	return n
}

func (r *Run) follow(o *object, p inventory.Pair, exists bool, now time.Time, out *Outcome) {
	after := now.Sub(o.since)
	if !exists || p.MachineAPI == nil {
		o.stage = ended
		out.add(o, after, Line{What: "no longer exists", Bad: true})
		out.Failed = true
		return
	}
	s := standing.Of(p)
	o.arrived, o.back = s.Current == r.to, readiness.GoesBack(p)
	switch {
	case s.Requested != r.to:
		o.stage = ended
		out.add(o, after, Line{What: "was cancelled: spec.authoritativeAPI is " + string(s.Requested), Bad: true})
		out.Failed = true
	case s.At(r.to):
		o.stage = there
		arrived, total := r.count(there), len(r.objects)
		left := now.Sub(r.began) / time.Duration(arrived) * time.Duration(total-arrived)
		out.add(o, after, Line{What: r.to.Text() + " is authoritative", Good: true, Arrived: arrived, Total: total, Left: left})
	case stuck(s) && o.before != unsettled(s):
		out.add(o, after, Line{What: s.Reason, Detail: s.Message, Bad: true})
		out.Failed = true
	case r.timeout > 0 && after > r.timeout:
		what := "did not move within --timeout"
		if o.arrived {
			what = r.to.Text() + " is authoritative, but the move was not over within --timeout"
		}
		out.add(o, after, Line{What: what, Detail: s.Message, Bad: true})
		out.TimedOut = true
	default:
		out.add(o, after, Line{What: phase(s, r.to)})
	}
}

// stuck reports whether a person must fix something before the move continues.
func stuck(s standing.Standing) bool {
	return s.Settled == metav1.ConditionFalse && readiness.Stuck(s.Reason)
}

// unsettled returns why authority is not settled; "" if it is.
func unsettled(s standing.Standing) string {
	if s.Settled != metav1.ConditionFalse {
		return ""
	}
	return s.Reason + ": " + s.Message
}

// askedFor is the phase of a move before its first progress.
const askedFor = "move requested"

// phase returns a move's phase in words.
func phase(s standing.Standing, to authority.API) string {
	waits := ""
	if s.Settled == metav1.ConditionFalse && s.Reason != "" {
		waits = " (" + s.Reason + ")"
	}
	switch {
	case s.Current == authority.Migrating && s.Origin == to:
		return "authority goes back" + waits
	case s.Current == authority.Migrating:
		return "authority is moving" + waits
	case s.Current == to:
		return to.Text() + " takes over" + waits
	}
	return askedFor + waits
}

// add adds a line about an object, unless it is equal to the object's last line.
func (out *Outcome) add(o *object, after time.Duration, l Line) {
	if o.written == l.What {
		return
	}
	o.written = l.What
	l.Ref, l.After = inventory.RefOf(o.ref.kind, o.ref.name), after
	out.Lines = append(out.Lines, l)
}
