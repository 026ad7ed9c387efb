// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/corpustest"
)

// patched is an object of the corpus with other members in its providerSpec, and the cluster with a patch. A null is written, and not removed.
func patched(t *testing.T, manifest, cluster string, members map[string]any) corpustest.Case {
	t.Helper()
	var installed, c corpus
	corpustest.Load(t, filepath.Join("testdata/corpus", filepath.Dir(manifest), "cluster.yaml"), &installed)
	corpustest.Merge(t, installed, json.RawMessage(cmp.Or(cluster, "{}")), &c)
	o := read(t, filepath.Join("testdata/corpus", manifest))
	at := []string{"spec", "template", "spec", "providerSpec", "value"}
	value, _, err := unstructured.NestedMap(o.Object, at...)
	if err != nil {
		t.Fatal(err)
	}
	for name, member := range members {
		value[name] = member
	}
	if err := unstructured.SetNestedMap(o.Object, value, at...); err != nil {
		t.Fatal(err)
	}
	return corpustest.Case{Cluster: c, Object: o}
}

func jsonText(t *testing.T, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// What Machine API ignores or reads as absent moves, has no effect in Cluster API, and comes back as its owner wrote it.
func TestWhatMachineAPIIgnoresMovesAndComesBack(t *testing.T) {
	tag := func(name, value string) any { return map[string]any{"name": name, "value": value} }
	const aws, azure, gcp, openstack, vsphere = "aws/worker-4.18.yaml", "azure/worker-4.21.yaml", "gcp/worker-4.17.yaml", "openstack/worker-4.19.yaml", "vsphere/worker-4.17.yaml"
	for sentence, c := range map[string]struct {
		manifest, cluster string
		members           map[string]any
		// without is a text that the template in Cluster API must not contain, and with one that it must contain.
		without, with string
	}{
		"AWS, the cluster's tag with another value": {manifest: aws, without: "shared", members: map[string]any{
			"tags": []any{tag("team", "a"), tag("kubernetes.io/cluster/prod-x7k2p", "shared"), tag("Name", "shared")}}},
		"AWS, in the Infrastructure": {manifest: aws, without: "shared",
			cluster: `{"infrastructure": {"status": {"platformStatus": {"aws": {"resourceTags": [{"key": "kubernetes.io/cluster/prod-x7k2p", "value": "shared"}, {"key": "Name", "value": "shared"}]}}}}}`},
		"AWS, a profile that says nothing": {manifest: aws, members: map[string]any{"iamInstanceProfile": map[string]any{}, "credentialsSecret": map[string]any{"name": ""}}},
		"Azure, the cluster's tag with another value": {manifest: azure, without: "shared", with: "kubernetes.io_cluster.prod-x7k2p:owned",
			members: map[string]any{"tags": map[string]any{"kubernetes.io_cluster.prod-x7k2p": "shared", "team": "a"}}},
		"Azure, in the Infrastructure": {manifest: azure, without: "shared", with: "kubernetes.io_cluster.prod-x7k2p:owned",
			cluster: `{"infrastructure": {"status": {"platformStatus": {"azure": {"resourceTags": [{"key": "kubernetes.io_cluster.prod-x7k2p", "value": "shared"}]}}}}}`},
		"OpenStack, Machine API's own tags first": {manifest: openstack, members: map[string]any{
			"tags": []any{"cluster-api-provider-openstack", "openshift-machine-api-prod-x7k2p", "b"}}},
		"OpenStack, Machine API's own tags last": {manifest: openstack, members: map[string]any{
			"tags": []any{"b", "cluster-api-provider-openstack", "openshift-machine-api-prod-x7k2p"}}},
		"OpenStack, one of Machine API's own tags": {manifest: openstack, members: map[string]any{"tags": []any{"openshift-machine-api-prod-x7k2p", "b"}}},
		"OpenStack, empty virtual addresses": {manifest: openstack, without: "ipAddress",
			cluster: `{"infrastructure": {"status": {"platformStatus": {"openstack": {"apiServerInternalIP": "", "apiServerInternalIPs": [""], "ingressIP": "", "ingressIPs": [""]}}}}}`},
		"OpenStack, fields that nobody reads": {manifest: openstack, members: map[string]any{"sshUserName": "core", "primarySubnet": "x"}},
		"vSphere, a null beside the same name in small letters": {manifest: vsphere, with: "/dc1/host/cluster1/Resources", members: map[string]any{"workspace": map[string]any{
			"datacenter": "dc1", "datastore": "/dc1/datastore/ds1", "folder": "/dc1/vm/prod-x7k2p", "resourcePool": nil, "resourcepool": "/dc1/host/cluster1/Resources", "server": "vcenter.example.com"}}},
		"vSphere, a secret without a name": {manifest: vsphere, members: map[string]any{"credentialsSecret": map[string]any{}}},
		"GCP, a secret without a name":     {manifest: gcp, members: map[string]any{"credentialsSecret": map[string]any{}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			x := patched(t, c.manifest, c.cluster, c.members)
			annotations := map[string]any{"machine.openshift.io/delete-machine": "", "machine.openshift.io/cluster-api-delete-machine": "", "a": ""}
			for _, at := range [][]string{{"metadata", "annotations"}, {"spec", "template", "metadata", "annotations"}} {
				if err := unstructured.SetNestedMap(x.Object.Object, annotations, at...); err != nil {
					t.Fatal(err)
				}
			}
			env := x.Cluster.Env(t)
			there, errs := core.ToClusterAPI("MachineSet", x.Object, env)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			text := strings.ReplaceAll(string(jsonText(t, there.Infra.Object)), `"`, "")
			if c.without != "" && strings.Contains(text, c.without) || !strings.Contains(text, c.with) {
				t.Errorf("in Cluster API: %s", text)
			}
			back, errs := core.ToMachineAPI("MachineSet", there, env)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			core.KeepSpelling("MachineSet", x.Object, back, env)
			unstructured.RemoveNestedField(x.Object.Object, "spec", "authoritativeAPI")
			if diff := gocmp.Diff(x.Object.Object, back.Object); diff != "" {
				t.Errorf("it comes back otherwise (-was +is):\n%s", diff)
			}
		})
	}
}

// A conversion leaves out what Machine API ignores, and says so to whom asks; of what it takes over there is no note.
func TestWhatIsLeftOutIsNoted(t *testing.T) {
	network := "5f3d1c2e-9b0a-4a7e-8c55-0d2f6a1b7e01"
	for sentence, c := range map[string]struct {
		manifest string
		members  map[string]any
		want     []string
	}{
		"nothing":            {manifest: "openstack/worker-4.19.yaml"},
		"an installer's set": {manifest: "aws/worker-4.18.yaml"},
		"fields that nobody reads": {manifest: "openstack/worker-4.19.yaml", members: map[string]any{"sshUserName": "core", "primarySubnet": "x", "networks": []any{
			map[string]any{"uuid": network, "fixedIp": "10.0.0.9", "filter": map[string]any{"limit": int64(3)}}}},
			want: []string{"networks[0].filter", "networks[0].filter.limit", "networks[0].fixedIp", "primarySubnet", "sshUserName"}},
		"a name beside an id": {manifest: "openstack/worker-4.19.yaml", members: map[string]any{"serverGroupID": network, "serverGroupName": "x",
			"securityGroups": []any{map[string]any{"uuid": network, "name": "x"}}},
			want: []string{"securityGroups[0].filter", "serverGroupName"}},
		"the cluster's tag with another value": {manifest: "azure/worker-4.21.yaml", members: map[string]any{"tags": map[string]any{"kubernetes.io_cluster.prod-x7k2p": "shared"}},
			want: []string{"tags[kubernetes.io_cluster.prod-x7k2p]"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			x := patched(t, c.manifest, "", c.members)
			var got []string
			for _, n := range core.Notes("MachineSet", jsonText(t, x.Object.Object), x.Cluster.Env(t)) {
				got = append(got, strings.TrimPrefix(n.Path, "spec.template.spec.providerSpec.value."))
				if !strings.Contains(n.Text, "Machine API ignores") {
					t.Errorf("%s: %s", n.Path, n.Text)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
