// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/openstack/openstacktest"
)

// TestForms compares exact forms with the table's notes, where two forms are not equal field by field. Each round-trips to itself, or to the given form.
func TestForms(t *testing.T) {
	pairs := `"allowedAddressPairs": [{"ipAddress": "10.0.0.5"}, {"ipAddress": "10.0.0.7"}]`
	cases := map[string]struct {
		machineAPI, clusterAPI string
		back                   string // if it differs
		env                    func(*conversion.Env)
	}{
		"what the installer writes": {
			machineAPI: `{"networks": [{"subnets": [{"filter": {"name": "lock-7x2k9-nodes", "tags": "openshiftClusterID=lock-7x2k9"}}]}], "securityGroups": [{"name": "lock-7x2k9-worker"}], "serverGroupName": "lock-7x2k9-worker", "serverMetadata": {"openshiftClusterID": "lock-7x2k9", "Name": "lock-7x2k9-worker"}}`,
			clusterAPI: `{"ports": [{"fixedIPs": [{"subnet": {"filter": {"name": "lock-7x2k9-nodes", "tags": ["openshiftClusterID=lock-7x2k9"]}}}], ` + pairs + `}],
				"securityGroups": [{"filter": {"name": "lock-7x2k9-worker"}}], "serverGroup": {"filter": {"name": "lock-7x2k9-worker"}},
				"serverMetadata": [{"key": "Name", "value": "lock-7x2k9-worker"}, {"key": "openshiftClusterID", "value": "lock-7x2k9"}]}`,
		},
		"a network that only its subnet tells": {
			machineAPI: `{"networks": [{"subnets": [{"uuid": "` + two + `"}], "noAllowedAddressPairs": true}]}`,
			clusterAPI: `{"ports": [{"network": {"filter": {"name": "lock-7x2k9-openshift", "tags": ["openshiftClusterID=lock-7x2k9"]}}, "fixedIPs": [{"subnet": {"id": "` + two + `"}}]}]}`,
			back: `{"networks": [{"filter": {"name": "lock-7x2k9-openshift", "tags": "openshiftClusterID=lock-7x2k9"}, "subnets": [{"uuid": "` + two +
				`"}], "noAllowedAddressPairs": true}]}`,
		},
		"subnets that alone tell the network, which are a port each": {
			machineAPI: `{"networks": [{"subnets": [{"uuid": "` + two + `", "portTags": ["v4"]}, {"uuid": "` + three +
				`", "portTags": ["v6"]}], "portTags": ["all"], "noAllowedAddressPairs": true}]}`,
			clusterAPI: `{"ports": [{"network": {"filter": {"name": "lock-7x2k9-openshift", "tags": ["openshiftClusterID=lock-7x2k9"]}}, "fixedIPs": [{"subnet": {"id": "` + two + `"}}], "tags": ["all", "v4"]},
				{"network": {"filter": {"name": "lock-7x2k9-openshift", "tags": ["openshiftClusterID=lock-7x2k9"]}}, "fixedIPs": [{"subnet": {"id": "` + three + `"}}], "tags": ["all", "v6"]}]}`,
			back: `{"networks": [{"filter": {"name": "lock-7x2k9-openshift", "tags": "openshiftClusterID=lock-7x2k9"}, "subnets": [{"uuid": "` + two + `"}], "portTags": ["all", "v4"], "noAllowedAddressPairs": true},
				{"filter": {"name": "lock-7x2k9-openshift", "tags": "openshiftClusterID=lock-7x2k9"}, "subnets": [{"uuid": "` + three + `"}], "portTags": ["all", "v6"], "noAllowedAddressPairs": true}]}`,
		},
		"the cluster's subnets and nothing else": {
			machineAPI: `{"networks": [{"subnets": [{"filter": {"name": "lock-7x2k9-nodes", "tags": "openshiftClusterID=lock-7x2k9"}}], "noAllowedAddressPairs": true}]}`,
			clusterAPI: `{}`,
		},
		"both addresses of a dual stack on one port": {
			machineAPI: `{"networks": [{"uuid": "` + one + `", "subnets": [{"uuid": "` + two + `", "portTags": ["v4"]}, {"uuid": "` + three +
				`", "portTags": ["v6"]}]}]}`,
			clusterAPI: `{"ports": [{"network": {"id": "` + one + `"}, "fixedIPs": [{"subnet": {"id": "` + two + `"}}, {"subnet": {"id": "` + three +
				`"}}], "tags": ["v4", "v6"], ` + pairs + `}]}`,
			back: `{"networks": [{"uuid": "` + one + `", "subnets": [{"uuid": "` + two + `"}, {"uuid": "` + three + `"}], "portTags": ["v4", "v6"]}]}`,
		},
		"a load balancer of the user's": {
			machineAPI: `{"networks": [{"uuid": "` + one + `"}]}`,
			clusterAPI: `{"ports": [{"network": {"id": "` + one + `"}}]}`,
			env:        infrastructure(map[string]any{"apiServerInternalIPs": []any{"10.0.0.5"}, "loadBalancer": map[string]any{"type": "UserManaged"}}),
		},
		"an Infrastructure from before there were lists": {
			machineAPI: `{"networks": [{"uuid": "` + one + `"}]}`,
			clusterAPI: `{"ports": [{"network": {"id": "` + one + `"}, "allowedAddressPairs": [{"ipAddress": "10.0.0.5"}, {"ipAddress": "10.0.0.7"}]}]}`,
			env:        infrastructure(map[string]any{"apiServerInternalIP": "10.0.0.5", "ingressIP": "10.0.0.7"}),
		},
		"radio ports without port security beside the machine's groups": {
			machineAPI: `{"networks": [{"uuid": "` + one + `", "noAllowedAddressPairs": true}], "ports": [{"networkID": "` + two +
				`", "nameSuffix": "radio", "vnicType": "direct", "portSecurity": false, "tags": ["sriov"], "profile": {"capabilities": "[switchdev]"}}], "securityGroups": [{"name": "worker"}]}`,
			clusterAPI: `{"ports": [{"network": {"id": "` + one + `"}, "securityGroups": [{"filter": {"name": "worker"}}]},
				{"network": {"id": "` + two + `"}, "nameSuffix": "radio", "vnicType": "direct", "disablePortSecurity": true, "tags": ["sriov"], "profile": {"ovsHWOffload": true}}]}`,
		},
		"a storage port with groups of its own": {
			machineAPI: `{"networks": [{"filter": {"name": "x"}, "noAllowedAddressPairs": true}], "ports": [{"networkID": "` + two +
				`", "nameSuffix": "storage", "securityGroups": ["` + three + `"]}], "securityGroups": [{"uuid": "` + one + `"}]}`,
			clusterAPI: `{"ports": [{"network": {"filter": {"name": "x"}}, "securityGroups": [{"id": "` + one + `"}]},
				{"network": {"id": "` + two + `"}, "nameSuffix": "storage", "securityGroups": [{"id": "` + three + `"}]}]}`,
		},
		"ports alone, with their groups": {
			machineAPI: `{"networks": null, "ports": [{"networkID": "` + one + `", "nameSuffix": "nodes", "fixedIPs": [{"subnetID": "` + two + `"}], ` + pairs +
				`, "securityGroups": ["` + three + `"]}, {"networkID": "` + two + `", "nameSuffix": "sriov", "portSecurity": false}]}`,
			clusterAPI: `{"ports": [{"network": {"id": "` + one + `"}, "nameSuffix": "nodes", "fixedIPs": [{"subnet": {"id": "` + two + `"}}], ` + pairs + `, "securityGroups": [{"id": "` + three + `"}]},
				{"network": {"id": "` + two + `"}, "nameSuffix": "sriov", "disablePortSecurity": true}]}`,
		},
		"groups by name behind a port's own": {
			machineAPI: `{"networks": null, "ports": [{"networkID": "` + one + `", "securityGroups": ["` + three + `"]}, {"networkID": "` + two +
				`", "trunk": true}], "securityGroups": [{"name": "worker"}]}`,
			clusterAPI: `{"ports": [{"network": {"id": "` + one + `"}, "securityGroups": [{"id": "` + three + `"}]}, {"network": {"id": "` + two +
				`"}, "trunk": true, "securityGroups": [{"filter": {"name": "worker"}}]}]}`,
		},
		"a plain port, which is a network too": {
			machineAPI: `{"networks": null, "ports": [{"networkID": "` + one + `"}, {"networkID": "` + two + `", "trunk": true}]}`,
			clusterAPI: `{"ports": [{"network": {"id": "` + one + `"}}, {"network": {"id": "` + two + `"}, "trunk": true}]}`,
			back:       `{"networks": [{"uuid": "` + one + `", "noAllowedAddressPairs": true}], "ports": [{"networkID": "` + two + `", "trunk": true}]}`,
		},
		"an image's name where its id was meant": {
			machineAPI: `{"image": null, "rootVolume": {"diskSize": 30, "sourceUUID": "lock-7x2k9-rhcos", "sourceType": "image"}, "primarySubnet": "` + one + `"}`,
			clusterAPI: `{"image": {"filter": {"name": "lock-7x2k9-rhcos"}}, "rootVolume": {"sizeGiB": 30}}`,
			back:       `{"image": "lock-7x2k9-rhcos", "rootVolume": {"diskSize": 30}}`,
		},
		"an image by its id": {
			machineAPI: `{"image": null, "rootVolume": {"diskSize": 30, "sourceUUID": "` + one + `", "volumeType": "fast", "availabilityZone": "cinder-1"}}`,
			clusterAPI: `{"image": {"id": "` + one +
				`", "filter": null}, "rootVolume": {"sizeGiB": 30, "type": "fast", "availabilityZone": {"from": "Name", "name": "cinder-1"}}}`,
			back: `{"image": "", "rootVolume": {"diskSize": 30, "sourceUUID": "` + one + `", "volumeType": "fast", "availabilityZone": "cinder-1"}}`,
		},
		"disks, in the server's zone and another": {
			machineAPI: `{"additionalBlockDevices": [{"name": "etcd", "sizeGiB": 10, "storage": {"type": "Local"}}, {"name": "a", "sizeGiB": 1, "storage": {"type": "Volume"}}, {"name": "b", "sizeGiB": 1, "storage": {"type": "Volume", "volume": {"type": "fast", "availabilityZone": "cinder-1"}}}]}`,
			clusterAPI: `{"additionalBlockDevices": [{"name": "etcd", "sizeGiB": 10, "storage": {"type": "Local"}}, {"name": "a", "sizeGiB": 1, "storage": {"type": "Volume", "volume": {"availabilityZone": {"from": "Machine"}}}},
				{"name": "b", "sizeGiB": 1, "storage": {"type": "Volume", "volume": {"type": "fast", "availabilityZone": {"from": "Name", "name": "cinder-1"}}}}]}`,
		},
		"credentials of its own": {
			machineAPI: `{"cloudsSecret": {"name": "mine"}, "cloudName": "theirs"}`,
			clusterAPI: `{"identityRef": {"type": "Secret", "name": "mine", "cloudName": "theirs"}}`,
		},
		"another cloud of the cluster's secret": {
			machineAPI: `{"cloudName": "theirs"}`,
			clusterAPI: `{"identityRef": {"type": "Secret", "name": "openstack-cloud-credentials", "cloudName": "theirs"}}`,
		},
		"a cluster whose tag is not said": {
			machineAPI: `{"tags": ["a"]}`,
			clusterAPI: `{"tags": ["a", "openshiftClusterID=lock-7x2k9"]}`,
			back:       `{"tags": ["a", "openshiftClusterID=lock-7x2k9"]}`,
		},
	}
	base := `{"kind": "OpenstackProviderSpec", "apiVersion": "machine.openshift.io/v1alpha1", "metadata": {}, "cloudName": "openstack", "cloudsSecret": {"name": "openstack-cloud-credentials", "namespace": "openshift-machine-api"},
		"userDataSecret": {"name": "worker-user-data"}, "flavor": "m1.xlarge", "image": "rhcos", "tags": ["openshiftClusterID=lock-7x2k9"],
		"networks": [{"subnets": [{"filter": {"name": "lock-7x2k9-nodes", "tags": "openshiftClusterID=lock-7x2k9"}}], "noAllowedAddressPairs": true}]}`
	infra := `{"flavor": "m1.xlarge", "image": {"filter": {"name": "rhcos"}}, "tags": ["openshiftClusterID=lock-7x2k9"]}`
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := openstacktest.Kit().Env()
			if c.env != nil {
				c.env(&env)
			}
			core := &conversion.Core{}
			if c.back == "" {
				c.back = c.machineAPI
			}
			m, want := conversiontest.Patched(t, base, c.machineAPI), conversiontest.Patched(t, infra, c.clusterAPI)
			went := converted(t, &env, core, m, conversiontest.ToClusterAPI)
			if d := cmp.Diff(said(t, want), said(t, went)); d != "" {
				t.Errorf("(-want +went):\n%s", d)
			}
			came := converted(t, &env, core, went, conversiontest.ToMachineAPI)
			if d := cmp.Diff(said(t, conversiontest.Patched(t, base, c.back)), said(t, came)); d != "" {
				t.Errorf("(-want +came back):\n%s", d)
			}
		})
	}
}

func infrastructure(openstack map[string]any) func(*conversion.Env) {
	return func(e *conversion.Env) {
		e.Infrastructure = map[string]any{"status": map[string]any{"platformStatus": map[string]any{"type": "OpenStack", "openstack": openstack}}}
	}
}

func converted(t *testing.T, env *conversion.Env, core *conversion.Core, raw []byte, convert func(*conversion.Pass, []byte) any) []byte {
	t.Helper()
	p := conversion.NewPass(env, core, "")
	out, err := conversion.Encode(convert(p, raw))
	if len(p.Errors()) > 0 || err != nil {
		t.Fatalf("%s cannot be converted: %v %v", raw, p.Errors().ToAggregate(), err)
	}
	return []byte(jsonOf(t, out))
}

// said reads JSON and removes empty objects: encoders differ in them.
func said(t *testing.T, raw []byte) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return silent(out)
}

func silent(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if value = silent(value); value == nil {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
		return v
	case []any:
		for i := range v {
			v[i] = silent(v[i])
		}
	}
	return v
}

// The virtual addresses may change after a machine was created: an administrator adds those of a second address family. Neither API's controllers change an
// existing port's pairs, so an instance's round-trip, and new machines get the current addresses.
func TestVirtualAddressesOfLaterDays(t *testing.T) {
	filtered, byID := `"network": {"filter": {"name": "x"}}`, `"network": {"id": "`+one+`"}`
	pairs := func(ips ...string) string {
		var out []map[string]string
		for _, ip := range ips {
			out = append(out, map[string]string{"ipAddress": ip})
		}
		return `"allowedAddressPairs": ` + jsonOf(t, out)
	}
	for sentence, c := range map[string]struct {
		port     string
		template bool
		unborn   bool
		network  bool
		refused  bool
	}{
		"an instance from before, by filter": {port: filtered + ", " + pairs("10.0.0.5", "10.0.0.7"), network: true},
		"an instance from before, by id":     {port: byID + ", " + pairs("10.0.0.5", "10.0.0.7"), network: true},
		"an instance of today":               {port: filtered + ", " + pairs("10.0.0.5", "fd00::5", "10.0.0.7", "fd00::7"), network: true},
		"in another order":                   {port: filtered + ", " + pairs("10.0.0.7", "10.0.0.5", "fd00::7", "fd00::5"), network: true},
		"no pairs":                           {port: filtered, network: true},
		"another address, by id":             {port: byID + ", " + pairs("10.0.0.5", "10.0.0.9")},
		"another address, by filter":         {port: filtered + ", " + pairs("10.0.0.5", "10.0.0.9"), refused: true},
		"a hardware address, by id":          {port: byID + `, "allowedAddressPairs": [{"ipAddress": "10.0.0.5", "macAddress": "fa:16:3e:00:00:01"}]`},
		"a template from before":             {port: filtered + ", " + pairs("10.0.0.5", "10.0.0.7"), template: true, refused: true},
		"a template of today":                {port: filtered + ", " + pairs("10.0.0.7", "10.0.0.5", "fd00::7", "fd00::5"), template: true, network: true},
		"a machine that has no instance yet": {port: filtered + ", " + pairs("10.0.0.5", "10.0.0.7"), unborn: true, refused: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := openstacktest.Kit().Env()
			infrastructure(map[string]any{"apiServerInternalIPs": []any{"10.0.0.5", "fd00::5"}, "ingressIPs": []any{"10.0.0.7", "fd00::7"}})(&env)
			core := &conversion.Core{Template: c.template, BootstrapSecret: new("worker-user-data")}
			if !c.template && !c.unborn {
				core.ProviderID = "openstack:///" + three
			}
			p := conversion.NewPass(&env, core, "")
			m := conversiontest.ToMachineAPI(p, conversiontest.Patched(t, plainInfra, `{"ports": [{`+c.port+`}]}`)).(*machinev1alpha1.OpenstackProviderSpec)
			if c.refused {
				if errs := p.Errors(); len(errs) != 1 || !strings.Contains(errs[0].Detail, "10.0.0.5, fd00::5, 10.0.0.7, fd00::7") {
					t.Errorf("it says: %v", errs.ToAggregate())
				}
				return
			}
			conversiontest.Same(t, nil, p.Errors())
			if is := len(m.Networks) == 1; is != c.network {
				t.Errorf("it became %s", jsonOf(t, m))
			}
		})
	}
}
