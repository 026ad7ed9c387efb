// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine"
)

// pass is the state of one pass over a Machine.
type pass struct {
	// machine is the Machine as the pass wants it, stored is the Machine as the API server has it, found is the Machine as it was when the pass began.
	machine, stored, found *machinev1beta1.Machine
	// node is the Machine's Node, nil if it has none.
	node *corev1.Node
	// move is what the pass does about the instance; "" for nothing.
	move machine.Move
	now  func() time.Time
	log  logr.Logger

	// halt is the stop of the step that ended the pass, nil if all steps were taken. failures are the steps' errors, in order.
	halt     *stop
	failures []failure
	// again is when to requeue without an event, 0 for never. It is the shortest time that a step wants.
	again time.Duration
	// wish is how long the actuator asked not to be called; 0 if it did not.
	wish time.Duration
	// asked reports that this pass has called Create.
	asked bool
	// over means that the pass must store nothing: the Machine is gone, or no longer this controller's.
	over bool
}

// failure is an error and the step that returned it.
type failure struct {
	step string
	err  error
}

func (c *machines) newPass(ctx context.Context, m *machinev1beta1.Machine) *pass {
	return &pass{machine: m.DeepCopy(), stored: m, found: m, now: c.clock.Now, log: log.FromContext(ctx)}
}

func (p *pass) note(s passStep, halt *stop, err error) {
	if err != nil {
		p.failures = append(p.failures, failure{s.name, err})
	}
	if halt != nil {
		p.halt = halt
		p.lookAgain(halt.after)
	}
}

func (p *pass) lookAgain(after time.Duration) {
	if after > 0 && (p.again == 0 || after < p.again) {
		p.again = after
	}
}

// is sets a condition of the Machine. Its time is now if the status differs from the stored one, and otherwise the stored time. So if a pass sets a condition
// twice, the stored condition changes once, or not at all.
func (p *pass) is(c machinev1beta1.Condition) {
	at := p.now()
	c.Message = cut(c.Message, longestMessage)
	if old, ok := conditionOfType(p.stored.Status.Conditions, c.Type); ok && old.Status == c.Status {
		at = old.LastTransitionTime.Time
	}
	for i := range p.machine.Status.Conditions {
		if p.machine.Status.Conditions[i].Type == c.Type {
			p.machine.Status.Conditions[i].Status = "" // the condition that this pass set before was not stored
		}
	}
	p.machine.Status.Conditions = withCondition(p.machine.Status.Conditions, c, at)
}

// begins sets a condition of the Machine with the time now, even if the stored condition has the same status.
func (p *pass) begins(c machinev1beta1.Condition) {
	p.is(c)
	for i := range p.machine.Status.Conditions {
		if p.machine.Status.Conditions[i].Type == c.Type {
			p.machine.Status.Conditions[i].LastTransitionTime = metav1.NewTime(p.now()).Rfc3339Copy()
		}
	}
}

func conditionOfType(all []machinev1beta1.Condition, kind machinev1beta1.ConditionType) (machinev1beta1.Condition, bool) {
	for _, c := range all {
		if c.Type == kind {
			return c, true
		}
	}
	return machinev1beta1.Condition{}, false
}

// conclude ends a pass. It is the only place that turns what the steps returned into conditions, phase, events, metrics, and the time of the next pass.
func (c *machines) conclude(ctx context.Context, p *pass) (reconcile.Result, error) {
	if p.halt != nil && p.halt.waits.Type != "" {
		c.reportWait(p, p.halt.waits)
	}
	var back error // the errors to retry, ever more slowly
	for _, f := range p.failures {
		if err := c.reportFailure(p, f); back == nil {
			back = err
		}
	}
	if err := c.store(ctx, p); err != nil {
		err = c.takeBack(ctx, p, c.keepAnswer(ctx, p, err))
		if err := c.reportFailure(p, failure{"Store", err}); back == nil {
			back = err
		}
	} else if !p.over {
		c.wishes.grant(p.stored, p.now(), p.wish)
		p.lookAgain(c.wishes.left(p.stored, p.now()))
	}
	if back != nil {
		return reconcile.Result{}, back
	}
	return reconcile.Result{RequeueAfter: p.again}, nil
}

// reportWait sets the condition that names what the pass waits for. It writes an event when the wait begins, and another one when
// the Machine's deletion begins, because only then the wait matters.
func (c *machines) reportWait(p *pass, waits machinev1beta1.Condition) {
	old, _ := conditionOfType(p.found.Status.Conditions, waits.Type)
	if old.Status != waits.Status || old.Reason != waits.Reason || ptr.Deref(p.found.Status.Phase, "") != machinev1beta1.PhaseDeleting {
		c.recordEvent(p, corev1.EventTypeNormal, waits.Reason, string(waits.Type), waits.Message)
	}
	p.is(waits)
}

// reportFailure reports a step's error by an event, and counts it if it is the provider's or terminal. It returns the error to retry with. It returns nil
// for a terminal error, which becomes the Machine's error, and for the error that another writer has changed the object first.
func (c *machines) reportFailure(p *pass, f failure) error {
	var call *callError
	theirs := errors.As(f.err, &call)
	if !theirs && versioned.Outdated(f.err) {
		p.lookAgain(soon) // another writer was faster: nothing to report
		return nil
	}
	t, terminal := machine.AsTerminal(f.err)
	if theirs || terminal {
		c.meters.failed(f.step, terminal)
	}
	c.recordEvent(p, corev1.EventTypeWarning, "Failed"+f.step, f.step, f.err.Error())
	if !terminal {
		return fmt.Errorf("%s: %w", f.step, f.err)
	}
	p.machine.Status.ErrorReason, p.machine.Status.ErrorMessage = &t.Reason, new(cut(f.err.Error(), longestMessage))
	return nil
}

// recordEvent writes an event and the same log line.
func (c *machines) recordEvent(p *pass, kind, reason, action, note string) {
	p.log.Info(reason, "note", note)
	c.recorder.Eventf(p.machine, nil, kind, reason, action, "%s", cut(note, longestNote))
}

// longestNote is the limit of an Event's note. longestMessage is the limit of a Machine's message, because some providers answer with a page of HTML.
const (
	longestNote    = 1024
	longestMessage = 4096
)

// cut shortens a text to a number of bytes. A shortened text ends in "…".
func cut(s string, to int) string {
	if len(s) <= to {
		return s
	}
	return strings.ToValidUTF8(s[:to-len("…")], "") + "…"
}

// store writes what the pass has changed: metadata and spec first, then the status with the phase that follows from it. store finishes even if the process is
// asked to stop. Otherwise the provider's last answer would be lost.
func (c *machines) store(ctx context.Context, p *pass) error {
	if p.over {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	p.setPhase(machine.Phase(p.machine))
	wanted := p.machine
	next := wanted.DeepCopy()
	next.Status = *p.stored.Status.DeepCopy()
	if _, err := versioned.PatchFrom(ctx, c.client, p.stored, next); err != nil {
		return err
	}
	p.stored, p.machine = next, next.DeepCopy()
	p.machine.Status = wanted.Status
	if _, err := versioned.PatchStatusFrom(ctx, c.client, p.stored, p.machine); err != nil {
		return err
	}
	p.stored = p.machine.DeepCopy()
	return nil
}

const storeTime = 10 * time.Second

// setPhase sets the phase. It sets lastUpdated only if the phase changes, because a MachineHealthCheck measures from lastUpdated how long a Node has been
// missing.
func (p *pass) setPhase(phase string) {
	if s := &p.machine.Status; phase != "" && (s.Phase == nil || *s.Phase != phase) {
		p.log.Info("Phase", "phase", phase)
		s.Phase, s.LastUpdated = &phase, new(metav1.NewTime(p.now()).Rfc3339Copy())
	}
}

// spread adds up to a fifth to a time, at random, so that the passes of many Machines do not come at once.
func spread(d time.Duration) time.Duration { return wait.Jitter(d, 0.2) }
