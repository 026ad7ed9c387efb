// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package terms

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A process that was suspended still takes itself for the leader. It writes nothing once the Lease is older than the time for its renewal.
func TestAnOldLeaseIsNotHeld(t *testing.T) {
	clients := fake.NewClientset()
	lock := &watched{
		Interface: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}, Client: clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "me"}},
		end: func() {},
	}
	leads, ended := make(chan struct{}), make(chan struct{})
	const lease, renew = time.Hour, 50 * time.Minute
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: "a", LeaseDuration: lease, RenewDeadline: renew, RetryPeriod: time.Minute, // one renewal, when the Lease is taken
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(leads) }, OnStoppedLeading: func() { close(ended) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	lock.leads = elector.IsLeader
	ctx, stop := context.WithCancel(t.Context())
	go elector.Run(ctx)
	<-leads
	if o := (&office{Options: Options{Lease: lease, Renew: renew}}); !o.held(elector, lock)() {
		t.Error("the Lease that was just taken is not held")
	}
	if o := (&office{Options: Options{Lease: lease, Renew: 1}}); o.held(elector, lock)() {
		t.Error("a Lease is held that had to be renewed before")
	}
	lock.lost.Store(true)
	if o := (&office{Options: Options{Lease: lease, Renew: renew}}); o.held(elector, lock)() {
		t.Error("a Lease that is lost is held")
	}
	stop()
	<-ended
}

// A read that shows another holder ends the term, and from then on the Lease is not held.
func TestAnotherHolderEndsTheTerm(t *testing.T) {
	clients := fake.NewClientset()
	of := func(identity string) resourcelock.Interface {
		return &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}, Client: clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity}}
	}
	if err := of("other").Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "other"}); err != nil {
		t.Fatal(err)
	}
	for _, leads := range []bool{false, true} {
		ended := false
		lock := &watched{Interface: of("me"), leads: func() bool { return leads }}
		lock.end = func() { ended = lock.lost.Load() }
		if _, _, err := lock.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		if lock.lost.Load() != leads || ended != leads {
			t.Errorf("leads: %t; lost: %t, lost before the end: %t", leads, lock.lost.Load(), ended)
		}
	}
}
