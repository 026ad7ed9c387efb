// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"time"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// trials remember the API server's answers to the Machines of a set, by a hash of what each Machine is made from, so that an idle pass sends no request.
type trials struct {
	answers map[string]policies.Trial
	// refusals are the refusals that no dry run shows: the API server refused the Machine itself.
	refusals map[string]refusal
}

type refusal struct {
	words string
	// until is when the Machine may be created again.
	until time.Time
}

// tried makes the plan with the API server's answers about the Machines that the plan needs. Remembered answers suffice, except before a Machine is created or
// deleted: then all dry runs are repeated. retries reports that a refused Machine is due for another attempt (due).
func (r *reconciler) tried(ctx context.Context, v *controlplane.View, acts bool) (plan controlplane.Plan, retries bool, err error) {
	plan = controlplane.Make(*v)
	needed := plan.NeededTrials()
	if len(needed) == 0 {
		return plan, false, nil
	}
	v.Trials, _ = r.answers(ctx, needed, false) // without an answer nothing is created or deleted: see below
	plan = controlplane.Make(*v)
	if acts && plan.Changes() {
		if v.Trials, err = r.answers(ctx, needed, true); err != nil {
			return plan, false, err
		}
		plan = controlplane.Make(*v)
	}
	return plan, r.due(needed), nil
}

// answers returns the remembered answers, and asks the API server about the other Machines. It does not remember the refusal of a dry run, so that each pass
// checks whether the refusal has ended.
func (r *reconciler) answers(ctx context.Context, needed []controlplane.Trial, fresh bool) ([]policies.Trial, error) {
	known := map[string]policies.Trial{}
	var out []policies.Trial
	var asked []controlplane.Trial
	for _, t := range needed {
		if a, ok := r.trials.answers[t.Of]; ok && !fresh {
			known[t.Of] = a
			out = append(out, a)
		} else {
			asked = append(asked, t)
		}
	}
	answers, err := facts.Try(ctx, r.writer, asked)
	for _, a := range answers {
		if a.Machine != nil {
			known[a.Of] = a
		}
		out = append(out, a)
	}
	r.trials.answers = known
	for i := range out {
		if last, ok := r.trials.refusals[out[i].Of]; ok && r.now().Before(last.until) {
			out[i] = policies.Trial{Of: out[i].Of, Refused: last.words}
		}
	}
	return out, err
}

// due reports whether a Machine that the API server refused must be tried again in this pass.
func (r *reconciler) due(needed []controlplane.Trial) bool {
	for _, t := range needed {
		if last, ok := r.trials.refusals[t.Of]; ok && !r.now().Before(last.until) {
			return true
		}
	}
	return false
}

// remember stores the API server's answer to the creation of a Machine.
func (r *reconciler) remember(of, name string, err error) {
	delete(r.trials.refusals, of)
	if words := facts.Refusal(name, err); words != "" {
		if r.trials.refusals == nil {
			r.trials.refusals = map[string]refusal{}
		}
		r.trials.refusals[of] = refusal{words: words, until: r.now().Add(unwatched)}
	}
}
