// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"slices"

	"github.com/poundlock/poundlock/policies/authority"
)

// Mishap is what a Fault does to a call.
type Mishap string

// The mishaps.
const (
	// Refuse: nothing is done, and the caller gets a transient error.
	Refuse Mishap = "refuse"
	// LoseAnswer: the call is carried out, and the caller gets an error.
	LoseAnswer Mishap = "lose-answer"
	// Hang: nothing is done, and the caller waits until its context ends, or until Heal is called.
	Hang Mishap = "hang"
)

// Fault waits for a call that it applies to, and then makes the call go wrong.
type Fault struct {
	Do Mishap `json:"do"`
	// Verb, Machine (a name) and Caller select the calls to which the fault applies. An empty one selects all.
	Verb    Verb          `json:"verb,omitempty"`
	Machine string        `json:"machine,omitempty"`
	Caller  authority.API `json:"caller,omitempty"`
	// Times is to how many calls the fault applies: one if 0, all until Heal if negative.
	Times int `json:"times,omitempty"`
	// Message is the error that the caller gets. If empty, the error is a sentence that names the mishap and says that a fault arranged it.
	Message string `json:"message,omitempty"`
}

func (f Fault) check() error {
	if !slices.Contains([]Mishap{Refuse, LoseAnswer, Hang}, f.Do) {
		return refuse(Malformed, "do is %q: use %s, %s or %s", f.Do, Refuse, LoseAnswer, Hang)
	}
	if f.Verb != "" && !f.Verb.known() {
		return refuse(Malformed, "verb is %q: use %s, %s or %s, or leave it out for all verbs", f.Verb, Launch, Describe, Terminate)
	}
	if f.Caller != "" && f.Caller.Other() == "" {
		return refuse(Malformed, "caller is %q: use %s or %s, or leave it out for both", f.Caller, authority.MachineAPI, authority.ClusterAPI)
	}
	return nil
}

func (f Fault) meets(c Call) bool {
	return (f.Verb == "" || f.Verb == c.Verb) && (f.Machine == "" || f.Machine == c.Machine.Name) && (f.Caller == "" || f.Caller == c.Caller)
}

func (f Fault) err(verb Verb) error {
	message := f.Message
	switch {
	case message != "":
	case f.Do == LoseAnswer:
		message = "the answer to this " + string(verb) + " was lost because of an injected fault"
	case f.Do == Hang:
		message = "this " + string(verb) + " hung because of an injected fault until the faults were deleted"
	default:
		message = "this " + string(verb) + " was refused because of an injected fault"
	}
	return refuse(Unavailable, "%s", message)
}

// Inject adds faults. Each fault waits for a call to which it applies.
func (c *Cloud) Inject(_ context.Context, faults ...Fault) error {
	for i := range faults {
		if err := faults[i].check(); err != nil {
			return err
		}
		if faults[i].Times == 0 {
			faults[i].Times = 1
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, faults...)
	return nil
}

// Faults returns the faults that still wait for a call.
func (c *Cloud) Faults(context.Context) ([]Fault, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.faults), nil
}

// Heal removes all faults. A call that hangs then ends with a transient error.
func (c *Cloud) Heal(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
	close(c.healed)
	c.healed = make(chan struct{})
	return nil
}

// take returns the first fault that applies to the call, and uses up one of its Times. If no fault applies, it returns the zero Fault, which does nothing.
func (c *Cloud) take(call Call) Fault {
	n := slices.IndexFunc(c.faults, func(f Fault) bool { return f.meets(call) })
	if n < 0 {
		return Fault{}
	}
	fault := c.faults[n]
	if fault.Times > 0 {
		c.faults[n].Times--
	}
	if c.faults[n].Times == 0 {
		c.faults = slices.Delete(c.faults, n, n+1)
	}
	return fault
}
