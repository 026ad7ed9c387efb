// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/poundlock/poundlock/test/build"
)

// startTimeout is long enough for a machine whose processors are busy with something else.
const startTimeout = 90 * time.Second

// ready waits until a part works, the part ends, or time is up.
func (p *Plane) ready(ctx context.Context, part string) error {
	check, err := p.check(part)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", startTimeout))
	defer cancel()
	return poll(ctx, 50*time.Millisecond, func() (bool, error) {
		if exit := p.lost(part); exit != nil {
			return false, exit
		}
		err = check(ctx)
		return err == nil, nil
	}, func() error {
		return fmt.Errorf("waiting for %s: %w (last answer: %v); the end of its log:\n%s", part, context.Cause(ctx), err, tail(end(p.Log(part), p.earlier(part))))
	})
}

// check returns a function that asks whether a part works. For etcd it asks the API server, too, because that is ready only with etcd.
func (p *Plane) check(part string) (func(context.Context) error, error) {
	cfg, path, names := p.Admin(), "/readyz", []string(nil)
	if part == build.ControllerManager {
		// The controller manager is healthy before it has its controllers, and ends by itself if the API server goes away before it has them. So all of them have to
		// be listed.
		cfg.Host, path, names = fmt.Sprintf("https://127.0.0.1:%d", p.ports.Manager), "/healthz", controllers
	}
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		value, err := client.RESTClient().Get().AbsPath(path).Param("verbose", "true").Do(ctx).Raw()
		for _, name := range names {
			if err == nil && !strings.Contains(string(value), name) {
				err = fmt.Errorf("%s has not begun", name)
			}
		}
		return err
	}, nil
}

// lost returns the exit of a part, or of etcd, which every part needs; nil if neither has ended.
func (p *Plane) lost(part string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range []string{build.Etcd, part} {
		if exit := p.last[name]; exit != nil {
			return exit
		}
	}
	return nil
}

// earlier returns how many bytes of a part's log earlier starts have written.
func (p *Plane) earlier(part string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if child := p.running[part]; child != nil {
		return child.before
	}
	return 0
}

// poll calls ask until it is done or fails. When ctx ends first, poll returns the error of late.
func poll(ctx context.Context, every time.Duration, ask func() (bool, error), late func() error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		done, err := ask()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return late()
		case <-ticker.C:
		}
	}
}
