// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// A Cluster API Machine without a Machine API object cannot report why it has none, so the review tries its conversion.
func TestUncountedMachinesAreExplained(t *testing.T) {
	object := func(raw string) *policies.Object {
		o, err := policies.ParseObject([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	set := func(uid string) *policies.Object {
		return object(`{"metadata":{"name":"a","uid":"` + uid + `"},"spec":{"selector":{"matchLabels":{"set":"a"}}}}`)
	}
	born := object(`{"metadata":{"name":"born","labels":{"set":"a"},"ownerReferences":[{"kind":"MachineSet","name":"a","uid":"c","controller":true}]}}`)
	var tried policies.Change
	l := Lookups{
		Cached: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			if ref.Group == "cluster.x-k8s.io" && ref.Namespace == "there" && ref.Name == "born" {
				return born, nil
			}
			return nil, nil
		}),
		Owned: OwnedFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error) {
			if gvk.Group == "cluster.x-k8s.io" && namespace == "there" && owner == "c" {
				return []*policies.Object{born}, nil
			}
			return nil, nil
		}),
		Converter: ConverterFunc(func(_ context.Context, c policies.Change) (field.ErrorList, error) {
			tried = c
			return field.ErrorList{{Type: field.ErrorTypeInvalid, Field: "spec.version", Detail: "no place"}}, nil
		}),
	}
	c := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "MachineSet", Namespace: "here", TwinNamespace: "there", Name: "a"},
		Operation: admissionv1.Update, Old: set("m"), New: set("m"), Facts: policies.Facts{Twin: set("c")}}
	// as a review looks it up, and not the function alone
	gathered, doubts, err := l.gather(t.Context(), c, policies.NeedUncounted)
	if err != nil || len(doubts) > 0 {
		t.Fatal(err, doubts)
	}
	got := gathered.Facts.Uncounted
	want := []policies.Uncounted{{Name: "born", By: policies.SideClusterAPI, Why: "it has no Machine API object (spec.version: no place)"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if tried.Kind != "Machine" || tried.Facts.Twin != born || tried.TwinNamespace != "there" {
		t.Errorf("the conversion of %s in %q was tried, with the twin %v", tried.Kind, tried.TwinNamespace, tried.Facts.Twin)
	}
	scaled := c
	scaled.Subresource, scaled.Old, scaled.New, scaled.Facts.Stored = "scale", object(`{"spec":{"replicas":1}}`), object(`{"spec":{"replicas":0}}`), set("m")
	if got, err := l.uncounted(t.Context(), scaled); err != nil || !cmp.Equal(want, got) {
		t.Errorf("of a scale: %v, %v", got, err)
	}
	c.Kind = "Machine"
	if got, err := l.uncounted(t.Context(), c); got != nil || err != nil {
		t.Errorf("a Machine owns none: %v, %v", got, err)
	}
}

// A Machine has no mirror if the definition of its kind does not exist or is being deleted. The review reports which of the two is the case.
func TestUncountedMachinesWithoutTheirDefinition(t *testing.T) {
	object := func(raw string) *policies.Object {
		o, err := policies.ParseObject([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	set := func(uid string) *policies.Object {
		return object(`{"metadata":{"name":"a","uid":"` + uid + `"},"spec":{"selector":{"matchLabels":{"set":"a"}}}}`)
	}
	machine := func(name string) *policies.Object {
		return object(`{"metadata":{"name":"` + name + `","labels":{"set":"a"},"ownerReferences":[{"kind":"MachineSet","name":"a","uid":"m","controller":true}]}}`)
	}
	for words, definition := range map[string]*policies.Object{
		"it has no Cluster API object: CustomResourceDefinition machines.cluster.x-k8s.io does not exist. Install Cluster API again": nil,
		"CustomResourceDefinition machines.cluster.x-k8s.io is being deleted. When it is gone, install Cluster API again":            object(`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`),
		"it has no Cluster API object": object(`{"metadata":{}}`),
	} {
		asked := 0
		l := Lookups{
			Live: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
				if asked++; ref.Kind != "CustomResourceDefinition" || ref.Name != "machines.cluster.x-k8s.io" {
					t.Errorf("asked for %s", ref)
				}
				return definition, nil
			}),
			Cached: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
				if ref.Group == "machine.openshift.io" {
					return machine(ref.Name), nil
				}
				return nil, nil
			}),
			Owned: OwnedFunc(func(_ context.Context, gvk schema.GroupVersionKind, _ string, owner types.UID) ([]*policies.Object, error) {
				if gvk.Group == "machine.openshift.io" && owner == "m" {
					return []*policies.Object{machine("x"), machine("y")}, nil
				}
				return nil, nil
			}),
		}
		got, err := l.uncounted(t.Context(), policies.Change{
			Subject:   policies.Subject{Side: policies.SideMachineAPI, Kind: "MachineSet", Namespace: "here", TwinNamespace: "there", Name: "a"},
			Operation: admissionv1.Update, Old: set("m"), New: set("m"), Facts: policies.Facts{Twin: set("c")},
		})
		if err != nil || len(got) != 2 || asked != 1 {
			t.Fatalf("%v, %v, after %d live reads", got, err, asked)
		}
		for _, u := range got {
			if !strings.Contains(u.Why, words) || u.Undefined != (words != "it has no Cluster API object") {
				t.Errorf("%s, undefined: %t; want %q", u.Why, u.Undefined, words)
			}
		}
	}
}

// Nearly all Machines of OpenStack and vSphere have Poundlock's hook while Machine API runs their instances. A deletion of their set would not leave the
// instances behind. A deletion past the hooks of others would not leave instances behind either. A set without a twin may have such hooks of its own.
func TestTheMachinesWhoseInstancesAreUnknown(t *testing.T) {
	object := func(name, annotations, status string) *policies.Object {
		o, err := policies.ParseObject([]byte(`{"metadata":{"name":"` + name + `","uid":"c","annotations":{` + annotations + `}},"status":{"authoritativeAPI":"` + status + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	const hook = `"pre-terminate.delete.hook.machine.cluster.x-k8s.io/poundlock-until-provider-knows-instance":"poundlock"`
	const etcd = `"pre-drain.delete.hook.machine.cluster.x-k8s.io/EtcdQuorumOperator":"clusteroperator/etcd"`
	twins := map[string]string{"ours": "MachineAPI", "theirs": "ClusterAPI", "moving": "Migrating", "known": "ClusterAPI", "master": "ClusterAPI", "both": "Migrating",
		"mirror": "MachineAPI"}
	l := Lookups{
		Cached: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			if status, has := twins[ref.Name]; has && ref.Group == "machine.openshift.io" && ref.Kind == "Machine" && ref.Namespace == "there" {
				return object(ref.Name, "", status), nil
			}
			return nil, nil
		}),
		Owned: OwnedFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error) {
			if gvk.Group != "cluster.x-k8s.io" || gvk.Kind != "Machine" || namespace != "here" || owner != "c" {
				t.Errorf("asked for %s in %s of %s", gvk, namespace, owner)
			}
			return []*policies.Object{object("theirs", hook, ""), object("ours", hook, ""), object("moving", hook, ""), object("known", "", ""), object("alone", hook, ""),
				object("master", etcd, ""), object("both", hook+","+etcd, ""), object("mirror", etcd, ""), object("independent", etcd, "")}, nil
		}),
	}
	c := policies.Change{Subject: policies.Subject{Side: policies.SideClusterAPI, Kind: "MachineSet", Namespace: "here", TwinNamespace: "there", Name: "a"},
		Operation: admissionv1.Delete, Old: object("a", "", "")}
	if doubts := l.advisory(t.Context(), &c, policies.NeedUnknownInstances); len(doubts) > 0 {
		t.Error(doubts)
	}
	if diff := cmp.Diff([]string{"alone", "both", "moving", "theirs"}, c.Facts.UnknownInstances); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"both", "master"}, c.Facts.Hooked); diff != "" {
		t.Errorf("those that hooks hold up: %s", diff)
	}
}

// A deletion of a MachineDeployment in the foreground deletes its sets' Machines in the foreground, too.
func TestTheMachinesOfAMachineDeploymentThatHooksHoldUp(t *testing.T) {
	object := func(name, uid, annotations, status string) *policies.Object {
		o, err := policies.ParseObject([]byte(`{"metadata":{"name":"` + name + `","uid":"` + uid + `","annotations":{` + annotations + `}},"status":{"authoritativeAPI":"` + status + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	const hook = `"pre-terminate.delete.hook.machine.cluster.x-k8s.io/poundlock-until-provider-knows-instance":"poundlock"`
	const backup = `"pre-drain.delete.hook.machine.cluster.x-k8s.io/backup":"mine"`
	owned := map[string][]*policies.Object{
		"MachineSet of d":      {object("old", "s-1", "", ""), object("new", "s-2", "", "")},
		"Machine of s-1":       {object("old-1", "", backup, ""), object("old-2", "", "", "")},
		"Machine of s-2":       {object("new-1", "", backup, ""), object("new-2", "", hook, "")},
		"Machine of d":         {object("never", "", backup, "")},
		"MachineSet of nobody": {object("other", "s-3", "", "")},
		"Machine of s-3":       {object("other-1", "", backup, "")},
	}
	l := Lookups{
		Cached: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			if ref.Group != "machine.openshift.io" || ref.Kind != "Machine" || ref.Namespace != "there" {
				t.Errorf("asked for %s", ref)
			}
			return object(ref.Name, "", "", "ClusterAPI"), nil
		}),
		Owned: OwnedFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string, owner types.UID) ([]*policies.Object, error) {
			if gvk.Group != "cluster.x-k8s.io" || namespace != "here" {
				t.Errorf("asked for %s in %s", gvk, namespace)
			}
			return owned[gvk.Kind+" of "+string(owner)], nil
		}),
	}
	c := policies.Change{Subject: policies.Subject{Side: policies.SideClusterAPI, Kind: authority.MachineDeployment, Namespace: "here", TwinNamespace: "there", Name: "d"},
		Operation: admissionv1.Delete, Old: object("d", "d", "", "")}
	if doubts := l.advisory(t.Context(), &c, policies.NeedUnknownInstances); len(doubts) > 0 {
		t.Error(doubts)
	}
	if diff := cmp.Diff([]string{"new-1", "old-1"}, c.Facts.Hooked); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"new-2"}, c.Facts.UnknownInstances); diff != "" {
		t.Error(diff)
	}
}

// An object that is deleted with its namespace does not wait for the hook. A Machine whose own deletion waits for the hook does.
func TestTheMachinesThatWouldGoWithTheirNamespace(t *testing.T) {
	const hook = `"annotations":{"pre-terminate.delete.hook.machine.cluster.x-k8s.io/poundlock-until-provider-knows-instance":"poundlock"}`
	object := func(metadata, status string) *policies.Object {
		o, err := policies.ParseObject([]byte(`{"metadata":{` + metadata + `},"status":{"authoritativeAPI":"` + status + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	twins := map[string]string{"ours": "MachineAPI", "theirs": "ClusterAPI", "moving": "Migrating", "known": "ClusterAPI"}
	l := Lookups{
		Pairs: authority.Pairs{{MachineAPI: "there", ClusterAPI: "here"}},
		Cached: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			if status, has := twins[ref.Name]; has && ref.Group == "machine.openshift.io" && ref.Kind == "Machine" && ref.Namespace == "there" {
				return object("", status), nil
			}
			return nil, nil
		}),
		Sets: ListingFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error) {
			if gvk.Group != "cluster.x-k8s.io" || gvk.Kind != "Machine" || namespace != "here" {
				t.Errorf("asked for %s in %s", gvk, namespace)
			}
			return []*policies.Object{object(`"name":"theirs",`+hook, ""), object(`"name":"ours",`+hook, ""), object(`"name":"moving",`+hook, ""), object(`"name":"known"`, ""),
				object(`"name":"leaving","deletionTimestamp":"2026-01-01T00:00:00Z",`+hook, "")}, nil
		}),
	}
	for _, in := range []policies.Subject{
		{Side: policies.Surroundings, Kind: authority.Namespace, Namespace: "here", TwinNamespace: "there", Name: "here"},
		{Side: policies.Surroundings, Kind: authority.Cluster, Namespace: "here", TwinNamespace: "there", Name: "a"},
		{Side: policies.Surroundings, Kind: authority.Definition, Name: "vspheremachines.infrastructure.cluster.x-k8s.io"},
	} {
		c := policies.Change{Subject: in, Operation: admissionv1.Delete, Old: object("", "")}
		if doubts := l.advisory(t.Context(), &c, policies.NeedUnknownInstances); len(doubts) > 0 {
			t.Error(doubts)
		}
		if diff := cmp.Diff([]string{"leaving", "moving", "theirs"}, c.Facts.UnknownInstances); diff != "" {
			t.Errorf("%s: %s", in.Kind, diff)
		}
	}
	c := policies.Change{
		Subject:   policies.Subject{Side: policies.Surroundings, Kind: authority.Namespace, Namespace: "there", TwinNamespace: "here", Name: "there"},
		Operation: admissionv1.Delete, Old: object("", ""),
	}
	if doubts := l.advisory(t.Context(), &c, policies.NeedUnknownInstances); len(doubts) > 0 || len(c.Facts.UnknownInstances) > 0 {
		t.Errorf("the Machine API's namespace: %v, %v", c.Facts.UnknownInstances, doubts)
	}
}
