// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// follow requests the moves, as many at a time as may be in progress, and prints each step until all objects have arrived.
func (m *mover) follow(ctx context.Context, plan []PlannedMove) error {
	m.Linef("")
	began := m.Now()
	run := NewRun(plan, m.to, m.maxInFlight, m.timeout, began)
	var end error
	err := inventory.Follow(ctx, m.client, m.query, time.Second, func(f *inventory.Fleet) (bool, error) {
		done, err := m.look(ctx, run, f)
		end = err
		return done || err != nil, nil
	})
	tally := run.Tally()
	m.record(event{
		Event: "over", Arrived: tally.Arrived, Total: tally.Total(), Seconds: m.Now().Sub(began).Seconds(),
		Failed: ctx.Err() != nil || err != nil || end != nil,
	})
	switch {
	case ctx.Err() != nil:
		m.Linef("\ninterrupted: %s. Run the same command again to continue.", tally.Text(" (Poundlock's manager continues these)"))
		return cli.Exit(cli.CodeInterrupted, "")
	case err != nil:
		return err
	case end != nil:
		m.Linef("\nstopped: %s. Run the same command again to continue%s.", tally.Text(""), run.Cancels())
		return end
	}
	m.Linef("\n%s is authoritative for %s, after %s.", m.to.Text(), amount.Of(tally.Arrived, "object"), duration.HumanDuration(m.Now().Sub(began)))
	return nil
}

// Cancels returns the end of a sentence: which moves --cancel can still cancel; "" if no move is in progress. A move whose new API is already authoritative
// cannot be cancelled. Only the acknowledgements of its controllers are missing.
func (r *Run) Cancels() string {
	var before, arrived int
	for _, o := range r.objects {
		switch {
		case o.stage == asked && o.arrived:
			arrived++
		case o.stage == asked && !o.back:
			before++
		}
	}
	text := ""
	if before > 0 {
		text += fmt.Sprintf(". To cancel the moves for which %s is not authoritative yet, give --cancel instead of --to", r.to.Text())
	}
	if arrived > 0 {
		text += fmt.Sprintf(". %s is already authoritative for %s that still %s, as shown above. Such a move cannot be cancelled: "+
			"wait until it is over, and then move the object back", r.to.Text(), amount.Of(arrived, "object"), waits(arrived))
	}
	return text
}

func waits(n int) string {
	if n == 1 {
		return "waits"
	}
	return "wait"
}

// look evaluates the fleet once, and reports whether everything has arrived. The error is why the run ends before that.
func (m *mover) look(ctx context.Context, run *Run, f *inventory.Fleet) (bool, error) {
	out := run.Look(f, m.Now())
	for _, l := range out.Lines {
		m.line(l)
	}
	switch {
	case out.Failed:
		return false, cli.Exit(cli.CodeNo, "")
	case out.TimedOut:
		return false, cli.Exit(cli.CodeTimeout, "")
	}
	for _, pair := range out.Ask {
		err := m.request(ctx, pair, m.to, "")
		switch {
		case apierrors.IsConflict(err):
			run.Stale(pair)
			continue
		case errors.Is(err, context.Canceled):
			return false, nil
		}
		m.report(pair.Ref(), askedOf(pair, m.to), err)
		if err != nil {
			return false, cli.Exit(cli.CodeNo, "")
		}
		run.Asked(pair, m.Now())
	}
	return out.Done, nil
}

// back takes back the requests of all objects that are moving.
func (m *mover) back(ctx context.Context, f *inventory.Fleet) error {
	m.arrived(f)
	f.Narrow(func(p inventory.Pair) bool { return p.MachineAPI != nil && p.Moving() })
	if len(f.Pairs) == 0 {
		m.Linef("None of these objects has a request to move, so there is nothing to cancel.")
		return nil
	}
	for _, pair := range f.Pairs {
		m.Linef("%s: cancel the move, so that %s is authoritative", pair.Ref(), pair.Authoritative().Text())
	}
	if m.dryRun == "client" {
		m.Linef("\nNothing was requested (--dry-run=client).")
		return nil
	}
	dryRun, done := "", askedOf
	if m.dryRun == "server" {
		dryRun, done = metav1.DryRunAll, rehearsedOf
	} else if err := m.Confirm(ctx, m.yes, fmt.Sprintf("Cancel the moves of %s?", amount.Of(len(f.Pairs), "object"))); err != nil {
		return err
	}
	m.Linef("")
	var cancelled []inventory.Pair
	failed := 0
	for _, pair := range f.Pairs {
		if pair.Authoritative().Other() == authority.Unset {
			m.Linef("%s: the move cannot be cancelled, because status.synchronizedAPI does not name the API that was authoritative before the move. To see "+
				"what to do: kubectl poundlock explain %s", pair.Ref(), authority.ReasonUnknownOrigin)
			failed++
			continue
		}
		err := m.cancelled(ctx, pair, dryRun)
		if errors.Is(err, errNotMoving) {
			m.Linef("%s: there is nothing to cancel any more", pair.Ref())
			continue
		}
		if m.report(pair.Ref(), done(pair, pair.Authoritative()), err); err != nil {
			failed++
			continue
		}
		cancelled = append(cancelled, pair)
	}
	var err error
	if m.wait && dryRun == "" {
		err = m.settled(ctx, cancelled)
	}
	if failed > 0 && err == nil {
		err = cli.Exit(cli.CodeNo, fmt.Sprintf("the moves of %s are not cancelled: see above", amount.Of(failed, "object")))
	}
	return err
}

// errNotMoving is the error about an object that has arrived, was deleted, or whose move somebody else has cancelled.
var errNotMoving = errors.New("the object does not move any more")

// cancelled cancels the move of a pair. If another write comes between, such as a step of the move or a deletion, it reads the object and tries again while
// there is a move to cancel: the user has no time to lose.
func (m *mover) cancelled(ctx context.Context, pair inventory.Pair, dryRun string) error {
	back := pair.Authoritative()
	const tries = 10
	for try := 1; ; try++ {
		err := m.request(ctx, pair, back, dryRun)
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) || try == tries {
			return err
		}
		stored, refusal := m.client.Resource(pair.Kind.MachineAPI.WithResource(pair.Kind.Resource)).Namespace(pair.Namespaces.MachineAPI).
			Get(ctx, pair.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(refusal) || refusal == nil && stored.GetUID() != pair.MachineAPI.Metadata.UID {
			return errNotMoving
		}
		if refusal != nil {
			return err
		}
		raw, refusal := stored.MarshalJSON()
		if refusal != nil {
			return refusal
		}
		if pair.MachineAPI, refusal = policies.ParseObject(raw); refusal != nil {
			return refusal
		}
		if !pair.Moving() || pair.Authoritative() != back {
			return errNotMoving
		}
	}
}

// arrived prints which moves can no longer be cancelled because the new API is authoritative already, and what each still waits for. It prints each reason
// once, for all objects that wait for it.
func (m *mover) arrived(f *inventory.Fleet) {
	type wait struct {
		in     authority.API
		reason string
	}
	var first []inventory.Pair
	alike := map[wait]int{}
	for _, p := range f.Pairs {
		if s := standing.Of(p); p.MachineAPI != nil && !s.Moving() && s.Settled == metav1.ConditionFalse {
			if alike[wait{s.Current, s.Reason}]++; alike[wait{s.Current, s.Reason}] == 1 {
				first = append(first, p)
			}
		}
	}
	for _, p := range first {
		s := standing.Of(p)
		who, waits, others := p.Ref(), "the move still waits", alike[wait{s.Current, s.Reason}]-1
		if others > 0 {
			who, waits = fmt.Sprintf("%s and %s with the same reason", p.Ref(), amount.Of(others, "object")), "each move still waits"
		}
		m.Linef("%s: %s is already authoritative, and %s (%s). To move the object back once the move is over: kubectl poundlock migrate %s --to %s",
			who, s.Current.Text(), waits, s.Reason, p.Ref(), strings.ToLower(string(s.Current.Other())))
		m.Linef("%s", printers.Wrap(s.Message, "    ", m.Width))
	}
}

// settled waits until authority over each of the pairs has gone back.
func (m *mover) settled(ctx context.Context, cancelled []inventory.Pair) error {
	began, left := m.Now(), map[string]bool{}
	for _, p := range cancelled {
		left[p.Namespaces.MachineAPI+"/"+p.Ref()] = true
	}
	timedOut := false
	err := inventory.Follow(ctx, m.client, m.query, time.Second, func(f *inventory.Fleet) (bool, error) {
		still := map[string]bool{}
		for _, p := range f.Pairs {
			key := p.Namespaces.MachineAPI + "/" + p.Ref()
			if !left[key] {
				continue
			}
			if still[key] = p.Moving(); !still[key] {
				what := "is with " + p.Authoritative().Text()
				m.record(event{Object: p.Ref(), Event: what, Seconds: m.Now().Sub(began).Seconds()})
				m.Linef("%s  %s  %s", m.clock(), p.Ref(), m.Green(what))
				delete(left, key)
			}
		}
		for key := range left {
			if _, there := still[key]; !there {
				delete(left, key) // deleted meanwhile
			}
		}
		timedOut = m.timeout > 0 && m.Now().Sub(began) > m.timeout
		return len(left) == 0 || timedOut, nil
	})
	switch {
	case ctx.Err() != nil:
		return cli.Exit(cli.CodeInterrupted, "interrupted: Poundlock's manager continues")
	case err == nil && len(left) > 0:
		return cli.Exit(cli.CodeTimeout, fmt.Sprintf("--timeout passed before the moves of %s were cancelled. "+
			"To follow them: kubectl poundlock status --watch", amount.Of(len(left), "object")))
	}
	return err
}
