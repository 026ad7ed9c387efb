// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/stories"
)

// TestMachineThatIsDeletedWhileItsInstanceIsMade: the deletion wins the race against what Create answers, and the cloud does not show the instance for a while.
func TestMachineThatIsDeletedWhileItsInstanceIsMade(t *testing.T) {
	const lag = 5 * time.Minute
	for name, crash := range map[string]bool{"the answer is stored all the same": false, "and is lost in a crash": true} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if err := s.cloud.Configure(t.Context(), machinetest.Settings{Lag: lag}); err != nil {
				t.Fatal(err)
			}
			actuator := &machinetest.Actuator{Cloud: s.actuator().Cloud, Poll: time.Minute, Now: s.clock.Now, ListedWithin: lag}
			s.c.actuator = spoilt{Actuator: actuator, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
				if err := actuator.Create(ctx, m); err != nil {
					return err
				}
				if err := s.Delete(ctx, s.get("one")); err != nil {
					t.Fatal(err)
				}
				if crash {
					panic("the process ends")
				}
				return nil
			}}
			s.machine("one")
			func() {
				defer func() { _ = recover() }()
				for range 6 {
					if m := s.get("one"); m == nil || !m.DeletionTimestamp.IsZero() {
						break
					}
					_, _ = s.pass("one")
				}
			}()
			if m := s.get("one"); !crash && (m == nil || deref(m.Spec.ProviderID) == "") {
				t.Error("the ID of the instance is not stored")
			}
			s.c.actuator = actuator
			for range 30 {
				if s.get("one") == nil {
					break
				}
				_, _ = s.pass("one")
				s.clock.SetTime(s.clock.Now().Add(time.Minute))
			}
			if s.get("one") != nil {
				t.Error("the Machine does not go")
			}
			if i := s.instances(1)[0]; !i.Gone() {
				t.Errorf("its instance is left behind: %+v", i)
			}
		})
	}
}

// TestMachineThatGoesAwayWhileItsInstanceIsMade loses its finalizer, and itself, between the order and the answer.
func TestMachineThatGoesAwayWhileItsInstanceIsMade(t *testing.T) {
	stories.Long(t)
	for name, c := range map[string]struct {
		again    bool // another Machine has its name
		answers  []error
		contains string
	}{
		"its instance is taken back":                            {answers: []error{nil}},
		"and so it is where another has its name":               {again: true, answers: []error{nil}},
		"it takes as long as it takes":                          {answers: []error{machine.RequeueAfter(time.Millisecond, "the end"), nil}},
		"who can do no more says what a person has to look for": {answers: []error{errors.New("no")}, contains: "terminate it in the cloud"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.c.pace.call = 3 * time.Second
			s.machine("one")
			uid, deletes := s.get("one").UID, 0
			s.c.actuator = spoilt{Actuator: s.c.actuator,
				create: func(_ context.Context, m *machinev1beta1.Machine) error {
					if m.UID != uid {
						return nil
					}
					s.edit("one", func(m *machinev1beta1.Machine) { m.Finalizers = nil })
					if err := s.Delete(s.Context(), s.get("one")); err != nil {
						t.Fatal(err)
					}
					if c.again {
						s.machine("one")
					}
					return nil
				},
				delete: func(_ context.Context, m *machinev1beta1.Machine) error {
					if m.UID != uid || m.DeletionTimestamp.IsZero() {
						t.Errorf("Delete is called for %s, being deleted: %t", m.UID, !m.DeletionTimestamp.IsZero())
					}
					deletes++
					return c.answers[min(deletes, len(c.answers))-1]
				}}
			var err error
			for range 6 {
				if s.get("one") == nil || s.get("one").UID != uid || err != nil {
					break
				}
				_, err = s.pass("one")
			}
			if deletes < len(c.answers) {
				t.Errorf("Delete was called %d times, want %d", deletes, len(c.answers))
			}
			if c.contains == "" && err != nil || c.contains != "" && (err == nil || !strings.Contains(err.Error(), c.contains)) {
				t.Errorf("the pass says %v, want %q", err, c.contains)
			}
		})
	}
}
