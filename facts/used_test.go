// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/facts"
)

func TestUsedTemplates(t *testing.T) {
	p, _ := platforms.Named("AWSMachine")
	refers := func(apiVersion, kind, name, template string) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": "c", "name": name},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"infrastructureRef": map[string]any{"name": template}}}}}}
	}
	machine := refers(p.InfraMachine.GroupVersion().String(), p.InfraMachine.Kind, "m", "")
	machine.SetAnnotations(map[string]string{"cluster.x-k8s.io/cloned-from-name": "of-a-machine"})
	for text, c := range map[string]struct {
		absent string
		want   []string
	}{
		"all kinds are served":             {"", []string{"of-a-deployment", "of-a-machine", "of-a-set"}},
		"no MachineDeployments are served": {"MachineDeploymentList", []string{"of-a-machine", "of-a-set"}},
	} {
		r := fake.NewClientBuilder().WithObjects(machine, refers("cluster.x-k8s.io/v1beta2", "MachineSet", "s", "of-a-set"),
			refers("cluster.x-k8s.io/v1beta2", "MachineDeployment", "d", "of-a-deployment")).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, w client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
				if kind := l.GetObjectKind().GroupVersionKind(); kind.Kind == c.absent {
					return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: kind.Group, Kind: kind.Kind}}
				}
				return w.List(ctx, l, o...)
			}}).Build()
		used, err := facts.UsedTemplates(t.Context(), r, p, "c")
		if got := sets.List(used.Delete("")); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, c.want)
		}
	}
}
