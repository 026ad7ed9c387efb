// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"fmt"
	"testing"

	"github.com/poundlock/poundlock/policies/authority"
)

const (
	unset     = authority.Unset
	mapi      = authority.MachineAPI
	capi      = authority.ClusterAPI
	migrating = authority.Migrating
)

func TestNextAuthority(t *testing.T) {
	for sentence, c := range map[string]struct {
		in     State
		action authority.Action
		to     authority.API
		reason string
	}{
		"a new set":                                    {State{Requested: mapi}, authority.Adopt, mapi, authority.ReasonAdopted},
		"a new set that is Cluster API's":              {State{Requested: capi, OfClusterAPI: true}, authority.Adopt, capi, authority.ReasonAdopted},
		"a CRD without the fields":                     {State{}, authority.Rest, "", authority.ReasonDisabled},
		"nothing is asked for":                         {State{Requested: mapi, Current: mapi}, authority.Settle, "", authority.ReasonSettled},
		"the request is gone from spec":                {State{Requested: unset, Current: capi, Origin: capi}, authority.Settle, "", authority.ReasonSettled},
		"a request, the other side made":               {State{Requested: capi, Current: mapi, Side: InStep}, authority.Acknowledge, capi, authority.ReasonStarted},
		"a request, the other side not yet made":       {State{Requested: capi, Current: mapi}, authority.Wait, "", authority.ReasonCatchingUp},
		"a request, a field that does not convert":     {State{Requested: capi, Current: mapi, Side: Refused}, authority.Wait, "", authority.ReasonNotSynchronized},
		"a request of a set that is being deleted":     {State{Requested: capi, Current: mapi, Side: InStep, Deleting: true}, authority.Rest, "", authority.ReasonDeleting},
		"on its way":                                   {State{Requested: capi, Current: migrating, Origin: mapi, Side: InStep}, authority.Switch, capi, authority.ReasonCompleted},
		"on its way, edited":                           {State{Requested: capi, Current: migrating, Origin: mapi}, authority.Wait, "", authority.ReasonCatchingUp},
		"on its way, edited so that it cannot be said": {State{Requested: capi, Current: migrating, Origin: mapi, Side: Refused}, authority.Wait, "", authority.ReasonNotSynchronized},
		"cancelled":                                    {State{Requested: mapi, Current: migrating, Origin: mapi, Side: Refused}, authority.Switch, mapi, authority.ReasonCancelled},
		"back, in Machine API's words":                 {State{Requested: mapi, Current: capi, Side: Refused}, authority.Acknowledge, mapi, authority.ReasonStarted},
		"back, in Cluster API's words":                 {State{Requested: mapi, Current: capi, Side: InStep, OfClusterAPI: true}, authority.Wait, "", ReasonTemplateIsClusterAPIs},
		"on its way back":                              {State{Requested: mapi, Current: migrating, Origin: capi, Side: Refused}, authority.Switch, mapi, authority.ReasonCompleted},
		"on its way back, in Cluster API's words":      {State{Requested: mapi, Current: migrating, Origin: capi, OfClusterAPI: true}, authority.Wait, "", ReasonTemplateIsClusterAPIs},
		"back cancelled, in Cluster API's words":       {State{Requested: capi, Current: migrating, Origin: capi, OfClusterAPI: true}, authority.Switch, capi, authority.ReasonCancelled},
		"Migrating from nobody knows where":            {State{Requested: capi, Current: migrating, Side: InStep}, authority.Wait, "", authority.ReasonUnknownOrigin},
		"a value that nobody knows":                    {State{Requested: capi, Current: "Other"}, authority.Wait, "", authority.ReasonUnknownAuthority},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := Next(c.in)
			if got.Action != c.action || got.To != c.to || got.Reason != c.reason || got.Message == "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// every is each state that there is.
func every() []State {
	var out []State
	for _, requested := range []authority.API{unset, mapi, capi} {
		for _, current := range []authority.API{unset, mapi, capi, migrating} {
			for _, origin := range []authority.API{unset, mapi, capi} {
				for _, side := range []Side{Behind, Refused, InStep} {
					for bits := range 4 {
						out = append(out, State{requested, current, origin, bits&1 != 0, bits&2 != 0, side})
					}
				}
			}
		}
	}
	return out
}

// After is what a step leaves behind.
func after(s State, step authority.Step) State {
	switch step.Action {
	case authority.Acknowledge:
		s.Origin, s.Current = s.Current, authority.Migrating
	case authority.Adopt, authority.Switch:
		s.Current, s.Origin = step.To, step.To
	}
	return s
}

// In each state: what the CRD refuses is not tried, nothing arrives anywhere half made, and when the person and the other side stand still it ends.
func TestEveryStateOfAuthority(t *testing.T) {
	for _, s := range every() {
		step := Next(s)
		next := after(s, step)
		stable := s.Current == mapi || s.Current == capi
		switch {
		case stable && next.Current != s.Current && next.Current != migrating:
			t.Errorf("%+v: straight to %s", s, next.Current)
		case step.Action == authority.Switch && next.Current == capi && s.Origin == mapi && s.Side != InStep:
			t.Errorf("%+v: Cluster API is authoritative for what it has not got", s)
		case step.Action == authority.Switch && next.Current == mapi && s.Origin == capi && s.OfClusterAPI:
			t.Errorf("%+v: Machine API is authoritative for what it cannot say", s)
		case step.Action == authority.Acknowledge && (s.Requested == s.Current || s.Deleting):
			t.Errorf("%+v: it moves, and nobody asked", s)
		case s.Deleting && step.Action.Acts():
			t.Errorf("%+v: it moves while it is being deleted", s)
		}
		if err := ends(s); err != nil {
			t.Error(err)
		}
	}
}

func ends(s State) error {
	from := s
	for range 4 {
		step := Next(s)
		if !step.Action.Acts() {
			return nil
		}
		s = after(s, step)
	}
	return fmt.Errorf("%+v: no end", from)
}
