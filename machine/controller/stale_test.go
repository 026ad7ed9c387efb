// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// stale is a client whose lists of Machines, and reads of what is frozen, come from a cache that nothing reaches: it knows what it was given.
// What else is read, and all that is written, is the API server's.
func (p *place) stale(machines []machinev1beta1.Machine, frozen ...client.Object) client.Client {
	p.Helper()
	c, err := client.NewWithWatch(p.requests.of(plane.Admin()), client.Options{Scheme: schemeOf(p.T)})
	if err != nil {
		p.Fatal(err)
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			known, ok := l.(*machinev1beta1.MachineList)
			if !ok {
				return c.List(ctx, l, opts...)
			}
			asked := &client.ListOptions{}
			asked.ApplyOptions(opts)
			for _, m := range machines {
				if asked.FieldSelector == nil || asked.FieldSelector.String() == controllerIndex+"="+controllerOf(&m)[0] {
					known.Items = append(known.Items, *m.DeepCopy())
				}
			}
			return nil
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			for _, f := range frozen {
				if reflect.TypeOf(f) == reflect.TypeOf(o) && f.GetName() == key.Name {
					reflect.ValueOf(o).Elem().Set(reflect.ValueOf(f.DeepCopyObject()).Elem())
					return nil
				}
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
}

// passes runs passes for one object until nothing more would change if the cache were to be believed, or for as long as it takes to be sure.
func (p *place) passes(r reconcile.Reconciler, name string) {
	p.Helper()
	for range 6 {
		if _, err := r.Reconcile(p.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: p.namespace, Name: name}}); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *place) setsOn(cache client.Client) reconcile.Reconciler {
	p.Helper()
	meters, err := newSetMeters()
	if err != nil {
		p.Fatal(err)
	}
	r := &machineSets{Client: cache, live: p.Client, clock: clock.RealClock{}, on: true, recorder: events.NewFakeRecorder(1000), meters: meters}
	return r.gated()
}

func (p *place) checksOn(cache client.Client) reconcile.Reconciler {
	p.Helper()
	meters, err := newHealthMeters()
	if err != nil {
		p.Fatal(err)
	}
	r := &healthChecks{
		Client: cache, checks: p.Client, live: p.Client, clock: clock.RealClock{}, on: true, recorder: events.NewFakeRecorder(1000), meters: meters,
	}
	return r.gated()
}

func TestMachineSetOnACacheWithoutItsMachines(t *testing.T) {
	p := newPlace(t)
	p.newSet(3)
	p.passes(p.setsOn(p.stale(nil)), "workers")
	if n := len(p.standing()); n != 3 {
		t.Errorf("%d Machines, want 3", n)
	}
}

func TestMachineSetOnACacheThatStillHasWhatItDeleted(t *testing.T) {
	p := newPlace(t)
	p.newSet(4)
	p.passes(p.setsOn(p.stale(nil)), "workers")
	then := p.standing()
	p.scale(2)
	p.passes(p.setsOn(p.stale(then)), "workers")
	if n := len(p.standing()); n != 2 {
		t.Errorf("%d Machines, want 2", n)
	}
	if n := p.requests.count("DELETE", "machines"); n != 2 {
		t.Errorf("%d deletions: %v", n, p.requests.changes())
	}
}

// TestMachineSetOnACacheOfASetThatHasChanged: a set that is not ours any more, that says something else by now, or that is another of the same name, is
// not worked for.
func TestMachineSetOnACacheOfASetThatHasChanged(t *testing.T) {
	for name, change := range map[string]func(*place, *machinev1beta1.MachineSet){
		"its authority moves": func(p *place, set *machinev1beta1.MachineSet) {
			p.merge(set, true, `{"status": {"authoritativeAPI": "Migrating"}}`)
		},
		"it says something else": func(p *place, _ *machinev1beta1.MachineSet) { p.scale(0) },
		"it is being deleted":    func(p *place, set *machinev1beta1.MachineSet) { p.remove(set) },
		"it is another by now": func(p *place, set *machinev1beta1.MachineSet) {
			p.remove(set)
			p.merge(set, false, `{"metadata": {"finalizers": null}}`)
			p.eventually("the set is gone", func() bool { return apierrors.IsNotFound(p.Get(p.Context(), client.ObjectKeyFromObject(set), set)) })
			p.newSet(3)
		},
		"nothing": nil,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			set := p.newSet(3, func(s *machinev1beta1.MachineSet) { s.Finalizers = []string{"example.com/hold"} })
			p.merge(set, true, `{"status": {"authoritativeAPI": "MachineAPI", "conditions": [{"type": "Paused", "status": "False", "lastTransitionTime": "2026-11-21T12:00:00Z",
				"reason": "AuthoritativeAPIMachineAPI", "message": "The AuthoritativeAPI status is set to 'MachineAPI'"}]}}`)
			seen, want := p.set(), 3
			if change != nil {
				change(p, set)
				want = 0
			}
			p.passes(p.setsOn(p.stale(nil, seen)), "workers")
			if n := p.requests.count("POST", "machines"); n != want {
				t.Errorf("created %d Machines, want %d: %v", n, want, p.requests.changes())
			}
		})
	}
}

// TestMachineSetWhoseAdoptionIsRefused: it counts the Machine all the same, makes what is missing, and deletes only what is its own.
func TestMachineSetWhoseAdoptionIsRefused(t *testing.T) {
	p := newPlace(t)
	refused := p.newMachine("refused", func(m *machinev1beta1.Machine) {
		m.Annotations = map[string]string{"machine.openshift.io/delete-machine": ""}
	})
	p.newSet(3)
	c, err := client.NewWithWatch(p.requests.of(plane.Admin()), client.Options{Scheme: schemeOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	known := p.stale(nil)
	strict := interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			return known.List(ctx, l, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if o.GetName() == refused.Name {
				return apierrors.NewForbidden(machinev1beta1.Resource("machines"), o.GetName(), errors.New("not yours"))
			}
			return c.Patch(ctx, o, patch, opts...)
		},
	})
	pass := func() error {
		_, err := p.setsOn(strict).Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: p.namespace, Name: "workers"}})
		return err
	}
	p.eventually("the set has said which API is authoritative, and an adoption is refused", func() bool { return apierrors.IsForbidden(pass()) })
	if n := len(p.standing()); n != 3 {
		t.Errorf("%d Machines, want the one that is refused and 2", n)
	}
	p.scale(2)
	if err := pass(); !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
	if names := p.machineNames(); len(names) != 3 || p.requests.count("DELETE", "machines") != 0 {
		t.Errorf("left: %v; requests %v", names, p.requests.changes())
	}
}

func (p *place) remove(o client.Object) {
	p.Helper()
	if err := p.Delete(p.Context(), o); err != nil {
		p.Fatal(err)
	}
}

// TestHealthCheckOnACacheThatIsBehind: a Node that has recovered, one that has come, a Machine that is being deleted already: none is deleted for old news.
func TestHealthCheckOnACacheThatIsBehind(t *testing.T) {
	p := newPlace(t)
	recovered, node := p.worker("recovered")
	p.breaks(node)
	broken := node.DeepCopy()
	p.reportCondition(node, "Ready", "True", time.Now())
	gone, other := p.worker("gone")
	p.breaks(other)
	if err := p.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	started := p.young("started")
	then := []machinev1beta1.Machine{*recovered.DeepCopy(), *gone.DeepCopy(), *started.DeepCopy()}
	then[2].CreationTimestamp.Time = time.Now().Add(-time.Hour)
	p.newNode(started)
	p.newCheck("", everything+notReady)
	p.passes(p.checksOn(p.stale(then, broken, other)), "check")
	if n := p.requests.count("DELETE", "machines"); n != 0 {
		t.Errorf("%d deletions: %v", n, p.requests.changes())
	}
	p.breaks(node)
	p.passes(p.checksOn(p.stale(then, broken, other)), "check")
	if n := p.requests.count("DELETE", "machines"); n != 1 {
		t.Errorf("%d deletions, want that of the one that is unhealthy, once: %v", n, p.requests.changes())
	}
}

// TestHealthCheckWhoseStrategyHasJustChanged: the annotation bumps no generation. A Machine that is deleted for old news loses its host's disks.
func TestHealthCheckWhoseStrategyHasJustChanged(t *testing.T) {
	p := newPlace(t)
	_, node := p.worker("a")
	p.breaks(node)
	old := p.newCheck("", everything+notReady)
	p.merge(old, true, `{"status": {"authoritativeAPI": "MachineAPI", "conditions": [{"type": "Paused", "status": "False", "lastTransitionTime": "2026-11-21T12:00:00Z",
		"reason": "AuthoritativeAPIMachineAPI", "message": "The AuthoritativeAPI status is set to 'MachineAPI'"}]}}`)
	seen, _ := p.check()
	p.merge(seen.DeepCopy(), false, `{"metadata": {"annotations": {"machine.openshift.io/remediation-strategy": "external-baremetal"}}}`)
	meters, err := newHealthMeters()
	if err != nil {
		t.Fatal(err)
	}
	cache := p.stale([]machinev1beta1.Machine{*p.machines()[0].DeepCopy()}, node)
	r := &healthChecks{
		Client: cache, checks: p.stale(nil, seen), live: p.Client, clock: clock.RealClock{}, on: true, recorder: events.NewFakeRecorder(1000), meters: meters,
	}
	_, _ = r.gated().Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(seen)})
	if gone := p.deleting(); len(gone) != 0 {
		t.Errorf("%v was deleted, and its host was to be restarted", gone)
	}
}
