// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// templateIndex is the cache's index of Cluster API MachineSets by the name of their infrastructure template.
const templateIndex = "webhooks.template"

// uncopied is the option with which a read returns the cache's own object instead of a copy. This package never changes an object that it has read.
var uncopied = &client.GetOptions{UnsafeDisableDeepCopy: ptr.To(true)}

// clientReader reads through a controller-runtime client, which reads from a cache or from the API server.
type clientReader struct {
	client.Reader
	options []client.GetOption
	timeout time.Duration
	source  string
	metrics *metrics
	// seen is nil for live reads, which are not repeated.
	seen *seen
}

// Get reads an object within the reader's timeout; nil if the object does not exist.
func (r clientReader) Get(ctx context.Context, ref Ref) (*policies.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	defer r.metrics.lookup(r.source, time.Now())
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(ref.GroupVersionKind)
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, u, r.options...)
	if apierrors.IsNotFound(err) || served.Missing(err) {
		return nil, nil // a kind that is not served has no object
	}
	if err != nil {
		return nil, err
	}
	return r.seen.object(ref, u)
}

// maxSeen is the maximum number of objects that seen keeps. Each has about 5 KB.
const maxSeen = 4096

// seen caches the parsed form of a cache's objects as long as they are unchanged, because encoding an object as JSON and parsing it takes half of the time of a
// review. Reviews share the parsed objects, and never change them.
type seen struct {
	mu      sync.Mutex
	objects map[Ref]*policies.Object
}

func (s *seen) object(ref Ref, u *unstructured.Unstructured) (*policies.Object, error) {
	if s == nil {
		return objectFrom(u.Object)
	}
	if o := s.get(ref); o != nil && o.Metadata.UID == u.GetUID() && o.Metadata.ResourceVersion == u.GetResourceVersion() {
		return o, nil
	}
	o, err := objectFrom(u.Object)
	if err == nil {
		s.put(ref, o)
	}
	return o, err
}

func (s *seen) get(ref Ref) *policies.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[ref]
}

// put stores an object. If there are maxSeen objects already, it first removes all of them: those that current reviews use soon come back.
func (s *seen) put(ref Ref, o *policies.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil || len(s.objects) >= maxSeen {
		s.objects = map[Ref]*policies.Object{}
	}
	s.objects[ref] = o
}

// objectFrom returns the parsed form of an object that was looked up, without the managed fields that no rule reads.
func objectFrom(content map[string]any) (*policies.Object, error) {
	raw, err := json.Marshal(authority.ReduceManagedFields(content))
	if err != nil {
		return nil, fmt.Errorf("writing the object that was read: %w", err)
	}
	return policies.ParseCheckedObject(raw)
}

// indexReferrers lists MachineSets through a cache's index by template.
type indexReferrers struct {
	client.Reader
	timeout time.Duration
	metrics *metrics
}

// MachineSets lists within the timeout.
func (r indexReferrers) MachineSets(ctx context.Context, namespace, template string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	defer r.metrics.lookup("cache", time.Now())
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(coreKind(policies.SideClusterAPI, "MachineSet").GroupVersion().WithKind("MachineSetList"))
	err := r.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{templateIndex: template}, client.UnsafeDisableDeepCopy)
	if served.Missing(err) {
		return nil, nil
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	slices.Sort(names)
	return names, err
}

// templateOf returns the key of a Cluster API MachineSet in templateIndex: the name of its infrastructure template.
func templateOf(o client.Object) []string {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	name, _, _ := unstructured.NestedString(u.Object, "spec", "template", "spec", "infrastructureRef", "name")
	return []string{name}
}

// lookups returns the sources of facts for a cluster. They read from the cluster's cache, or, where that is not enough, from its API server.
func lookups(c cluster.Cluster, o Options, m *metrics) Lookups {
	cached := clientReader{Reader: c.GetCache(), options: []client.GetOption{uncopied}, timeout: o.LookupTimeout, source: "cache", metrics: m, seen: &seen{}}
	converter := o.Converter
	if converter == nil {
		env := envs{cache: c.GetCache(), timeout: o.LookupTimeout,
			environment: facts.Environment{NodeSync: o.NodeSync, Accounts: &facts.Accounts{Reader: c.GetAPIReader()}, Masters: c.GetCache()}}
		converter = conversions{cached: cached, envs: env, platforms: o.Catalog.Platforms}
	}
	return Lookups{
		Cached:    cached,
		Live:      clientReader{Reader: c.GetAPIReader(), timeout: o.LookupTimeout, source: "live", metrics: m},
		Referrers: indexReferrers{Reader: c.GetCache(), timeout: o.LookupTimeout, metrics: m},
		Converter: converter, Platforms: o.Catalog.Platforms, Pairs: o.Pairs,
		ControlPlanes: liveControlPlane{Reader: c.GetAPIReader(), creator: c.GetClient(), metrics: m, mayRecreate: o.MayRecreate,
			notReadyGrace: o.NotReadyGrace},
		Holding:     indexHolding{Reader: c.GetCache(), timeout: o.LookupTimeout, metrics: m},
		Sets:        listing{Reader: c.GetCache(), timeout: o.LookupTimeout, source: "cache", metrics: m},
		Deployments: listing{Reader: c.GetAPIReader(), timeout: o.LookupTimeout, source: "live", metrics: m},
		Masters:     mastersOf(listing{Reader: c.GetAPIReader(), timeout: o.LookupTimeout, source: "live", metrics: m}),
		Selected:    listing{Reader: c.GetAPIReader(), timeout: o.LookupTimeout, source: "live", metrics: m},
		Rival:       o.Rival,
		GateOff:     o.GateOff,
		Owned:       indexOwned{Reader: c.GetCache(), timeout: o.LookupTimeout, metrics: m},
	}
}

// index adds to the cluster's cache the indexes that reviews need for their lists. It must run before the cache is started.
func index(ctx context.Context, c cluster.Cluster, platforms []conversion.Platform) error {
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(coreKind(policies.SideClusterAPI, "MachineSet"))
	if err := c.GetFieldIndexer().IndexField(ctx, set, templateIndex, templateOf); err != nil {
		return fmt.Errorf("indexing Cluster API MachineSets by template: %w", err)
	}
	if err := facts.IndexByOwner(ctx, c.GetFieldIndexer(), set.GroupVersionKind()); err != nil {
		return err
	}
	for _, side := range []policies.Side{policies.SideMachineAPI, policies.SideClusterAPI} {
		machines, indexer := coreKind(side, "Machine"), c.GetFieldIndexer()
		if err := errors.Join(facts.IndexByOwner(ctx, indexer, machines), facts.IndexByInstance(ctx, indexer, machines)); err != nil {
			return err
		}
	}
	// Only the following kinds may be missing without an error: platforms lists every platform that Poundlock converts, and a cluster serves only the kinds of its
	// own platform. The kinds that are indexed above are among those that reviews read in every cluster (watched).
	for _, p := range platforms {
		if p.InfraInstance.Empty() {
			continue
		}
		if err := facts.IndexByInstance(ctx, c.GetFieldIndexer(), p.InfraInstance.GroupVersionKind); err != nil && !served.Missing(err) {
			return err
		}
	}
	return facts.IndexByRole(ctx, c.GetFieldIndexer())
}

// watched lists the kinds that reviews read from the cache in every cluster, and the Infrastructure.
func watched() []Ref {
	out := []Ref{infrastructure}
	for _, k := range authority.Kinds() {
		out = append(out, Ref{GroupVersionKind: k.MachineAPIGVK()}, Ref{GroupVersionKind: k.ClusterAPIGVK()})
	}
	return out
}

// watchedOn lists the kinds that reviews read from the cache of a cluster on one platform. A cluster has only the CRDs of its own platform.
func watchedOn(p conversion.Platform) []Ref {
	return []Ref{{GroupVersionKind: p.InfraMachine.GroupVersionKind}, {GroupVersionKind: p.InfraMachineTemplate.GroupVersionKind},
		{GroupVersionKind: p.InfraCluster.GroupVersionKind}}
}

// synced returns an error while an informer that reviews read from has not finished its first list. It also starts the informers that do not run yet. Of the
// platforms' kinds, only those of the platform that the Infrastructure names count, and only if that platform has a conversion.
func synced(ctx context.Context, c cache.Cache, platforms []conversion.Platform) error {
	if err := listed(ctx, c, watched()); err != nil {
		return err
	}
	about, err := facts.Getter(ctx, uncopying{c})(infrastructure.GroupVersionKind, infrastructure.Namespace, infrastructure.Name)
	if err != nil || about == nil {
		return err
	}
	if p, ok := platformOf(about, platforms); ok {
		return listed(ctx, c, watchedOn(p))
	}
	return nil
}

// platformOf returns the platform that an Infrastructure names, and whether it is one of all.
func platformOf(about *unstructured.Unstructured, all []conversion.Platform) (conversion.Platform, bool) {
	i := slices.IndexFunc(all, func(p conversion.Platform) bool { return p.Name == platformType(about) })
	if i < 0 {
		return conversion.Platform{}, false
	}
	return all[i], true
}

// platformType returns the name that the Infrastructure uses for its platform, such as "AWS".
func platformType(about *unstructured.Unstructured) string {
	return text(about, "status", "platformStatus", "type")
}

func text(u *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(u.Object, path...)
	return value
}

func listed(ctx context.Context, informers cache.Informers, refs []Ref) error {
	for _, ref := range refs {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(ref.GroupVersionKind)
		informer, err := informers.GetInformer(ctx, u, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %s %s: %w", ref.Group, ref.Kind, err)
		}
		if !informer.HasSynced() {
			return fmt.Errorf("the cache of %s %s has not synced yet", ref.Group, ref.Kind)
		}
	}
	return nil
}
