// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// Actuator makes, looks after and removes the instances of one provider (machine-controller › Machine Actuator Interface). The comments of this interface are
// the contract. machine/machinetest has a suite that tests an actuator against it.
//
// Who calls. One Machine controller calls, and only while the Machine API is authoritative for the Machine. The controller calls nothing for a paused Machine.
// The exception is a creation whose outcome is unknown: before the controller acknowledges the pause, it calls Exists, and then Update, to learn the outcome.
// Calls for one Machine follow each other; calls for different Machines run at the same time.
//
// Idempotency. Every method may be called again with the same Machine at any time: after an error, after an answer that got lost, after a restart, or with a
// Machine that was read from a cache some moments ago. The method then finds what was done before, and does not do it twice. It recognizes an instance by the
// Machine's UID (if the provider accepts a token or a tag with a request, put the UID into it), and by the instance's provider ID once that is known. It never
// recognizes an instance by the Machine's name only, because another Machine may get the name later.
//
// What may be changed. Each method gets a copy of the Machine. In the copy, the method may change the provider's own entries of metadata.labels and
// annotations, spec.providerID, status.addresses, status.providerStatus, and those conditions of the status whose types the controller does not write. The
// controller stores these changes when the method returns, also when the method returns an error. Other changes are dropped. No method writes to the API
// server.
//
// Errors. An error made by InvalidConfiguration or Terminal means that no repetition will help. The Machine fails, with the reason in its status. Only Delete
// is called again nevertheless, every ten minutes, because a person may have fixed what the error names. After an error made by RequeueAfter, the method is
// called again after exactly that time. Any other error is transient: the call is repeated, ever more slowly. A provider's "too many requests" and "out of
// capacity" are transient errors.
//
// Context. When the context ends, the method returns soon. If its work is unfinished, it returns the context's error.
type Actuator interface {
	// Exists reports whether the Machine has an instance that is not gone for good. An instance that boots, runs, is stopped or is being terminated counts. A
	// terminated instance does not count. Exists changes nothing at the provider.
	//
	// A provider may be slow to list what it created. If the Machine names an instance that the provider does not list, that alone is no reason to return
	// false: Exists returns RequeueAfter. If the Machine does not name the instance yet, because an answer was lost, Exists may return false. Create makes sure
	// that two requests create one instance. An error means that it is unknown whether the instance exists, and nothing is created.
	Exists(context.Context, *machinev1beta1.Machine) (bool, error)

	// Create asks the provider for the Machine's instance. It is called only when all of this is true: Exists has just returned false, the Machine never had a
	// known instance, and a read past all caches shows that the Machine API is authoritative. It is never called for a Machine that is being deleted or has
	// failed.
	//
	// Create need not wait until the instance runs. It returns nil only when the instance is known to be on its way; then spec.providerID should be set.
	Create(context.Context, *machinev1beta1.Machine) error

	// Update reads the state of the instance, and applies those changes of the Machine that can be made to the instance in place. It is called only when Exists
	// has just returned true. Update writes into the Machine what it found: spec.providerID, addresses, providerStatus, the annotation
	// machine.openshift.io/instance-state, and the labels of region, zone and instance type. When it finds nothing new, it changes nothing.
	Update(context.Context, *machinev1beta1.Machine) error

	// Delete removes the instance and everything that was created for it. It is called only for a Machine that is being deleted, whose hooks are gone and whose
	// Node is drained. It returns nil only when nothing is left, or when the Machine has no instance, even if the Machine's spec is invalid. After nil, the
	// controller removes the Machine's finalizer. While the provider is still deleting, or may yet list an instance that Create asked for, Delete returns
	// RequeueAfter.
	Delete(context.Context, *machinev1beta1.Machine) error
}
