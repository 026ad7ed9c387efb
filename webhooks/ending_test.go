// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// The control plane Machines that are deleted with their namespace, CRD or Cluster, and those of a set that is deleted in the foreground, are found by their
// owners.
func TestEnding(t *testing.T) {
	object := func(raw string) *policies.Object {
		o, err := policies.ParseObject([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	machine := func(name, role, api, more string) *policies.Object {
		return object(fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"machine.openshift.io/cluster-api-machine-role":%[2]q,"machine.openshift.io/cluster-api-machine-type":%[2]q}%[4]s},"status":{"authoritativeAPI":%[3]q}}`,
			name, role, api, more))
	}
	byOwner := map[string][]*policies.Object{
		"machine.openshift.io here nobody": {machine("master-2", "master", "ClusterAPI", ""), machine("lone", "worker", "ClusterAPI", "")},
		"machine.openshift.io here cpms": {
			machine("master-0", "master", "ClusterAPI", ""), machine("master-1", "master", "MachineAPI", ""),
			machine("master-9", "master", "ClusterAPI", `,"deletionTimestamp":"2026-01-01T00:00:00Z"`),
		},
		"machine.openshift.io here set": {machine("a", "worker", "MachineAPI", ""), machine("b", "worker", "ClusterAPI", "")},
		"cluster.x-k8s.io there set":    {object(`{"metadata":{"name":"b"}}`), object(`{"metadata":{"name":"a"}}`), object(`{"metadata":{"name":"born"}}`)},
	}
	l := Lookups{
		Pairs: authority.Pairs{{MachineAPI: "here", ClusterAPI: "there"}, {MachineAPI: "elsewhere", ClusterAPI: "yonder"}},
		Cached: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			if ref.Kind == authority.ControlPlane && ref.Namespace == "here" {
				return object(`{"metadata":{"name":"cluster","uid":"cpms"}}`), nil
			}
			for _, m := range byOwner["machine.openshift.io here set"] {
				if ref.Namespace == "here" && ref.Name == m.Metadata.Name {
					return m, nil
				}
			}
			return nil, nil
		}),
		Sets: ListingFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error) {
			if gvk != coreKind(policies.SideMachineAPI, "Machine") || namespace != "here" {
				return nil, nil
			}
			return []*policies.Object{
				object(`{"metadata":{"name":"back"},"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}}`),
				object(`{"metadata":{"name":"asked"},"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"ClusterAPI"}}`),
				object(`{"metadata":{"name":"forth"},"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"}}`),
				object(`{"metadata":{"name":"cancelled"},"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}}`),
				object(`{"metadata":{"name":"rests"},"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"ClusterAPI"}}`),
			}, nil
		}),
		Owned: OwnedFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error) {
			return append([]*policies.Object(nil), byOwner[fmt.Sprintf("%s %s %s", gvk.Group, namespace, owner)]...), nil
		}),
	}
	if facts.Nobody != "nobody" {
		t.Fatal("the table names the owner of those that have none")
	}
	surroundings := func(kind, namespace, twin, name string) policies.Subject {
		return policies.Subject{Side: policies.Surroundings, Kind: kind, Namespace: namespace, TwinNamespace: twin, Name: name}
	}
	for sentence, c := range map[string]struct {
		subject policies.Subject
		want    []string
		all     int
	}{
		"the Cluster":                       {surroundings("Cluster", "there", "here", "c"), []string{"master-0", "master-2"}, 3},
		"Cluster API's namespace":           {surroundings("Namespace", "", "here", "there"), []string{"master-0", "master-2"}, 3},
		"the Machine API's namespace":       {surroundings("Namespace", "", "here", "here"), []string{"master-1"}, 3},
		"the namespace of another pair":     {surroundings("Namespace", "", "elsewhere", "yonder"), nil, 0},
		"the definition of Machines":        {surroundings("CustomResourceDefinition", "", "", "machines.cluster.x-k8s.io"), []string{"master-0", "master-2"}, 3},
		"that of the provider's":            {surroundings("CustomResourceDefinition", "", "", "awsmachines.infrastructure.cluster.x-k8s.io"), []string{"master-0", "master-2"}, 3},
		"that of Clusters":                  {surroundings("CustomResourceDefinition", "", "", "clusters.cluster.x-k8s.io"), []string{"master-0", "master-2"}, 3},
		"that of the Machine API's":         {surroundings("CustomResourceDefinition", "", "", "machines.machine.openshift.io"), []string{"master-1"}, 3},
		"that of sets, which have no such":  {surroundings("CustomResourceDefinition", "", "", "machinesets.cluster.x-k8s.io"), nil, 0},
		"that of templates":                 {surroundings("CustomResourceDefinition", "", "", "awsmachinetemplates.infrastructure.cluster.x-k8s.io"), nil, 0},
		"a set of the Machine API's":        {policies.Subject{Side: policies.SideMachineAPI, Kind: "MachineSet", Namespace: "here", TwinNamespace: "there", Name: "s"}, []string{"a"}, 0},
		"a set of Cluster API's":            {policies.Subject{Side: policies.SideClusterAPI, Kind: "MachineSet", Namespace: "there", TwinNamespace: "here", Name: "s"}, []string{"b", "born"}, 0},
		"a set that owns nothing elsewhere": {policies.Subject{Side: policies.SideMachineAPI, Kind: "MachineSet", Namespace: "elsewhere", TwinNamespace: "yonder", Name: "s"}, nil, 0},
	} {
		change := policies.Change{Subject: c.subject, Operation: admissionv1.Delete, Old: object(fmt.Sprintf(`{"metadata":{"name":%q,"uid":"set"}}`, c.subject.Name))}
		if doubts := l.advisory(t.Context(), &change, policies.NeedEnding); len(doubts) > 0 {
			t.Errorf("%s: %v", sentence, doubts)
		}
		var moving []string
		if c.all > 0 {
			moving = map[authority.API][]string{authority.ClusterAPI: {"asked", "back"}, authority.MachineAPI: {"forth"}}[authority.Ends(change)]
		}
		if diff := cmp.Diff(moving, change.Facts.Moving); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
		if diff := cmp.Diff(c.want, change.Facts.Ending); diff != "" || change.Facts.ControlPlaneSize != c.all {
			t.Errorf("%s: of %d, want %d: %s", sentence, change.Facts.ControlPlaneSize, c.all, diff)
		}
	}
}

// A control plane Machine that has failed because its instance is gone is no member of etcd, and never will be.
func TestTheControlPlaneMachinesThatLostTheirInstance(t *testing.T) {
	machine := func(name, status string) *policies.Object {
		o, err := policies.ParseObject([]byte(`{"metadata":{"name":"` + name + `","labels":{"machine.openshift.io/cluster-api-machine-role":"master","machine.openshift.io/cluster-api-machine-type":"master"}},"status":{"authoritativeAPI":` + status + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	unanswered := false
	l := Lookups{
		Pairs:  authority.Pairs{{MachineAPI: "here", ClusterAPI: "there"}, {MachineAPI: "elsewhere", ClusterAPI: "yonder"}},
		Cached: ReaderFunc(func(context.Context, Ref) (*policies.Object, error) { return nil, nil }),
		Owned: OwnedFunc(func(_ context.Context, _ schema.GroupVersionKind, namespace string, _ types.UID) ([]*policies.Object, error) {
			switch {
			case namespace == "here":
				return []*policies.Object{
					machine("master-2", `"MachineAPI","phase":"Failed","conditions":[{"type":"InstanceExists","status":"False"}]`),
					machine("master-0", `"ClusterAPI"`), machine("master-1", `"MachineAPI","phase":"Running"`),
				}, nil
			case unanswered:
				return nil, errors.New("no answer")
			}
			return nil, nil
		}),
	}
	review := func() ([]string, policies.Facts) {
		c := policies.Change{Subject: policies.Subject{Side: policies.Surroundings, Kind: authority.Definition, Name: "machines.cluster.x-k8s.io"},
			Operation: admissionv1.Delete, Old: machine("machines.cluster.x-k8s.io", `""`)}
		return l.advisory(t.Context(), &c, policies.NeedEnding), c.Facts
	}
	doubts, got := review()
	want := policies.Facts{Ending: []string{"master-0"}, ControlPlaneSize: 3, ControlPlaneLost: []string{"master-2"}}
	if diff := cmp.Diff(want, got); diff != "" || len(doubts) > 0 {
		t.Error(doubts, diff)
	}
	unanswered = true
	if doubts, got = review(); len(doubts) != 1 || got.Ending != nil || got.ControlPlaneSize != 0 || got.ControlPlaneLost != nil {
		t.Errorf("half of an answer counts: %v, %v", doubts, got)
	}
}

// TestTheMovesThatASetsDefinitionEnds: with the CRD of an API's MachineSets, only the Machines of sets are deleted, and with that of MachineDeployments only
// theirs.
func TestTheMovesThatASetsDefinitionEnds(t *testing.T) {
	var machines []*policies.Object
	for name, metadata := range map[string]string{
		"lone": "", "of-a-set": `,"ownerReferences":[{"kind":"MachineSet","name":"s","controller":true}]`,
		"of-a-deployment": `,"ownerReferences":[{"kind":"MachineSet","name":"d-1","controller":true}],"labels":{"cluster.x-k8s.io/deployment-name":"d"}`,
	} {
		for api, other := range map[string]string{"MachineAPI": "ClusterAPI", "ClusterAPI": "MachineAPI"} {
			o, err := policies.ParseObject([]byte(fmt.Sprintf(`{"metadata":{"name":"%s-%s"%s},"spec":{"authoritativeAPI":%q},"status":{"authoritativeAPI":%q}}`,
				name, api, metadata, other, api)))
			if err != nil {
				t.Fatal(err)
			}
			machines = append(machines, o)
		}
	}
	l := Lookups{
		Pairs:  authority.Pairs{{MachineAPI: "here", ClusterAPI: "there"}},
		Cached: ReaderFunc(func(context.Context, Ref) (*policies.Object, error) { return nil, nil }),
		Sets: ListingFunc(func(context.Context, schema.GroupVersionKind, string) ([]*policies.Object, error) {
			return machines, nil
		}),
		Owned: OwnedFunc(func(context.Context, schema.GroupVersionKind, string, types.UID) ([]*policies.Object, error) {
			return nil, nil
		}),
	}
	for name, want := range map[string][]string{
		"machinesets.machine.openshift.io":             {"of-a-deployment-MachineAPI", "of-a-set-MachineAPI"},
		"machinesets.cluster.x-k8s.io":                 {"of-a-deployment-ClusterAPI", "of-a-set-ClusterAPI"},
		"machinedeployments.cluster.x-k8s.io":          {"of-a-deployment-ClusterAPI"},
		"machines.machine.openshift.io":                {"lone-MachineAPI", "of-a-deployment-MachineAPI", "of-a-set-MachineAPI"},
		"machinehealthchecks.cluster.x-k8s.io":         nil,
		"controlplanemachinesets.machine.openshift.io": nil,
	} {
		change := policies.Change{Subject: policies.Subject{Side: policies.Surroundings, Kind: authority.Definition, Name: name}, Operation: admissionv1.Delete,
			Old: &policies.Object{}}
		if doubts := l.advisory(t.Context(), &change, policies.NeedEnding); len(doubts) > 0 {
			t.Errorf("%s: %v", name, doubts)
		}
		if diff := cmp.Diff(want, change.Facts.Moving); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMastersThatStay counts Machines as Cluster API's controller does. A deletion on either side counts, even if several deletions follow one another at once.
func TestMastersThatStay(t *testing.T) {
	const (
		leaving = `{"metadata":{"name":%q,"deletionTimestamp":"2026-01-01T00:00:00Z"}}`
		owned   = `{"metadata":{"name":"m1","deletionTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[{"kind":"ControlPlaneMachineSet","name":"cluster","uid":"u","controller":true}]}}`
	)
	for sentence, c := range map[string]struct {
		machineAPI, clusterAPI []string
		side                   policies.Side
		want                   int
	}{
		"all stay":                               {clusterAPI: []string{`{"metadata":{"name":"m0"}}`, `{"metadata":{"name":"m1"}}`, `{"metadata":{"name":"m2"}}`}, want: 3},
		"one is being deleted":                   {clusterAPI: []string{`{"metadata":{"name":"m0"}}`, fmt.Sprintf(leaving, "m1"), `{"metadata":{"name":"m2"}}`}, want: 2},
		"one is being deleted in Machine API":    {machineAPI: []string{owned}, clusterAPI: []string{`{"metadata":{"name":"m0"}}`, `{"metadata":{"name":"m1"}}`}, want: 1},
		"its mirror goes alone":                  {machineAPI: []string{fmt.Sprintf(leaving, "m1")}, clusterAPI: []string{`{"metadata":{"name":"m0"}}`, `{"metadata":{"name":"m1"}}`}, want: 2},
		"one that Cluster API does not know yet": {machineAPI: []string{`{"metadata":{"name":"m1"}}`}, clusterAPI: []string{`{"metadata":{"name":"m0"}}`}, want: 1},
		"the others are being deleted":           {clusterAPI: []string{`{"metadata":{"name":"m0"}}`, fmt.Sprintf(leaving, "m1"), fmt.Sprintf(leaving, "m2")}, side: policies.SideMachineAPI, want: 1},
	} {
		l := Lookups{Owned: OwnedFunc(nil), Masters: ListingFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string) (
			out []*policies.Object, _ error,
		) {
			all := map[string][]string{"machine.openshift.io here": c.machineAPI, "cluster.x-k8s.io there": c.clusterAPI}[gvk.Group+" "+namespace]
			for _, raw := range all {
				o, err := policies.ParseObject([]byte(raw))
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, o)
			}
			return out, nil
		})}
		subject := policies.Subject{Side: policies.SideClusterAPI, Kind: "Machine", Namespace: "there", TwinNamespace: "here", Name: "m0"}
		if c.side == policies.SideMachineAPI {
			subject.Side, subject.Namespace, subject.TwinNamespace = c.side, "here", "there"
		}
		change := policies.Change{Subject: subject, Operation: admissionv1.Delete, Old: &policies.Object{}}
		if doubts := l.advisory(t.Context(), &change, policies.NeedEnding); len(doubts) > 0 || change.Facts.ControlPlaneSize != c.want {
			t.Errorf("%s: %d stay, want %d (%v)", sentence, change.Facts.ControlPlaneSize, c.want, doubts)
		}
	}
}

// TestTheMastersBehindAProvidersMachine: the cache only decides whether a Machine belongs to the control plane. Everything else is read live, because the cache
// may not show yet that the Machine is being deleted.
func TestTheMastersBehindAProvidersMachine(t *testing.T) {
	const (
		master  = `{"metadata":{"name":"m0","labels":{"cluster.x-k8s.io/control-plane":""}}}`
		leaving = `{"metadata":{"name":"m0","labels":{"cluster.x-k8s.io/control-plane":""},"deletionTimestamp":"2026-01-01T00:00:00Z",` +
			`"annotations":{"pre-drain.delete.hook.machine.cluster.x-k8s.io/x":"me"}},"status":{"nodeRef":{"name":"node"}}}`
	)
	for sentence, c := range map[string]struct {
		cached, stored string
		asked          int
	}{
		"the cache is behind its deletion": {cached: master, stored: leaving, asked: 1},
		"the cache does not have it":       {stored: leaving, asked: 1},
		"a worker":                         {cached: `{"metadata":{"name":"m0"}}`},
	} {
		asked := 0
		parse := func(raw string) *policies.Object {
			if raw == "" {
				return nil
			}
			o, err := policies.ParseObject([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		get := ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			if ref.Kind == "Machine" {
				return parse(c.cached), nil
			}
			return parse(`{"metadata":{"name":"here"}}`), nil
		})
		l := Lookups{Cached: get, Live: get, Masters: ListingFunc(func(context.Context, schema.GroupVersionKind, string) ([]*policies.Object, error) {
			asked++
			return []*policies.Object{parse(c.stored)}, nil
		})}
		change := policies.Change{Subject: policies.Subject{Side: policies.SideInfrastructure, Kind: "InfraMachine", Namespace: "there", TwinNamespace: "here", Name: "m0"},
			Operation: admissionv1.Delete, Old: &policies.Object{}, Facts: policies.Facts{Twin: parse(master)}}
		if err := l.masters(t.Context(), &change); err != nil || asked != c.asked || len(change.Facts.Masters) != c.asked || change.Facts.Leaving != "" {
			t.Errorf("%s: asked %d times, %v, %q (%v)", sentence, asked, change.Facts.Masters, change.Facts.Leaving, err)
		}
	}
}

// TestUndrained tests whether Cluster API would find a Machine of the control plane. A mirror counts, and a Machine that is being deleted does not.
func TestUndrained(t *testing.T) {
	for sentence, c := range map[string]struct {
		machines  []string
		err       error
		undrained bool
		// cached are the names of the Machines without an owner in the cache.
		cached []string
		asked  int
	}{
		"nothing of the control plane is mirrored": {undrained: true, asked: 1},
		"a mirror":                    {machines: []string{`{"metadata":{"name":"m0","labels":{"cluster.x-k8s.io/control-plane":""},"annotations":{"cluster.x-k8s.io/paused":""}}}`}, asked: 1},
		"a mirror that the cache has": {cached: []string{`{"metadata":{"name":"m0","labels":{"cluster.x-k8s.io/control-plane":""}}}`}},
		"the cache has others":        {cached: []string{`{"metadata":{"name":"w"}}`}, undrained: true, asked: 1},
		"one that is being deleted":   {machines: []string{`{"metadata":{"name":"m0","labels":{"cluster.x-k8s.io/control-plane":""},"deletionTimestamp":"2026-01-01T00:00:00Z"}}`}, undrained: true, asked: 1},
		"nobody knows":                {err: errors.New("too busy"), asked: 1},
	} {
		for side, namespaces := range map[policies.Side][]string{policies.SideMachineAPI: {"here", "there"}, policies.SideClusterAPI: {"there", "here"}} {
			asked := 0
			read := func(gvk schema.GroupVersionKind, namespace string, all []string) (out []*policies.Object) {
				if gvk.Group != "cluster.x-k8s.io" || namespace != "there" {
					t.Errorf("%s: %s in %s is listed", sentence, gvk, namespace)
				}
				for _, raw := range all {
					o, err := policies.ParseObject([]byte(raw))
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, o)
				}
				return out
			}
			l := Lookups{
				Owned: OwnedFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error) {
					if owner != facts.Nobody {
						t.Errorf("%s: what %s owns is listed", sentence, owner)
					}
					return read(gvk, namespace, c.cached), nil
				}),
				Masters: ListingFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error) {
					asked++
					return read(gvk, namespace, c.machines), c.err
				}),
			}
			change := policies.Change{Subject: policies.Subject{Side: side, Kind: "Machine", Namespace: namespaces[0], TwinNamespace: namespaces[1], Name: "w"}}
			if doubts := l.advisory(t.Context(), &change, policies.NeedUndrained); len(doubts) > 0 != (c.err != nil) ||
				change.Facts.Undrained != c.undrained || asked != c.asked {
				t.Errorf("%s: undrained %t, asked %d times (%v)", sentence, change.Facts.Undrained, asked, doubts)
			}
		}
	}
}
