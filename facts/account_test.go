// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/test/embedded"
)

var plane *embedded.Plane // set once, by TestMain

func TestMain(m *testing.M) {
	os.Exit(embedded.Main(m, embedded.Options{}, func(p *embedded.Plane) error {
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
