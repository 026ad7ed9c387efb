// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"slices"
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

const (
	vcore    = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m, namespace: openshift-cluster-api}, spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachine, name: i}}}`
	vmachine = `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereMachine, metadata: {name: i, namespace: openshift-cluster-api, uid: u}, spec: {template: t}}`
	instance = `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereVM, metadata: {name: i, namespace: openshift-cluster-api, uid: v}}`
)

// The object that a provider keeps for an instance is found as facts.InfraInstance finds it.
func TestWhatIsKeptForAnInstanceIsFound(t *testing.T) {
	named := strings.NewReplacer("spec: {template: t}", "spec: {namingStrategy: {template: x}}").Replace(vmachine)
	owned := func(name, by, uid string) string {
		return strings.NewReplacer("name: i,", "name: "+name+",", "uid: v", "uid: v, ownerReferences: [{kind: VSphereMachine, name: "+by+", uid: "+
			uid+"}]").Replace(instance)
	}
	for about, c := range map[string]struct {
		machine, instance, want string
	}{
		"by its machine's name":                       {vmachine, instance, "i"},
		"under another name that nobody knows":        {vmachine, owned("x", "i", "u"), ""},
		"under another name, which the provider made": {named, owned("x", "i", "u"), "x"},
		"under that name, and another machine's":      {named, owned("i", "j", "w"), ""},
	} {
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join([]string{vcore, c.machine, c.instance}, "\n---\n")),
			authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatal(about, err, f.Problems)
		}
		p, got := f.Pairs[0], ""
		if p.InfraInstance != nil {
			got = p.InfraInstance.Metadata.Name
		}
		if got != c.want || !p.InstancesUnknown {
			t.Errorf("%s: %q, want %q; a file need not have it: %t", about, got, c.want, p.InstancesUnknown)
		}
	}
}

// A cluster that does not serve the kind has no such objects, unless its definition exists.
func TestWhatIsKeptForAnInstanceInACluster(t *testing.T) {
	group := schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1"}
	vms, definitions := group.WithResource("vspherevms"), schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	for about, c := range map[string]struct {
		list, definition error
		found, unknown   bool
		contains         string
	}{
		"it is served":                               {found: true},
		"it is not defined":                          {list: apierrors.NewNotFound(vms.GroupResource(), ""), definition: apierrors.NewNotFound(definitions.GroupResource(), ""), unknown: true},
		"it is defined, and not served":              {list: apierrors.NewNotFound(vms.GroupResource(), ""), unknown: true, contains: "VSphereVM.infrastructure.cluster.x-k8s.io, whose definition vspherevms.infrastructure.cluster.x-k8s.io exists"},
		"definitions may not be read":                {list: apierrors.NewNotFound(vms.GroupResource(), ""), definition: apierrors.NewForbidden(definitions.GroupResource(), "", nil), unknown: true},
		"they may not be listed, which is all right": {list: apierrors.NewForbidden(vms.GroupResource(), "", nil), unknown: true},
	} {
		kinds := map[schema.GroupVersionResource]string{
			vms: "VSphereVMList", group.WithResource("vspheremachines"): "VSphereMachineList",
			group.WithResource("vspheremachinetemplates"): "VSphereMachineTemplateList", group.WithResource("vsphereclusters"): "VSphereClusterList",
			{Group: "apps", Version: "v1", Resource: "deployments"}: "DeploymentList", definitions: "CustomResourceDefinitionList",
		}
		for _, k := range authority.Kinds() {
			kinds[k.MachineAPI.WithResource(k.Resource)], kinds[k.ClusterAPI.WithResource(k.Resource)] = k.Name+"List", k.Name+"List"
		}
		var objects []runtime.Object
		for _, text := range []string{
			strings.Replace(vcore, "spec: {", "spec: {clusterName: c, ", 1), vmachine, instance,
			`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: openshift-cluster-api}, spec: {paused: true}}`,
			`{apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {name: cluster}, status: {infrastructureName: c, platformStatus: {type: VSphere}}}`,
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: vspherevms.infrastructure.cluster.x-k8s.io}}`,
		} {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, u)
		}
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
		for resource, err := range map[schema.GroupVersionResource]error{vms: c.list, definitions: c.definition} {
			if err != nil {
				client.PrependReactor("*", resource.Resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
			}
		}
		f, err := inventory.FromCluster(t.Context(), client, inventory.Query{Pairs: authority.Pairs{inventory.DefaultPair}})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatal(about, err, f)
		}
		if p := f.Pairs[0]; (p.InfraInstance != nil) != c.found || p.InstancesUnknown != c.unknown || !strings.Contains(p.NotServed, c.contains) ||
			c.contains == "" && p.NotServed != "" {
			t.Errorf("%s: found %v, unknown %t, %q", about, p.InfraInstance, p.InstancesUnknown, p.NotServed)
		}
		if f.Pairs[0].PausedCluster != "c" {
			t.Errorf("%s: the Cluster that is paused is %q", about, f.Pairs[0].PausedCluster)
		}
		// cleanup handles these objects too.
		if listed := slices.ContainsFunc(f.Items(), func(i inventory.Item) bool { return i.Resource == vms && i.Object.Kind == "VSphereVM" }); listed != c.found {
			t.Errorf("%s: it is among the objects: %t", about, listed)
		}
	}
}

// What is kept for the same instance and is not the pair's keeps a Machine from moving.
func TestWhatElseIsKeptForAnInstance(t *testing.T) {
	const here = `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: openshift-machine-api}, spec: {providerID: "vsphere://4210-a", providerSpec: {value: {kind: VSphereMachineProviderSpec}}}}`
	other := strings.Replace(instance, "name: i,", "name: f2,", 1)
	with := func(o, id string) string { return strings.TrimSuffix(o, "}") + ", spec: {biosUUID: " + id + "}}" }
	for about, c := range map[string]struct{ instance, want string }{
		"another's of this instance":     {with(other, "4210-A"), "VSphereVM f2"},
		"another's of another instance":  {with(other, "4210-b"), ""},
		"another's of none":              {other, ""},
		"its own":                        {with(instance, "4210-a"), ""},
		"another's in another namespace": {strings.Replace(with(other, "4210-a"), "openshift-cluster-api", "elsewhere", 1), ""},
	} {
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join([]string{here, vcore, vmachine, c.instance}, "\n---\n")),
			authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatal(about, err, f.Problems)
		}
		if got := strings.Join(f.Pairs[0].AlsoKept, ", "); got != c.want {
			t.Errorf("%s: %q, want %q", about, got, c.want)
		}
	}
}
