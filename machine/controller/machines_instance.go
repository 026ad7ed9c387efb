// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/policies/authority"
)

// callError is the error of an actuator's method. It hides the wrapped errors, except for those of the contract. A conflict that an actuator got is not about
// this controller's write, and a Secret that the actuator did not find must not count as a missing Machine.
type callError struct {
	err error
}

func (e *callError) Error() string { return e.err.Error() }

func (e *callError) As(target any) bool {
	t, ok := target.(**machine.TerminalError)
	if ok {
		*t, ok = machine.AsTerminal(e.err)
	}
	return ok
}

// call calls a method of the actuator with a copy of the Machine. Then it takes from the copy the fields that the contract lets an actuator change. wished
// means that the actuator wants to be called again later, which is no failure.
func (c *machines) call(ctx context.Context, p *pass, method func(context.Context, *machinev1beta1.Machine) error) (wished bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.pace.call)
	defer cancel()
	theirs := p.machine.DeepCopy()
	if err := c.disown(ctx, p, theirs); err != nil {
		return false, err
	}
	err = method(ctx, theirs)
	machine.Keep(p.machine, theirs)
	if r, ok := machine.AsRequeueAfter(err); ok {
		p.log.V(1).Info("Waiting", "for", r.For, "after", r.After)
		p.wish = r.After
		if p.wish <= 0 {
			p.wish = soon
		}
		return true, nil
	}
	if err != nil {
		return false, &callError{err}
	}
	return false, nil
}

// disown removes from status.providerStatus of m each instance that is another Machine's. Otherwise an actuator would find that instance, and delete it
// together with m.
func (c *machines) disown(ctx context.Context, p *pass, m *machinev1beta1.Machine) error {
	if m.Status.ProviderStatus == nil {
		return nil
	}
	ids := authority.StatusIDs(m.Status.ProviderStatus.Raw)
	maps.DeleteFunc(ids, func(_, id string) bool { return instanceid.Names(id, ptr.Deref(m.Spec.ProviderID, "")) })
	if len(ids) == 0 {
		return nil // the usual case: nothing is listed
	}
	others := &machinev1beta1.MachineList{}
	if err := c.client.List(ctx, others, client.InNamespace(m.Namespace)); err != nil {
		return fmt.Errorf("looking for the Machine whose instance status.providerStatus names: %w", err)
	}
	status := map[string]json.RawMessage{}
	if err := json.Unmarshal(m.Status.ProviderStatus.Raw, &status); err != nil {
		return fmt.Errorf("reading status.providerStatus: %w", err)
	}
	for name, id := range ids {
		holder := slices.IndexFunc(others.Items, func(o machinev1beta1.Machine) bool {
			return o.UID != m.UID && instanceid.Names(id, ptr.Deref(o.Spec.ProviderID, ""))
		})
		if holder < 0 {
			continue
		}
		delete(status, name)
		c.recordEvent(p, corev1.EventTypeWarning, "ForeignInstance", "FindInstance", fmt.Sprintf(
			"status.providerStatus.%s named %s, which is the instance of Machine %s: Poundlock removed this value", name, id, others.Items[holder].Name))
	}
	raw, err := json.Marshal(status)
	if err != nil {
		return fmt.Errorf("writing status.providerStatus: %w", err)
	}
	m.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
	return nil
}

// living returns the steps of a pass over a Machine that is not being deleted.
func (c *machines) living() []passStep {
	return []passStep{
		{name: "ForgetError", take: c.forgetError},
		{name: "AddFinalizer", take: c.addFinalizer},
		{name: "TellHooks", take: c.reportHooks},
		{name: "LeaveFailed", take: c.leaveFailed},
		{name: "Exists", take: c.exists, alone: true},
		{name: "Create", take: c.create},
		{name: "Update", take: c.update, alone: true},
		{name: "FindInstance", take: c.findInstance},
		{name: "LinkNode", take: c.linkNode},
		{name: "FurnishNode", take: c.furnishNode},
		{name: "Rest", take: c.rest},
	}
}

// forgetError removes the error of a Machine that is not in phase Failed. This controller stores error and phase at once, so an error without the phase is what
// Cluster API reported while it was authoritative. The pass then looks for the instance and decides anew, like OpenShift's controllers. If the error were kept,
// the condition InstanceExists would stay as Cluster API had it.
func (c *machines) forgetError(_ context.Context, p *pass) (*stop, error) {
	if s := &p.machine.Status; ptr.Deref(s.Phase, "") != machinev1beta1.PhaseFailed {
		s.ErrorReason, s.ErrorMessage = nil, nil
	}
	return nil, nil
}

// addFinalizer adds the finalizer before any call of the actuator, because what a provider creates for a Machine is deleted only while the Machine exists.
// Admission refuses the finalizer while another API is authoritative (authority/finalizer-fence). That also stops a controller whose feature gate is off.
func (c *machines) addFinalizer(ctx context.Context, p *pass) (*stop, error) {
	if !controllerutil.AddFinalizer(p.machine, machinev1beta1.MachineFinalizer) {
		return nil, nil
	}
	if err := c.store(ctx, p); err != nil {
		p.over = true // a Machine that another API reconciles gets no status from this controller
		return nil, err
	}
	p.log.Info("Added the finalizer")
	return nil, nil
}

// reportHooks sets the conditions about the hooks that a deletion will wait for. It does so in every pass, also before a deletion.
func (c *machines) reportHooks(_ context.Context, p *pass) (*stop, error) {
	p.is(machine.Drainable(p.machine))
	p.is(machine.Terminable(p.machine))
	return nil, nil
}

func (c *machines) leaveFailed(_ context.Context, p *pass) (*stop, error) {
	if machine.Failed(p.machine) {
		return &stop{}, nil
	}
	return nil, nil
}

// exists asks the actuator whether there is an instance (ask), unless the actuator asked not to be called for a while.
func (c *machines) exists(ctx context.Context, p *pass) (*stop, error) {
	if left := c.wishes.left(p.machine, p.now()); left > 0 {
		p.lookAgain(left)
		return nil, nil
	}
	return nil, c.ask(ctx, p)
}

// ask calls Exists, and sets the pass's move and the condition InstanceExists by the answer.
func (c *machines) ask(ctx context.Context, p *pass) error {
	there := false
	wished, err := c.call(ctx, p, func(ctx context.Context, m *machinev1beta1.Machine) (err error) {
		there, err = c.actuator.Exists(ctx, m)
		return err
	})
	if err != nil {
		p.is(machinev1beta1.Condition{
			Type: machinev1beta1.InstanceExistsCondition, Status: corev1.ConditionUnknown,
			Reason: machinev1beta1.ErrorCheckingProviderReason, Message: err.Error(),
		})
	}
	if err != nil || wished {
		return err
	}
	p.move = machine.Next(p.machine, there, p.now())
	p.is(machine.Existence(p.move))
	if there {
		p.is(machine.True(machinev1beta1.MachineCreated, machinev1beta1.MachineCreationSucceededConditionReason, ""))
	}
	return nil
}

// create asks the actuator for the instance, in a pass whose Exists returned false, for a Machine that never had an instance.
//
// create first stores the attempt and its time, with the resourceVersion that this pass has read or written last. If authority, or anything else, has changed
// since, that write gets a conflict and no instance is created. If two processes attempt a creation at the same time, only one write succeeds. If the process
// crashes between the write and the call, the next pass finds the phase, and calls Exists.
func (c *machines) create(ctx context.Context, p *pass) (*stop, error) {
	if p.move != machine.Create {
		return nil, nil
	}
	p.setPhase(machinev1beta1.PhaseProvisioning)
	p.begins(machine.Creating())
	read := p.stored.ResourceVersion
	if err := c.store(ctx, p); err != nil {
		return &stop{}, err
	}
	if p.stored.ResourceVersion == read {
		return &stop{after: soon}, nil // less than a second since the last attempt: nothing was written, so nothing was compared
	}
	p.asked = true
	wished, err := c.call(ctx, p, c.actuator.Create)
	switch {
	case err != nil:
		p.is(machine.False(machinev1beta1.MachineCreated, machinev1beta1.ConditionSeverityError, machinev1beta1.MachineCreationFailedConditionReason, "%s", err))
		return &stop{}, err
	case wished:
		return &stop{}, nil
	}
	p.is(machine.True(machinev1beta1.MachineCreated, machinev1beta1.MachineCreationSucceededConditionReason, ""))
	c.recordEvent(p, corev1.EventTypeNormal, "Created", "Create", "The provider has accepted the request for the instance")
	return &stop{after: c.pace.boot}, nil
}

// update calls the actuator's Update, which reads the state of the instance. If that fails, the pass still goes on to the Node.
func (c *machines) update(ctx context.Context, p *pass) (*stop, error) {
	if p.move != machine.Update {
		return nil, nil
	}
	_, err := c.call(ctx, p, c.actuator.Update)
	return nil, err
}

// findInstance fails the Machine if its instance is gone. If the provider may only be slow to show the instance, it requeues.
func (c *machines) findInstance(_ context.Context, p *pass) (*stop, error) {
	switch p.move {
	case machine.Await:
		p.lookAgain(c.pace.boot)
	case machine.GiveUp:
		return &stop{}, machine.Terminal(machinev1beta1.UpdateMachineError, "%s", machine.Missing)
	}
	return nil, nil
}

// rest ends a pass that has done everything, and returns when to requeue. If the actuator has asked not to be called for a while, that time counts instead.
func (c *machines) rest(_ context.Context, p *pass) (*stop, error) {
	if p.wish > 0 || c.wishes.left(p.machine, p.now()) > 0 {
		return &stop{}, nil
	}
	if machine.Phase(p.machine) == machinev1beta1.PhaseRunning {
		return &stop{after: spread(c.pace.idle)}, nil
	}
	return &stop{after: c.pace.boot}, nil
}

// resolveCreation finds out, before a pause is acknowledged, the result of a creation whose answer was lost.
//
// If there is an instance, resolveCreation stores the instance's data. If Exists returns false, the provider may only be slow to list the instance. The
// contract lets Exists be wrong as long as a second Create would find the first one's instance, but a pass before a pause may not call Create. So Exists must
// still return false later: when the last call of Create must have ended and the provider has had its time to show what it created (machine.OpenUntil). After
// that, nothing that this controller or its predecessor has asked for can appear. The caller stores the times; they are right if the clocks of the replicas
// agree.
func (c *machines) resolveCreation(ctx context.Context, m *machinev1beta1.Machine) (reconcile.Result, error) {
	if !machine.CreationOpen(m) {
		return reconcile.Result{}, nil
	}
	p := c.newPass(ctx, m)
	if err := c.ask(ctx, p); err != nil {
		return reconcile.Result{}, fmt.Errorf("asking the provider whether the instance exists, before the pause is acknowledged: %w", err)
	}
	switch until, known := machine.OpenUntil(m, c.pace.call); {
	case p.move == machine.Update:
		return c.takeOver(ctx, p)
	case p.move == "":
		return reconcile.Result{RequeueAfter: p.wish}, nil
	case !known || until.Sub(p.now()) > c.pace.call+2*machine.Grace: // another controller made the attempt, or its clock was ahead: count from now
		p.begins(machine.Creating())
		return reconcile.Result{RequeueAfter: soon}, c.store(ctx, p)
	case p.now().Before(until):
		return reconcile.Result{RequeueAfter: min(until.Sub(p.now()), c.pace.drain)}, nil
	}
	return reconcile.Result{}, nil
}

// takeOver stores the data of an instance that resolveCreation has found, so that the next authoritative API finds the instance, too.
func (c *machines) takeOver(ctx context.Context, p *pass) (reconcile.Result, error) {
	wished, err := c.call(ctx, p, c.actuator.Update)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the state of the instance, before the pause is acknowledged: %w", err)
	}
	if err := c.store(ctx, p); err != nil || !wished {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: p.wish}, nil
}

// wishes keeps, for each Machine, how long its actuator asked not to be called (RequeueAfter). No event shortens that time. A wish ends when its time has
// passed, when the Machine's spec changes, or when the Machine is deleted.
//
// A pass that does not call the actuator because of a wish requeues itself after the remaining time. Otherwise nothing would: an event that causes a pass
// replaces the requeue of an earlier pass (the work queue holds an item once), and at the end of this pass the wish may be over.
type wishes struct {
	mu sync.Mutex
	of map[types.UID]wish
}

type wish struct {
	generation int64
	until      time.Time
}

func (w *wishes) grant(m *machinev1beta1.Machine, now time.Time, after time.Duration) {
	if after <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[types.UID]wish{}
	}
	for uid, old := range w.of { // wishes of Machines that are gone
		if now.After(old.until) {
			delete(w.of, uid)
		}
	}
	w.of[m.UID] = wish{m.Generation, now.Add(after)}
}

// left returns how long the actuator must not be called for this Machine; 0 if it may be called.
func (w *wishes) left(m *machinev1beta1.Machine, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if wish, ok := w.of[m.UID]; ok && wish.generation == m.Generation {
		return max(wish.until.Sub(now), 0)
	}
	return 0
}
