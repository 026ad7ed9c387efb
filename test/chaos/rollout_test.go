// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/chaos/wire"
	"github.com/poundlock/poundlock/test/simulation"
)

// A cluster has only one control plane, so the plays in this file do not run side by side. The control plane rolls once undisturbed, which shows the end. Then
// it rolls again with each fault, and with a manager that is killed again and again.

// planeSet returns an empty object with the name of the control plane's set.
func planeSet() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "machine.openshift.io", Version: "v1", Kind: "ControlPlaneMachineSet"})
	u.SetNamespace(stage.Pairs[0].MachineAPI)
	u.SetName("cluster")
	return u
}

// rolling returns the play whose objects are the Machines that the control plane's set creates.
func rolling(t *testing.T) *play { return &play{T: t, name: "lock-7x2k9-master"} }

// ofThePlane matches Poundlock's writes to the control plane.
func ofThePlane(r wire.Request) bool {
	return r.Stores() && (r.Resource == "controlplanemachinesets" || r.Resource == "clusteroperators" || strings.Contains(r.Name, "master-"))
}

var raised = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return stage.RaiseControlPlane(ctx, 3)
})

// raise completes the control plane, activates its set, and rolls it once. After that, none of the Machines is one that the fleet began with.
func raise(t *testing.T) *play {
	t.Helper()
	must(t, raised())
	p := rolling(t)
	p.eventually("a set is generated", func() bool {
		return stage.Admin.Get(t.Context(), client.ObjectKeyFromObject(planeSet()), planeSet()) == nil
	})
	p.patchPlane(`{"spec":{"state":"Active"}}`)
	p.rolls()
	return p
}

func (p *play) patchPlane(body string) {
	p.Helper()
	p.insist("patching the control plane's set", func(ctx context.Context) error {
		return stage.Admin.Patch(ctx, planeSet(), client.RawPatch(types.MergePatchType, []byte(body)))
	})
}

// rolls requests another instance type, and waits until all instances have been replaced.
func (p *play) rolls() {
	p.Helper()
	before, launches := p.size(), len(stage.Cloud.Instances())
	next := "m6i.2xlarge"
	if before == next {
		next = "m6i.4xlarge"
	}
	p.patchPlane(fmt.Sprintf(`{"spec":{"template":{"machines_v1beta1_machine_openshift_io":{"spec":{"providerSpec":{"value":{"instanceType":%q}}}}}}}`, next))
	for n := 1; n <= 3; n++ {
		p.eventually(fmt.Sprintf("%d of 3 are replaced", n), func() bool { return p.replaced(next) >= n })
	}
	p.eventually("the status tells so", func() bool { return p.numbers() == "3 3 3" })
	if n := len(stage.Cloud.Instances()) - launches; n != 3 {
		p.Errorf("%d instances were launched, want 3", n)
	}
	p.voted()
}

func (p *play) plane() *unstructured.Unstructured {
	u := planeSet()
	p.insist("reading the control plane's set", func(ctx context.Context) error {
		return stage.Admin.Get(ctx, client.ObjectKeyFromObject(u), u)
	})
	return u
}

func (p *play) size() string {
	size, _, _ := unstructured.NestedString(p.plane().Object, "spec", "template", "machines_v1beta1_machine_openshift_io", "spec",
		"providerSpec", "value", "instanceType")
	return size
}

// numbers returns the replicas, readyReplicas and updatedReplicas of the set's status, if the status is about the present generation.
func (p *play) numbers() string {
	u := p.plane()
	var out []string
	for _, field := range []string{"replicas", "readyReplicas", "updatedReplicas"} {
		n, _, _ := unstructured.NestedInt64(u.Object, "status", field)
		out = append(out, fmt.Sprint(n))
	}
	if seen, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); seen != u.GetGeneration() {
		return "of an earlier generation"
	}
	return strings.Join(out, " ")
}

// replaced returns how many instances of a size count as replacements of others. It reports an error unless three or four instances of the control plane are
// alive.
func (p *play) replaced(size string) int {
	p.Helper()
	made, old := 0, 0
	for _, i := range stage.Cloud.Instances() {
		switch {
		case !i.Ended.IsZero() || !strings.Contains(i.Machine.Name, "master-"):
		case i.Type == size:
			made++
		default:
			old++
		}
	}
	if all := made + old; all < 3 || all > 4 {
		p.Errorf("%d instances of the control plane are alive", all)
	}
	return min(made, 3-old)
}

// voted reports an error unless etcd always had three or four members.
func (p *play) voted() {
	p.Helper()
	etcd, err := stage.Etcd(p.Context())
	must(p.T, err)
	most := slices.MaxFunc(etcd.History, func(a, b simulation.Joining) int { return cmp.Compare(a.Voting, b.Voting) }).Voting
	if fewest, _ := etcd.Fewest(3); fewest != 3 || most > 4 {
		p.Errorf("etcd had %d members, and %d: %v", fewest, most, etcd.History)
	}
	must(p.T, stage.Cloud.Audit())
}

// same returns the state without the instance type, which does not matter.
func same(s state) state {
	return state(strings.ReplaceAll(strings.ReplaceAll(string(s), "m6i.2xlarge", "SIZE"), "m6i.4xlarge", "SIZE"))
}

func TestAControlPlaneRollsWhateverHappens(t *testing.T) {
	p := raise(t)
	end := p.rest(quiet)
	for _, f := range disturbances(t) {
		if !chosen(f.name) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			p := rolling(t)
			lift := sync.OnceFunc(f.lay(t))
			t.Cleanup(lift) // also if the play fails, so that the next one is undisturbed
			p.rolls()
			lift()
			p.ends(end)
			p.voted()
		})
	}
}

// disturbances returns the faults that happen while a control plane rolls: all of them, or some.
func disturbances(t *testing.T) []fault {
	if *complete {
		return append(faults(),
			fault{"the manager dies right after each of its writes", dies(1, wire.After)},
			fault{"the manager dies right before each second of its writes", dies(2, wire.Before)})
	}
	all := faults()
	return []fault{all[chance(t).IntN(len(all))], {"the manager dies right after each fifth of its writes", dies(5, wire.After)}}
}

// dies kills the manager at each n-th write to the control plane. The manager is started again at once.
func dies(n int, when func(func()) wire.Effect) func(*testing.T) func() {
	return func(t *testing.T) func() {
		m := &mortal{again: make(chan struct{}, 1), ended: make(chan struct{}), cancel: func() {}}
		go m.rises(t)
		lift := line.Lay(wire.Rule{When: wire.Every(n, ofThePlane), Do: func(next http.Handler) http.Handler { return when(m.dies)(next) }})
		return func() {
			lift()
			m.lives()
			<-m.ended
			t.Logf("it died %d times", m.deaths)
		}
	}
}

// mortal is a manager that is killed, and started again.
type mortal struct {
	mu     sync.Mutex
	dead   bool
	over   bool // the manager is no longer killed
	deaths int
	// cancel ends the wait for a start.
	cancel func()
	again  chan struct{}
	ended  chan struct{}
}

// lives ends the kills. A request of the manager may still arrive after the rule is lifted, and nobody would start the manager again.
func (m *mortal) lives() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	close(m.again)
}

// dies kills the manager, unless it is dead already. A request that was on the way when it died may call dies late.
func (m *mortal) dies() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || m.over || stage.StopManager() != nil {
		return
	}
	m.dead = true
	m.deaths++
	m.cancel()
	m.again <- struct{}{}
}

// rises starts the manager after each kill.
func (m *mortal) rises(t *testing.T) {
	defer close(m.ended)
	for range m.again {
		ctx, cancel := context.WithCancel(context.Background())
		m.mu.Lock()
		m.dead, m.cancel = false, cancel
		m.mu.Unlock()
		if err := stage.StartManager(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		cancel()
	}
}

// TestAControlPlaneRollsUnderTwoManagers kills the leader of two managers in the middle of a rollout.
func TestAControlPlaneRollsUnderTwoManagers(t *testing.T) {
	p := raise(t)
	end := p.rest(quiet)
	o := newOffice(t, "--control-plane")
	for _, n := range []int{1, 8, 20} {
		if !*complete && n != 8 {
			continue
		}
		t.Run(fmt.Sprintf("the leader dies at write %d", n), func(t *testing.T) {
			p := rolling(t)
			before, dead := holder(t), make(chan struct{})
			kill := sync.OnceFunc(func() {
				o.leader.kill()
				close(dead)
			})
			p.lay(wire.Nth(n, ofThePlane), wire.After(kill))
			p.rolls()
			p.over()
			if !closed(dead) {
				t.Fatalf("it came to its end without a write %d", n)
			}
			o.succeed(t, before)
			p.ends(end)
		})
	}
}
