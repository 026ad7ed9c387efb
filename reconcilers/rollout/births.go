// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"sync"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"
)

// births are Machines that this process has created and that no read has shown yet, by UID, and since when. A read without one of them is outdated: whoever
// decided from it would create the Machine again, under another name where the set's status was written in between.
type births struct {
	mu    sync.Mutex
	since map[types.UID]time.Time
}

// unseen is how long a Machine may be missing from reads: after that it counts as deleted by somebody else.
const unseen = 30 * time.Second

func (b *births) add(uid types.UID, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since == nil {
		b.since = map[types.UID]time.Time{}
	}
	b.since[uid] = now
}

// outdated reports whether a read lacks a Machine that was created before it. Those that it has are forgotten.
func (b *births) outdated(read []machinev1beta1.Machine, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for uid, since := range b.since {
		if slices.ContainsFunc(read, func(m machinev1beta1.Machine) bool { return m.UID == uid }) || now.Sub(since) > unseen {
			delete(b.since, uid)
		}
	}
	return len(b.since) > 0
}
