// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// rights reports what keeps the caches from being filled: a manager waits for them for as long as it runs, and reports nothing.
type rights struct {
	now     func() time.Time
	started atomic.Bool

	mu      sync.Mutex
	refusal string
	refused time.Time
}

// asksAgain is longer than a reflector waits before it lists again.
const asksAgain = 2 * time.Minute

// watchFailed is a handler of failed lists and watches.
func (r *rights) watchFailed(ctx context.Context, reflector *toolscache.Reflector, err error) {
	r.note(err)
	toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
}

func (r *rights) note(err error) {
	if !apierrors.IsForbidden(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refusal == "" {
		ctrl.Log.WithName("rights").Info("Poundlock may not read what it needs", "because", err.Error())
	}
	r.refusal, r.refused = err.Error(), r.now()
}

// Start is called when the caches have been filled.
func (r *rights) Start(context.Context) error {
	r.started.Store(true)
	return nil
}

// NeedLeaderElection is false: each replica reads.
func (*rights) NeedLeaderElection() bool { return false }

// Ready is nil once the caches have been filled.
func (r *rights) Ready(*http.Request) error {
	if r.started.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refusal == "" || r.now().Sub(r.refused) > asksAgain {
		return errors.New("the caches have not been filled yet")
	}
	return fmt.Errorf("rights are missing: %s. Restore Poundlock's Role. If the namespace is being deleted, you cannot: stop Poundlock and run: "+
		"kubectl poundlock cleanup",
		r.refusal)
}

func (r *rights) addTo(mgr manager.Manager) error {
	return errors.Join(mgr.Add(r), mgr.AddReadyzCheck("caches", r.Ready))
}
