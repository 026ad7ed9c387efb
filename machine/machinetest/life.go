// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/machine"
)

// life is one Machine during a check. Like a Machine controller, it calls the actuator with copies of the Machine, and keeps from a copy what an actuator may
// change.
type life struct {
	T
	Subject
	m *machinev1beta1.Machine
}

// another returns the life of another Machine at the same provider.
func (l *life) another(name string, uid types.UID) *life {
	return &life{T: l.T, Subject: l.Subject, m: l.Machine(name, uid)}
}

// stale returns the life of the same Machine as an old cache has it: without anything that was stored since the Machine was created.
func (l *life) stale() *life { return l.another(l.m.Name, l.m.UID) }

func (l *life) exists(ctx context.Context) (is bool, err error) {
	l.keep(func(m *machinev1beta1.Machine) { is, err = l.Actuator.Exists(ctx, m) })
	return is, err
}

func (l *life) create(ctx context.Context) (err error) {
	l.keep(func(m *machinev1beta1.Machine) { err = l.Actuator.Create(ctx, m) })
	return err
}

func (l *life) update(ctx context.Context) (err error) {
	l.keep(func(m *machinev1beta1.Machine) { err = l.Actuator.Update(ctx, m) })
	return err
}

func (l *life) delete(ctx context.Context) (err error) {
	if l.m.DeletionTimestamp == nil {
		now := metav1.Now()
		l.m.DeletionTimestamp = &now
	}
	l.keep(func(m *machinev1beta1.Machine) { err = l.Actuator.Delete(ctx, m) })
	return err
}

// keep passes a copy of the Machine to "call". Then it stores from the copy what an actuator may change, whatever the actuator returned.
func (l *life) keep(call func(*machinev1beta1.Machine)) {
	m := l.m.DeepCopy()
	call(m)
	l.m.Labels, l.m.Annotations = m.Labels, m.Annotations
	l.m.Spec.ProviderID = m.Spec.ProviderID
	l.m.Status.Addresses, l.m.Status.ProviderStatus, l.m.Status.Conditions = m.Status.Addresses, m.Status.ProviderStatus, m.Status.Conditions
}

// enough is how many passes are more than any provider needs, if the provider comes to rest (Rest) between them.
const enough = 20

// bring calls the actuator like a controller, until the Machine's instance runs and is reported.
func (l *life) bring() {
	l.Helper()
	var err error
	for range enough {
		if err = l.pass(); err == nil {
			l.Rest()
			if err = l.pass(); err == nil {
				return
			}
		}
		l.must(passing(err), "a Machine that can be made")
		l.Rest()
	}
	l.Fatalf("after %d passes the Machine is not made: %v", enough, err)
}

// pass is one pass of a controller over a Machine that is not being deleted.
func (l *life) pass() error {
	is, err := l.exists(l.Context())
	switch {
	case err != nil:
		return err
	case is:
		return l.update(l.Context())
	}
	return l.create(l.Context())
}

// end calls Delete until Delete reports that nothing is left.
func (l *life) end() {
	l.Helper()
	var err error
	for range enough {
		if err = l.delete(l.Context()); err == nil {
			return
		}
		l.must(passing(err), "deleting")
		l.Rest()
	}
	l.Fatalf("after %d calls of Delete something is left: %v", enough, err)
}

func (l *life) alive(want int, when string) {
	l.Helper()
	if got := l.Alive(l.m.Name); got != want {
		l.Fatalf("%s: %d instances of Machine %s, want %d", when, got, l.m.Name, want)
	}
}

// must fails the check if wrong is not "". doing names what was done.
func (l *life) must(wrong string, doing string) {
	l.Helper()
	if wrong != "" {
		l.Fatalf("%s: %s", doing, wrong)
	}
}

// passing returns why err is not a transient error, "" if it is transient or nil.
func passing(err error) string {
	if terminal, is := machine.AsTerminal(err); is {
		return "the error is terminal (" + string(terminal.Reason) + "), want one that passes: " + err.Error()
	}
	if wait, is := machine.AsRequeueAfter(err); is && wait.After <= 0 {
		return "RequeueAfter says no time: " + err.Error()
	}
	return ""
}

func providerID(m *machinev1beta1.Machine) string {
	if m.Spec.ProviderID == nil {
		return ""
	}
	return *m.Spec.ProviderID
}
