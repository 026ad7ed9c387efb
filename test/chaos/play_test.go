// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/chaos/wire"
	"github.com/poundlock/poundlock/test/testcluster"
)

// story is what a person does to objects that nobody else uses.
type story struct {
	name string
	// begin creates the objects while nothing is disturbed. It may also prepare a reaction (ambush) to what act causes.
	begin []func(*play)
	// act is the part of the story that is disturbed.
	act func(*play)
}

// play is one performance of a story.
type play struct {
	*testing.T
	// name is the name of the play's set, or of its Machine if there is no set. The names of all objects of the play begin with it.
	name string
	// machine is the name of the Machine with which the play begins, "" if there is none.
	machine string
	// born: the Machine moves while its instance is being created.
	born  bool
	lifts []func()
	// ambush is closed once the reaction has happened; nil if the story has none.
	ambush  chan struct{}
	printed map[string]bool // the answers that were printed already
}

var plays atomic.Int64

func newPlay() *play { return &play{name: fmt.Sprintf("play-%04d", plays.Add(1))} }

// owns reports whether a name belongs to the play.
func (p *play) owns(name string) bool { return name == p.name || strings.HasPrefix(name, p.name+"-") }

// writes matches Poundlock's writes to the play's objects. It leaves out Events, which are written at no fixed time.
func (p *play) writes(r wire.Request) bool {
	return r.Stores() && p.owns(r.Name) && !strings.HasPrefix(r.Resource, "events")
}

// lay puts a rule in force until the play is over.
func (p *play) lay(when wire.Match, do wire.Effect) {
	p.lifts = append(p.lifts, line.Lay(wire.Rule{When: when, Do: do}))
}

// sprung waits until the story's ambush has run. The ambush reports to the test that plays the act, so that test must not end earlier.
func (p *play) sprung() {
	p.Helper()
	p.eventually("what the act brings about", func() bool { return p.ambush == nil || closed(p.ambush) })
}

func (p *play) over() {
	for _, lift := range slices.Backward(p.lifts) {
		lift()
	}
	p.lifts = nil
}

// thing identifies one object of the play.
type thing struct {
	kind authority.Kind
	api  authority.API
	name string
}

func kindOf(name string) authority.Kind {
	k, ok := authority.KindNamed(name)
	if !ok {
		panic("no kind " + name)
	}
	return k
}

func (p *play) set(api authority.API) thing { return thing{kindOf("MachineSet"), api, p.name} }

func (p *play) the(api authority.API) thing { return thing{kindOf("Machine"), api, p.machine} }

func (p *play) check(api authority.API) thing {
	return thing{kindOf("MachineHealthCheck"), api, p.name}
}

func (o thing) empty() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetName(o.name)
	u.SetNamespace(stage.Pairs[0].MachineAPI)
	u.SetGroupVersionKind(o.kind.MachineAPIGVK())
	if o.api == authority.ClusterAPI {
		u.SetNamespace(stage.Pairs[0].ClusterAPI)
		u.SetGroupVersionKind(o.kind.ClusterAPIGVK())
	}
	return u
}

// get returns the object, nil if it does not exist.
func (p *play) get(o thing) *unstructured.Unstructured {
	p.Helper()
	u := o.empty()
	var err error
	p.insist("reading "+o.name, func(ctx context.Context) error {
		if err = stage.Admin.Get(ctx, client.ObjectKeyFromObject(u), u); apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil
	}
	return u
}

// field returns a string field of the object, "" if the field or the object does not exist.
func (p *play) field(o thing, path ...string) string {
	p.Helper()
	u := p.get(o)
	if u == nil {
		return ""
	}
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// settled reports whether the last move is over on both sides, and the mirror is synchronized.
func settled(u *unstructured.Unstructured) bool {
	return u != nil && condition(u, authority.ConditionSettled) == "True" && condition(u, authority.ConditionSynchronized) == "True"
}

// condition returns the status of a condition. It works for objects of either API.
func condition(u *unstructured.Unstructured, kind string) string {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range all {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return fmt.Sprint(m["status"])
		}
	}
	return ""
}

// patience is long enough for a machine whose processors are busy with something else. Only a failure takes so long.
const patience = 5 * time.Minute

func (p *play) eventually(what string, is func() bool) {
	p.Helper()
	err := wait.PollUntilContextTimeout(p.Context(), 150*time.Millisecond, patience, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		p.Fatalf("%s: not in %s:\n%s", what, patience, p.state())
	}
}

// insist does what a person does whose command fails because something is down: it runs the command again. A command that a rule refuses fails the play.
func (p *play) insist(what string, do func(context.Context) error) {
	p.Helper()
	var last error
	err := wait.PollUntilContextTimeout(p.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = do(ctx)
		if last == nil || down(last) {
			return last == nil, nil
		}
		return false, last
	})
	if err != nil {
		p.Fatalf("%s: %v", what, last)
	}
}

// down reports whether an error means that nobody could answer, or that the object was being written at the time.
func down(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || strings.Contains(err.Error(), "failed calling webhook") || apierrors.IsConflict(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err)
}

func (p *play) patch(o thing, body string) {
	p.Helper()
	p.insist("patching "+o.name, func(ctx context.Context) error {
		return stage.Admin.Patch(ctx, o.empty(), client.RawPatch(types.MergePatchType, []byte(body)))
	})
}

// request requests a move.
func (p *play) request(o thing, api authority.API) {
	p.Helper()
	o.api = authority.MachineAPI
	p.patch(o, fmt.Sprintf(`{"spec":{"authoritativeAPI":%q}}`, api))
}

func (p *play) delete(o thing, policy metav1.DeletionPropagation) {
	p.Helper()
	p.insist("deleting "+o.name, func(ctx context.Context) error {
		return client.IgnoreNotFound(stage.Admin.Delete(ctx, o.empty(), client.PropagationPolicy(policy)))
	})
}

func (p *play) create(u *unstructured.Unstructured) {
	p.Helper()
	p.insist("creating "+u.GetName(), func(ctx context.Context) error {
		err := stage.Admin.Create(ctx, u.DeepCopy())
		if apierrors.IsAlreadyExists(err) {
			return nil // the answer to the first try was lost
		}
		return err
	})
}

// manifest returns a MachineSet of the Machine API like those of the fleet, with the play's name.
func (p *play) manifest(replicas int) *unstructured.Unstructured {
	p.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(testcluster.MachineSet(p.name, replicas)), &u.Object); err != nil {
		p.Fatal(err)
	}
	return u
}

// aSet begins a story with a set of the Machine API and its running Machines.
func aSet(replicas int) func(*play) {
	return func(p *play) {
		p.create(p.manifest(replicas))
		p.eventually("the set runs", func() bool {
			return settled(p.get(p.set(authority.MachineAPI))) && len(p.running()) == replicas
		})
		if replicas > 0 {
			p.machine = p.running()[0]
		}
	}
}

// aMachine begins a story with a Machine that no set owns.
func aMachine(p *play) {
	p.create(p.lone(authority.MachineAPI))
	p.machine = p.name
	p.eventually("the Machine runs", func() bool { return len(p.running()) == 1 })
}

// lone returns the manifest of a Machine that no set owns.
func (p *play) lone(of authority.API) *unstructured.Unstructured {
	p.Helper()
	set := p.manifest(0)
	template, _, _ := unstructured.NestedMap(set.Object, "spec", "template")
	m := &unstructured.Unstructured{Object: map[string]any{"spec": template["spec"]}}
	m.SetGroupVersionKind(kindOf("Machine").MachineAPIGVK())
	m.SetNamespace(set.GetNamespace())
	m.SetName(p.name)
	m.SetLabels(set.GetLabels())
	if err := unstructured.SetNestedField(m.Object, string(of), "spec", "authoritativeAPI"); err != nil {
		p.Fatal(err)
	}
	return m
}

// running returns the names of the play's Machines that run and are settled.
func (p *play) running() []string {
	var out []string
	for _, u := range p.all(thing{kind: kindOf("Machine"), api: authority.MachineAPI}.empty()) {
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		if phase == "Running" && u.GetAnnotations()["machine.openshift.io/instance-state"] == "running" && settled(&u) {
			out = append(out, u.GetName())
		}
	}
	return out
}

// moved begins a story with an object whose authority has moved to the API `api`.
func moved(which func(*play, authority.API) thing, api authority.API) func(*play) {
	return func(p *play) {
		o := which(p, authority.MachineAPI)
		p.request(o, api)
		p.eventually("the move to "+string(api), func() bool {
			return p.field(o, "status", "authoritativeAPI") == string(api) && settled(p.get(o))
		})
	}
}

func pretty(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}
