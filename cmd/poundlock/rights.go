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

// rights reports which missing right keeps the caches from being filled. A manager would wait for its caches as long as it runs, and report nothing.
type rights struct {
	now     func() time.Time
	started atomic.Bool

	mu      sync.Mutex
	refusal string
	refused time.Time
}

// asksAgain is how long a refusal counts. It is longer than a reflector waits before it lists again.
const asksAgain = 2 * time.Minute

// watchFailed is the handler of failed lists and watches. It records those that the API server refused.
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
		ctrl.Log.WithName("rights").Info("the API server does not allow Poundlock to read objects that Poundlock needs", "because", err.Error())
	}
	r.refusal, r.refused = err.Error(), r.now()
}

// Start records that the caches have been filled. The manager calls Start only then.
func (r *rights) Start(context.Context) error {
	r.started.Store(true)
	return nil
}

// NeedLeaderElection is false: each replica reads.
func (*rights) NeedLeaderElection() bool { return false }

// Ready returns nil once the caches have been filled. Before that, the error names the missing right if there is one.
func (r *rights) Ready(*http.Request) error {
	if r.started.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refusal == "" || r.now().Sub(r.refused) > asksAgain {
		return errors.New("not all objects of the cluster are read yet")
	}
	return fmt.Errorf("rights are missing: %s. Restore Poundlock's Role. If the namespace is being deleted, the Role cannot be restored: stop "+
		"Poundlock and run: "+
		"kubectl poundlock cleanup",
		r.refusal)
}

func (r *rights) addTo(mgr manager.Manager) error {
	return errors.Join(mgr.Add(r), mgr.AddReadyzCheck("caches", r.Ready))
}
