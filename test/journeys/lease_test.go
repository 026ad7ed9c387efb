// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"strings"
	"sync"
	"testing"

	"github.com/poundlock/poundlock/test/stories"
)

// A replica that loses its Lease continues to answer reviews, and moves nothing until it has the Lease again.
func TestALostLeaseEndsNoWebhook(t *testing.T) {
	stories.Long(t)
	story(t)
	set := newSet(t, "leased", 1)
	restart(t, "--leader-elect", "--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=500ms")
	t.Cleanup(func() { restart(t) })
	stage.Freeze()
	thaw := sync.OnceFunc(stage.Thaw)
	t.Cleanup(thaw)
	request(t, set, "ClusterAPI")
	authorityIs(t, set, "Migrating")

	// Edits of the mirror fail closed. From now on, each of them has to be answered.
	var answered sync.WaitGroup
	over := make(chan struct{})
	answers := 0
	answered.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			edit := capiSet(set.name).args("patch", "--dry-run=server", "--type=merge", "-p", `{"metadata":{"labels":{"a":"b"}}}`)
			if a := kubectl(t, "", edit...); !a.ok && !strings.Contains(a.err, "[authority/") {
				t.Errorf("an edit of the mirror is answered with %q", a.out+a.err)
				return
			}
			answers++
		}
	})
	hold := func(who string) {
		must(t, "-n", "openshift-cluster-api", "patch", "leases.coordination.k8s.io", "poundlock", "--type=merge", "-p", `{"spec":{"holderIdentity":"`+who+
			`","leaseDurationSeconds":3600}}`)
	}
	waits := func() string {
		if strings.Contains(metrics(t), `poundlock_handoff_waiting_since_timestamp_seconds{kind="MachineSet",name="leased"`) {
			return "waits"
		}
		return ""
	}
	eventually(t, "the move waits", waits, "waits")
	hold("somebody-else")
	eventually(t, "no metric of the reconcilers is left", waits, "")
	thaw()
	eventually(t, "the Machine API has paused", func() string { return condition(t, set, "Paused") }, "True")
	if now := field(t, set, ".status.authoritativeAPI"); now != "Migrating" {
		t.Errorf("without the Lease, the set has moved on to %s", now)
	}
	hold("")
	authorityIs(t, set, "ClusterAPI")
	settled(t, set)
	close(over)
	answered.Wait()
	if answers == 0 {
		t.Error("no edit of the mirror was answered")
	}
}
