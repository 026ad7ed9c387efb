// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// A Machine has no counterpart if its kind is not defined: the plugin names the definition, as the handoff does. A definition of another version is not
// missing.
func TestAMachineWithoutTheDefinitionOfItsCounterpart(t *testing.T) {
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	const defined = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: machines.cluster.x-k8s.io}}`
	for about, c := range map[string]struct {
		definition string
		forbidden  bool
		undefined  bool
	}{
		"it is not defined":           {undefined: true},
		"it is defined":               {definition: defined},
		"definitions may not be read": {forbidden: true},
	} {
		kinds := map[schema.GroupVersionResource]string{{Group: "apps", Version: "v1", Resource: "deployments"}: "DeploymentList", definitions: "CustomResourceDefinitionList"}
		for _, k := range authority.Kinds() {
			kinds[k.MachineAPI.WithResource(k.Resource)], kinds[k.ClusterAPI.WithResource(k.Resource)] = k.Name+"List", k.Name+"List"
		}
		for _, resource := range []string{"awsmachine", "awsmachinetemplate", "awscluster"} {
			kinds[schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Resource: resource + "s"}] = resource + "List"
		}
		var objects []runtime.Object
		for _, text := range []string{
			`{apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {name: cluster}, status: {infrastructureName: c, platformStatus: {type: AWS}}}`,
			`{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: a, namespace: openshift-machine-api, uid: m}, spec: {selector: {matchLabels: {s: a}}}}`,
			`{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: a, namespace: openshift-cluster-api, uid: c}, spec: {selector: {matchLabels: {s: a}}}}`,
			`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: x, namespace: openshift-machine-api, uid: x, labels: {s: a},
				ownerReferences: [{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: a, uid: m, controller: true}]}}`,
			c.definition,
		} {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
				t.Fatal(err)
			}
			if text != "" {
				objects = append(objects, u)
			}
		}
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
		client.PrependReactor("list", "machines", func(a clienttesting.Action) (bool, runtime.Object, error) {
			absent := a.GetResource().Group == "cluster.x-k8s.io"
			return absent, nil, apierrors.NewNotFound(a.GetResource().GroupResource(), "")
		})
		if c.forbidden {
			client.PrependReactor("get", definitions.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(definitions.GroupResource(), "", nil)
			})
		}
		f, err := inventory.FromCluster(t.Context(), client, inventory.Query{Pairs: authority.Pairs{inventory.DefaultPair}})
		if err != nil {
			t.Fatal(about, err)
		}
		for _, p := range f.Pairs {
			if p.Kind.Name != "MachineSet" {
				continue
			}
			if len(p.Uncounted) != 1 || p.Uncounted[0].Undefined != c.undefined ||
				c.undefined != strings.Contains(p.Uncounted[0].Why, "CustomResourceDefinition machines.cluster.x-k8s.io does not exist") {
				t.Errorf("%s: %+v", about, p.Uncounted)
			}
		}
	}
}
