// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine/scaling"
)

// longestSelector is the API's limit for status.labelSelector.
const longestSelector = 4096

// report stores the set's numbers if they changed. It returns how soon they will change again only because time passes.
func (r *machineSets) report(ctx context.Context, seen *machinev1beta1.MachineSet, selector labels.Selector,
	machines []*machinev1beta1.Machine) (time.Duration, error) {
	set := seen.DeepCopy()
	n := scaling.Count(set, machines, r.node(ctx), r.clock.Now())
	s := &set.Status
	s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas = n.Replicas, n.FullyLabeled, n.Ready, n.Available
	s.ObservedGeneration, s.ErrorReason, s.ErrorMessage = set.Generation, nil, nil
	if s.LabelSelector = selector.String(); len(s.LabelSelector) > longestSelector {
		s.LabelSelector = "" // nothing can scale the set by its selector then; everything else works
	}
	_, err := versioned.PatchStatusFrom(ctx, r, seen, set)
	return n.Next, err
}

// node returns a function that returns the Node with a name from the cache, nil if there is none. The Node is shared with the cache: do not change it.
func (r *machineSets) node(ctx context.Context) func(string) *corev1.Node {
	return func(name string) *corev1.Node {
		n := &corev1.Node{}
		if err := r.Get(ctx, types.NamespacedName{Name: name}, n, client.UnsafeDisableDeepCopy); err != nil {
			return nil // not found; the cache has no other failure once it runs
		}
		return n
	}
}

// refuse reports in the set's status that the set is invalid. It keeps the set's numbers. It writes an event only if the message is new.
func (r *machineSets) refuse(ctx context.Context, seen *machinev1beta1.MachineSet, why error) error {
	set := seen.DeepCopy()
	reason, message := machinev1beta1.InvalidConfigurationMachineSetError, why.Error()
	set.Status.ErrorReason, set.Status.ErrorMessage, set.Status.ObservedGeneration = &reason, &message, set.Generation
	given := seen.Status.ErrorMessage != nil && *seen.Status.ErrorMessage == message
	if _, err := versioned.PatchStatusFrom(ctx, r, seen, set); err != nil || given {
		return err
	}
	r.recorder.Eventf(seen, nil, corev1.EventTypeWarning, string(reason), "reconcile", "%s", cut(message, longestNote))
	log.FromContext(ctx).Info("the MachineSet is invalid, so no Machine is created or deleted", "message", message)
	return nil
}
