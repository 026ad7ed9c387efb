// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"sync"
)

// gate holds every request and answer while it is shut.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // nil: nothing is held
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = make(chan struct{})
	}
}

func (g *gate) lift() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open == nil {
		return ctx.Err()
	}
	select {
	case <-open:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
