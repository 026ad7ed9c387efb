// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// question is a request about which the rules of admission are asked.
type question uint8

const (
	// byFlip changes spec.authoritativeAPI. byEditM and byEditC change another field of the spec of either object. A person sends them.
	byFlip question = iota
	byEditM
	byEditC
	// byCreateM and byCreateC create the object of one API beside its twin. A person sends them.
	byCreateM
	byCreateC
	// byCore: Cluster API makes itself the owner of the provider's object. byProvider: the provider stores the instance's ID.
	byCore
	byProvider
	// byHoldM and byHoldC: the controller of one API puts its finalizer on. After that it has an instance created.
	byHoldM
	byHoldC
	// byResumeC and byResumeI remove the pause annotation. A person sends them.
	byResumeC
	byResumeI
	// byForeground deletes the Cluster API object in the foreground. A person sends it.
	byForeground
)

// review is a question, and the objects from which the rules answer it.
type review struct {
	question
	m, c, i object
}

// allows reports whether admission lets a request through. It asks authority.Rules, which the webhooks use too. While Poundlock is removed, everything is
// allowed.
func (t *turn) allows(q question, w *pair) bool { return w.away || t.ask(review{q, w.m, w.c, w.i}) }

// holds reports whether a controller may put its finalizer on.
func (t *turn) holds(q question, w *pair) bool {
	seen := *w
	if t.pauseSuffices {
		seen.i.clear(owned)
	}
	return t.set || t.bothBegin || t.allows(q, &seen)
}

func (t *turn) allowsMade(m object, w *pair) bool  { return t.ask(review{byCreateM, m, w.c, w.i}) }
func (t *turn) allowsMadeC(c object, w *pair) bool { return t.ask(review{byCreateC, w.m, c, w.i}) }

func (p *pairs) ask(r review) bool {
	const matters = there | leaving | syncFin | ctlFin | pauseRequested | acting | paused | mark | owned | wants | hooked | 3*statusBit | 3*originBit
	r.m, r.c, r.i = r.m&matters, r.c&matters, r.i&matters
	yes, known := p.answers[r]
	if !known {
		yes = authority.Rules().Judge(p.change(r)).Allowed()
		p.answers[r] = yes
	}
	return yes
}

// kind returns the kind of the pair.
func (p *pairs) kind() string {
	switch {
	case p.check:
		return "MachineHealthCheck"
	case p.set:
		return "MachineSet"
	}
	return "Machine"
}

func (p *pairs) change(r review) policies.Change {
	kind := p.kind()
	resource := strings.ToLower(kind) + "s"
	onM := policies.Subject{Side: policies.SideMachineAPI, Kind: kind, Resource: schema.GroupResource{Group: "machine.openshift.io", Resource: resource},
		Namespace: "mapi", TwinNamespace: "capi", Name: "one"}
	onC := policies.Subject{Side: policies.SideClusterAPI, Kind: kind, Resource: schema.GroupResource{Group: "cluster.x-k8s.io", Resource: resource},
		Namespace: "capi", TwinNamespace: "mapi", Name: "one"}
	onI := policies.Subject{Side: policies.SideInfrastructure, Kind: authority.InfraMachine,
		Resource: schema.GroupResource{Group: "infrastructure.cluster.x-k8s.io", Resource: "awsmachines"}, Namespace: "capi", TwinNamespace: "mapi", Name: "one"}
	m, c, i := p.stored(r.m, "machine.openshift.io/v1beta1", kind, 1), p.stored(r.c, "cluster.x-k8s.io/v1beta2", kind, 1),
		p.stored(r.i, "infrastructure.cluster.x-k8s.io/v1beta2", "AWSMachine", 1)
	onCore := policies.Facts{Twin: c, TwinLive: true, Infra: i}
	onMachine := policies.Facts{Twin: m, TwinLive: true, Infra: i}
	switch r.question {
	case byFlip:
		return policies.Change{Subject: onM, Operation: admissionv1.Update, Old: m, New: p.stored(r.m^wants, "machine.openshift.io/v1beta1", kind, 1), Facts: onCore}
	case byEditM:
		return policies.Change{Subject: onM, Operation: admissionv1.Update, Old: m, New: p.stored(r.m, "machine.openshift.io/v1beta1", kind, 2), Facts: onCore}
	case byEditC:
		return policies.Change{Subject: onC, Operation: admissionv1.Update, Old: c, New: p.stored(r.c, "cluster.x-k8s.io/v1beta2", kind, 2), Facts: onMachine}
	case byCreateM:
		return policies.Change{Subject: onM, Operation: admissionv1.Create, New: m, Facts: onCore}
	case byCreateC:
		return policies.Change{Subject: onC, Operation: admissionv1.Create, New: c, Facts: onMachine}
	case byCore:
		return policies.Change{Subject: onI, Operation: admissionv1.Update, Actor: policies.ClusterAPIController, Old: i,
			New: p.stored(r.i|owned, i.APIVersion, i.Kind, 1), Facts: onMachine}
	case byHoldM:
		return policies.Change{Subject: onM, Operation: admissionv1.Update, Actor: policies.MachineAPIController, Old: m,
			New: p.stored(r.m|ctlFin, m.APIVersion, kind, 1), Facts: onCore}
	case byHoldC:
		return policies.Change{Subject: onC, Operation: admissionv1.Update, Actor: policies.ClusterAPIController, Old: c,
			New: p.stored(r.c|ctlFin, c.APIVersion, kind, 1), Facts: onMachine}
	case byResumeC:
		return policies.Change{Subject: onC, Operation: admissionv1.Update, Old: c, New: p.stored(r.c&^pauseRequested, c.APIVersion, kind, 1), Facts: onMachine}
	case byForeground:
		return policies.Change{Subject: onC, Operation: admissionv1.Delete, Propagation: metav1.DeletePropagationForeground, Old: c, Facts: onMachine}
	case byResumeI:
		return policies.Change{Subject: onI, Operation: admissionv1.Update, Old: i, New: p.stored(r.i&^pauseRequested, i.APIVersion, i.Kind, 1), Facts: onMachine}
	}
	return policies.Change{Subject: onI, Operation: admissionv1.Update, Actor: policies.InfrastructureController, Old: i,
		New: p.stored(r.i, i.APIVersion, i.Kind, 2), Facts: onMachine}
}

// stored returns the object as an API server has it. content distinguishes one spec from another.
func (p *pairs) stored(o object, apiVersion, kind string, content int) *policies.Object {
	if !o.has(there) {
		return nil
	}
	annotations, finalizers := map[string]any{}, []string{}
	add := func(bit object, annotation string, value string) {
		if o.has(bit) {
			annotations[annotation] = value
		}
	}
	add(pauseRequested, authority.PausedAnnotation, "true")
	add(hooked, authority.InstanceHookAnnotation, authority.InstanceHookOwner)
	of := kind
	if kind == "AWSMachine" {
		of = "Machine"
	}
	add(mark, authority.MirrorAnnotation, of+"/one")
	if o.has(syncFin) {
		finalizers = append(finalizers, authority.SyncFinalizer)
	}
	metadata := map[string]any{"name": "one", "namespace": "ns", "annotations": annotations}
	if o.has(leaving) {
		metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	if o.has(owned) {
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "one",
			"uid": "1", "controller": true}}
	}
	spec, status := map[string]any{"content": content}, map[string]any{}
	if apiVersion == "machine.openshift.io/v1beta1" {
		spec["authoritativeAPI"] = o.requested()
		status["authoritativeAPI"], status["synchronizedAPI"] = o.status(), o.origin()
		if o.has(ctlFin) && !p.set {
			finalizers = append(finalizers, authority.MachineAPIMachineFinalizer)
		}
	}
	if answer := map[object]string{acting: "False", paused: "True"}[o&(acting|paused)]; answer != "" {
		status["conditions"] = []any{map[string]any{"type": authority.ConditionPaused, "status": answer}}
	}
	if apiVersion == "cluster.x-k8s.io/v1beta2" && o.has(ctlFin) && !p.set {
		finalizers = append(finalizers, authority.Kinds()[0].ClusterAPIFinalizer)
	}
	metadata["finalizers"] = finalizers
	raw, err := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec, "status": status})
	if err != nil {
		panic(err) // maps of strings and numbers can be encoded
	}
	parsed, err := policies.ParseObject(raw)
	if err != nil {
		panic(err)
	}
	return parsed
}
