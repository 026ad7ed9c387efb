// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Holding lists the objects of a kind that have a given instance ID: Machines, or objects that a provider keeps for instances. key is the ID's
// authority.InstanceKey or authority.InstanceTail. The cost does not grow with the size of the fleet.
type Holding interface {
	With(ctx context.Context, gvk schema.GroupVersionKind, namespace, key string) ([]*policies.Object, error)
}

// HoldingFunc is a function as a Holding.
type HoldingFunc func(ctx context.Context, gvk schema.GroupVersionKind, namespace, key string) ([]*policies.Object, error)

// With calls f.
func (f HoldingFunc) With(ctx context.Context, gvk schema.GroupVersionKind, namespace, key string) ([]*policies.Object, error) {
	return f(ctx, gvk, namespace, key)
}

// indexHolding lists through a cache's index by instance.
type indexHolding struct {
	client.Reader
	timeout time.Duration
	metrics *metrics
}

// With lists within the timeout.
func (r indexHolding) With(ctx context.Context, gvk schema.GroupVersionKind, namespace, key string) ([]*policies.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	defer r.metrics.lookup("cache", time.Now())
	found, err := objectsOf(ctx, r.Reader, gvk, namespace, facts.OfInstance(key))
	return slices.DeleteFunc(found, func(m *policies.Object) bool { return !hasInstance(m, key) }), err
}

// hasInstance reports whether a key belongs to the instance ID of a Machine. The index also finds Machines whose IDs only have the same end, so its results are
// checked.
func hasInstance(m *policies.Object, key string) bool {
	id := authority.InstanceKeyOf(m)
	return id == key || instanceid.Tail(id) == key
}

// belongings adds to c the other objects that are concerned: the owners of the object under review, its infrastructure object, objects of the same name, and
// the other holders of its instance.
func (l Lookups) belongings(ctx context.Context, c *policies.Change, needs policies.Need) (err error) {
	if needs.Has(policies.NeedOwners) && c.Operation != admissionv1.Delete {
		if c.Facts.Owners, err = l.owners(ctx, *c); err != nil {
			return err
		}
	}
	core := c.New
	if c.Side == policies.SideMachineAPI {
		core = c.Facts.Twin
	}
	if needs.Has(policies.NeedLiveInfra) && core != nil {
		if ref, ok := infraRef(core, c.Kind, l.Platforms); ok {
			if c.Facts.Infra, err = l.live(ctx, ref); err != nil {
				return err
			}
		}
	}
	if name := authority.Namesake(*c); needs.Has(policies.NeedNamesake) && name != "" {
		o, err := l.live(ctx, Ref{GroupVersionKind: coreKind(policies.SideMachineAPI, "Machine"), Namespace: c.TwinNamespace, Name: name})
		if err != nil {
			return err
		}
		c.Facts.Namesake = o != nil
	}
	if needs.Has(policies.NeedNamesake) && c.Side == policies.SideMachineAPI && c.Facts.Twin == nil {
		if c.Facts.InfraNamesake, c.Facts.KeptNamesake, err = l.infraNamed(ctx, c.TwinNamespace, c.Name); err != nil {
			return err
		}
	}
	if needs.Has(policies.NeedHolders) {
		if c.Facts.Holders, err = l.holders(ctx, *c); err == nil {
			c.Facts.AlsoKept, err = l.alsoKept(ctx, *c)
		}
	}
	return err
}

// errNotBegun marks a failed lookup that decides whether a MachineSet may create a Machine: its first one, or one beside Machines that it does not see. The
// creation is then refused, even on a route that fails open (unknown).
var errNotBegun = errors.New("looking up the MachineSets of the Machine in both APIs")

// ownerSet adds to c the MachineSet for which a Machine is created, and the MachineSet of the same name in the other API. If the cache shows that the owning
// set already has Machines, it reads nothing from the API server.
func (l Lookups) ownerSet(ctx context.Context, c *policies.Change) (err error) {
	other := policies.SideClusterAPI
	if c.Side == policies.SideClusterAPI {
		other = policies.SideMachineAPI
	}
	own := Ref{GroupVersionKind: coreKind(c.Side, "MachineSet"), Namespace: c.Namespace, Name: authority.OwningSet(c.New, c.Side)}
	if cached, err := l.Cached.Get(ctx, own); err == nil && cached != nil && authority.HasMachines(cached) && owns(cached, c.New) {
		c.Facts.OwnerSet = cached
		return nil
	}
	twin := Ref{GroupVersionKind: coreKind(other, "MachineSet"), Namespace: c.TwinNamespace, Name: own.Name}
	if c.Facts.OwnerSetTwin, err = l.live(ctx, twin); err != nil || c.Facts.OwnerSetTwin == nil {
		return err
	}
	c.Facts.OwnerSet, err = l.live(ctx, own)
	return err
}

// owns reports whether an owner reference of o has the set's UID. The name is not enough, because the cache may have a deleted set of that name.
func owns(set, o *policies.Object) bool {
	return slices.ContainsFunc(o.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == set.Metadata.UID })
}

// alsoKept returns the names of the objects that the provider keeps for the instance of a Machine API Machine and that do not belong to the Machine's pair.
func (l Lookups) alsoKept(ctx context.Context, c policies.Change) ([]string, error) {
	kind, id := authority.KeptKindFor(c.Old), authority.InstanceKeyOf(c.Old)
	i := slices.IndexFunc(l.Platforms, func(p conversion.Platform) bool { return kind != "" && p.InfraInstance.Kind == kind })
	if i < 0 || id == "" || c.Side != policies.SideMachineAPI || l.Holding == nil {
		return nil, nil
	}
	kept, err := l.Holding.With(ctx, l.Platforms[i].InfraInstance.GroupVersionKind, c.TwinNamespace, id)
	if err != nil {
		return nil, fmt.Errorf("listing what the provider keeps for an instance: %w", err)
	}
	infra := c.Name
	if core := c.Facts.Twin; core != nil {
		infra = cmp.Or(authority.InfraReferenceOf(core).Name, infra)
	}
	return authority.AlsoKept(kept, c.Name, infra), nil
}

// infraNamed reads the provider's machine of a name, and the object of the same name that the provider keeps for an instance. Each is nil if it does not exist,
// or if the cluster's platform is unknown or has no conversion. The Infrastructure comes from the cache, because the platform does not change.
func (l Lookups) infraNamed(ctx context.Context, namespace, name string) (machine, kept *policies.Object, err error) {
	about, err := l.Cached.Get(ctx, infrastructure)
	if err != nil || about == nil {
		return nil, nil, err
	}
	var status struct {
		PlatformStatus struct {
			Type string `json:"type"`
		} `json:"platformStatus"`
	}
	_ = json.Unmarshal(about.Status, &status) // ignored: a status that cannot be read names no platform
	for _, p := range l.Platforms {
		if p.Name != status.PlatformStatus.Type {
			continue
		}
		machine, err = l.live(ctx, Ref{GroupVersionKind: p.InfraMachine.GroupVersionKind, Namespace: namespace, Name: name})
		if err == nil && !p.InfraInstance.Empty() {
			kept, err = l.live(ctx, Ref{GroupVersionKind: p.InfraInstance.GroupVersionKind, Namespace: namespace, Name: name})
		}
		return machine, kept, err
	}
	return nil, nil, nil
}

// owners reads the owners that the requested object names: the sets of either API, the Clusters, the Machines of a provider's machine, and the provider's
// machine of an object that the provider keeps for an instance. The provider's machine is read in the version that the reference names, because the provider
// serves that version. The other owners are read in the version that Poundlock reads.
func (l Lookups) owners(ctx context.Context, c policies.Change) ([]*policies.Object, error) {
	var out []*policies.Object
	refs := named(coreKind(policies.SideClusterAPI, "Machine"), c.Namespace, authority.MachineOwners(c.New)...)
	if c.Side != policies.SideInfrastructure {
		refs = nil
	}
	for _, ref := range authority.ReadableOwners(c.New, c.Side) {
		refs = append(refs, named(ownerKind(c.Side, ref.Kind), c.Namespace, ref.Name)...)
	}
	for _, ref := range authority.Keepers(c) {
		refs = append(refs, named(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), c.Namespace, ref.Name)...)
	}
	for _, ref := range refs {
		o, err := l.live(ctx, ref)
		if err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, o)
		}
	}
	return out, nil
}

func ownerKind(side policies.Side, kind string) schema.GroupVersionKind {
	switch kind {
	case authority.Cluster:
		return facts.ClusterKind
	case authority.ControlPlane:
		return machinev1.GroupVersion.WithKind(authority.ControlPlane)
	case authority.MachineDeployment:
		return clusterv1.GroupVersion.WithKind(authority.MachineDeployment)
	}
	return coreKind(side, kind)
}

// behind returns the Cluster API Machine that owns a provider's object whose deletion is under review. It reads from the cache, because only a warning depends
// on the Machine.
func (l Lookups) behind(ctx context.Context, c policies.Change) ([]*policies.Object, error) {
	if c.Facts.Twin == nil || c.Kind == authority.InfraMachineTemplate {
		return nil, nil
	}
	o, err := l.Cached.Get(ctx, Ref{GroupVersionKind: coreKind(policies.SideClusterAPI, "Machine"), Namespace: c.Namespace, Name: c.Facts.Twin.Metadata.Name})
	if err != nil || o == nil {
		return nil, err
	}
	return []*policies.Object{o}, nil
}

// holders returns the names of the other Machines of both APIs that have the same instance ID as the object under review.
func (l Lookups) holders(ctx context.Context, c policies.Change) ([]string, error) {
	if l.Holding == nil {
		return nil, nil
	}
	namespaces := map[policies.Side]string{policies.SideMachineAPI: c.TwinNamespace, policies.SideClusterAPI: c.Namespace}
	if c.Side == policies.SideMachineAPI {
		namespaces = map[policies.Side]string{policies.SideMachineAPI: c.Namespace, policies.SideClusterAPI: c.TwinNamespace}
	}
	var all []*policies.Object
	for _, key := range authority.InstanceKeysOf(c) {
		for side, namespace := range namespaces {
			machines, err := l.Holding.With(ctx, coreKind(side, "Machine"), namespace, key)
			if err != nil {
				return nil, fmt.Errorf("listing the Machines of an instance: %w", err)
			}
			all = append(all, machines...)
		}
	}
	return authority.HoldersOf(c, all), nil
}

// objectsOf lists the objects of a kind in a namespace; none if the API server does not serve the kind.
func objectsOf(ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, namespace string, which client.ListOption) ([]*policies.Object, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := from.List(ctx, list, client.InNamespace(namespace), which, client.UnsafeDisableDeepCopy); err != nil && !served.Missing(err) {
		return nil, err
	}
	var out []*policies.Object
	for _, item := range list.Items {
		o, err := objectFrom(item.Object)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// Listing lists the objects of a kind in a namespace.
type Listing interface {
	All(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error)
}

// ListingFunc is a function as a Listing.
type ListingFunc func(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error)

// All calls f.
func (f ListingFunc) All(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error) {
	return f(ctx, gvk, namespace)
}

// listing lists whole namespaces, from a cache or from the API server. This is cheap enough for MachineSets, because there are far fewer of them than Machines.
type listing struct {
	client.Reader
	timeout time.Duration
	source  string
	metrics *metrics
}

// All lists within the timeout.
func (r listing) All(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error) {
	return r.labelled(ctx, gvk, namespace, client.MatchingLabels{})
}

func (r listing) labelled(ctx context.Context, gvk schema.GroupVersionKind, namespace string, which client.ListOption) ([]*policies.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	defer r.metrics.lookup(r.source, time.Now())
	return objectsOf(ctx, r.Reader, gvk, namespace, which)
}

// mastersOf returns a Listing of only the control plane's Machines. It finds them by the labels of either API.
func mastersOf(all listing) Listing {
	return ListingFunc(func(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error) {
		if gvk.Group == clusterv1.GroupVersion.Group {
			return all.labelled(ctx, gvk, namespace, client.HasLabels{clusterv1.MachineControlPlaneLabel})
		}
		return all.labelled(ctx, gvk, namespace, client.MatchingLabels(controlplane.Selecting()))
	})
}

// sets lists the MachineSets that a review needs. For a Machine that moves, these are the sets of the API to which it moves. For a Machine that is created,
// they are the sets of its own API. For a MachineDeployment, they are the sets that it may adopt.
func (l Lookups) sets(ctx context.Context, c policies.Change) ([]*policies.Object, error) {
	if c.Kind == authority.MachineDeployment {
		return l.Sets.All(ctx, coreKind(policies.SideClusterAPI, "MachineSet"), c.Namespace)
	}
	kind, _ := authority.KindNamed(c.Kind)
	if kind.Parent == "" {
		return nil, nil
	}
	if c.Operation != admissionv1.Create && authority.Authoritative(authority.Read(c.Old)) == authority.MachineAPI {
		return l.Sets.All(ctx, coreKind(policies.SideClusterAPI, kind.Parent), c.TwinNamespace)
	}
	return l.Sets.All(ctx, coreKind(policies.SideMachineAPI, kind.Parent), c.Namespace)
}
