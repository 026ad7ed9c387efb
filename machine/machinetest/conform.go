// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/machine"
)

// Subject is an actuator with its provider, new for each check. The provider should be empty, or at least hold nothing of the Machines that it
// is asked about: their names and UIDs begin with "conform-".
type Subject struct {
	Actuator machine.Actuator
	// Machine returns a Machine that the provider can make, as an API server would return it, with the name and the UID.
	Machine func(name string, uid types.UID) *machinev1beta1.Machine
	// Invalid are changes, each under its description. Each turns the Machine into one whose instance can never be created.
	Invalid map[string]func(*machinev1beta1.Machine)
	// Alive is how many instances of that name are not gone for good, by the provider's own count, which has no delay.
	Alive func(name string) int
	// Rest returns when the provider is at rest: what boots runs, what shuts down is gone, and everything can be seen. It passes the time
	// that an error with RequeueAfter asks for.
	Rest func()
	// Patience is how long after the end of its context a method may take to return; 5 s if 0.
	Patience time.Duration

	// The rest is optional: a check that needs an absent one is skipped, and reports that. Each change stays until the check is over, or until
	// the function that it returned is called.

	// Foreign makes a running instance that is not the actuator's, and returns its provider ID.
	Foreign func(name string) string
	// LoseAnswer makes the provider carry out the next request that changes something, and answer with an error.
	LoseAnswer func()
	// Refuse makes the provider refuse every request with an error that passes.
	Refuse func() (undo func())
	// Exhaust leaves no room for another instance.
	Exhaust func() (undo func())
	// Hang makes the provider answer nothing.
	Hang func() (undo func())
	// Delay makes the provider slow to show what it did, until Rest.
	Delay func()
	// End and Stop terminate and stop the instance of that name by hand, as nobody has asked the actuator to.
	End, Stop func(name string)
}

// T is what a check needs of a *testing.T.
type T interface {
	Context() context.Context
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Conform holds an actuator to the contract (machine.Actuator), a subtest for each thing that it promises. new makes a Subject for
// each of them. Run it with the race detector: one check calls for many Machines at the same time.
func Conform(t *testing.T, new func(*testing.T) Subject) {
	for _, c := range checks {
		t.Run(c.promise, func(t *testing.T) { c.try(t, new(t)) })
	}
}

// check is one promise.
type check struct {
	promise string
	// needs is the optional part of the Subject that the check requires; nil if it requires none.
	needs *part
	run   func(*life)
}

func (c check) try(t T, s Subject) {
	t.Helper()
	if s.Patience == 0 {
		s.Patience = 5 * time.Second
	}
	if c.needs != nil && !c.needs.there(s) {
		t.Skipf("the Subject has no %s", c.needs.name)
	}
	c.run(&life{T: t, Subject: s, m: s.Machine("conform-1", "conform-uid-1")})
}
