// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine"
)

// nodeFor returns the Machine's Node from the cache; nil if there is none or it may be another Machine's. Its cost does not depend on the number of Machines.
func (c *machines) nodeFor(ctx context.Context, m *machinev1beta1.Machine) (*corev1.Node, error) {
	node, err := c.likelyNode(ctx, m)
	if err != nil || node == nil {
		return nil, err
	}
	if rival, err := c.rival(ctx, m, node); err != nil || rival != "" {
		return nil, err
	}
	return node, nil
}

// rival returns the name of another Machine to which this Node may belong; "" if there is none. Another instance may reuse an address, and that instance's Node
// may have no provider ID for a while, or never on some platforms. Then a Machine that only shares an address with the Node would drain and delete it. A failed
// Machine claims no Node, because its addresses may be those of an instance that is gone.
func (c *machines) rival(ctx context.Context, m *machinev1beta1.Machine, n *corev1.Node) (string, error) {
	if machine.Certain(m, n) {
		return "", nil
	}
	for _, key := range keysOfNode(n) {
		others := &machinev1beta1.MachineList{}
		if err := c.client.List(ctx, others, client.MatchingFields{machineNodes: key}); err != nil {
			return "", fmt.Errorf("looking for the Machine of Node %s: %w", n.Name, err)
		}
		for i := range others.Items {
			if o := &others.Items[i]; o.UID != m.UID && !machine.Failed(o) && machine.NodeOf(o, []corev1.Node{*n}) != nil {
				return o.Name, nil
			}
		}
	}
	return "", nil
}

// likelyNode returns the Node that has a provider ID, an address or a name in common with the Machine (machine.NodeOf); nil if there is none.
func (c *machines) likelyNode(ctx context.Context, m *machinev1beta1.Machine) (*corev1.Node, error) {
	var candidates []corev1.Node
	for _, by := range machineKeys(m) {
		nodes := &corev1.NodeList{}
		if err := c.client.List(ctx, nodes, client.MatchingFields{nodeKeys: by}); err != nil {
			return nil, fmt.Errorf("finding the Node of Machine %s: %w", machine.Name(m), err)
		}
		candidates = append(candidates, nodes.Items...)
	}
	return machine.NodeOf(m, candidates), nil
}

// linkNode stores the reference to the Node in status.nodeRef. If the Node is gone, the reference stays, and the Machine stays Running. That is how the Machine
// API behaves. A MachineHealthCheck needs the reference to distinguish a deleted Node from one that has not registered yet.
func (c *machines) linkNode(ctx context.Context, p *pass) (_ *stop, err error) {
	p.node, err = c.likelyNode(ctx, p.machine)
	if err != nil || p.node == nil {
		return nil, err
	}
	if err := c.disputed(ctx, p.machine, p.node); err != nil {
		p.node = nil
		return nil, err
	}
	if old := p.machine.Status.NodeRef; old == nil || old.Name != p.node.Name || old.UID != p.node.UID {
		p.log.Info("Linked the Node", "node", p.node.Name)
		p.machine.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: p.node.Name, UID: p.node.UID}
	}
	return nil, nil
}

// disputed returns an error if the Node may belong to another Machine as well. The two Machines would keep overwriting each other's labels.
func (c *machines) disputed(ctx context.Context, m *machinev1beta1.Machine, n *corev1.Node) error {
	name := machine.Claim(m, n)
	if name == "" {
		rival, err := c.rival(ctx, m, n)
		if err == nil && rival != "" {
			err = fmt.Errorf("cannot link Node %s to this Machine: Machine %s has the same address in status.addresses, and the Node has no "+
				"spec.providerID that distinguishes them: "+
				"set spec.providerID of the Node, or delete the Machine whose instance is gone", n.Name, rival)
		}
		return err
	}
	other := &machinev1beta1.Machine{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: name}, other)
	if apierrors.IsNotFound(err) {
		return nil // no Machine has that name any more
	}
	if err == nil {
		err = fmt.Errorf("cannot link Node %s to this Machine, because the Node already belongs to Machine %s: check whether both Machines have the "+
			"same spec.providerID or address", n.Name, name)
	}
	return err
}

// furnishNode writes the Machine's labels, annotations and taints to the Node. It is a step of this pass and not a controller of its own. So the gate covers
// it, and it is complete when a pause is acknowledged.
func (c *machines) furnishNode(ctx context.Context, p *pass) (*stop, error) {
	if p.node == nil {
		return nil, nil
	}
	wrote, err := versioned.PatchFrom(ctx, c.client, p.node, machine.Furnish(p.machine, p.node))
	if err != nil {
		return nil, fmt.Errorf("copying the Machine's labels, annotations and taints to Node %s: %w", p.node.Name, err)
	}
	if wrote {
		p.log.Info("Furnished the Node", "node", p.node.Name)
	}
	return nil, nil
}
