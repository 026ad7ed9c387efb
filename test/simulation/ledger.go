// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/poundlock/poundlock/policies/authority"
)

// Call is one entry of the ledger: who asked the cloud for what, and when.
type Call struct {
	At time.Time
	// Caller is the API whose controller called.
	Caller authority.API
	// Verb is Launch, Describe or Terminate.
	Verb     string
	Machine  string
	Instance string
	// Objection is why the caller should not have called, "" if there is nothing against it.
	Objection string
}

// Witness says what speaks against a call, "" for nothing. It is asked before the call is made; namespace is the one
// in which the caller's Machine lives.
type Witness func(ctx context.Context, caller authority.API, namespace, machine string) string

// Ledger returns every call so far, oldest first.
func (c *Cloud) Ledger() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ledger)
}

// Audit checks what must hold whatever happened: one instance at most for each Machine, ever, and no call by a
// side that was not in charge.
func (c *Cloud) Audit() error {
	var wrong []string
	made := map[string]int{}
	for _, i := range c.Instances() {
		made[i.Machine]++
		if made[i.Machine] == 2 {
			wrong = append(wrong, fmt.Sprintf("Machine %s got a second instance, %s, from %s", i.Machine, i.ID, i.CreatedBy.Text()))
		}
	}
	for _, call := range c.Ledger() {
		if call.Objection != "" {
			wrong = append(wrong, fmt.Sprintf("%s %s of Machine %s by %s: %s",
				call.At.Format(time.StampMilli), call.Verb, call.Machine, call.Caller.Text(), call.Objection))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the cloud's ledger:\n  %s", strings.Join(wrong, "\n  "))
	}
	return nil
}

func (c *Cloud) record(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.At = c.now()
	c.ledger = append(c.ledger, call)
}

// account is the cloud as one side's controllers see it: every call through it is in the ledger under their name.
type account struct {
	cloud  *Cloud
	caller authority.API
}

// machine is what the cloud is told of the object that a call is about.
type machine struct{ namespace, name string }

// launch makes the instance of a Machine. The token is the UID of the object that asks: a controller that asks twice,
// because its cache was old, gets the same instance; one that asks for the other side's machine gets a second one.
func (a account) launch(ctx context.Context, m machine, token, zone, kind string) (Instance, error) {
	objection := a.ask(ctx, m)
	i, err := a.cloud.launch(Instance{Machine: m.name, Token: token, Zone: zone, Type: kind, CreatedBy: a.caller})
	a.cloud.record(Call{Caller: a.caller, Verb: "Launch", Machine: m.name, Instance: i.ID, Objection: objection})
	return i, err
}

func (a account) describe(ctx context.Context, m machine, id string) (Instance, bool) {
	a.cloud.record(Call{Caller: a.caller, Verb: "Describe", Machine: m.name, Instance: id, Objection: a.ask(ctx, m)})
	return a.cloud.find(id)
}

func (a account) terminate(ctx context.Context, m machine, id string) error {
	a.cloud.record(Call{Caller: a.caller, Verb: "Terminate", Machine: m.name, Instance: id, Objection: a.ask(ctx, m)})
	return a.cloud.terminate(id)
}

func (a account) ask(ctx context.Context, m machine) string {
	if a.cloud.Witness == nil {
		return ""
	}
	return a.cloud.Witness(ctx, a.caller, m.namespace, m.name)
}
