// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestBootData: each Secret is looked for once, in Cluster API's namespace, and what the user may not read is not known.
func TestBootData(t *testing.T) {
	object := func(text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		return o
	}
	set := func(name, secret string) *unstructured.Unstructured {
		return object(`{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: ` + name + `, namespace: openshift-machine-api},
			spec: {template: {spec: {providerSpec: {value: {userDataSecret: {name: ` + secret + `}}}}}}}`)
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{{Version: "v1", Resource: "secrets"}: "SecretList"},
		object(`{apiVersion: v1, kind: Secret, metadata: {name: there, namespace: openshift-cluster-api}}`),
		object(`{apiVersion: v1, kind: Secret, metadata: {name: elsewhere, namespace: openshift-machine-api}}`))
	asked := 0
	client.PrependReactor("get", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		if name := a.(clienttesting.GetAction).GetName(); name == "hidden" {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, name, nil)
		}
		return false, nil, nil
	})
	c := newCollection(authority.Pairs{DefaultPair})
	want := map[string]policies.Existence{"a": policies.Exists, "b": policies.Exists, "c": policies.Absent, "d": "", "e": ""}
	for name, secret := range map[string]string{"a": "there", "b": "there", "c": "elsewhere", "d": "hidden", "e": "worker-user-data"} {
		if err := c.take(set(name, secret)); err != nil {
			t.Fatal(err)
		}
	}
	c.bootData(t.Context(), client, DefaultPair)
	f := c.done()
	for _, p := range f.Pairs {
		if p.BootData != want[p.Name] {
			t.Errorf("%s: %q, want %q", p.Name, p.BootData, want[p.Name])
		}
	}
	if len(f.Pairs) != 5 || asked != 3 {
		t.Errorf("%d pairs, %d requests", len(f.Pairs), asked)
	}
}
