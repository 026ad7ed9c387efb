// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/machine/scaling"
	"github.com/poundlock/poundlock/policies/authority"
)

// machineSets is the controller of MachineSets. Each pass finishes what it begins, so the controller acknowledges a pause at once.
type machineSets struct {
	client.Client
	// live reads from the API server. Decisions depend on how many Machines exist there.
	live     client.Reader
	clock    clock.PassiveClock
	on       bool
	recorder events.EventRecorder
	meters   setMeters
}

// AddMachineSets adds the controller of MachineSets to a manager. It ignores Options.Actuator and Options.Node.
func AddMachineSets(m manager.Manager, o Options) error {
	o, err := o.filled()
	if err != nil {
		return err
	}
	meters, err := newSetMeters()
	if err != nil {
		return fmt.Errorf("registering the metrics of MachineSets: %w", err)
	}
	r := &machineSets{
		Client: m.GetClient(), live: m.GetAPIReader(), clock: o.Clock, on: o.Gated,
		recorder: m.GetEventRecorder("machineset-controller"), meters: meters,
	}
	return r.watch(m, o)
}

func (r *machineSets) gated() *gated[*machinev1beta1.MachineSet] {
	return &gated[*machinev1beta1.MachineSet]{client: r, clock: r.clock, on: r.on, read: r.read, work: r.work}
}

func (r *machineSets) read(ctx context.Context, key types.NamespacedName) (subject[*machinev1beta1.MachineSet], error) {
	set := &machinev1beta1.MachineSet{}
	if err := r.Get(ctx, key, set); err != nil {
		return subject[*machinev1beta1.MachineSet]{}, err
	}
	return subject[*machinev1beta1.MachineSet]{object: set, shape: shapeOfSet(set), conditions: set.Status.Conditions}, nil
}

func shapeOfSet(set *machinev1beta1.MachineSet) authority.Shape {
	return shapeOf(set.Spec.AuthoritativeAPI, set.Status.AuthoritativeAPI, set.Status.Conditions)
}

// work keeps as many Machines as the set wants, and reports the numbers. The cache shows whether there is anything to do. A live read then decides what is
// done.
func (r *machineSets) work(ctx context.Context, set *machinev1beta1.MachineSet) (reconcile.Result, error) {
	if !set.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // the garbage collector deletes its Machines
	}
	selector, err := scaling.Selector(set)
	if err != nil {
		return reconcile.Result{}, r.refuse(ctx, set, err)
	}
	plan, err := r.plan(ctx, r, r.known, set, selector)
	if err != nil {
		return reconcile.Result{}, err
	}
	again, failure := time.Duration(0), error(nil)
	if !plan.Idle() {
		again, failure = r.act(ctx, set, selector)
	}
	next, err := r.report(ctx, set, selector, plan.Members)
	return reconcile.Result{RequeueAfter: sooner(again, next)}, errors.Join(failure, err)
}

// sooner returns the shorter of two times to requeue. 0 means no requeue.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

type machinesOf func(context.Context, *machinev1beta1.MachineSet, labels.Selector) ([]*machinev1beta1.Machine, error)

// plan returns what the set does about its Machines. It uses the set's UID as the seed. So two passes that read the same Machines choose the same ones, even if
// the second pass does not see the changes of the first.
func (r *machineSets) plan(ctx context.Context, from client.Reader, machines machinesOf, set *machinev1beta1.MachineSet, selector labels.Selector) (
	scaling.Plan, error) {
	found, err := machines(ctx, set, selector)
	if err != nil {
		return scaling.Plan{}, fmt.Errorf("listing the Machines of the set: %w", err)
	}
	shared, err := r.shared(ctx, from, set, selector, found)
	return scaling.PlanFor(set, selector, found, shared, string(set.UID)), err
}

// shared returns a function that reports whether another set selects a Machine too; nil if every Machine that the set
// selects has a controller. In that case, shared does not read the other sets.
func (r *machineSets) shared(ctx context.Context, from client.Reader, set *machinev1beta1.MachineSet, selector labels.Selector,
	found []*machinev1beta1.Machine) (func(*machinev1beta1.Machine) bool, error) {
	if !slices.ContainsFunc(found, func(m *machinev1beta1.Machine) bool {
		return metav1.GetControllerOfNoCopy(m) == nil && selector.Matches(labels.Set(m.Labels))
	}) {
		return nil, nil
	}
	sets := &machinev1beta1.MachineSetList{}
	if err := from.List(ctx, sets, client.InNamespace(set.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("looking for other MachineSets that select the same Machines: %w", err)
	}
	var others []labels.Selector
	for i := range sets.Items {
		other := &sets.Items[i]
		s, err := metav1.LabelSelectorAsSelector(&other.Spec.Selector)
		if err == nil && !s.Empty() && other.UID != set.UID && other.DeletionTimestamp.IsZero() {
			others = append(others, s)
		}
	}
	return func(m *machinev1beta1.Machine) bool {
		return slices.ContainsFunc(others, func(s labels.Selector) bool { return s.Matches(labels.Set(m.Labels)) })
	}, nil
}

// known returns the set's Machines and those without a controller, from the cache. The index makes the cost independent of other sets.
func (r *machineSets) known(ctx context.Context, set *machinev1beta1.MachineSet, _ labels.Selector) ([]*machinev1beta1.Machine, error) {
	var out []*machinev1beta1.Machine
	for _, owner := range []string{string(set.UID), noController} {
		l := &machinev1beta1.MachineList{}
		err := r.List(ctx, l, client.InNamespace(set.Namespace), client.MatchingFields{controllerIndex: owner}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		out = append(out, pointers(l.Items)...)
	}
	return out, nil
}

func pointers(machines []machinev1beta1.Machine) []*machinev1beta1.Machine {
	out := make([]*machinev1beta1.Machine, len(machines))
	for i := range machines {
		out[i] = &machines[i]
	}
	return out
}
