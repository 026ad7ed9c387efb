// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kind is a kind that somebody has requested, with the indices and handlers for it. The cache's lock guards it.
type kind struct {
	gvk schema.GroupVersionKind
	// plural is the name of the kind's resource. It is set once the API server has served the kind.
	plural string
	// real is the informer of the wrapped cache, nil while the kind is not served.
	real cache.Informer
	// gone is a context that is done while the kind is not served. close cancels it.
	gone     context.Context
	close    context.CancelFunc
	indices  []index
	handlers []*registration
}

type index struct {
	field string
	of    client.IndexerFunc
}

// state returns the present informer, and a context that is done as soon as the kind is not served.
func (k *kind) state(mu *sync.Mutex) (cache.Informer, context.Context) {
	mu.Lock()
	defer mu.Unlock()
	return k.real, k.gone
}

func (k *kind) missing() error {
	return &meta.NoKindMatchError{GroupKind: k.gvk.GroupKind(), SearchedVersions: []string{k.gvk.Version}}
}

func (k *kind) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.gvk)
	return o
}

// definition returns the name of the kind's CustomResourceDefinition. If the kind was never served, the name is a guess with an English plural.
func (k *kind) definition() string {
	plural := k.plural
	if plural == "" {
		guess, _ := meta.UnsafeGuessKindToResource(k.gvk)
		plural = guess.Resource
	}
	return plural + "." + k.gvk.Group
}

// informer is the informer that the cache returns for a kind, whether the kind is served or not.
type informer struct {
	cache *served
	kind  *kind
}

// AddEventHandler adds a handler that stays when the kind disappears and appears again.
func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler that stays when the kind disappears and appears again.
func (i *informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, every time.Duration) (toolscache.ResourceEventHandlerRegistration,
	error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &every})
}

// AddEventHandlerWithOptions adds a handler that stays when the kind disappears and appears again.
func (i *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration,
	error) {
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	r := &registration{cache: i.cache, handler: h, options: o}
	if i.kind.real != nil {
		if err := r.attach(i.kind.real); err != nil {
			return nil, err
		}
	}
	i.kind.handlers = append(i.kind.handlers, r)
	return r, nil
}

// RemoveEventHandler removes a handler for good.
func (i *informer) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	for at, r := range i.kind.handlers {
		if r != handle {
			continue
		}
		i.kind.handlers = append(i.kind.handlers[:at:at], i.kind.handlers[at+1:]...)
		if r.real != nil && i.kind.real != nil {
			return i.kind.real.RemoveEventHandler(r.real)
		}
		return nil
	}
	return nil
}

// AddIndexers passes indexers to the real informer. They are lost when the kind disappears. An index of the cache is added by IndexField, which keeps it.
func (i *informer) AddIndexers(indexers toolscache.Indexers) error {
	if real := i.real(); real != nil {
		return real.AddIndexers(indexers)
	}
	return i.kind.missing()
}

// HasSynced reports whether the first list is complete. It is true for a kind that is not served, because there is nothing to list.
func (i *informer) HasSynced() bool {
	real := i.real()
	return real == nil || real.HasSynced()
}

// HasSyncedChecker returns a checker that is done when the first list is complete. For a kind that is not served, it is done at once.
func (i *informer) HasSyncedChecker() toolscache.DoneChecker {
	if real := i.real(); real != nil {
		return real.HasSyncedChecker()
	}
	return done{}
}

// IsStopped reports whether the informer has stopped. It is false for a kind that is not served, because the kind may appear.
func (i *informer) IsStopped() bool {
	real := i.real()
	return real != nil && real.IsStopped()
}

func (i *informer) real() cache.Informer {
	real, _ := i.kind.state(&i.cache.mu)
	return real
}

// registration is a handler. While the kind is served, it also has the handler's registration in the real informer.
type registration struct {
	cache   *served
	handler toolscache.ResourceEventHandler
	options toolscache.HandlerOptions
	real    toolscache.ResourceEventHandlerRegistration
}

func (r *registration) attach(real cache.Informer) (err error) {
	r.real, err = real.AddEventHandlerWithOptions(r.handler, r.options)
	return err
}

// HasSynced reports whether the handler has received the first list. It is true while the kind is not served.
func (r *registration) HasSynced() bool {
	real := r.attached()
	return real == nil || real.HasSynced()
}

// HasSyncedChecker returns a checker that is done when the handler has received the first list. While the kind is not served, it is done at once.
func (r *registration) HasSyncedChecker() toolscache.DoneChecker {
	if real := r.attached(); real != nil {
		return real.HasSyncedChecker()
	}
	return done{}
}

func (r *registration) attached() toolscache.ResourceEventHandlerRegistration {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	return r.real
}

// done is a DoneChecker that is done from the beginning.
type done struct{}

// Name returns the text that describes this checker in logs.
func (done) Name() string { return "a kind that is not served" }

// Done returns a channel that is closed.
func (done) Done() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}
