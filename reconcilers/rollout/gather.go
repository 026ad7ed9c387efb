// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
)

var (
	setKind      = machinev1.GroupVersion.WithKind(controlplane.Kind)
	machineKind  = machinev1beta1.GroupVersion.WithKind("Machine")
	operatorKind = configv1.GroupVersion.WithKind("ClusterOperator")
)

// state is what a pass has found.
type state struct {
	// set is nil if there is no set.
	set *unstructured.Unstructured
	// plan is the plan of the set; nil if there is no set, or if the set is being deleted.
	plan *controlplane.Plan
	// unresolved reports that the plan waits for something that is not watched.
	unresolved bool
	// held reports that a deletion waits for the mirror, which no watch reports.
	held bool
	// retries reports that this pass tries again to create a Machine that the API server refused. Until the API server has answered, the last report stays.
	retries bool
	// owned are the Machines that name the set as an owner. They are read if the set is being deleted.
	owned []*unstructured.Unstructured
	// ungenerated is why no set exists, if none can be generated.
	ungenerated string
	// operator is the ClusterOperator; nil if it does not exist.
	operator *configv1.ClusterOperator
}

func (s *state) deleting() bool { return s.set != nil && s.set.GetDeletionTimestamp() != nil }

// gather reads the set before everything else, so that the plan is for the set as it was before the rest was read, and has every Machine that existed then.
// acts reports that the plan may be executed.
func (r *reconciler) gather(ctx context.Context, from client.Reader, acts bool) (*state, error) {
	s := &state{}
	var err error
	if s.operator, err = clusterOperator(ctx, from); err != nil {
		return nil, err
	}
	if s.set, err = served.Get(ctx, from, setKind, r.pair.MachineAPI, controlplane.Name); err != nil {
		return nil, err
	}
	if s.set == nil {
		world, err := facts.World(ctx, from, r.pair.MachineAPI)
		_, s.ungenerated = generator.Ungenerated(world)
		return s, err
	}
	if s.deleting() {
		s.owned, err = r.ownedBy(ctx, from, s.set.GetUID())
		return s, err
	}
	view, err := r.view(ctx, from, s.set)
	if err != nil {
		return nil, err
	}
	plan, retries, err := r.tried(ctx, view, acts)
	if err != nil {
		return nil, err
	}
	s.plan, s.retries = &plan, retries
	s.unresolved = len(view.Unresolved) > 0 || plan.Refused()
	return s, nil
}

// clusterOperator reads the ClusterOperator untyped, because it is watched untyped: a typed read through the cache would add a second watch.
func clusterOperator(ctx context.Context, from client.Reader) (*configv1.ClusterOperator, error) {
	read, err := served.Get(ctx, from, operatorKind, "", controlplane.OperatorName)
	if err != nil || read == nil {
		return nil, err
	}
	o := &configv1.ClusterOperator{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(read.Object, o); err != nil {
		return nil, fmt.Errorf("reading ClusterOperator %s: %w", controlplane.OperatorName, err)
	}
	return o, nil
}

// view returns everything from which a plan is made.
func (r *reconciler) view(ctx context.Context, from client.Reader, set *unstructured.Unstructured) (*controlplane.View, error) {
	raw, err := json.Marshal(set.Object)
	if err != nil {
		return nil, err
	}
	resolved, err := facts.Resolved(ctx, from, r.accounts, r.pair, raw)
	if err != nil {
		return nil, err
	}
	parsed, err := policies.ParseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the ControlPlaneMachineSet: %w", err)
	}
	selector, err := controlplane.Selector(resolved.Set)
	if err != nil { // the plan reports it
		selector = labels.Nothing()
	}
	found, err := facts.ControlPlane(ctx, from, r.pair.MachineAPI, selector, r.now())
	if err != nil {
		return nil, err
	}
	found.MayRecreate, found.NotReadyGrace, found.ClusterAPINamespace = r.mayRecreate, &r.notReadyGrace, r.pair.ClusterAPI
	v := controlplane.ViewOf(resolved.Set, *found)
	v.Unlinked = r.links.unlinked(found, v.Now)
	v.Unresolved = resolved.Unresolved
	v.Reflects(authority.Read(parsed), set.GetGeneration())
	return &v, nil
}

// ownedBy lists all Machines that name the set as an owner, even those that its selector no longer matches, because the garbage collector ignores selectors.
func (r *reconciler) ownedBy(ctx context.Context, from client.Reader, set types.UID) ([]*unstructured.Unstructured, error) {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(machineKind.GroupVersion().WithKind("MachineList"))
	if err := from.List(ctx, all, client.InNamespace(r.pair.MachineAPI)); err != nil {
		return nil, fmt.Errorf("listing Machines in %s: %w", r.pair.MachineAPI, err)
	}
	var out []*unstructured.Unstructured
	for i := range all.Items {
		if slices.ContainsFunc(all.Items[i].GetOwnerReferences(), refersTo(set)) {
			out = append(out, &all.Items[i])
		}
	}
	return out, nil
}

func refersTo(set types.UID) func(metav1.OwnerReference) bool {
	return func(o metav1.OwnerReference) bool { return o.UID == set }
}

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o
}
