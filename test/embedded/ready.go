// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/poundlock/poundlock/test/build"
)

// startTimeout is for a machine whose processors are busy with something else.
const startTimeout = 90 * time.Second

// ready waits until a part works, it ends, or time is up.
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
		return fmt.Errorf("waiting for %s: %w (last answer: %v); the end of its log:\n%s", part, context.Cause(ctx), err, tail(p.Log(part)))
	})
}

// check is the question whose answer tells that a part works. The controller manager serves nothing here; its first deed tells.
func (p *Plane) check(part string) (func(context.Context) error, error) {
	client, err := kubernetes.NewForConfig(p.Admin())
	if err != nil {
		return nil, err
	}
	if part == build.ControllerManager {
		return func(ctx context.Context) error {
			_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
			return err
		}, nil
	}
	// For etcd too: the API server is ready only with it.
	return func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}, nil
}

// lost is the exit of the part waited for, or of etcd, which all of them need.
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

// poll asks until done, an error, or the end of ctx, whose error late makes.
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
