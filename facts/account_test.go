// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/embedded"
)

var plane *embedded.Plane // set once, by TestMain

func TestMain(m *testing.M) {
	crds, err := embedded.CRDs(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(embedded.Main(m, embedded.Options{CRDs: crds}, func(p *embedded.Plane) error {
		plane = p
		return nil
	}))
}

func TestAccounts(t *testing.T) {
	admin, err := client.New(plane.Admin(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	azure, _ := platforms.For("Azure")
	aws, _ := platforms.For("AWS")
	about := map[string]any{"spec": map[string]any{"cloudConfig": map[string]any{"name": "cloud-provider-config", "key": "config"}}}
	must := func(want string, got string, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("account %q, error %v, want %q", got, err, want)
		}
	}
	var nobody *facts.Accounts
	got, err := nobody.Of(t.Context(), azure, about)
	must("", got, err)
	got, err = (&facts.Accounts{Reader: admin}).Of(t.Context(), azure, about)
	must("", got, err) // no such namespace

	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: "cloud-provider-config"},
		Data: map[string]string{"config": `{"subscriptionId": "s-1"}`}}
	for _, create := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.Namespace}}, o} {
		if err := admin.Create(t.Context(), create); err != nil {
			t.Fatal(err)
		}
	}
	accounts := &facts.Accounts{Reader: admin}
	got, err = accounts.Of(t.Context(), azure, about)
	must("s-1", got, err)
	got, err = accounts.Of(t.Context(), aws, about)
	must("", got, err)
	if err := admin.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	got, err = accounts.Of(t.Context(), azure, about)
	must("s-1", got, err) // an answer is believed for a while
	got, err = (&facts.Accounts{Reader: admin}).Of(t.Context(), azure, map[string]any{})
	must("", got, err)
}

// Where the cloud provider's configuration may not be read, or does not exist, the account is in the ID of any instance.
func TestTheAccountIsInTheIDOfAnotherMachine(t *testing.T) {
	const namespace = "accounts"
	azure, _ := platforms.For("Azure")
	admin, err := client.New(plane.Admin(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	machine := func(name, id string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine"}}
		o.SetNamespace(namespace)
		o.SetName(name)
		if id != "" {
			o.Object["spec"] = map[string]any{"providerID": id}
		}
		return o
	}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, machine("a-new", ""),
		machine("b-runs", "azure:///subscriptions/s-2/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/b-runs")}
	for _, o := range objects {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cached, err := cache.New(plane.Admin(), cache.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := facts.IndexByRole(t.Context(), cached); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cached.Start(t.Context()) }() // it ends with the test
	if !cached.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not start")
	}
	get := func(schema.GroupVersionKind, string, string) (*unstructured.Unstructured, error) {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "cluster"}, "status": map[string]any{"infrastructureName": "c",
			"platformStatus": map[string]any{"type": "Azure", "azure": map[string]any{}}}}}, nil
	}
	for name, want := range map[string]string{namespace: "s-2", "elsewhere": ""} {
		e := facts.Environment{Accounts: &facts.Accounts{Reader: admin}, Masters: cached}
		env, _, err := e.Read(t.Context(), get, authority.Pair{MachineAPI: name, ClusterAPI: name}, true)
		if err != nil || env.Platform.Name != azure.Name || env.Account != want {
			t.Errorf("in %s: account %q of %q, %v, want %q", name, env.Account, env.Platform.Name, err, want)
		}
	}
}
