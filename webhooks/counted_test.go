// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// A Machine of Cluster API's that has no Machine API object has nowhere to say why: the review tries its conversion.
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
	got, err := l.uncounted(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := []policies.Uncounted{{Name: "born", By: policies.SideClusterAPI, Why: "it has no Machine API object (spec.version: no place)"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if tried.Kind != "Machine" || tried.Facts.Twin != born || tried.TwinNamespace != "there" {
		t.Errorf("the conversion of %s in %q was tried, with the twin %v", tried.Kind, tried.TwinNamespace, tried.Facts.Twin)
	}
	c.Kind = "Machine"
	if got, err := l.uncounted(t.Context(), c); got != nil || err != nil {
		t.Errorf("a Machine owns none: %v, %v", got, err)
	}
}
