// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/mirroring/deletion"
	"github.com/poundlock/poundlock/mirroring/feedback"
	mirrorpairs "github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/twin"
	"github.com/poundlock/poundlock/policies/authority"
)

// keeps is whether a provider keeps an object for each instance, and who creates it for an instance that Machine API runs.
type keeps uint8

const (
	keepsNothing keeps = iota
	// keptByProvider is OpenStack. Only the provider creates the object. It puts its finalizer on only while it acts, and it acts without the object's owner.
	keptByProvider
	// keptByMirror is vSphere. The mirror creates the object, paused. The provider puts its finalizer on even while the object is paused, and does nothing without
	// the object's owner.
	keptByMirror
)

// platform returns the real platform that k stands for, and the ID of an instance on it.
func (k keeps) platform() (p conversion.Platform, id string) {
	name, id := "OpenStack", "openstack:///1"
	if k == keptByMirror {
		name, id = "VSphere", "vsphere://1"
	}
	p, _ = platforms.For(name)
	return p, id
}

// about is a question that the model asks the mirror's own functions, about what a provider keeps or about the step of a deletion.
type about uint8

const (
	// aboutHook: is Poundlock's hook to be removed?
	aboutHook about = iota
	// aboutWantedHook: does the mirror have to carry the hook?
	aboutWantedHook
	// aboutKept: does the mirror create the object for the instance?
	aboutKept
	// aboutRelease: which of the provider's objects does the mirror release?
	aboutRelease
	// aboutUnreleased: does the handoff still have to release an object of Cluster API's?
	aboutUnreleased
	// aboutHeld: does a finalizer hold the authoritative object?
	aboutHeld
	// aboutStep: what is the next write of this step of a deletion?
	aboutStep
)

// asking is a question, and everything that its answer depends on.
type asking struct {
	about
	step       authority.DeletionStep
	m, c, i, k object
}

// asks returns the request that the mirror's own functions decide on for the question q; noOp: none.
func (p *pairs) asks(w *pair, q about) op { return p.answerTo(asking{q, "", w.m, w.c, w.i, w.k}) }

func (p *pairs) answerTo(q asking) op {
	if p.keeps == keepsNothing {
		return noOp
	}
	q.m &= there | leaving | syncFin | ctlFin | pid | wants | 3*statusBit | 3*originBit
	q.c &= there | leaving | syncFin | ctlFin | pauseRequested | mark | hooked
	q.i &= there | leaving | ctlFin | pauseRequested | mark | owned | dangling | pid
	q.k &= there | leaving | ctlFin | pauseRequested | owned | dangling | pid
	o, known := p.asked[q]
	if !known {
		o = p.decide(q)
		p.asked[q] = o
	}
	return o
}

func (p *pairs) decide(q asking) op {
	stranger := q.i.has(there) && !q.i.has(mark)
	switch q.about {
	case aboutHook:
		if p.hookGoesEarly && q.k.has(there) {
			q.k.set(ctlFin)
		}
		return when(feedback.InstanceHook(p.mirrorState(q)) != nil, unhook)
	case aboutWantedHook:
		want := object(0)
		if q.m.has(there|pid) && !p.neverHooks {
			want = p.wantsHook(q)
		}
		return when(want != 0, fixCHooked)
	case aboutKept:
		return when(!p.keepsNone && twin.Of(p.mirrorState(q)).Kept() != nil, makeK)
	case aboutUnreleased:
		if p.forgetsKept {
			q.k = 0
		}
		return when(deletion.Asked(p.mirrorState(q)).Unreleased, releaseK)
	case aboutHeld:
		if p.letsActingGo {
			q.k = 0
		}
		return when(deletion.Asked(p.mirrorState(q)).Held, freeK)
	case aboutRelease, aboutStep:
	}
	if p.letsActingGo {
		q.k = 0
	}
	if p.takesStrangers && stranger {
		q.i.set(mark)
	}
	s := p.mirrorState(q)
	w := deletion.Of(s).ReleaseInfra(s.Infra)
	if q.about == aboutStep {
		w = deletion.Of(s).Next(q.step)
	}
	o := opOf(w, q.step)
	if requests[o].on == ofI && stranger {
		return noOp
	}
	return o
}

// wantsHook returns hooked if the mirror of a Machine with an instance is to have Poundlock's hook, else 0. It asks twin's WantCore.
func (p *pairs) wantsHook(q asking) object {
	s := p.mirrorState(q)
	_, id := p.keeps.platform()
	infra := p.inCluster(asking{i: there | pid}).infra
	want := twin.Of(s).WantCore(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"providerID": id}}}, infra)
	if _, has := want.GetAnnotations()[authority.InstanceHookAnnotation]; has {
		return hooked
	}
	return 0
}

// opOf returns the op that a write of the mirror's functions stands for.
func opOf(w *mirrorpairs.Write, step authority.DeletionStep) op {
	if w == nil {
		return noOp
	}
	metadata, _ := w.Patch["metadata"].(map[string]any)
	_, owners := metadata["ownerReferences"]
	last := step == authority.ReleaseAuthority
	pick := func(is bool, yes, no op) op {
		if is {
			return yes
		}
		return no
	}
	switch removes := w.Verb == mirrorpairs.Remove; w.Object.GetKind() {
	case "OpenStackServer", "VSphereVM":
		return pick(removes, deleteK, freeK)
	case "OpenStackMachine", "VSphereMachine":
		return pick(removes, deleteI, pick(owners, keepI, freeI))
	default:
		if w.Object.GroupVersionKind().Group == "machine.openshift.io" {
			return pick(removes, deleteM, pick(last, finishM, letGoM))
		}
		return pick(removes, deleteC, pick(last, finishC, letGoC))
	}
}

// objects are those of a pair as an API server has them; nil: the object does not exist.
type objects struct{ machineAPI, core, infra, instance *unstructured.Unstructured }

func (p *pairs) inCluster(q asking) (out objects) {
	platform, id := p.keeps.platform()
	infra, instance := platform.InfraMachine.GroupVersionKind, platform.InfraInstance.GroupVersionKind
	is := func(o object, bit object, value any) any {
		if o.has(bit) {
			return value
		}
		return nil
	}
	build := func(o object, apiVersion, kind, namespace, uid, finalizer string, owner map[string]any, fields map[string]any) *unstructured.Unstructured {
		if !o.has(there) {
			return nil
		}
		u := &unstructured.Unstructured{Object: map[string]any{}}
		maps.Copy(u.Object, fields)
		annotations, finalizers := map[string]any{}, []any{}
		for _, a := range []struct {
			bit        object
			key, value string
		}{{pauseRequested, authority.PausedAnnotation, "true"}, {mark, authority.MirrorAnnotation, "Machine/one"},
			{hooked, authority.InstanceHookAnnotation, authority.InstanceHookOwner}} {
			if o.has(a.bit) {
				annotations[a.key] = a.value
			}
		}
		for _, f := range []any{is(o, syncFin, authority.SyncFinalizer), is(o, ctlFin, finalizer)} {
			if f != nil {
				finalizers = append(finalizers, f)
			}
		}
		metadata := map[string]any{"name": "one", "namespace": namespace, "uid": uid, "annotations": annotations, "finalizers": finalizers}
		if o.has(leaving) {
			metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		}
		switch {
		case o.has(owned):
			metadata["ownerReferences"] = []any{owner}
		case o.has(dangling):
			gone := maps.Clone(owner)
			gone["uid"] = "gone"
			metadata["ownerReferences"] = []any{gone}
		}
		status, _ := fields["status"].(map[string]any)
		if answer := map[object]string{acting: "False", paused: "True"}[o&(acting|paused)]; answer != "" {
			status["conditions"] = []any{map[string]any{"type": authority.ConditionPaused, "status": answer}}
		}
		u.Object["apiVersion"], u.Object["kind"], u.Object["metadata"] = apiVersion, kind, metadata
		return u
	}
	kind := authority.Kinds()[0]
	ref := func(apiVersion, kind, uid string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "name": "one", "uid": uid, "controller": true}
	}
	spec := func(o object, field string, value any) map[string]any {
		if !o.has(pid) {
			return map[string]any{}
		}
		return map[string]any{field: value}
	}
	m := spec(q.m, "providerID", id)
	m["authoritativeAPI"] = string(q.m.requested())
	out.machineAPI = build(q.m, kind.MachineAPI.String(), kind.Name, "mapi", "m", kind.MachineAPIFinalizer, nil, map[string]any{
		"spec": m, "status": map[string]any{"authoritativeAPI": string(q.m.status()), "synchronizedAPI": string(q.m.origin())},
	})
	out.core = build(q.c, kind.ClusterAPI.String(), kind.Name, "capi", "c", kind.ClusterAPIFinalizer, nil, map[string]any{
		"spec": map[string]any{"infrastructureRef": map[string]any{"apiGroup": infra.Group, "kind": infra.Kind, "name": "one"}}, "status": map[string]any{},
	})
	out.infra = build(q.i, infra.GroupVersion().String(), infra.Kind, "capi", "i", authority.InfraFinalizer(infra.Group, infra.Kind),
		ref(kind.ClusterAPI.String(), kind.Name, "c"), map[string]any{
			"spec": spec(q.i, "providerID", id), "status": map[string]any{"ready": q.i.has(pid)},
		})
	out.instance = build(q.k, instance.GroupVersion().String(), instance.Kind, "capi", "k", authority.InfraFinalizer(instance.Group, instance.Kind),
		ref(infra.GroupVersion().String(), infra.Kind, "i"), map[string]any{
			"spec": spec(q.k, "biosUUID", "1"), "status": map[string]any{},
		})
	return out
}

// mirrorState returns what the mirror reads of a pair.
func (p *pairs) mirrorState(q asking) *mirrorpairs.State {
	kind := authority.Kinds()[0]
	platform, _ := p.keeps.platform()
	o := p.inCluster(q)
	cluster := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
		"metadata": map[string]any{"name": "c", "namespace": "capi", "uid": "cluster"}}}
	return &mirrorpairs.State{
		Kind: kind, Name: "one", Pair: authority.Pair{MachineAPI: "mapi", ClusterAPI: "capi"},
		Env: conversion.Env{Platform: platform, ClusterName: "c"}, Cluster: cluster,
		MachineAPI: o.machineAPI, Core: o.core, Infra: o.infra, InfraInstance: o.instance,
	}
}

// providersParty is what authority.Objects decides about the provider's two objects: the Party, whether the provider acts, and whether the mirror has caught
// up.
type providersParty struct {
	authority.Party
	acts, caughtUp bool
}

// provider asks authority.Objects what the state of the provider's two objects is.
func (p *pairs) provider(m, c, i, k object) providersParty {
	if p.keeps == keepsNothing {
		return providersParty{}
	}
	if p.pausesAlone {
		k = 0
	}
	key := [4]object{
		m & (there | leaving | ctlFin | pid | wants | 3*statusBit | 3*originBit), c & (there | leaving | ctlFin | pauseRequested | acting | paused | mark | hooked),
		i & (there | leaving | ctlFin | pauseRequested | acting | paused | mark | owned | dangling | pid | pauseSeen),
		k & (there | leaving | ctlFin | pauseRequested | acting | paused | owned | dangling | pauseSeen),
	}
	party, known := p.parties[key]
	if !known {
		party = p.partyOf(key)
		if p.asksAlone {
			party.Acknowledged = p.partyOf([4]object{key[0], key[1], key[2], 0}).Acknowledged
		}
		p.parties[key] = party
	}
	return party
}

func (p *pairs) partyOf(of [4]object) providersParty {
	platform, _ := p.keeps.platform()
	o := p.inCluster(asking{m: of[0], c: of[1], i: of[2], k: of[3]})
	infra := platform.InfraMachine
	lately := func(o object) bool { return o.has(pauseRequested) && !o.has(pauseSeen) && !p.impatient }
	s := authority.Objects{
		Kind: authority.Kinds()[0], Enabled: true, InfraFinalizer: authority.InfraFinalizer(infra.Group, infra.Kind),
		MachineAPI: mirrorpairs.ObjectOf(o.machineAPI), ClusterAPI: mirrorpairs.ObjectOf(o.core), Infra: mirrorpairs.ObjectOf(o.infra),
		InfraInstance:     mirrorpairs.ObjectOf(o.instance),
		InfraPausedLately: lately(of[2]), InfraInstancePausedLately: lately(of[3]),
	}.State()
	return providersParty{s.Infra, s.InfraActs, s.CaughtUp || p.movesEarly}
}

// holdsInstance reports whether an object of Cluster API's holds the instance with a finalizer, so that the deletion of that object terminates the instance. If
// the provider keeps an object for the instance, that object has to hold it. Until it does, Poundlock's hook has to keep the provider's machine.
func (p *pairs) holdsInstance(w pair) bool {
	if p.keeps == keepsNothing {
		return w.i.has(there | ctlFin)
	}
	if p.keeps == keptByMirror && w.k&(there|pauseRequested|leaving) == there|pauseRequested && w.i&(pauseRequested|leaving) == pauseRequested {
		return true // the provider puts its finalizer on before it acknowledges the pause, and Cluster API is released only after that
	}
	return w.k.has(there|ctlFin) || w.c.has(there|hooked) && (w.i&(there|leaving) == there || w.i.has(leaving|ctlFin|pauseRequested))
}

// makesKept creates the object for the instance. If the provider's controller still sees a former object of that name, it acknowledges nothing by it: a
// condition is written with the version that was seen, so the write would be refused.
func (w *pair) makesKept(bits object) {
	w.k = there | bits
	if w.instance.seen.has(there) {
		w.instance.seen.set(earlier)
	}
}

// heedsItself updates a cache if what is stored differs from it only by what the cache's own controller writes. Such a controller reads what is stored before
// it has an instance created or copies an ID, so it does the same with either version.
func (v *view) heedsItself(now object) {
	if v.seen&(there|earlier) == there && now.has(there) && v.next == 0 && (v.seen^now)&^(ctlFin|acting|paused|pid|leftover) == 0 {
		v.seen = now | v.seen&leftover
	}
}

// keptUnrest returns what is wrong, at rest, with what a provider keeps for an instance, or "".
func (p *pairs) keptUnrest(w pair, src authority.API) string {
	switch {
	case p.keeps == keepsNothing:
	case src == authority.ClusterAPI && w.c.has(hooked):
		return "Poundlock's hook is left"
	case src == authority.ClusterAPI && !w.halted && (!w.k.has(there|ctlFin|pid) || !p.acts(w.instance.seen)):
		return "Cluster API is authoritative, but its provider does not see to the instance"
	case src == authority.MachineAPI && w.k.has(there) && !w.k.has(pauseRequested):
		return "what is kept for the instance is not paused"
	case src == authority.MachineAPI && !p.holdsWhenMoved(w):
		return "Machine API's Machine may move, and its instance would be left behind if it were deleted then"
	}
	return ""
}

func (p *pairs) holdsWhenMoved(w pair) bool { return p.holdsInstance(w) || !w.cloud.runs() }
