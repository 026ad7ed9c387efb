// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/openstack"
	"github.com/poundlock/poundlock/conversion/openstack/openstacktest"
)

// The message's OpenStackCluster has the Machines' network and subnets. Otherwise each of them would be refused next.
func TestAnOpenStackClusterIsMadeOfItsMachines(t *testing.T) {
	kit := openstacktest.Kit()
	clusters := crdOf(t, openstack.Platform().InfraCluster)
	for sentence, c := range map[string]struct{ networks, want, contains string }{
		"the installer's tag":                {networks: `[{"subnets": [{"filter": {"tags": "openshiftClusterID=x"}}]}]`, want: `{"subnets": [{"filter": {"tags": ["openshiftClusterID=x"]}}]}`},
		"a name too, as before 4.16":         {networks: `[{"filter": {}, "subnets": [{"filter": {"name": "x-nodes", "tags": "openshiftClusterID=x"}}]}]`, want: `{"subnets": [{"filter": {"name": "x-nodes", "tags": ["openshiftClusterID=x"]}}]}`},
		"a subnet of one's own":              {networks: `[{"subnets": [{"uuid": "` + two + `"}]}]`, want: `{"subnets": [{"id": "` + two + `"}]}`},
		"keys in another case":               {networks: `[{"Subnets": [{"UUID": "` + two + `"}]}]`, want: `{"subnets": [{"id": "` + two + `"}]}`},
		"a subnet's id in its filter":        {networks: `[{"filter": {"id": "` + one + `"}, "subnets": [{"filter": {"id": "` + two + `"}}]}]`, want: `{"network": {"id": "` + one + `"}, "subnets": [{"id": "` + two + `"}]}`},
		"a network alone":                    {networks: `[{"uuid": "` + one + `"}]`, want: `{"network": {"id": "` + one + `"}}`},
		"two families":                       {networks: `[{"uuid": "` + one + `", "subnets": [{"uuid": "` + one + `"}, {"uuid": "` + two + `"}]}]`, want: `{"network": {"id": "` + one + `"}, "subnets": [{"id": "` + one + `"}, {"id": "` + two + `"}]}`},
		"an additional network":              {networks: `[{"subnets": [{"uuid": "` + two + `"}]}, {"uuid": "` + one + `"}]`, want: `{"subnets": [{"id": "` + two + `"}]}`},
		"ports alone":                        {networks: `null`, want: `{"subnets": [{"id": "SUBNET"}]}`, contains: "SUBNET stands for the id of the Machines' subnet"},
		"an entry that says nothing":         {networks: `[{}]`, want: `{"subnets": [{"id": "SUBNET"}]}`, contains: "SUBNET"},
		"an id that Cluster API cannot take": {networks: `[{"subnets": [{"uuid": "x"}]}]`, want: `{"subnets": [{"id": "SUBNET"}]}`, contains: "SUBNET"},
	} {
		t.Run(sentence, func(t *testing.T) {
			spec := conversiontest.Patched(t, jsonOf(t, kit.ProviderSpec), `{"networks": `+c.networks+`}`)
			var content map[string]any
			if err := json.Unmarshal(spec, &content); err != nil {
				t.Fatal(err)
			}
			env := kit.Env()
			env.InfraCluster, env.ControlPlane = nil, []conversion.Master{{Name: "m", ProviderSpec: content}}
			made, who := kit.Platform.MakeInfraCluster(&env)
			got := map[string]any{}
			for _, name := range []string{"network", "subnets"} {
				if made[name] != nil {
					got[name] = made[name]
				}
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(jsonOf(t, want), jsonOf(t, got)); diff != "" || strings.Contains(who, "SUBNET") != (c.contains != "") || !strings.Contains(who, c.contains) {
				t.Fatalf("%s\n%s", diff, who)
			}
			env.ControlPlane, env.Example = nil, content
			if of, _ := kit.Platform.MakeInfraCluster(&env); jsonOf(t, of) != jsonOf(t, made) {
				t.Errorf("of the object itself: %v", of)
			}
			if c.contains != "" {
				return
			}
			clusters.create(t, []byte(jsonOf(t, made)))
			env.InfraCluster = map[string]any{"spec": made} // before its controller has found the network
			converted(t, &env, &conversion.Core{ProviderID: kit.ProviderID("any")}, spec, conversiontest.ToClusterAPI)
		})
	}
}

// TestSubnetsOfAnUnknownNetworkNameTheCure: of the Machine's field and of the OpenStackCluster's, with the command.
func TestSubnetsOfAnUnknownNetworkNameTheCure(t *testing.T) {
	kit := openstacktest.Kit()
	spec := conversiontest.Patched(t, jsonOf(t, kit.ProviderSpec), `{"networks": [{"subnets": [{"uuid": "`+two+`"}]}]}`)
	env := kit.Env()
	env.InfraCluster = map[string]any{"spec": map[string]any{"subnets": []any{map[string]any{"filter": map[string]any{"tags": []any{"x"}}}}}}
	p := conversion.NewPass(&env, &conversion.Core{ProviderID: kit.ProviderID("any")}, "")
	conversiontest.ToClusterAPI(p, spec)
	text := fmt.Sprint(p.Errors().ToAggregate())
	for _, want := range []string{"networks[0].uuid", "spec.subnets of the OpenStackCluster", "kubectl get openstackcluster.infrastructure.cluster.x-k8s.io", `"spec":{"subnets":[{"id":"` + two + `"}]}`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing: %s", want, text)
		}
	}
}
