// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// Whatever an instance is looked up by, its Machine is found.
func TestMachinesAreFoundByTheirInstance(t *testing.T) {
	for _, id := range []string{
		"aws:///us-east-1a/i-0a", "aws:///i-0a", "AWS://i-0a", "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm",
		"gce://project/zone/name", "vsphere://420a", "openstack:///uuid", "bare", "/bare", "aws:///us-east-1a/",
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"providerID": id}}}
		for _, by := range []string{id, authority.InstanceKey(id), authority.InstanceTail(id)} {
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
