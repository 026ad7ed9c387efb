// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/poundlock/poundlock/policies/authority"
)

// Call is one entry of the ledger: who called the cloud for what, when, and with what result.
type Call struct {
	// Seq numbers the calls from 1. Its only gaps are dropped calls.
	Seq int       `json:"seq"`
	At  time.Time `json:"at"`
	// Caller is the API whose controller called.
	Caller   authority.API `json:"caller"`
	Verb     Verb          `json:"verb"`
	Machine  Machine       `json:"machine"`
	Instance string        `json:"instance,omitempty"`
	// Outcome is "done", or the error that the caller got; "" while the call is in progress.
	Outcome string `json:"outcome,omitempty"`
	// Objection is why the caller should not have made the call, "" if there is nothing against it.
	Objection string `json:"objection,omitempty"`
}

func (c Call) String() string {
	return fmt.Sprintf("%s %s of Machine %s by %s", c.At.Format(time.StampMilli), c.Verb, c.Machine.Name, c.Caller.Text())
}

// Ledger returns the calls that the ledger keeps, oldest first.
func (c *Cloud) Ledger(context.Context) ([]Call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ledger), nil
}

// Audit returns an error with every violation of three rules: a Machine never has more than one instance, an API that is not authoritative makes no call, and
// no instance runs on when its Machine is gone.
func (c *Cloud) Audit(ctx context.Context) error {
	left := c.leftBehind(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	var wrong []string
	for _, i := range c.instances {
		if i.Objection != "" {
			wrong = append(wrong, fmt.Sprintf("Machine %s got %s from %s: %s", i.Machine.Name, i.ID, i.CreatedBy.Text(), i.Objection))
		}
	}
	for _, call := range c.ledger {
		if call.Objection != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s", call, call.Objection))
		}
	}
	return accusation(append(wrong, left...))
}

// leftBehind lists the instances that nobody has terminated and whose Machine neither API has any more. If an API server does not answer, it lists none.
func (c *Cloud) leftBehind(ctx context.Context) []string {
	c.mu.Lock()
	before := len(c.instances) // leave out instances launched during the census: it may have missed their Machines
	c.mu.Unlock()
	if before == 0 || c.census == nil {
		return nil
	}
	stands, err := c.census(ctx)
	if err != nil {
		return nil
	}
	var left []string
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range c.instances[:before] {
		if i.Ended.IsZero() && !stands(i.Machine) {
			left = append(left, fmt.Sprintf("%s was left behind: it still runs, although neither API has its Machine %s any more", i.ID, i.Machine.Name))
		}
	}
	return left
}

// begin writes a call to the ledger before the call is carried out, so that a call that hangs is in the ledger, too.
func (c *Cloud) begin(call Call) (seq int, fault Fault, healed <-chan struct{}, latency time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	call.Seq, call.At = c.last, c.now()
	c.ledger = append(c.ledger, call)
	c.trim()
	c.dirty = true
	return call.Seq, c.take(call), c.healed, c.settings.Latency[call.Verb]
}

// trim drops the oldest call without an objection if the ledger is too long.
func (c *Cloud) trim() {
	if len(c.ledger) <= c.keep {
		return
	}
	if n := slices.IndexFunc(c.ledger, func(old Call) bool { return old.Objection == "" }); n >= 0 {
		c.ledger = slices.Delete(c.ledger, n, n+1)
	}
}

func (c *Cloud) end(seq int, instance, outcome, late string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close(seq, instance, outcome, late)
}

// close writes the outcome of a call to the ledger. It is called under the lock.
func (c *Cloud) close(seq int, instance, outcome, late string) {
	n, found := slices.BinarySearchFunc(c.ledger, seq, func(call Call, seq int) int { return call.Seq - seq })
	if !found {
		return
	}
	call := &c.ledger[n]
	call.Outcome = outcome
	if instance != "" {
		call.Instance = instance
	}
	if late != "" {
		call.Objection = late
	}
	c.dirty = true
}
