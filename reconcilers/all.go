// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers/controlplanemirror"
	"github.com/poundlock/poundlock/reconcilers/generate"
	"github.com/poundlock/poundlock/reconcilers/handoff"
	"github.com/poundlock/poundlock/reconcilers/mirror"
	"github.com/poundlock/poundlock/reconcilers/remediation"
	"github.com/poundlock/poundlock/reconcilers/rollout"
	"github.com/poundlock/poundlock/reconcilers/surroundings"
)

// Options are the parameters of the reconcilers.
type Options struct {
	// Pairs are the pairs of namespaces that mirror each other.
	Pairs authority.Pairs
	// NodeSync is the configuration of Cluster API's manager that conversions need.
	NodeSync conversion.NodeSync
	// Gate reads the state of the feature gate; see mirror.Options.
	Gate func(context.Context) (authority.Migration, error)
	// Enabled reports whether authority over a kind can move; see handoff.Options.
	Enabled func(authority.Kind) bool
	// ControlPlane reports whether this process generates and rolls out ControlPlaneMachineSets, because no other operator does.
	ControlPlane bool
	// MayRecreate allows the strategy Recreate for ControlPlaneMachineSets, which leaves etcd without a member for some time.
	MayRecreate bool
	// NotReadyGrace is how long a Node of the control plane may be not ready before its set counts as unavailable.
	NotReadyGrace time.Duration
	// Version is the release that the ClusterOperator reports; "" for none.
	Version string
}

// All adds every reconciler to the manager.
func All(mgr ctrl.Manager, o Options) error {
	var equal compared
	return errors.Join(
		ControlPlane(mgr, o),
		controlPlaneAuthority(mgr, o),
		mirror.SetupWithManager(mgr, mirror.Options{Pairs: o.Pairs, NodeSync: o.NodeSync, Gate: o.Gate, Compared: equal.set}),
		handoff.SetupWithManager(mgr, handoff.Options{Pairs: o.Pairs, Enabled: o.Enabled, Compared: equal.has}),
		remediation.SetupWithManager(mgr, remediation.Options{Pairs: o.Pairs, Enabled: o.Enabled}),
		surroundings.SetupWithManager(mgr, surroundings.Options{Pairs: o.Pairs}),
	)
}

// compared has the pairs that the mirror has found or made equal since this process began, each with the authority.Edition (a hash) of the content from which
// the mirror was made. The condition Synchronized does not suffice for two reasons. An older release, whose mirror left out fields that this release writes
// before a move, may have set the condition. And the condition does not cover labels and annotations.
type compared struct{ pairs sync.Map }

type pairKey struct {
	kind string
	key  types.NamespacedName
}

func (c *compared) set(kind string, key types.NamespacedName, edition uint64, exists bool) {
	if exists {
		c.pairs.Store(pairKey{kind, key}, edition)
	} else {
		c.pairs.Delete(pairKey{kind, key})
	}
}

func (c *compared) has(kind string, key types.NamespacedName, edition uint64) bool {
	last, found := c.pairs.Load(pairKey{kind, key})
	return found && last == edition
}

// ControlPlane adds those reconcilers of ControlPlaneMachineSets that work without the feature gate of the move to Cluster API.
func ControlPlane(mgr ctrl.Manager, o Options) error {
	if !o.ControlPlane {
		return nil
	}
	return errors.Join(
		generate.SetupWithManager(mgr, generate.Options{Pairs: o.Pairs}),
		rollout.SetupWithManager(mgr, o.rollout()),
	)
}

func (o Options) rollout() rollout.Options {
	return rollout.Options{Pairs: o.Pairs, MayRecreate: o.MayRecreate, NotReadyGrace: o.NotReadyGrace, Version: o.Version}
}

// controlPlaneAuthority adds the reconciler that moves authority over a ControlPlaneMachineSet between the APIs, and keeps Cluster API's side of the set.
func controlPlaneAuthority(mgr ctrl.Manager, o Options) error {
	if !o.ControlPlane {
		return nil
	}
	return controlplanemirror.SetupWithManager(mgr, controlplanemirror.Options{Pairs: o.Pairs, NodeSync: o.NodeSync})
}
