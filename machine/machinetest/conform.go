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

// Subject is an actuator with its provider, new for each check. The provider should be empty, or at least hold nothing of the Machines that the checks use:
// their names and UIDs begin with "conform-".
type Subject struct {
	Actuator machine.Actuator
	// Machine returns a Machine whose instance the provider can create. It has the name and the UID, and looks as an API server would return it.
	Machine func(name string, uid types.UID) *machinev1beta1.Machine
	// Invalid has changes, by their description. Each turns the Machine into one whose instance can never be created.
	Invalid map[string]func(*machinev1beta1.Machine)
	// Alive returns how many instances with that name are not gone for good, by the provider's own count, which has no delay.
	Alive func(name string) int
	// Rest returns when the provider is at rest: booting instances run, instances that shut down are gone, and everything is visible. It passes the time that
	// an error with RequeueAfter asks for.
	Rest func()
	// Patience is how long after the end of its context a method may take to return; 5 s if 0.
	Patience time.Duration

	// The fields below are optional. A check that needs an absent one is skipped, and reports that. Each change of the provider lasts until the check is over,
	// or until the function that the field returned (undo) is called.

	// Foreign creates a running instance that the actuator did not create, and returns its provider ID.
	Foreign func(name string) string
	// LoseAnswer makes the provider carry out the next request that changes something, but answer that request with an error.
	LoseAnswer func()
	// Refuse makes the provider refuse every request with a transient error.
	Refuse func() (undo func())
	// Exhaust makes the provider refuse to create another instance, for want of capacity.
	Exhaust func() (undo func())
	// Hang makes the provider answer no request.
	Hang func() (undo func())
	// Delay makes the provider slow to show what it did, until Rest is called.
	Delay func()
	// End and Stop terminate and stop the instance with that name by hand, without the actuator.
	End, Stop func(name string)
}

// T is the part of *testing.T that a check needs.
type T interface {
	Context() context.Context
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Conform tests an actuator against the contract (machine.Actuator), with a subtest for each promise. new makes a Subject for each subtest. Run it with the
// race detector, because one check calls the actuator for many Machines at the same time.
func Conform(t *testing.T, new func(*testing.T) Subject) {
	for _, c := range checks {
		t.Run(c.promise, func(t *testing.T) { c.try(t, new(t)) })
	}
}

// check is one promise of the contract, and the function that checks it.
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
