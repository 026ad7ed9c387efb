// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/policies/authority"
)

// kindsOfPairs are models of each kind of pair.
func kindsOfPairs() []*pairs {
	return []*pairs{{}, {set: true}, {set: true, check: true}, {keeps: keptByMirror}}
}

// TestEveryGrantIsWalked: each field of each row is a write of pairNeighbours, to an object of some pair, or another actor's.
func TestEveryGrantIsWalked(t *testing.T) {
	rest := maps.Clone(playedElsewhere)
	for _, g := range authority.Grants() {
		about := slices.ContainsFunc(kindsOfPairs(), func(p *pairs) bool { return len(p.objectsOf(g)) > 0 })
		for _, field := range g.Fields {
			row := rowOf(g, field)
			if _, is := writeOf(g, field); !is && playedElsewhere[row] == "" || !about {
				t.Errorf("no actor of the model writes this: %s", row)
			}
			delete(rest, row)
		}
	}
	for row := range rest {
		t.Errorf("no row: %s", row)
	}
}

// unwalked are the rows of authority.Others by which something is stored, and what the model has of them.
var unwalked = map[string]string{
	"Machine API's machine controller: status.providerStatus of a Machine":                                                     "its instance is what the model knows of status: pairMachineController stores it",
	"infrastructure providers of Cluster API: the instance in the status of an infrastructure machine (instanceID, vmID, …)":   "the same: provider stores it",
	"infrastructure provider of vSphere: its finalizer onto a VSphereMachine or VSphereVM, paused ones too":                    "provider and instanceController put it on while they are paused",
	"Machine API's health checks: the deletion of a Machine":                                                                   "pairPerson deletes either object at any time",
	"Machine API's health checks: the annotation host.metal3.io/external-remediation":                                          "nobody decides from it, like what is ignored of pairNeighbours",
	"cluster-version-operator: the release's MachineHealthCheck machine-api-termination-handler, whole, when its spec differs": "that check does not move",
	"Hive, managed-upgrade-operator: the deletion of a MachineSet":                                                             "familyPerson deletes either set",
	"ACM: its AppliedManifestWork as an owner beside others":                                                                   "only owners of the pair's own kinds are decided from",
	"Flux, kubectl apply --prune --applyset: labels by which they recognize an object":                                         "nobody decides from them, like what is ignored of pairNeighbours",
	"Velero, OADP, MTC: restored objects without status, owner and uid":                                                        "pairPerson creates either object again",
	"HyperShift's NodePools, a second manager of Cluster API: objects in the namespaces of hosted control planes":              "they are no pair",
	"storage version migrator: objects as they are":                                                                            "nothing changes",
	"Cluster API's crdmigrator: an apply without any field":                                                                    "nothing changes",
	"self-node-remediation: nothing":                                                                                           "nothing changes",
	"Node labels by operators: labels of Nodes, not of Machines":                                                               "the model has no Nodes",
	"garbage collector, namespace controller: deletions of what belongs to an owner, or a namespace, that is gone":             "pairCollector, pairNamespaceController, and those of a family",
	"machine approver, insights operator, kube-state-metrics: nothing":                                                         "nothing changes",
}

// TestEveryOtherWriterIsWalked: what ordinary rules let through of a neighbour is a move of some actor, or the model cannot see it. What they refuse
// or put back changes nothing that is stored; that it is refused, policies/authority tests (TestWhatOthersAreRefused).
func TestEveryOtherWriterIsWalked(t *testing.T) {
	rest := maps.Clone(unwalked)
	for _, o := range authority.Others() {
		row := o.Writer + ": " + o.Writes
		if o.Treatment != authority.Refused && o.Treatment != authority.PutBack && unwalked[row] == "" {
			t.Errorf("say what the model has of this: %s", row)
		}
		delete(rest, row)
	}
	for row := range rest {
		t.Errorf("no row: %s", row)
	}
}

// TestPhasesAreThoseOfTheRows: the model lets a row write exactly where the locks do.
func TestPhasesAreThoseOfTheRows(t *testing.T) {
	for _, p := range kindsOfPairs()[:3] {
		for _, status := range values {
			for _, origin := range values[:3] {
				for _, answers := range []object{0, pauseRequested, paused, pauseRequested | paused} {
					w := pair{m: there | answers, c: there | mark | answers, i: there | mark | answers}
					w.m.setStatus(status)
					w.m.setOrigin(origin)
					comparePhases(t, p, &w)
				}
			}
		}
	}
}

func comparePhases(t *testing.T, p *pairs, w *pair) {
	t.Helper()
	for _, g := range authority.Grants() {
		if g.Only != nil || g.Effects&authority.Writes != authority.Writes {
			continue // about Machines that only differ by what the model has not
		}
		for _, on := range p.objectsOf(g) {
			c := p.change(review{map[which]question{ofM: byEditM, ofC: byEditC, ofI: byProvider}[on], w.m, w.c, w.i})
			c.Actor = g.Actor
			for _, field := range g.Fields {
				let := slices.ContainsFunc(authority.Grants(), func(o authority.Grant) bool {
					return o.Actor == g.Actor && slices.Contains(p.objectsOf(o), on) && slices.Contains(o.Fields, field) && o.Effects&authority.Changes != 0 &&
						p.phase(w, on)&o.While != 0
				})
				if path := strings.Replace(field, "[*]", "[x]", 1); let != authority.Granted(c, path, authority.Changes) {
					t.Errorf("%s, with %s, from %s, and the object %v: let through: %v", rowOf(g, field), w.m.status(), w.m.origin(), *w.at(on), let)
				}
			}
		}
	}
}
