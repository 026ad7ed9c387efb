// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/simulation"
	"github.com/poundlock/poundlock/test/stories"
)

// converting › Test Plan › Migration of ControlPlaneMachineSet to Cluster API. Before that, a person moves one Machine of the control plane to Cluster API, and
// back.
func TestAControlPlaneMovesToClusterAPI(t *testing.T) {
	stories.Long(t)
	cpms := controlPlane(t, true)
	before := masters(t)
	one := mapiMachine(before[0].Name)
	move(t, one, "ClusterAPI")
	eventually(t, "etcd's hook is kept there", func() string { return etcdHook(t, before[0].Name) }, simulation.EtcdHookOwner)
	updated(t, 3)
	move(t, one, "MachineAPI")

	request(t, cpms, "ClusterAPI")
	authorityIs(t, cpms, "ClusterAPI")
	eventually(t, "it is reflected", func() string { return condition(t, cpms, "Synchronized") }, "True")
	for _, o := range []object{{capi, "awsclusters.infrastructure.cluster.x-k8s.io", "lock-7x2k9"}, {capi, "clusters.cluster.x-k8s.io", "lock-7x2k9"}} {
		eventually(t, "the failure domains of "+o.resource, func() string {
			return fmt.Sprint(domains(field(t, o, ".status.failureDomains")))
		}, "[us-east-1a us-east-1b us-east-1c]")
	}

	books := opened()
	copyOf(t, template(reflected(t)), "larger-masters", func(o *unstructured.Unstructured) {
		set(t, o, "m6i.8xlarge", "spec", "template", "spec", "instanceType")
	})
	a := must(t, append(cpms.args("patch"), "--type=merge", "-p", pointingTo(t, cpms, "larger-masters"))...)
	warned(t, a, "this will replace 3 of 3 control plane Machines, one at a time: "+before[0].Name+" (instanceType "+size(t, before[0].Name)+" → m6i.8xlarge)")
	updated(t, 3)
	books.rolled(t, 3, "ClusterAPI", "m6i.8xlarge")
	books.ended(t, "MachineAPI")
	voting(t)
	eventually(t, "the ClusterOperator is at ease", reports(t), atEase)

	// etcd also holds a Machine for which Cluster API is authoritative.
	gone := masters(t)[1].Name
	must(t, append(mapiMachine(gone).args("delete"), "--wait=false")...)
	for _, o := range []object{capiMachine(gone), awsMachine(gone), mapiMachine(gone)} {
		eventually(t, o.resource+" "+gone+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
	updated(t, 3)
	voting(t)
	for _, m := range masters(t) {
		if got := etcdHook(t, m.Name); got != simulation.EtcdHookOwner || m.Status.AuthoritativeAPI != "ClusterAPI" {
			t.Errorf("%s is %s's, and Cluster API's hook says %q", m.Name, m.Status.AuthoritativeAPI, got)
		}
	}
}

// etcdHook returns the annotation of etcd's hook on Cluster API's Machine.
func etcdHook(t *testing.T, machine string) string {
	t.Helper()
	return field(t, capiMachine(machine), `.metadata.annotations.pre-drain\.delete\.hook\.machine\.cluster\.x-k8s\.io/`+simulation.EtcdHook)
}

// reflected returns the name of the template that the set stands for.
func reflected(t *testing.T) string {
	t.Helper()
	all := &awsv1.AWSMachineTemplateList{}
	list(t, all, client.InNamespace(capi))
	for _, o := range all.Items {
		if strings.HasPrefix(o.Annotations[authority.MirrorAnnotation], "ControlPlaneMachineSet/") {
			return o.Name
		}
	}
	t.Fatal("the set has no template in Cluster API")
	return ""
}

// pointingTo patches the set, so that it creates Machines from a template of Cluster API.
func pointingTo(t *testing.T, set object, name string) string {
	t.Helper()
	const ours, theirs = "machines_v1beta1_machine_openshift_io", "machines_v1beta2_cluster_x_k8s_io"
	member := map[string]any{"spec": map[string]any{
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachineTemplate", "name": name},
		"bootstrap":         map[string]any{"dataSecretName": "master-user-data"},
	}}
	for _, part := range []string{"failureDomains", "metadata"} {
		var value map[string]any
		if err := json.Unmarshal([]byte(field(t, set, ".spec.template."+ours+"."+part)), &value); err != nil {
			t.Fatal(err)
		}
		member[part] = value
	}
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"machineType": theirs, ours: nil, theirs: member}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// domains returns the names in a list of failure domains, or the keys of an old map of them, in order.
func domains(text string) []string {
	var all []struct{ Name string }
	var keyed map[string]any
	var out []string
	switch {
	case json.Unmarshal([]byte(text), &all) == nil:
		for _, d := range all {
			out = append(out, d.Name)
		}
	case json.Unmarshal([]byte(text), &keyed) == nil:
		for name := range keyed {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
