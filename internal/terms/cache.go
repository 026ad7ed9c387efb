// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package terms

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lender shares the process's cache with each term.
type lender struct {
	cache cache.Cache

	mu sync.Mutex
	// indices are those that terms have added, by object and field. They stay.
	indices map[string]bool
}

func newLender(c cache.Cache) *lender { return &lender{cache: c, indices: map[string]bool{}} }

func (l *lender) lend() *lent { return &lent{Cache: l.cache, lender: l} }

// lent is the cache for one term. After the term, the term's handlers are removed from it.
type lent struct {
	cache.Cache
	lender *lender

	mu   sync.Mutex
	back []func() error
	over bool
}

// Unwrap returns the process's cache.
func (c *lent) Unwrap() cache.Cache { return c.Cache }

// Start only waits, because the process has started the cache.
func (c *lent) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// IndexField adds an index, unless an earlier term has.
func (c *lent) IndexField(ctx context.Context, o client.Object, field string, of client.IndexerFunc) error {
	c.lender.mu.Lock()
	defer c.lender.mu.Unlock()
	name := fmt.Sprintf("%T %s %s", o, o.GetObjectKind().GroupVersionKind(), field)
	if c.lender.indices[name] {
		return nil
	}
	if err := c.Cache.IndexField(ctx, o, field, of); err != nil {
		return err
	}
	c.lender.indices[name] = true
	return nil
}

// GetInformer returns an informer whose handlers receive nothing after the term.
func (c *lent) GetInformer(ctx context.Context, o client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	i, err := c.Cache.GetInformer(ctx, o, opts...)
	if err != nil {
		return nil, err
	}
	return &informer{Informer: i, term: c}, nil
}

// giveBack removes the handlers of the term.
func (c *lent) giveBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, remove := range c.back {
		_ = remove() // of a kind that has gone meanwhile
	}
}

type informer struct {
	cache.Informer
	term *lent
}

// AddEventHandler adds a handler for the term.
func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler for the term.
func (i *informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, every time.Duration) (toolscache.ResourceEventHandlerRegistration,
	error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &every})
}

// AddEventHandlerWithOptions adds a handler for the term.
func (i *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration,
	error) {
	i.term.mu.Lock()
	defer i.term.mu.Unlock()
	if i.term.over {
		return nil, errors.New("the term is over")
	}
	r, err := i.Informer.AddEventHandlerWithOptions(h, o)
	if err == nil {
		i.term.back = append(i.term.back, func() error { return i.RemoveEventHandler(r) })
	}
	return r, err
}
