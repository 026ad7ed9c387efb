// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// definitions is the kind CustomResourceDefinition. The cache watches these objects to learn when kinds appear and disappear.
var definitions = schema.GroupVersionKind{Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition"}

// New returns the cache. It is a cache.NewCacheFunc.
func New(cfg *rest.Config, o cache.Options) (cache.Cache, error) {
	if o.Mapper != nil {
		o.Mapper = withScopes(o.Mapper, o.ByObject)
	}
	real, err := cache.New(cfg, o)
	if err != nil {
		return nil, err
	}
	lister, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	return &served{Cache: real, lister: lister, kinds: map[schema.GroupVersionKind]*kind{}, installed: map[string]bool{}, wakes: make(chan struct{}, 1)}, nil
}

// served is the cache that New makes. Its lock is held while a kind is opened or closed, but never while waiting for a list.
type served struct {
	cache.Cache // the cache of the kinds that are served, and of built-in kinds

	lister discovery.ServerResourcesInterface

	mu sync.Mutex
	// kinds are the unstructured kinds that somebody has requested.
	kinds map[schema.GroupVersionKind]*kind
	// installed has the names of the CustomResourceDefinitions that exist, such as machines.cluster.x-k8s.io.
	installed map[string]bool
	// changed are called after a kind was opened or closed, each in a goroutine of its own.
	changed []*listener
	// wakes gets a value when a CustomResourceDefinition has appeared. The value wakes the loop that opens kinds (follow).
	wakes chan struct{}
}

// listener is called after a kind was opened or closed.
type listener struct{ call func() }

// Missing reports whether an error means that the API server does not serve the kind. The error may come from the cache, from a RESTMapper, or from a live read
// with an outdated mapping.
func Missing(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// Get reads an object. If the API server does not serve its kind, Get fails at once (Missing).
func (c *served) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return c.Cache.Get(ctx, key, o, opts...)
	}
	return c.whileServed(ctx, u.GroupVersionKind(), func(ctx context.Context) error { return c.Cache.Get(ctx, key, o, opts...) })
}

// List lists objects. If the API server does not serve their kind, List fails at once (Missing).
func (c *served) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	u, ok := l.(*unstructured.UnstructuredList)
	if !ok {
		return c.Cache.List(ctx, l, opts...)
	}
	gvk := u.GroupVersionKind()
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	return c.whileServed(ctx, gvk, func(ctx context.Context) error { return c.Cache.List(ctx, l, opts...) })
}

// whileServed calls read while the API server serves the kind. If the kind disappears, whileServed stops waiting for the kind's first list and fails (Missing).
func (c *served) whileServed(ctx context.Context, gvk schema.GroupVersionKind, read func(context.Context) error) error {
	k, err := c.kind(ctx, gvk)
	if err != nil {
		return err
	}
	_, gone := k.state(&c.mu)
	if gone.Err() != nil {
		return k.missing()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(gone, cancel)()
	if err = read(ctx); err != nil && gone.Err() != nil {
		return k.missing()
	}
	return err
}

// GetInformer returns an informer that stays valid when its kind disappears and appears again.
func (c *served) GetInformer(ctx context.Context, o client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return c.Cache.GetInformer(ctx, o, opts...)
	}
	k, err := c.kind(ctx, u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if real, _ := k.state(&c.mu); real != nil {
		if _, err := c.Cache.GetInformer(ctx, o, opts...); err != nil { // waits for the first list, if the options ask for it
			return nil, err
		}
	}
	return &informer{cache: c, kind: k}, nil
}

// IndexField adds an index that exists as long as the process, even if the kind disappears. Parts of a process that add an index of the same name share it.
func (c *served) IndexField(ctx context.Context, o client.Object, field string, of client.IndexerFunc) error {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return c.Cache.IndexField(ctx, o, field, of)
	}
	k, err := c.kind(ctx, u.GroupVersionKind())
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(k.indices, func(i index) bool { return i.field == field }) {
		return nil
	}
	k.indices = append(k.indices, index{field, of})
	if k.real == nil {
		return nil
	}
	return c.Cache.IndexField(ctx, k.object(), field, of)
}

// kind returns the cache's entry for a kind. At the first request, it asks the API server whether it serves the kind.
func (c *served) kind(ctx context.Context, gvk schema.GroupVersionKind) (*kind, error) {
	c.mu.Lock()
	k, known := c.kinds[gvk]
	c.mu.Unlock()
	if known {
		return k, nil
	}
	plural, err := c.serves(gvk)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, known := c.kinds[gvk]; known {
		return k, nil
	}
	k = &kind{gvk: gvk, gone: closed()}
	if plural != "" {
		if err := c.open(ctx, k, plural); err != nil {
			return nil, err
		}
	}
	c.kinds[gvk] = k
	c.wake() // the kind's definition may have appeared since
	return k, nil
}

// closed returns a context that is done. It is the context gone of a kind that is not served.
func closed() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// serves asks the API server for the resource name of a kind. It returns "" if the API server does not serve the kind.
func (c *served) serves(gvk schema.GroupVersionKind) (plural string, err error) {
	found, err := c.lister.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("asking the API server which kinds of %s it serves: %w", gvk.GroupVersion(), err)
	}
	for _, r := range found.APIResources {
		if r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
			return r.Name, nil
		}
	}
	return "", nil
}

// open starts the informer of a kind that is served, with all indices and handlers that were requested so far.
func (c *served) open(ctx context.Context, k *kind, plural string) error {
	for _, i := range k.indices {
		if err := c.Cache.IndexField(ctx, k.object(), i.field, i.of); err != nil {
			return err
		}
	}
	real, err := c.Cache.GetInformer(ctx, k.object(), cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	for _, r := range k.handlers {
		if err := r.attach(real); err != nil {
			return err
		}
	}
	k.plural, k.real = plural, real
	k.gone, k.close = context.WithCancel(context.Background())
	return nil
}

// close stops the informer of a kind that is gone. A stopped informer drops its handlers.
func (c *served) close(ctx context.Context, k *kind) {
	k.close()
	k.real = nil
	for _, r := range k.handlers {
		r.real = nil
	}
	if err := c.Cache.RemoveInformer(ctx, k.object()); err != nil {
		log.FromContext(ctx).Error(err, "Stopping the watch of a kind that is not served any more", "kind", k.gvk.String())
	}
}

// Start follows the CustomResourceDefinitions until the cache stops.
func (c *served) Start(ctx context.Context) error {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(definitions)
	all, err := c.Cache.GetInformer(ctx, o, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching CustomResourceDefinitions: %w", err)
	}
	if _, err := all.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { c.appeared(name(o)) },
		UpdateFunc: func(was, now any) {
			if uid(was) != uid(now) { // deleted and recreated between two lists
				c.disappeared(ctx, name(was))
			}
			c.appeared(name(now))
		},
		DeleteFunc: func(o any) { c.disappeared(ctx, name(o)) },
	}); err != nil {
		return fmt.Errorf("watching CustomResourceDefinitions: %w", err)
	}
	go c.follow(ctx)
	return c.Cache.Start(ctx)
}

func (c *served) appeared(definition string) {
	c.mu.Lock()
	c.installed[definition] = true
	c.mu.Unlock()
	c.wake()
}

func (c *served) wake() {
	select {
	case c.wakes <- struct{}{}:
	default:
	}
}

// disappeared closes the kind of a deleted definition at once. Otherwise reads would wait for a list that never comes.
func (c *served) disappeared(ctx context.Context, definition string) {
	c.mu.Lock()
	delete(c.installed, definition)
	var closed bool
	for _, k := range c.kinds {
		if k.real != nil && k.definition() == definition {
			c.close(ctx, k)
			closed = true
			log.FromContext(ctx).Info("Kind disappeared", "kind", k.gvk.String())
		}
	}
	c.mu.Unlock()
	if closed {
		c.notify()
	}
}

// The shortest and the longest time until discovery is asked again about a kind that has a definition but is not served. The API server may serve the kind only
// a moment after its definition appears, or may serve another version than this build reads.
const (
	atFirst = 200 * time.Millisecond
	atMost  = 30 * time.Second
)

// follow opens kinds as they appear, until ctx is done.
func (c *served) follow(ctx context.Context) {
	var again <-chan time.Time
	delay := atFirst
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wakes:
			delay = atFirst
		case <-again:
			delay = min(2*delay, atMost)
		}
		again = nil
		if c.look(ctx) {
			again = time.After(delay)
		}
	}
}

// look opens the requested kinds that the API server serves by now. It reports whether it has to be called again, because a definition exists whose kind is not
// served yet.
func (c *served) look(ctx context.Context) (unserved bool) {
	opened := false
	for _, k := range c.awaited() {
		plural, err := c.serves(k.gvk)
		if err == nil && plural != "" {
			c.mu.Lock()
			err = c.open(ctx, k, plural)
			c.mu.Unlock()
		}
		if err != nil || plural == "" {
			unserved = true
			log.FromContext(ctx).V(1).Info("Kind not served yet", "kind", k.gvk.String(), "error", err)
			continue
		}
		opened = true
		log.FromContext(ctx).Info("Kind appeared", "kind", k.gvk.String())
	}
	if opened {
		c.notify()
	}
	return unserved
}

// awaited returns the requested kinds whose definition exists and that are not open.
func (c *served) awaited() []*kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*kind
	for _, k := range c.kinds {
		if k.real == nil && c.installed[k.definition()] {
			out = append(out, k)
		}
	}
	return out
}

func (c *served) notify() {
	c.mu.Lock()
	all := c.changed
	c.mu.Unlock()
	for _, l := range all {
		go l.call()
	}
}

func name(o any) string { return objectOf(o).GetName() }

func uid(o any) string { return string(objectOf(o).GetUID()) }

// objectOf returns the object of an informer's event, also of a deletion that the informer noticed only by a list.
func objectOf(o any) metav1.Object {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if m, ok := o.(metav1.Object); ok {
		return m
	}
	return &metav1.ObjectMeta{}
}
