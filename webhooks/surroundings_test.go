// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"cmp"
	"context"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// That a Cluster is being deleted is only reported for a move to Cluster API. That it is paused is reported for a move to either API.
func TestSurroundings(t *testing.T) {
	for sentence, c := range map[string]struct{ cluster, twin, to, leaving, paused string }{
		"a Cluster that is paused":           {cluster: `{"spec":{"paused":true}}`, paused: "lock"},
		"a Cluster that is not":              {cluster: `{"spec":{"paused":false}}`},
		"one that has no such field":         {cluster: `{"spec":{}}`},
		"there is none":                      {},
		"the twin names none":                {cluster: `{"spec":{"paused":true}}`, twin: `{"spec":{}}`},
		"Machine API is asked for":           {cluster: `{"spec":{"paused":true}}`, to: "MachineAPI", paused: "lock"},
		"Machine API is, and it goes":        {cluster: `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{}}`, to: "MachineAPI"},
		"a paused one that is being deleted": {cluster: `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"paused":true}}`, leaving: "Cluster lock is being deleted"},
	} {
		parsed := func(raw string) *policies.Object {
			o, err := policies.ParseObject([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		l := Lookups{Live: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			if ref.Kind == authority.Cluster && ref.Namespace == "there" && ref.Name == "lock" {
				return parsed(c.cluster), nil
			}
			return nil, nil
		})}
		change := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "here", TwinNamespace: "there", Name: "w"},
			New: parsed(`{"spec":{"authoritativeAPI":"` + cmp.Or(c.to, "ClusterAPI") + `"}}`), Facts: policies.Facts{Twin: parsed(cmp.Or(c.twin, `{"spec":{"clusterName":"lock"}}`))}}
		doubts := l.advisory(t.Context(), &change, policies.NeedSurroundings)
		if len(doubts) > 0 || change.Facts.Leaving != c.leaving || change.Facts.PausedCluster != c.paused {
			t.Errorf("%s: %q is leaving, %q is paused (%v)", sentence, change.Facts.Leaving, change.Facts.PausedCluster, doubts)
		}
	}
}

// TestADeletionAsksWhetherTheClusterIsPaused asks from either side: it is the Cluster of Cluster API's object that counts.
func TestADeletionAsksWhetherTheClusterIsPaused(t *testing.T) {
	core, err := policies.ParseObject([]byte(`{"spec":{"clusterName":"lock"}}`))
	if err != nil {
		t.Fatal(err)
	}
	other, err := policies.ParseObject([]byte(`{"spec":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	l := Lookups{Live: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
		if ref.Kind == authority.Cluster && ref.Namespace == "core" && ref.Name == "lock" {
			return policies.ParseObject([]byte(`{"spec":{"paused":true}}`))
		}
		return nil, nil
	})}
	for _, c := range []policies.Change{
		{Subject: policies.Subject{Side: policies.SideClusterAPI, Kind: "Machine", Namespace: "core", TwinNamespace: "machines", Name: "w"}, Old: core,
			Facts: policies.Facts{Twin: other}},
		{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "machines", TwinNamespace: "core", Name: "w"}, Old: other,
			Facts: policies.Facts{Twin: core}},
	} {
		c.Operation = admissionv1.Delete
		if doubts := l.advisory(t.Context(), &c, policies.NeedPausedCluster); len(doubts) > 0 || c.Facts.PausedCluster != "lock" {
			t.Errorf("%s: %q is paused (%v)", c.Side, c.Facts.PausedCluster, doubts)
		}
	}
}
