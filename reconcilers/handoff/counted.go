// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring/status"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// machinesOf lists the Machines that a set may count: those that it owns, and Machines without an owner that it may adopt. In the cache it finds them by the
// index by owner, and in the API server by the set's selector.
func (r *reconciler) machinesOf(ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, set *policies.Object) ([]*policies.Object, error) {
	which := []client.ListOption{client.MatchingLabelsSelector{Selector: authority.SelectorOf(set)}}
	if from == r.cache && r.indexed {
		which = []client.ListOption{facts.OwnedBy(set.Metadata.UID), facts.OwnedBy(facts.Nobody)}
	}
	var out []*policies.Object
	for _, some := range which {
		machines, err := list(ctx, from, gvk, set.Metadata.Namespace, some)
		if err != nil {
			return nil, fmt.Errorf("listing the Machines of MachineSet %s/%s: %w", set.Metadata.Namespace, set.Metadata.Name, err)
		}
		out = append(out, machines...)
	}
	return out, nil
}

// list reads the objects of a namespace. It returns none for a kind that is not served.
func list(ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, namespace string, which ...client.ListOption) ([]*policies.Object, error) {
	found, err := served.List(ctx, from, gvk, namespace, append(which, client.UnsafeDisableDeepCopy)...)
	if err != nil && !served.Missing(err) {
		return nil, err
	}
	var out []*policies.Object
	for _, u := range found {
		o, err := parse(u)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// index adds an index to the cache by which Machines are found by their owner. It must run before the cache is started.
func (r *reconciler) index(mgr ctrl.Manager) error {
	child, ok := r.kind.Children()
	if !ok {
		return r.indexHolders(mgr)
	}
	for _, api := range apis() {
		if err := facts.IndexByOwner(context.Background(), mgr.GetFieldIndexer(), child.GVKOf(api)); err != nil {
			return err
		}
	}
	r.indexed = true
	return nil
}

func apis() []authority.API { return []authority.API{authority.MachineAPI, authority.ClusterAPI} }

// gatherUncounted compares which Machines the two sets of a pair count. It lists the Machines after it has read the sets. A set that has acknowledged its pause
// creates no more Machines, so a list after that is complete.
func (r *reconciler) gatherUncounted(ctx context.Context, from client.Reader, p *pair) error {
	child, ok := r.kind.Children()
	if !ok || p.core == nil || p.machineAPI == nil || !p.state().CountMatters() {
		return nil
	}
	roster := authority.Roster{
		Sets:     map[authority.API]*policies.Object{authority.MachineAPI: p.objects.MachineAPI, authority.ClusterAPI: p.objects.ClusterAPI},
		Machines: map[authority.API][]*policies.Object{}, Definitions: map[authority.API]authority.Presence{},
	}
	for _, api := range apis() {
		var err error
		if roster.Machines[api], err = r.machinesOf(ctx, from, child.GVKOf(api), roster.Sets[api]); err != nil {
			return err
		}
	}
	p.objects.Uncounted = roster.Uncounted()
	if err := r.gatherJudged(ctx, from, p, roster); err != nil {
		return err
	}
	return r.explain(ctx, p, child, roster)
}

// gatherJudged finds the Machines that Cluster API's set would delete because of a mark by a MachineHealthCheck that no longer selects them. It reads the
// checks and the Cluster only if a Machine is marked.
func (r *reconciler) gatherJudged(ctx context.Context, from client.Reader, p *pair, roster authority.Roster) error {
	if !slices.ContainsFunc(roster.Machines[authority.ClusterAPI], authority.Marked) {
		return nil
	}
	set := roster.Sets[authority.ClusterAPI]
	checks, err := r.checks(ctx, from, set.Metadata.Namespace)
	if err != nil {
		return err
	}
	_, cluster, err := get(ctx, from, facts.ClusterKind, set.Metadata.Namespace, authority.ClusterOf(set))
	if err != nil {
		return err
	}
	p.objects.Judged = roster.Judged(checks, cluster)
	return nil
}

// checks lists Cluster API's MachineHealthChecks in a namespace.
func (r *reconciler) checks(ctx context.Context, from client.Reader, namespace string) ([]*policies.Object, error) {
	kind, _ := authority.KindNamed("MachineHealthCheck")
	found, err := list(ctx, from, kind.ClusterAPIGVK(), namespace)
	if err != nil {
		return nil, fmt.Errorf("listing the MachineHealthChecks of Cluster API in %s: %w", namespace, err)
	}
	return found, nil
}

// explain finds out why one set does not count a Machine, for as many Machines as a message names. It reads from the cache, which is recent enough for that.
func (r *reconciler) explain(ctx context.Context, p *pair, child authority.Kind, roster authority.Roster) (err error) {
	for i := range min(len(p.objects.Uncounted), authority.UncountedNamed) {
		u := &p.objects.Uncounted[i]
		machine := map[authority.API]*policies.Object{}
		for _, api := range apis() {
			if _, machine[api], err = get(ctx, r.cache, child.GVKOf(api), roster.Sets[api].Metadata.Namespace, u.Name); err != nil {
				return err
			}
		}
		if err := r.childDefinitions(ctx, child, machine, roster); err != nil {
			return err
		}
		roster.Explain(u, machine)
	}
	return nil
}

// childDefinitions reads the CRD of the Machines' kind from the API server, once, for each API in which a Machine has no object, and stores the CRD's state in
// the roster. A Machine may have a condition that reports the deletion of the CRD. That does not prove that the CRD still exists.
func (r *reconciler) childDefinitions(ctx context.Context, child authority.Kind, machine map[authority.API]*policies.Object, roster authority.Roster) error {
	for _, api := range apis() {
		if _, read := roster.Definitions[api]; read || machine[api] != nil {
			continue
		}
		why, gone, err := facts.Leaving(ctx, r.live, authority.Surrounding{Kind: authority.Definition, Name: child.DefinitionIn(api)})
		switch {
		case err != nil:
			return err
		case gone:
			roster.Definitions[api] = authority.Absent
		case why != "":
			roster.Definitions[api] = authority.Deleting
		default:
			roster.Definitions[api] = authority.Present
		}
	}
	return nil
}

// countChanges returns a predicate for events of a Machine after which a set may begin or cease to count the Machine, or to delete it because of a check's
// mark.
func countChanges() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return marked(e.ObjectOld) != marked(e.ObjectNew) || paused(e.ObjectOld) != paused(e.ObjectNew) ||
				!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
				(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil) ||
				!slices.Equal(facts.OwnerOf(e.ObjectOld), facts.OwnerOf(e.ObjectNew))
		},
	}
}

func marked(o client.Object) bool {
	u, ok := o.(*unstructured.Unstructured)
	return ok && status.Marked(u)
}

// paused reports whether an object is paused. This matters for a marked Machine, because a check skips a paused one.
func paused(o client.Object) bool {
	_, has := o.GetAnnotations()[authority.PausedAnnotation]
	return has
}
