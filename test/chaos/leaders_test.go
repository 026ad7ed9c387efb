// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/chaos/wire"
	"github.com/poundlock/poundlock/test/testcluster"
)

// office is two managers. One of them leads.
type office struct {
	leader, follower *replica
}

// newOffice replaces the stage's manager by two managers until the test ends. Both get the flags.
func newOffice(t *testing.T, flags ...string) *office {
	t.Helper()
	must(t, stage.StopManager())
	alone := line
	t.Cleanup(func() { // runs last, when `line` is used again
		line = alone
		must(t, stage.StartManager(context.Background())) // the test's own context has ended
	})
	f := newFront(t)
	flags = append(flags, "--leader-elect")
	o := &office{newReplica(t, "poundlock-a", flags...), newReplica(t, "poundlock-b", flags...)}
	f.put(o.leader.webhooks, o.follower.webhooks)
	o.leader.start(t)
	o.leads(t, "")
	o.follower.start(t)
	line = o.leader.line
	return o
}

// holder returns the leader by the Lease.
func holder(t *testing.T) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	err := admin.Get(t.Context(), client.ObjectKey{Namespace: stage.Pairs[0].ClusterAPI, Name: testcluster.Poundlock}, lease)
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// leads waits until the leader is another one than `before`, and returns its identity.
func (o *office) leads(t *testing.T, before string) (now string) {
	t.Helper()
	p := &play{T: t}
	p.eventually("another leader", func() bool {
		now = holder(t)
		return now != "" && now != before
	})
	return now
}

// succeed waits until the follower leads, and restarts the former leader as the follower.
func (o *office) succeed(t *testing.T, before string) {
	t.Helper()
	o.leads(t, before)
	o.leader, o.follower = o.follower, o.leader
	o.follower.kill()
	o.follower.start(t)
	line = o.leader.line
}

// dies kills the leader right before or right after one of its writes.
func (o *office) dies(p *play, c crash) {
	before := holder(p.T)
	dead := make(chan struct{})
	kill := sync.OnceFunc(func() {
		o.leader.kill()
		close(dead)
	})
	effect := wire.Before(kill)
	if c.stored {
		effect = wire.After(kill)
	}
	p.lay(wire.Nth(c.write, p.writes), effect)
	c.act(p)
	p.ends(c.script.end)
	p.over()
	if !closed(dead) {
		p.Logf("it came to its end without a write %d", c.write)
		return
	}
	o.succeed(p.T, before)
	p.ends(c.script.end)
}

// returns stops the leader's process while one of its writes is on the way, until another leader has brought the story to its end. Then the write arrives, and
// the former leader goes on with what it had begun.
func (o *office) returns(p *play, c crash) {
	before := holder(p.T)
	frozen, thaw := make(chan struct{}), make(chan struct{})
	stop := sync.OnceFunc(func() {
		must(p.T, o.leader.signal(syscall.SIGSTOP))
		close(frozen)
	})
	p.lay(wire.Nth(c.write, p.writes), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			stop()
			<-thaw
			next.ServeHTTP(rw, r)
		})
	})
	c.act(p)
	p.ends(c.script.end)
	p.over()
	if !closed(frozen) {
		close(thaw)
		p.Logf("it came to its end without a write %d", c.write)
		return
	}
	now := o.leads(p.T, before)
	close(thaw)
	must(p.T, o.leader.signal(syscall.SIGCONT))
	p.eventually(o.leader.name+" stands by, since "+now+" leads", o.leader.standsBy)
	p.ends(c.script.end)
	o.succeed(p.T, before)
	p.ends(c.script.end)
}

// standsBy reports whether the replica's metrics say that it does not lead.
func (r *replica) standsBy() bool {
	answer, err := http.Get("http://" + r.metrics + "/metrics")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	value, err := io.ReadAll(answer.Body)
	return err == nil && strings.Contains(string(value), `leader_election_master_status{name="poundlock"} 0`)
}

func TestLeaders(t *testing.T) {
	all := stories()
	chosen := []story{all[2], all[3], all[9]} // none of these watches the writes of one manager
	if !*complete {
		chosen = all[2:3]
	}
	o := newOffice(t)
	for _, s := range rehearse(t, chosen...) {
		if t.Failed() {
			return
		}
		for _, c := range some(t, of(s)) {
			t.Run("the leader dies "+c.String(), func(t *testing.T) { alone(t, c, o.dies) })
			if !c.stored && *complete {
				t.Run("a former leader returns, stopped "+c.String(), func(t *testing.T) { alone(t, c, o.returns) })
			}
		}
	}
}

// some returns all crashes, or one that is drawn.
func some(t *testing.T, all []crash) []crash {
	t.Helper()
	if *complete {
		return all
	}
	before := all[chance(t).IntN(len(all)/2)*2]
	return []crash{before}
}

// alone plays a story while no other play runs.
func alone(t *testing.T, c crash, do func(*play, crash)) {
	p := newPlay()
	p.on(t, func(p *play) {
		p.ready(c.story)
		do(p, c)
		p.clean()
	})
}
