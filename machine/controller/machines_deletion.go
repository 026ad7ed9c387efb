// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/policies/authority"
)

// leaving returns the steps of a pass over a Machine that is being deleted.
func (c *machines) leaving() []passStep {
	return []passStep{
		{name: "WithoutFinalizer", take: c.withoutFinalizer},
		{name: "FindNode", take: c.findNode},
		{name: "OwnNode", take: c.keepOwnNode},
		{name: "SharedInstance", take: c.keepShared},
		{name: "TellHooks", take: c.reportHooks},
		{name: "TellDeleting", take: c.storeDeleting},
		{name: "PreDrainHooks", take: c.preDrain},
		{name: "TakeTurn", take: c.takeTurn},
		{name: "Drain", take: c.drain},
		{name: "PreTerminateHooks", take: c.preTerminate},
		{name: "Delete", take: c.delete},
		{name: "DeleteNode", take: c.deleteNode},
		{name: "RemoveFinalizer", take: c.removeFinalizer},
	}
}

// withoutFinalizer ends the pass if the Machine has no finalizer: "if the Machine is being deleted, and there is no finalizer, we're done" (machine-controller
// › Logic sequence).
func (c *machines) withoutFinalizer(_ context.Context, p *pass) (*stop, error) {
	if machine.HasFinalizer(p.machine) {
		return nil, nil
	}
	p.over = true
	return &stop{}, nil
}

func (c *machines) storeDeleting(ctx context.Context, p *pass) (*stop, error) {
	return nil, c.store(ctx, p)
}

func (c *machines) findNode(ctx context.Context, p *pass) (_ *stop, err error) {
	p.node, err = c.nodeFor(ctx, p.machine)
	return nil, err
}

// keepOwnNode stops the deletion if the Machine's Node runs this process: "one reason a Machine may not be deleted is if it corresponds to the node running the
// Machine controller" (machine-controller, note 1).
func (c *machines) keepOwnNode(_ context.Context, p *pass) (*stop, error) {
	ref := p.machine.Status.NodeRef
	if c.ownNode == "" || (p.node == nil || p.node.Name != c.ownNode) && (ref == nil || ref.Name != c.ownNode) {
		return nil, nil
	}
	return &stop{after: c.pace.held, waits: machine.False(machinev1beta1.MachineDrainable, machinev1beta1.ConditionSeverityWarning, machine.ReasonOwnNode,
		"The Machine controller runs on Node %s, the Node of this Machine, so the Machine cannot be deleted. Restart the controller's Pod on another "+
			"Node to continue the deletion", c.ownNode)}, nil
}

// keepShared stops the deletion if another Machine that is not being deleted names the same instance, such as the Machine from which this one was copied.
// Nobody has asked to terminate that instance or to drain its Node. If both Machines are being deleted, the instance is deleted with the first.
func (c *machines) keepShared(ctx context.Context, p *pass) (*stop, error) {
	other, err := c.sharer(ctx, c.client, p.machine)
	if err != nil || other == "" {
		return nil, err
	}
	return &stop{after: c.pace.held, waits: machine.False(machinev1beta1.MachineDrainable, machinev1beta1.ConditionSeverityWarning, machine.ReasonInstanceShared,
		"spec.providerID %[1]s is also that of Machine %[2]s, so deleting this Machine would terminate the instance of Machine %[2]s. To terminate the instance, "+
			"delete Machine %[2]s too. If this Machine is only a copy, remove %[3]s from metadata.finalizers of this Machine: kubectl -n %[4]s edit "+
			"machines.machine.openshift.io %[5]s",
		providerIDOf(p.machine), other, machinev1beta1.MachineFinalizer, p.machine.Namespace, p.machine.Name)}, nil
}

// sharer returns the name of another Machine that has the same instance and is not being deleted; "" if there is none.
func (c *machines) sharer(ctx context.Context, from client.Reader, m *machinev1beta1.Machine) (string, error) {
	id := instanceKeyOf(m)
	if id == "" {
		return "", nil
	}
	others := &machinev1beta1.MachineList{}
	options := []client.ListOption{client.InNamespace(m.Namespace)}
	if from == client.Reader(c.client) { // only the cache has the index
		options = append(options, client.MatchingFields{machineNodes: "id/" + id})
	}
	if err := from.List(ctx, others, options...); err != nil {
		return "", fmt.Errorf("looking for another Machine with the instance %s: %w", providerIDOf(m), err)
	}
	for i := range others.Items {
		if o := &others.Items[i]; o.UID != m.UID && o.DeletionTimestamp.IsZero() && instanceKeyOf(o) == id {
			return o.Name, nil
		}
	}
	return "", nil
}

// instanceKeyOf returns the key of the Machine's provider ID, in the way in which controllers on the Machine's platform read the ID; "" if there is none.
func instanceKeyOf(m *machinev1beta1.Machine) string {
	var spec []byte
	if v := m.Spec.ProviderSpec.Value; v != nil {
		spec = v.Raw
	}
	return authority.InstanceKeyIn(spec, providerIDOf(m))
}

// preDrain ends the pass while the Machine has preDrain hooks. Like preTerminate, it sets no time to requeue, because the removal of a hook changes the Machine
// and so causes the next pass.
func (c *machines) preDrain(_ context.Context, p *pass) (*stop, error) {
	if p.node == nil && p.machine.Status.NodeRef == nil {
		return nil, nil // the Machine never had a Node: there is nothing to drain, and nothing that the hook protects
	}
	return heldBy(machine.Drainable(p.machine))
}

func (c *machines) preTerminate(_ context.Context, p *pass) (*stop, error) {
	return heldBy(machine.Terminable(p.machine))
}

func heldBy(may machinev1beta1.Condition) (*stop, error) {
	if may.Status == corev1.ConditionTrue {
		return nil, nil
	}
	return &stop{waits: may}, nil
}

// delete calls the actuator to delete the instance. It returns nil, nil if nothing is left, so that the pass continues.
func (c *machines) delete(ctx context.Context, p *pass) (*stop, error) {
	if left := c.wishes.left(p.machine, p.now()); left > 0 {
		return &stop{after: left}, nil
	}
	wished, err := c.call(ctx, p, c.actuator.Delete)
	if _, terminal := machine.AsTerminal(err); terminal {
		return &stop{after: spread(c.pace.idle)}, err // no event reports that a person fixes something at the provider, such as a protection
	}
	if err != nil || wished {
		return &stop{}, err
	}
	return nil, nil
}

// deleteNode deletes the Node of an instance that is gone. It does not wait for other controllers, which may take long to do so. The UID protects a Node that
// has registered under the same name since.
func (c *machines) deleteNode(ctx context.Context, p *pass) (*stop, error) {
	if p.node == nil {
		return nil, nil
	}
	uid := p.node.UID
	if err := c.client.Delete(ctx, p.node, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("deleting Node %s: %w", p.node.Name, err)
	}
	p.log.Info("Deleted the Node", "node", p.node.Name)
	return nil, nil
}

func (c *machines) removeFinalizer(ctx context.Context, p *pass) (*stop, error) {
	after := p.stored.DeepCopy()
	controllerutil.RemoveFinalizer(after, machinev1beta1.MachineFinalizer)
	if _, err := versioned.PatchFrom(ctx, c.client, p.stored, after); err != nil {
		return nil, err
	}
	p.over = true
	c.recordEvent(p, corev1.EventTypeNormal, "Deleted", "Delete", "The instance and all resources created for it are gone")
	return &stop{}, nil
}
