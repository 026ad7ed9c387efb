// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/poundlock/poundlock/machine"
)

// Options are the parameters of the controllers. Only the Actuator must be set, and only for AddMachines.
type Options struct {
	Actuator machine.Actuator
	// Gated reports that the feature gate MachineAPIMigration is on. With the gate off, the controllers ignore which API is authoritative.
	Gated bool
	// Node is the name of the Node that this process runs on; "" if that is no Node of this cluster. The Machine controller does not delete this Node.
	Node string
	// Concurrency is how many objects of a kind are reconciled at a time. 0 means 10.
	Concurrency int
	// Clock is the clock of the controllers; nil means the system's.
	Clock clock.PassiveClock
	// AnyName lets several managers of one process have controllers of the same name, as tests do.
	AnyName bool
}

// Add adds all three controllers to a manager. The manager's scheme must have the types of the Machine API and of the core. Its cache should be limited to the
// Machines' namespace. The controllers use leader election if the manager does.
func Add(m manager.Manager, o Options) error {
	return errors.Join(AddMachines(m, o), AddMachineSets(m, o), AddHealthChecks(m, o))
}

func (o Options) filled() (Options, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Concurrency == 0 {
		o.Concurrency = 10
	}
	if o.Concurrency < 0 {
		return o, fmt.Errorf("controller.Options.Concurrency is %d: use 0 for the default, or the number of objects to process at the same time", o.Concurrency)
	}
	return o, nil
}
