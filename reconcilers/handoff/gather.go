// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// infraGroup is the API group of providers' objects. Poundlock follows no reference to another group.
var infraGroup = clusterv1.GroupVersionInfrastructure.Group

// pair is everything that one pass reads. Objects that do not exist are nil.
type pair struct {
	kind                    authority.Kind
	machineAPI, core, infra *unstructured.Unstructured
	// infraInstance is the object that the provider keeps for the instance in addition to its machine.
	infraInstance *unstructured.Unstructured
	// keptKind is the kind of infraInstance, in the version that was read; empty if the provider keeps no such object.
	keptKind schema.GroupVersionKind
	objects  authority.Objects
	// pauseSeenIn is how much longer a controller that never acknowledges a pause may take to see its pause: the controller of a provider, or that of the Machine
	// API's checks.
	pauseSeenIn time.Duration
}

func (p *pair) state() authority.State { return p.objects.State() }

// gather reads everything about a pair that every pass needs. What only some steps need is read by decide.
func (r *reconciler) gather(ctx context.Context, from client.Reader, key types.NamespacedName) (*pair, error) {
	p := &pair{kind: r.kind, objects: authority.Objects{Kind: r.kind, Enabled: r.enabled(r.kind)}}
	namespaces, ok := r.pairs.Of(key.Namespace)
	if !ok {
		return p, nil
	}
	var err error
	if p.core, p.objects.ClusterAPI, err = get(ctx, from, r.kind.ClusterAPIGVK(), namespaces.ClusterAPI, key.Name); err != nil {
		return nil, err
	}
	if err := r.gatherInfra(ctx, from, p); err != nil {
		return nil, err
	}
	// The Machine API object is read last, so that its status is never older than the acknowledgements in the other objects.
	if p.machineAPI, p.objects.MachineAPI, err = get(ctx, from, r.kind.MachineAPIGVK(), key.Namespace, key.Name); err != nil {
		return nil, err
	}
	source := authority.Source(authority.Read(p.objects.MachineAPI))
	p.objects.Uncompared = !r.compared(r.kind.Name, key, authority.Edition(source, p.machineAPI, p.core, p.infra))
	if p.kind.ObeysAnnotation {
		p.pauseSeenIn = r.pauses.left(p.machineAPI, r.now(), pauseSeenAfter)
		p.objects.MachineAPIPausedLately = p.pauseSeenIn > 0
	}
	p.objects.InfraPausedLately = r.pausedLately(p, p.infra)
	p.objects.InfraInstancePausedLately = r.pausedLately(p, p.infraInstance)
	if err := errors.Join(r.gatherHolders(ctx, p), r.gatherSets(ctx, from, p)); err != nil {
		return nil, err
	}
	if p.kind.InfraActs() && p.core != nil && authority.RequestedElsewhere(p.objects.ClusterAPI) {
		if p.objects.Checks, err = r.checks(ctx, from, namespaces.ClusterAPI); err != nil {
			return nil, err
		}
	}
	return p, r.gatherUncounted(ctx, from, p)
}

// gatherSets reads the MachineSets of both APIs with the name of the set that owns a Machine which is to move.
func (r *reconciler) gatherSets(ctx context.Context, from client.Reader, p *pair) error {
	parent, ok := authority.KindNamed(p.kind.Parent)
	name := p.objects.OwningSetOf(authority.Source(authority.Read(p.objects.MachineAPI)))
	if !ok || name == "" || p.core == nil || p.machineAPI == nil || !p.state().HoldersMatter() {
		return nil
	}
	p.objects.Sets = map[authority.API]*policies.Object{}
	for api, namespace := range map[authority.API]string{authority.MachineAPI: p.machineAPI.GetNamespace(), authority.ClusterAPI: p.core.GetNamespace()} {
		var err error
		if _, p.objects.Sets[api], err = get(ctx, from, parent.GVKOf(api), namespace, name); err != nil {
			return err
		}
	}
	return nil
}

// get returns an object in two forms: as it is written, and as policies read it. Both are nil if the object does not exist, or if its kind is not served.
func get(ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, *policies.Object, error) {
	u, o, err := getServed(ctx, from, gvk, namespace, name)
	if served.Missing(err) {
		return nil, nil, nil
	}
	return u, o, err
}

// getServed does what get does, but returns an error if the kind is not served.
func getServed(ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured,
	*policies.Object, error) {
	u, err := served.Read(ctx, from, gvk, namespace, name)
	if err != nil || u == nil {
		return nil, nil, err
	}
	o, err := parse(u)
	return u, o, err
}

func parse(u *unstructured.Unstructured) (*policies.Object, error) {
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", pairs.Describe(u), err)
	}
	return policies.ParseObject(raw)
}
