// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/chaos/wire"
)

const (
	mapi = authority.MachineAPI
	capi = authority.ClusterAPI
)

// steps is the beginning of a story.
type steps = []func(*play)

// stories returns the stories that are disturbed. The first has the fewest objects, so all its crashes fit into `make test`.
func stories() []story {
	set, machine, check := (*play).set, (*play).the, (*play).check
	return []story{
		{"a set moves", steps{aSet(0)}, moves(set, capi)},
		{"a set moves back", steps{aSet(0), moved(set, capi)}, moves(set, mapi)},
		{"a Machine moves", steps{aSet(1)}, moves(machine, capi)},
		{"a Machine moves back", steps{aSet(1), moved(machine, capi)}, moves(machine, mapi)},
		{"a move is cancelled", steps{aSet(1), cancelled(machine, capi)}, moves(machine, capi)},
		{"a move back is cancelled", steps{aSet(1), moved(machine, capi), cancelled(machine, mapi)}, moves(machine, mapi)},
		{"a health check moves", steps{aCheck}, moves(check, capi)},
		{"a health check moves back", steps{aCheck, moved(check, capi), watched}, moves(check, mapi)},

		{"an unowned Machine is deleted, Machine API authoritative", steps{aMachine}, deletes(machine, mapi)},
		{"its Cluster API mirror is deleted, and recreated", steps{aMachine}, deletes(machine, capi)},
		{"an unowned Machine is deleted, Cluster API authoritative", steps{aMachine, moved(machine, capi)}, deletes(machine, capi)},
		{"its Machine API mirror is deleted, and nothing else", steps{aMachine, moved(machine, capi)}, deletes(machine, mapi)},
		{"an owned Machine's Cluster API mirror is deleted, and it goes", steps{aSet(1)}, deletes(machine, capi)},
		{"an owned Machine's Machine API mirror is deleted, and it goes", steps{aSet(1), moved(machine, capi)}, deletes(machine, mapi)},
		{"a set is deleted, Machine API authoritative", steps{aSet(1)}, deletes(set, mapi)},
		{"a set's Cluster API mirror is deleted, and recreated", steps{aSet(1)}, deletes(set, capi)},
		{"a set is deleted, Cluster API authoritative", steps{aSet(1), moved(machine, capi), moved(set, capi)}, deletes(set, capi)},
		{"a set's Machine API mirror is deleted, and no Machine", steps{aSet(1), moved(machine, capi), moved(set, capi)}, deletes(set, mapi)},
		{"a set with a Machine of Cluster API's is deleted on both sides", steps{aSet(1), moved(machine, capi)}, deletesBoth},
		{"a Machine is deleted while it moves", steps{aMachine, onTheWay((*play).deleteMachine)}, moves(machine, capi)},

		{"a Machine is asked to move while Machine API creates its instance", nil, born(mapi)},
		{"a Machine is asked to move while Cluster API creates its instance", nil, born(capi)},
		{"a set that has just grown moves back", steps{aSet(1), moved(set, capi)}, grown},
		{"a set with Machines of either API's moves", steps{aSet(2), moved(machine, capi)}, moves(set, capi)},
		{"a set is deleted while it moves", steps{aSet(1), onTheWay((*play).deleteSet)}, moves(set, capi)},

		{"a set grows, Machine API authoritative", steps{aSet(1)}, scales(mapi, 2)},
		{"a set grows, Cluster API authoritative", steps{aSet(1), moved(set, capi)}, scales(capi, 2)},
		{"a set shrinks, Cluster API authoritative", steps{aSet(2), moved(set, capi)}, shrinks},
		{"a template changes, Machine API authoritative", steps{aSet(0)}, retypes},
		{"a template is replaced, Cluster API authoritative", steps{aSet(0), moved(set, capi)}, replaces},
	}
}

type which = func(*play, authority.API) thing

func moves(o which, to authority.API) func(*play) {
	return func(p *play) { p.request(o(p, to), to) }
}

func deletes(o which, on authority.API) func(*play) {
	return func(p *play) { p.delete(o(p, on), metav1.DeletePropagationBackground) }
}

func deletesBoth(p *play) {
	p.delete(p.set(capi), metav1.DeletePropagationBackground)
	p.delete(p.set(mapi), metav1.DeletePropagationBackground)
}

// onceMigrating calls do as soon as the API server has stored that the Machine is migrating, even if Poundlock gets no answer.
func onceMigrating(p *play, do func()) {
	sprung := make(chan struct{})
	p.ambush = sprung
	once := sync.OnceFunc(func() { defer close(sprung); do() })
	leaves := func(r wire.Request) bool {
		return p.writes(r) && r.Subresource == "status" && strings.Contains(r.Summary, "authoritativeAPI=Migrating")
	}
	p.lay(leaves, wire.Then(once))
}

// cancelled cancels the move that is about to begin, once it is on the way.
func cancelled(o which, to authority.API) func(*play) {
	return func(p *play) { onceMigrating(p, func() { p.request(o(p, to), to.Other()) }) }
}

func onTheWay(do func(*play)) func(*play) {
	return func(p *play) { onceMigrating(p, func() { do(p) }) }
}

func (p *play) deleteMachine() { p.delete(p.the(mapi), metav1.DeletePropagationBackground) }

func (p *play) deleteSet() { p.delete(p.set(mapi), metav1.DeletePropagationBackground) }

// born creates a Machine, and requests a move as soon as its instance runs. The instance's ID cannot be known at that time, because the cloud's first answers
// are lost. If the move were requested earlier, nobody would have asked for an instance yet, and the other API could create it. The story would then have two
// possible ends.
func born(from authority.API) func(*play) {
	return func(p *play) {
		p.machine, p.born = p.name, true
		if err := stage.Cloud.Inject(machinetest.Fault{Do: machinetest.LoseAnswer, Verb: machinetest.Launch, Machine: p.name, Times: 2}); err != nil {
			p.Fatal(err)
		}
		p.create(p.lone(from))
		p.eventually("Poundlock has adopted it", func() bool { return p.field(p.the(mapi), "status", "authoritativeAPI") == string(from) })
		p.eventually("its instance has been asked for", func() bool { return len(p.alive()) > 0 })
		p.request(p.the(mapi), from.Other())
	}
}

// grown scales a set up, and requests a move right after that.
func grown(p *play) {
	scales(capi, 2)(p)
	p.request(p.set(capi), mapi)
}

func scales(on authority.API, replicas int) func(*play) {
	return func(p *play) { p.patch(p.set(on), fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)) }
}

// shrinks marks the Machine that is to be deleted, because Cluster API would choose one at random.
func shrinks(p *play) {
	p.patch(p.the(mapi), `{"metadata":{"annotations":{"machine.openshift.io/delete-machine":"yes"}}}`)
	p.eventually("the mark is mirrored", func() bool {
		u := p.get(p.the(capi))
		return u != nil && u.GetAnnotations()["cluster.x-k8s.io/delete-machine"] != ""
	})
	scales(capi, 1)(p)
}

// watched waits until Cluster API's controller has looked at the health check for which Cluster API is authoritative. The controller may be slower than a move
// back, and what it leaves in the status would depend on that.
func watched(p *play) {
	p.eventually("Cluster API looks at the check", func() bool { return p.field(p.check(capi), "status", "observedGeneration") != "" })
}

// aCheck begins a story with a health check that finds nothing unhealthy.
func aCheck(p *play) {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"authoritativeAPI":    string(mapi),
		"selector":            map[string]any{"matchLabels": map[string]any{"play": p.name}},
		"unhealthyConditions": []any{map[string]any{"type": "Ready", "status": "False", "timeout": "300s"}},
		"maxUnhealthy":        "40%",
		"nodeStartupTimeout":  "10m",
	}}}
	u.SetGroupVersionKind(kindOf("MachineHealthCheck").MachineAPIGVK())
	u.SetNamespace(stage.Pairs[0].MachineAPI)
	u.SetName(p.name)
	p.create(u)
	p.eventually("the check settles", func() bool { return settled(p.get(p.check(mapi))) })
}

// retypes changes the instance type of a set of the Machine API.
func retypes(p *play) {
	p.patch(p.set(mapi), `{"spec":{"template":{"spec":{"providerSpec":{"value":{"instanceType":"m6i.2xlarge"}}}}}}`)
}

// replaces changes the instance type of a set as Cluster API requires it: with another template.
func replaces(p *play) {
	var next *unstructured.Unstructured
	for _, u := range p.objects() {
		if u.GetKind() == "AWSMachineTemplate" {
			next = &unstructured.Unstructured{Object: map[string]any{"spec": u.Object["spec"]}}
			next.SetGroupVersionKind(u.GroupVersionKind())
			next.SetNamespace(u.GetNamespace())
		}
	}
	if next == nil {
		p.Fatal("the set has no template")
	}
	next.SetName(p.name + "-0000beef")
	_ = unstructured.SetNestedField(next.Object, "m6i.2xlarge", "spec", "template", "spec", "instanceType")
	p.insist("creating a template", func(ctx context.Context) error { return client.IgnoreAlreadyExists(stage.Admin.Create(ctx, next)) })
	p.patch(p.set(capi), fmt.Sprintf(`{"spec":{"template":{"spec":{"infrastructureRef":{"name":%q}}}}}`, next.GetName()))
}
