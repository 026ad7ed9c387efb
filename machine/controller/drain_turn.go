// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"sync"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine"
)

// turns lets only one Node of the control plane drain at a time, among those whose Machines are being deleted. The next drain begins when the Node of the
// previous one is gone, because until then etcd may lack a member.
//
// Within a process, the lock and holder decide, so the cache may lag. A process that takes over reads from the Machines which drain has begun (beginDrain
// stores that before the first eviction). Two replicas do not drain at once: they use leader election, and a replica that has lost the lease ends after at most
// one pass of evictions.
type turns struct {
	mu     sync.Mutex
	key    client.ObjectKey
	holder types.UID
}

func (c *machines) takeTurn(ctx context.Context, p *pass) (*stop, error) {
	if p.node == nil || !machine.ControlPlane(p.node) || machine.ExcludesDrain(p.machine) {
		return nil, nil
	}
	c.turns.mu.Lock()
	defer c.turns.mu.Unlock()
	if c.turns.holder == p.machine.UID {
		return nil, nil
	}
	first, err := c.whoseTurn(ctx, p.machine)
	if err != nil || first == "" {
		if err == nil {
			c.turns.key, c.turns.holder = client.ObjectKeyFromObject(p.machine), p.machine.UID
		}
		return nil, err
	}
	return &stop{after: c.pace.held, waits: machine.False(machinev1beta1.MachineDrained, machinev1beta1.ConditionSeverityInfo, machine.ReasonControlPlane,
		"Nodes of the control plane are drained one at a time: this Machine waits until Machine %[1]s and the Node of %[1]s are gone", first)}, nil
}

// whoseTurn returns the name of the Machine whose drain has to end before m's Node is drained; "" if there is none.
func (c *machines) whoseTurn(ctx context.Context, m *machinev1beta1.Machine) (string, error) {
	holder, err := c.turnHolder(ctx)
	if err != nil || holder != "" {
		return holder, err
	}
	leaving := &machinev1beta1.MachineList{}
	if err := c.client.List(ctx, leaving, client.InNamespace(m.Namespace), client.MatchingFields{machineLeaving: "true"}); err != nil {
		return "", err
	}
	for i := range leaving.Items {
		other := &leaving.Items[i]
		if other.UID == m.UID || !machine.DrainBegun(other) || machine.DrainBegun(m) && !before(other, m) {
			continue
		}
		if holds, err := c.holdsNode(ctx, other); err != nil || holds {
			return other.Name, err
		}
	}
	return "", nil
}

// turnHolder returns the name of the Machine to which this process has given the turn, if that Machine still has its control plane Node; "" otherwise. It reads
// the Machine live, because the cache may not show yet that the Machine is being deleted.
func (c *machines) turnHolder(ctx context.Context) (string, error) {
	if c.turns.holder == "" {
		return "", nil
	}
	m := &machinev1beta1.Machine{}
	err := c.live.Get(ctx, c.turns.key, m)
	if client.IgnoreNotFound(err) != nil {
		return "", err
	}
	if err == nil && m.UID == c.turns.holder {
		if holds, err := c.holdsNode(ctx, m); err != nil || holds {
			return m.Name, err
		}
	}
	c.turns.holder = ""
	return "", nil
}

// holdsNode reports whether a Machine still has a Node that belongs to the control plane.
func (c *machines) holdsNode(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
	node, err := c.nodeFor(ctx, m)
	return node != nil && machine.ControlPlane(node), err
}

// before reports whether Machine a drains before Machine b, if both drains had begun before this process started. The Machine that was deleted earlier drains
// first.
func before(a, b *machinev1beta1.Machine) bool {
	if !a.DeletionTimestamp.Equal(b.DeletionTimestamp) {
		return a.DeletionTimestamp.Before(b.DeletionTimestamp)
	}
	return strings.Compare(a.Name, b.Name) < 0
}
