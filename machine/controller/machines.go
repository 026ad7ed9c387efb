// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/policies/authority"
)

// machines is the Machine controller (machine-controller › Machine Controller Semantics).
//
// The document's step 0, the Machine's Cluster, is obsolete: the published API has no such object, and an actuator finds all that it needs about the
// cluster in spec.providerSpec.
type machines struct {
	actuator machine.Actuator
	// client reads from the cache; live reads from the API server.
	client client.Client
	live   client.Reader
	// pods is what the drain library works with.
	pods     kubernetes.Interface
	recorder events.EventRecorder
	meters   machineMeters
	clock    clock.PassiveClock
	ownNode  string
	gated    bool
	pace     pace

	turns  turns
	wishes wishes
}

// pace is after how long a pass follows another without an event.
type pace struct {
	// idle is the time while everything is done: no event reports that an instance disappears.
	idle time.Duration
	// boot is the time while an instance boots: no event reports that it gets its addresses, either.
	boot time.Duration
	// drain is the time while pods end, which takes as long as they need.
	drain time.Duration
	// held is the time while another Machine has the turn, or while a person has something to do elsewhere.
	held time.Duration
	// call is the limit of one call of the actuator, evict of the evictions in one pass.
	call, evict time.Duration
}

func usualPace() pace {
	return pace{
		idle: 10 * time.Minute, boot: 15 * time.Second, drain: 5 * time.Second, held: 20 * time.Second,
		call: 2 * time.Minute, evict: 10 * time.Second,
	}
}

// AddMachines adds the Machine controller to a manager.
func AddMachines(m manager.Manager, o Options) error {
	o, err := o.filled()
	if err != nil {
		return err
	}
	if o.Actuator == nil {
		return errors.New("controller.Options.Actuator is nil: the Machine controller needs the provider's actuator")
	}
	c, err := newMachines(m, o)
	if err != nil {
		return fmt.Errorf("adding the Machine controller: %w", err)
	}
	if err := c.watch(m, o); err != nil {
		return fmt.Errorf("adding the Machine controller: %w", err)
	}
	return nil
}

func newMachines(m manager.Manager, o Options) (*machines, error) {
	config := rest.CopyConfig(m.GetConfig())
	config.QPS = -1 // the API server paces evictions itself
	pods, err := kubernetes.NewForConfigAndClient(config, m.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	meters, err := newMachineMeters()
	return &machines{
		actuator: o.Actuator, client: m.GetClient(), live: m.GetAPIReader(), pods: pods,
		recorder: m.GetEventRecorder("machine-controller"), meters: meters, clock: o.Clock, ownNode: o.Node, gated: o.Gated, pace: usualPace(),
	}, err
}

// read reads the Machine from the API server, because everything that follows, above all a creation, depends on which API is authoritative now. Every write
// of the pass has the resourceVersion of this read or of the pass's own last write, so that it gets a conflict if the object has changed.
func (c *machines) read(ctx context.Context, key types.NamespacedName) (subject[*machinev1beta1.Machine], error) {
	m := &machinev1beta1.Machine{}
	if err := c.live.Get(ctx, key, m); err != nil {
		return subject[*machinev1beta1.Machine]{}, err
	}
	return subject[*machinev1beta1.Machine]{object: m, shape: shapeOfMachine(m), conditions: m.Status.Conditions}, nil
}

func shapeOfMachine(m *machinev1beta1.Machine) authority.Shape {
	return shapeOf(m.Spec.AuthoritativeAPI, m.Status.AuthoritativeAPI, m.Status.Conditions)
}

// passStep is one thing that a pass does.
type passStep struct {
	name string
	take func(context.Context, *pass) (*stop, error)
	// alone reports that the steps after this one are taken even if it fails.
	alone bool
}

// stop ends the pass after a step; nil continues.
type stop struct {
	// after is when to requeue without an event; 0 for never.
	after time.Duration
	// waits is the condition to wait for, if a person should know about it.
	waits machinev1beta1.Condition
}

// work is one pass over a Machine for which the Machine API is authoritative.
func (c *machines) work(ctx context.Context, m *machinev1beta1.Machine) (reconcile.Result, error) {
	steps := c.living()
	if !m.DeletionTimestamp.IsZero() {
		steps = c.leaving()
	}
	p := c.newPass(ctx, m)
	for _, s := range steps {
		halt, err := s.take(ctx, p)
		p.note(s, halt, err)
		if halt != nil || err != nil && !s.alone {
			break
		}
	}
	return c.conclude(ctx, p)
}
