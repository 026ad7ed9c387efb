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

// lender lends the process's cache to one term after the other.
type lender struct {
	cache cache.Cache

	mu sync.Mutex
	// indices are the indices that terms have added, by object and field. They stay after the term.
	indices map[string]bool
}

func newLender(c cache.Cache) *lender { return &lender{cache: c, indices: map[string]bool{}} }

func (l *lender) lend() *lent { return &lent{Cache: l.cache, lender: l} }

// lent is the process's cache as one term sees it. After the term, the term's handlers are removed from the cache.
type lent struct {
	cache.Cache
	lender *lender

	mu   sync.Mutex
	back []func() error
	over bool
}

// Unwrap returns the process's cache.
func (c *lent) Unwrap() cache.Cache { return c.Cache }

// Start only waits until ctx is done, because the process has started the cache.
func (c *lent) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// IndexField adds an index, unless an earlier term has added it.
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

// GetInformer returns an informer whose handlers receive nothing after the end of the term.
func (c *lent) GetInformer(ctx context.Context, o client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	i, err := c.Cache.GetInformer(ctx, o, opts...)
	if err != nil {
		return nil, err
	}
	return &informer{Informer: i, term: c}, nil
}

// giveBack removes the handlers of the term from the process's cache.
func (c *lent) giveBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, remove := range c.back {
		_ = remove() // fails only for a kind that has disappeared meanwhile
	}
}

type informer struct {
	cache.Informer
	term *lent
}

// AddEventHandler adds a handler until the term ends.
func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler until the term ends.
func (i *informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, every time.Duration) (toolscache.ResourceEventHandlerRegistration,
	error) {
	return i.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &every})
}

// AddEventHandlerWithOptions adds a handler until the term ends.
func (i *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration,
	error) {
	i.term.mu.Lock()
	defer i.term.mu.Unlock()
	if i.term.over {
		return nil, errors.New("this replica no longer holds the Lease")
	}
	r, err := i.Informer.AddEventHandlerWithOptions(h, o)
	if err == nil {
		i.term.back = append(i.term.back, func() error { return i.RemoveEventHandler(r) })
	}
	return r, err
}
