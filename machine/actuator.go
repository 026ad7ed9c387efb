// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// Actuator makes, looks after and removes the instances of one provider (machine-controller › Machine Actuator Interface).
// Its comments are the contract; machine/machinetest has a suite that holds an actuator to it.
//
// Who calls. One Machine controller, and only while the Machine API is authoritative for the Machine: nothing is called for a paused one, except
// that a creation whose outcome is unknown is resolved (Exists, then Update) before the pause is acknowledged. Calls for one Machine
// follow each other; calls for different Machines run at the same time.
//
// Idempotency. Every method may be called again with the same Machine at any time: after an error, after an answer that got
// lost, after a restart, with a Machine that was read from a cache some moments ago. Whatever had been done is then found and not done twice. An
// instance is known by the Machine's UID (where the provider takes a token or a tag with a request, that is what to put into it), and by its
// provider ID once that is known; never by the Machine's name alone, which comes back.
//
// What may be changed. Each method is given a copy that is its own: the provider's own of metadata.labels and annotations, spec.providerID,
// status.addresses, status.providerStatus and, of the status' conditions, those of types that the controller does not write. What it changed
// there is stored when the method returns, also when it returns an error. Changes elsewhere are dropped. No method writes to the API server.
//
// Errors. One made by InvalidConfiguration or Terminal means that no repetition will help. The Machine fails, with the reason in its status. Delete alone is
// called again all the same, every ten minutes: a person may have fixed what the error names.
// One made by RequeueAfter is asked again after that time, which is honoured as it is. Any other error passes: it is repeated, ever more slowly. A
// provider's "too many requests" and "out of capacity" pass.
//
// Context. When it ends, a method returns soon, with the context's error if its work is unfinished.
type Actuator interface {
	// Exists reports whether the Machine has an instance that is not gone for good: one that boots, runs, stopped or is on its way out
	// counts, a terminated one does not. It changes nothing at the provider.
	//
	// A provider may be slow to list what it made. Of an instance that the Machine names, false is not answered for that alone, but
	// RequeueAfter; of one that it does not name yet, because an answer was lost, it may be: Create makes sure that asking twice makes one.
	// An error means that this is unknown, and nothing is created.
	Exists(context.Context, *machinev1beta1.Machine) (bool, error)

	// Create asks the provider for the Machine's instance. It is called only when Exists has just answered false, when no instance was
	// ever known of the Machine, and when a read past all caches shows that the Machine API is authoritative. It is never called for a Machine that
	// is being deleted or has failed.
	//
	// It need not wait until the instance runs. It returns nil only when the instance is known to be on its way; then spec.providerID should be set.
	Create(context.Context, *machinev1beta1.Machine) error

	// Update finds out what has become of the instance, and changes of it what can be changed in place. It is called only when Exists has
	// just answered true. It writes what it found: spec.providerID, addresses, providerStatus, the annotation
	// machine.openshift.io/instance-state, and the labels of region, zone and instance type. When it finds nothing new it changes nothing.
	Update(context.Context, *machinev1beta1.Machine) error

	// Delete removes the instance and all that was made for it. It is called only for a Machine that is being deleted, whose hooks are gone
	// and whose Node is drained. It returns nil only when nothing is left, and for a Machine that has no instance, be its spec invalid; the
	// Machine's finalizer then goes. While the provider is still at it, or may yet list an instance that Create asked for, it
	// returns RequeueAfter.
	Delete(context.Context, *machinev1beta1.Machine) error
}
