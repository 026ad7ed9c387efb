// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/chaos/wire"
)

// fault is a fault that lay begins, and that the returned function ends.
type fault struct {
	name string
	lay  func(t *testing.T) (lift func())
}

// faults returns the faults between the manager and the API server, and those of the server itself.
func faults() []fault {
	return []fault{
		{"each second write meets a conflict", rule(wire.Every(2, ours), wire.Conflict())},
		{"one of four requests is one too many", rule(wire.OneOf(4, answered), wire.TooManyRequests(time.Second))},
		{"one of ten requests is an internal error", rule(wire.OneOf(10, answered), wire.InternalError())},
		{"one of ten requests finds no service", rule(wire.OneOf(10, answered), wire.Unavailable())},
		{"one of ten requests is lost", rule(wire.OneOf(10, answered), wire.LoseRequest())},
		{"nothing but internal errors for twenty seconds", during(20*time.Second, rule(nil, wire.InternalError()))},
		{"each second write is stored, and its answer lost", rule(wire.Every(2, ours), wire.LoseAnswer())},
		{"each second write is stored, and times out", rule(wire.Every(2, ours), wire.TimedOut())},
		{"each request takes a third of a second", rule(answered, wire.Slow(300*time.Millisecond))},
		{"watches drop three times a second", again(func() { line.DropWatches() }, 300*time.Millisecond)},
		{"news come two seconds late", late(2 * time.Second)},
		{"reads are stale for a second, time and again", stale},
		{"the line is dead for five seconds", once(func(*testing.T) {
			line.Pause()
			after(5 * time.Second)
			line.Resume()
		})},
		{"the API server is killed and starts again", once(func(t *testing.T) {
			must(t, stage.Plane.StopPart(build.APIServer), stage.Plane.StartPart(t.Context(), build.APIServer))
		})},
		{"etcd stands still for ten seconds", once(func(t *testing.T) {
			must(t, syscall.Kill(stage.Plane.PID(build.Etcd), syscall.SIGSTOP))
			after(10 * time.Second)
			must(t, syscall.Kill(stage.Plane.PID(build.Etcd), syscall.SIGCONT))
		})},
	}
}

// ours matches the writes by which Poundlock reports and moves, to any object.
func ours(r wire.Request) bool {
	return r.Stores() && r.Resource != "events" && r.Resource != "secrets"
}

// answered matches requests that are answered at once: everything but watches.
func answered(r wire.Request) bool { return !wire.Watches(r) }

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// after waits for the duration d. The length of such a fault is measured by the clock, not by events.
func after(d time.Duration) { <-time.After(d) }

func rule(when wire.Match, do wire.Effect) func(*testing.T) func() {
	return func(*testing.T) func() { return line.Lay(wire.Rule{When: when, Do: do}) }
}

// during lays a fault for a while, as soon as authority moves.
func during(d time.Duration, lay func(*testing.T) func()) func(*testing.T) func() {
	return once(func(t *testing.T) {
		lift := lay(t)
		after(d)
		lift()
	})
}

// again calls do again and again, with a pause of `every`.
func again(do func(), every time.Duration) func(*testing.T) func() {
	return func(*testing.T) func() {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				do()
				after(every)
			}
		}()
		return func() {
			cancel()
			<-ended
		}
	}
}

func late(by time.Duration) func(*testing.T) func() {
	return func(*testing.T) func() {
		line.Lag(by)
		return func() { line.Lag(0) }
	}
}

// stale makes the server answer reads, a second at a time, as it answered them at the beginning of that second.
func stale(t *testing.T) func() {
	return again(func() {
		lift := line.Lay(wire.Rule{When: wire.Reads, Do: line.Stale()})
		after(time.Second)
		lift()
	}, 500*time.Millisecond)(t)
}

// once calls do as soon as authority moves. The fault is over when do has returned.
func once(do func(*testing.T)) func(*testing.T) func() {
	return func(t *testing.T) func() {
		begun := make(chan struct{})
		begin := sync.OnceFunc(func() { close(begun) })
		migrating := func(r wire.Request) bool { return strings.Contains(r.Summary, "authoritativeAPI=Migrating") }
		lift := line.Lay(wire.Rule{When: migrating, Do: wire.Then(begin)})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			<-begun
			do(t)
		}()
		return func() {
			lift()
			begin()
			<-ended
		}
	}
}

// thereAndBack returns stories of a move to Cluster API, and back as soon as that has settled.
func thereAndBack() []story {
	there := func(o which) func(*play) {
		return func(p *play) {
			moved(o, capi)(p)
			p.eventually("Cluster API has looked at all of it", func() bool { return looked(p.get(o(p, capi))) })
			p.request(o(p, mapi), mapi)
		}
	}
	return []story{
		{"a Machine there and back", steps{aSet(1)}, there((*play).the)},
		{"a set there and back", steps{aSet(0)}, there((*play).set)},
	}
}

// looked reports whether Cluster API's controllers have reported everything that they report. What they have not reported when authority moves back, they never
// report. They also write a label to a set's selector in a separate write, which may fail when the write of the status does not.
func looked(u *unstructured.Unstructured) bool {
	last := map[string]string{"Machine": "NodeHealthy", "MachineSet": "Deleting"}[u.GetKind()]
	seen, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	selects, _, _ := unstructured.NestedString(u.Object, "spec", "selector", "matchLabels", "cluster.x-k8s.io/cluster-name")
	return condition(u, last) != "" && seen == u.GetGeneration() && (u.GetKind() != "MachineSet" || selects != "")
}

func TestFaults(t *testing.T) {
	scripts := rehearse(t, thereAndBack()...)
	all := faults()
	if !*complete && *only == "" {
		chance(t).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:1]
	}
	all = slices.DeleteFunc(all, func(f fault) bool { return !chosen(f.name) })
	for _, f := range all {
		if t.Failed() {
			return
		}
		t.Run(f.name, func(t *testing.T) { f.strike(t, scripts) })
	}
}

// strike plays all scripts with the fault, and lifts it. The plays fail unless they end as they do without the fault.
func (f fault) strike(t *testing.T, scripts []script) {
	t.Helper()
	var all []*play
	for range scripts {
		all = append(all, newPlay())
	}
	script := func(p *play) script { return scripts[slices.Index(all, p)] }
	together(t, "begin", all, func(p *play) { p.ready(script(p).story) })
	began := time.Now()
	lift := f.lay(t)
	together(t, "act", all, func(p *play) {
		script(p).act(p)
		p.eventually("the way back", func() bool { return p.back(script(p)) })
	})
	lift()
	together(t, "come to the end", all, func(p *play) { p.ends(script(p).end) })
	t.Logf("took %s", time.Since(began).Round(100*time.Millisecond))
	together(t, "end", all, (*play).clean)
}

// back reports whether authority has moved back, even if not everything is reported yet.
func (p *play) back(s script) bool {
	o := p.set(mapi)
	if strings.Contains(s.name, "Machine") {
		o = p.the(mapi)
	}
	return p.field(o, "status", "authoritativeAPI") == string(authority.MachineAPI)
}
