// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

// statuses has the status of a Machine API object in each phase of its pair.
var statuses = map[authority.Phase]string{
	authority.Uninitialized:     `{}`,
	authority.ByMachineAPI:      `{"authoritativeAPI":"MachineAPI"}`,
	authority.ByClusterAPI:      `{"authoritativeAPI":"ClusterAPI"}`,
	authority.LeavingMachineAPI: `{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"}`,
	authority.LeavingClusterAPI: `{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}`,
	authority.LeftMachineAPI:    `{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI","conditions":[{"type":"Paused","status":"True"}]}`,
	authority.LeftClusterAPI:    `{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI","conditions":[{"type":"Paused","status":"True"}]}`,
	authority.LeavingUnknown:    `{"authoritativeAPI":"Migrating"}`,
}

// left are the phases in which the controllers of a Cluster API object have acknowledged a pause.
const left = authority.LeftMachineAPI | authority.LeftClusterAPI

// attempt is a write of one field of an object, in one phase.
type attempt struct {
	side   policies.Side
	kind   string
	sub    string
	phase  authority.Phase
	path   string
	effect authority.Effect
	labels map[string]string
}

// TestNoGrantWidensAnotherLock lets every identity try to write every field that any row names, and some that no row names, on every object, in every phase,
// with every effect. What an identity may do beyond a person must be exactly what its own rows say.
func TestNoGrantWidensAnotherLock(t *testing.T) {
	stories.Long(t)
	paths := []string{"spec.clusterName", "spec.template", "spec.paused", "metadata.labels[k8s.io/x]", "metadata.annotations[openshift.io/x]",
		"metadata.annotations[machine.openshift.io/vCPU]", "spec.instanceType", "metadata.ownerReferences", "metadata.finalizers", "metadata.name"}
	actors := []policies.Actor{policies.MachineAPIController, policies.ClusterAPIController, policies.InfrastructureController, policies.NamespaceController}
	for _, g := range authority.Grants() {
		actors = append(actors, g.Actor)
		for _, f := range g.Fields {
			if !strings.HasSuffix(f, "[*]") && f != "spec" {
				paths = append(paths, f)
			}
		}
		if g.Writer == "" || g.Why == "" || g.Effects == 0 || g.While == 0 || g.Actor == policies.Anyone || g.Actor == policies.Poundlock {
			t.Errorf("%+v: a row needs a writer with an identity, effects, phases and a reason", g)
		}
	}
	slices.Sort(paths)
	slices.Sort(actors)
	paths, actors = slices.Compact(paths), slices.Compact(actors)
	kinds := map[policies.Side][]string{
		policies.SideMachineAPI: {"Machine", "MachineSet", "MachineHealthCheck"}, policies.SideClusterAPI: {"Machine", "MachineSet", "MachineHealthCheck"},
		policies.SideInfrastructure: {authority.InfraMachine, authority.InfraMachineTemplate, authority.InfraInstance},
	}
	used, tried := map[string]bool{}, 0
	for side, names := range kinds {
		for _, kind := range names {
			for phase := range statuses {
				for _, path := range paths {
					for _, effect := range []authority.Effect{authority.Adds, authority.Changes, authority.Removes, authority.Deletes} {
						for _, sub := range []string{"", "scale"} {
							a := attempt{side, kind, sub, phase, path, effect, map[string]string{"machine.openshift.io/cluster-api-machine-role": "master"}}
							if (path == "metadata.name") != (effect == authority.Deletes) || sub == "scale" &&
								(kind != "MachineSet" || path != "spec.replicas" || effect != authority.Changes) {
								continue
							}
							change := a.change(t)
							refused := denied(change, policies.Anyone)
							for _, actor := range actors {
								tried++
								want := refused
								if row, granted := granted(a, actor); granted && len(refused) > 0 {
									want, used[row] = nil, true
								}
								if exempt(a, actor) {
									continue
								}
								if diff := cmp.Diff(want, denied(change, actor)); diff != "" {
									t.Errorf("%s writes %+v (-want +got):\n%s", actor, a, diff)
								}
							}
						}
					}
				}
			}
		}
	}
	for i, g := range authority.Grants() {
		if !used[name(i, g)] {
			t.Errorf("row %s lets nothing through that a lock would refuse", name(i, g))
		}
	}
	t.Logf("%d attempts", tried)
}

func name(i int, g authority.Grant) string { return fmt.Sprintf("%d (%s, %s)", i, g.Writer, g.Side) }

// granted looks up the row that allows the attempt. It reads the rows as a person would.
func granted(a attempt, actor policies.Actor) (row string, ok bool) {
	for i, g := range authority.Grants() {
		if g.Actor != actor || g.Side != a.side || !slices.Contains(g.Kinds, a.kind) || g.While&a.phase == 0 || g.Effects&a.effect == 0 {
			continue
		}
		for _, f := range g.Fields {
			every, wild := strings.CutSuffix(f, "[*]")
			if f == a.path || wild && strings.HasPrefix(a.path, every+"[") || strings.HasPrefix(a.path, f+".") {
				return name(i, g), true
			}
		}
	}
	return "", false
}

// exempt reports whether a lock allows the attempt for another reason than a row. A side's own controllers may own the objects for which their API is
// authoritative, also while authority leaves it, and may say which instance an object has.
func exempt(a attempt, actor policies.Actor) bool {
	own := map[policies.Actor]policies.Side{policies.MachineAPIController: policies.SideMachineAPI, policies.ClusterAPIController: policies.SideClusterAPI,
		policies.InfrastructureController: policies.SideInfrastructure}
	// Cluster API's core also owns the provider's machines, beside its own objects.
	leaving, rests := authority.LeavingClusterAPI|authority.LeftClusterAPI, authority.ByClusterAPI
	if a.side == policies.SideMachineAPI {
		leaving, rests = authority.LeavingMachineAPI|authority.LeftMachineAPI, authority.ByMachineAPI
	}
	if a.path == "spec.providerID" && a.phase == rests {
		return own[actor] == a.side || actor == policies.ClusterAPIController && a.side == policies.SideInfrastructure
	}
	if a.path == "metadata.ownerReferences" && a.side == policies.SideInfrastructure && a.phase == rests && actor == policies.ClusterAPIController {
		return true
	}
	if a.path == "metadata.ownerReferences" && a.side == policies.SideMachineAPI && a.phase == authority.Uninitialized && actor == policies.MachineAPIController {
		return true // of owners that do not exist: the controller names the one that it has just read
	}
	return own[actor] == a.side && (a.phase == rests || a.path == "metadata.ownerReferences" && a.phase&leaving != 0)
}

// change returns the attempt as a change without an actor.
func (a attempt) change(t *testing.T) policies.Change {
	t.Helper()
	requested := map[bool]string{true: "ClusterAPI", false: "MachineAPI"}[a.phase == authority.ByClusterAPI || a.phase == authority.LeavingClusterAPI]
	before, after := object(a, requested, a.effect != authority.Adds, "before"), object(a, requested, a.effect != authority.Removes, "after")
	c := policies.Change{Subject: policies.Subject{Side: a.side, Kind: a.kind, Subresource: a.sub, Namespace: "n", Name: "x", TwinNamespace: "m"},
		Operation: admissionv1.Update}
	c.Old, c.New = parse(t, before), parse(t, after)
	if a.effect == authority.Deletes {
		c.Operation, c.New = admissionv1.Delete, nil
	}
	if a.sub == "scale" {
		c.Facts.Stored, c.Old, c.New = c.Old, parse(t, `{"spec":{"replicas":1}}`), parse(t, `{"spec":{"replicas":2}}`)
	}
	c.Facts.Twin = parse(t, fmt.Sprintf(`{"metadata":{"name":"x"},"spec":{"authoritativeAPI":%q},"status":%s}`, requested, statuses[a.phase]))
	return c
}

func denied(c policies.Change, actor policies.Actor) []string {
	c.Actor = actor
	var out []string
	for _, f := range rules.Judge(c) {
		for _, e := range f.Denials {
			out = append(out, e.Field+" "+f.Rule)
		}
	}
	return out
}

// object returns an object with the field, or without it.
func object(a attempt, requested string, has bool, value string) string {
	metadata := map[string]any{"name": "x", "labels": map[string]any{}, "annotations": map[string]any{
		authority.MirrorAnnotation: "Machine/x", authority.PausedAnnotation: "true",
	}, "finalizers": []string{authority.SyncFinalizer}}
	for k, v := range a.labels {
		metadata["labels"].(map[string]any)[k] = v
	}
	spec := map[string]any{"authoritativeAPI": requested}
	parent, rest, _ := strings.Cut(a.path, ".")
	if key, isKey := strings.CutSuffix(rest, "]"); has && isKey {
		of, key, _ := strings.Cut(key, "[")
		metadata[of].(map[string]any)[key] = value
	} else if has && rest == "ownerReferences" {
		metadata[rest] = []any{map[string]any{"apiVersion": "machine.openshift.io/v1", "kind": "ControlPlaneMachineSet", "name": "cluster",
			"uid": value, "controller": true}}
	} else if has && rest == "finalizers" {
		metadata[rest] = []string{authority.SyncFinalizer, "example.com/" + value}
	} else if has && a.path == "spec.lifecycleHooks.preDrain" {
		spec["lifecycleHooks"] = map[string]any{"preDrain": hooks(a.effect, value)}
	} else if has && parent == "spec" {
		at := spec
		names := strings.Split(rest, ".")
		for _, n := range names[:len(names)-1] {
			at[n] = map[string]any{}
			at = at[n].(map[string]any)
		}
		at[names[len(names)-1]] = value
	}
	o := map[string]any{"metadata": metadata, "spec": spec}
	if a.side == policies.SideMachineAPI {
		o["status"] = json.RawMessage(statuses[a.phase])
	} else if a.phase&left != 0 {
		o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Paused", "status": "True"}}}
	}
	raw, _ := json.Marshal(o)
	return string(raw)
}

// hooks returns a list that differs only by etcd's hook, whatever the effect is.
func hooks(effect authority.Effect, value string) []any {
	etcds := map[string]any{"name": authority.EtcdHookName, "owner": authority.EtcdHookOwner}
	if effect != authority.Changes {
		return []any{etcds}
	}
	others := map[string]any{"name": "other", "owner": "somebody"}
	if value == "before" {
		return []any{others}
	}
	return []any{others, etcds}
}
