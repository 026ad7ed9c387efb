// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/instanceid"
)

// Whatever an instance is looked up by, its Machine is found.
func TestMachinesAreFoundByTheirInstance(t *testing.T) {
	for _, id := range []string{
		"aws:///us-east-1a/i-0a", "aws:///i-0a", "AWS://i-0a", "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm",
		"gce://project/zone/name", "vsphere://420a", "openstack:///uuid", "bare", "/bare", "aws:///us-east-1a/",
		"aws:///us-east-1a/i-0a/", " aws:///us-east-1a//i-0a\n", "azure:///subscriptions//s/VM/",
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"providerID": id}}}
		for _, by := range []string{id, instanceid.Key(id), instanceid.Tail(id)} {
			var asked client.ListOptions
			OfInstance(by).ApplyToList(&asked)
			want := asked.FieldSelector.Requirements()[0].Value
			if got := instanceOf(o); len(got) != 1 || got[0] != want {
				t.Errorf("%s is indexed as %q, and %s is looked up as %q", id, got, by, want)
			}
		}
	}
	for _, none := range []client.Object{&unstructured.Unstructured{Object: map[string]any{}},
		&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"providerID": ""}}}} {
		if got := instanceOf(none); len(got) > 0 {
			t.Errorf("%v is indexed as %q", none, got)
		}
	}
}

// The parts of a manager share its indices, whatever its cache is: a plain one refuses the second index of a name.
func TestAnIndexIsSharedByAllWhoAskForIt(t *testing.T) {
	for sentence, namespaces := range map[string]map[string]cache.Config{
		"of all namespaces":   nil,
		"of these namespaces": {"openshift-machine-api": {}, "openshift-cluster-api": {}},
	} {
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(machineKind(), meta.RESTScopeNamespace)
		plain, err := cache.New(&rest.Config{Host: "http://127.0.0.1:1"}, cache.Options{HTTPClient: http.DefaultClient, Mapper: mapper, DefaultNamespaces: namespaces})
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []string{"the reviews", "the mirror", "the reflection"} {
			for name, err := range map[string]error{
				"role":     IndexByRole(t.Context(), plain),
				"owner":    IndexByOwner(t.Context(), plain, machineKind()),
				"instance": IndexByInstance(t.Context(), plain, machineKind()),
			} {
				if err != nil {
					t.Errorf("a cache %s, for %s by %s: %v", sentence, who, name, err)
				}
			}
		}
	}
}

type failing struct{ client.FieldIndexer }

func (failing) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return errors.New("it has stopped already")
}

// Whatever else is wrong with an index is an error.
func TestAnIndexThatIsNotThereIsAnError(t *testing.T) {
	if err := IndexByRole(t.Context(), failing{}); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("%v, want that the cache has stopped", err)
	}
}
