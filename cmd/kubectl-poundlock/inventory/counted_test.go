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

// Sets are asked for without their Machines: which of these both sets count is compared all the same, on each platform alike, and never with the Machines of
// one API alone.
func TestTheMachinesOfSetsThatAreAskedForAlone(t *testing.T) {
	machine, _ := authority.KindNamed("Machine")
	set, _ := authority.KindNamed("MachineSet")
	const (
		mapi = `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: openshift-machine-api, labels: {set: s}, ownerReferences: [{kind: MachineSet, name: s, uid: a, controller: true}]}}`
		core = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m, namespace: openshift-cluster-api, labels: {set: s}, ownerReferences: [{kind: MachineSet, name: s, uid: b, controller: true}]}}`
	)
	for about, c := range map[string]struct {
		machines  []string
		forbidden string
		want      int
	}{
		"both sets count it":                            {[]string{mapi, core}, "", 0},
		"Cluster API has none":                          {[]string{mapi}, "", 1},
		"Machine API has none":                          {[]string{core}, "", 1},
		"Cluster API's may not be listed":               {[]string{mapi, core}, machine.ClusterAPI.Group, 0},
		"Machine API's may not be listed, and has none": {[]string{core}, machine.MachineAPI.Group, 0},
	} {
		for _, platform := range []string{"AWS", "Azure"} {
			kinds := map[schema.GroupVersionResource]string{
				{Group: "apps", Version: "v1", Resource: "deployments"}:                                           "DeploymentList",
				{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}:             "CustomResourceDefinitionList",
				{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Resource: "awsclusters"}:           "AWSClusterList",
				{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "azureclusters"}:         "AzureClusterList",
				{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Resource: "awsmachines"}:           "AWSMachineList",
				{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "azuremachines"}:         "AzureMachineList",
				{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Resource: "awsmachinetemplates"}:   "AWSMachineTemplateList",
				{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "azuremachinetemplates"}: "AzureMachineTemplateList",
			}
			for _, k := range authority.Kinds() {
				kinds[k.MachineAPI.WithResource(k.Resource)], kinds[k.ClusterAPI.WithResource(k.Resource)] = k.Name+"List", k.Name+"List"
			}
			var objects []runtime.Object
			for _, text := range append([]string{
				`{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: s, namespace: openshift-machine-api, uid: a}, spec: {selector: {matchLabels: {set: s}}}}`,
				`{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: s, namespace: openshift-cluster-api, uid: b}, spec: {clusterName: c, selector: {matchLabels: {set: s}}}}`,
				`{apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {name: cluster}, status: {infrastructureName: c, platformStatus: {type: ` + platform + `}}}`,
			}, c.machines...) {
				u := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
					t.Fatal(err)
				}
				objects = append(objects, u)
			}
			client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
			client.PrependReactor("list", machine.Resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
				r := a.GetResource()
				return r.Group == c.forbidden, nil, apierrors.NewForbidden(r.GroupResource(), "", nil)
			})
			f, err := inventory.FromCluster(t.Context(), client, inventory.Query{Pairs: authority.Pairs{inventory.DefaultPair}, Kinds: []authority.Kind{set}})
			if err != nil || len(f.Pairs) != 1 || f.Pairs[0].Kind.Name != "MachineSet" {
				t.Fatal(about, platform, err, f)
			}
			if got := f.Pairs[0].Uncounted; len(got) != c.want || len(got) > 0 && !strings.Contains(got[0].Why, "it has no ") {
				t.Errorf("%s, on %s: %v, want %d", about, platform, got, c.want)
			}
		}
	}
}
