// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine/scaling"
	"github.com/poundlock/poundlock/policies/authority"
)

// batch is how many Machines a pass creates at most. So a set that wants a thousand does not delay other sets, and its spec may change in between.
const batch = 50

// longestRequest is the time limit of one creation, webhooks included. The API server has the same limit.
const longestRequest = time.Minute

// act plans again from a live read of the set and its Machines, and carries the plan out. So a lagging cache never makes the set create or delete one Machine
// too many. act returns how soon to continue, 0 if all is done.
func (r *machineSets) act(ctx context.Context, seen *machinev1beta1.MachineSet, selector labels.Selector) (time.Duration, error) {
	set := &machinev1beta1.MachineSet{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(seen), set); err != nil {
		return 0, err
	}
	if !r.sameToAct(seen, set) {
		return soon, nil
	}
	plan, err := r.plan(ctx, r.live, r.stored, set, selector)
	if err != nil {
		return 0, err
	}
	return r.carryOut(ctx, set, plan)
}

// stored returns the Machines that match the selector, from the API server.
func (r *machineSets) stored(ctx context.Context, set *machinev1beta1.MachineSet, selector labels.Selector) ([]*machinev1beta1.Machine, error) {
	l := &machinev1beta1.MachineList{}
	err := r.live.List(ctx, l, client.InNamespace(set.Namespace), client.MatchingLabelsSelector{Selector: selector})
	return pointers(l.Items), err
}

// sameToAct reports whether the stored set has the UID and generation of the set that was seen, and this controller still acts on it. A changed spec may have
// another selector.
func (r *machineSets) sameToAct(seen, stored *machinev1beta1.MachineSet) bool {
	shape := shapeOfSet(stored)
	gate := authority.GateOf(shape, r.on)
	return stored.UID == seen.UID && stored.Generation == seen.Generation && stored.DeletionTimestamp.IsZero() && gate.Act && gate.AlreadyWritten(shape)
}

// carryOut carries out the plan, and returns how soon to continue. If a Machine cannot be adopted, only the deletion of that Machine is skipped. If a Machine
// has changed meanwhile, another controller may own it by now. Then there may be no surplus any more, so carryOut stops and the next pass plans again.
func (r *machineSets) carryOut(ctx context.Context, set *machinev1beta1.MachineSet, plan scaling.Plan) (time.Duration, error) {
	var failures error
	for _, m := range plan.Adopt {
		if err := r.adopt(ctx, set, m); err != nil {
			if failures = errors.Join(failures, err); versioned.Outdated(err) {
				return soon, failures
			}
			plan.Delete = slices.DeleteFunc(plan.Delete, func(other *machinev1beta1.Machine) bool { return other == m })
		}
	}
	for range min(plan.Create, batch) {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if err := r.create(ctx, set); err != nil {
			return 0, errors.Join(failures, err)
		}
	}
	for _, m := range plan.Delete {
		failures = errors.Join(failures, r.delete(ctx, set, m))
	}
	if plan.Create > batch {
		return soon, failures
	}
	return 0, failures
}

var machineSetKind = machinev1beta1.GroupVersion.WithKind("MachineSet")

func (r *machineSets) adopt(ctx context.Context, set *machinev1beta1.MachineSet, m *machinev1beta1.Machine) error {
	after := m.DeepCopy()
	after.OwnerReferences = append(after.OwnerReferences, *metav1.NewControllerRef(set, machineSetKind))
	_, err := versioned.PatchFrom(ctx, r, m, after)
	return r.done(ctx, set, m, "adopt", err)
}

// create creates a Machine. It may run on for the time of one request after the process was asked to stop. Otherwise the API server might store an interrupted
// creation after another process has counted the Machines.
func (r *machineSets) create(ctx context.Context, set *machinev1beta1.MachineSet) error {
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestRequest)
	defer cancel()
	m := machineFrom(set)
	return r.done(ctx, set, m, "create", r.Create(finish, m))
}

// machineFrom returns a new Machine from the set's template. The template also says which API is authoritative: Cluster API may be authoritative from the
// creation on (converting › Creation of new Machines).
//
// If the template does not name Cluster API, the Machine has the Machine controller's finalizer from the creation on. A finalizer that is added later might not
// hold the Machine: if an object without finalizers is deleted, the API server deletes it even if a finalizer was added while admission was called. The
// Machine's instance would be left behind.
func machineFrom(set *machinev1beta1.MachineSet) *machinev1beta1.Machine {
	template := set.Spec.Template.DeepCopy()
	m := &machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: set.Name + "-", Namespace: set.Namespace, Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, machineSetKind)},
		},
		Spec: template.Spec,
	}
	if template.Spec.AuthoritativeAPI != machinev1beta1.MachineAuthorityClusterAPI {
		m.Finalizers = []string{machinev1beta1.MachineFinalizer}
	}
	return m
}

// delete deletes exactly the Machine that was read, not another of the same name. It also deletes a Machine for which Cluster API is authoritative, because
// that Machine belongs to the set, and the mirror propagates the deletion.
func (r *machineSets) delete(ctx context.Context, set *machinev1beta1.MachineSet, m *machinev1beta1.Machine) error {
	err := r.Delete(ctx, m, client.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion})
	if apierrors.IsNotFound(err) {
		return nil // the Machine is gone already
	}
	return r.done(ctx, set, m, "delete", err)
}

// done counts a write and reports it by an event and a log line. If err is set, it returns the error, wrapped.
func (r *machineSets) done(ctx context.Context, set *machinev1beta1.MachineSet, m *machinev1beta1.Machine, verb string, err error) error {
	r.meters.count(verb, err)
	name := m.Name
	if name == "" {
		name = m.GenerateName
	}
	past, reason := setVerbs(verb)
	if err == nil {
		r.recorder.Eventf(set, m, corev1.EventTypeNormal, "Successful"+reason, verb, "%s Machine %s", past, name)
		log.FromContext(ctx).Info("changing the set's Machines", "verb", verb, "machine", name)
		return nil
	}
	if !apierrors.IsConflict(err) {
		r.recorder.Eventf(set, nil, corev1.EventTypeWarning, "Failed"+reason, verb, "%s",
			cut(fmt.Sprintf("Could not %s Machine %s: %v", verb, name, err), longestNote))
	}
	return fmt.Errorf("MachineSet %s: %s of Machine %s failed: %w", set.Name, verb, name, err)
}

func setVerbs(verb string) (past, reason string) {
	switch verb {
	case "create":
		return "Created", "Create"
	case "delete":
		return "Deleted", "Delete"
	}
	return "Adopted", "Adopt"
}
