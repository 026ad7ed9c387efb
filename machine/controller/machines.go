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
// The document's step 0, which reads the Machine's Cluster, is obsolete: the published API has no such object, and an actuator finds all that it needs about
// the cluster in spec.providerSpec.
type machines struct {
	actuator machine.Actuator
	// client reads from the cache; live reads from the API server.
	client client.Client
	live   client.Reader
	// pods is the client that the drain library uses.
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

// pace has the times between passes that no event causes, and the time limits of calls.
type pace struct {
	// idle is the time if everything is done. Passes go on, because no event reports that an instance disappears.
	idle time.Duration
	// boot is the time while an instance boots, because no event reports that the instance gets its addresses.
	boot time.Duration
	// drain is the time while pods end. Pods may take as long as they need.
	drain time.Duration
	// held is the time while another Machine has the turn to drain, or while a person has to do something elsewhere.
	held time.Duration
	// call is the time limit of one call of the actuator, evict that of the evictions in one pass.
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
		return errors.New("controller.Options.Actuator is nil: set it to the provider's actuator")
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
	config.QPS = -1 // the API server limits the rate of evictions itself
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

// read reads the Machine from the API server and not from the cache, because everything that follows, above all a creation, depends on which API is
// authoritative now. Every write of a pass has the resourceVersion of this read or of the pass's own last write. So the write gets a conflict if the Machine
// has changed.
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

// passStep is one step of a pass.
type passStep struct {
	name string
	take func(context.Context, *pass) (*stop, error)
	// alone means that the pass continues with the next step even if this step fails.
	alone bool
}

// stop is the result of a step that ends the pass. If a step returns nil instead, the pass continues.
type stop struct {
	// after is when to requeue without an event; 0 for never.
	after time.Duration
	// waits is the condition to report, if a person should know what the pass waits for.
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
