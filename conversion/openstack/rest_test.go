// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"math/rand/v2"
	"testing"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/openstack"
	"github.com/poundlock/poundlock/conversion/openstack/openstacktest"
)

// TestAMoveThereAndBackRests: with any mix of the two lists, their groups and the machine's, what converts round-trips, and converts to exactly the same again:
// an OpenStackMachine is immutable, so a second move must not change it. The values are not repaired, so most are refused; they are few, so that equal ones
// occur.
func TestAMoveThereAndBackRests(t *testing.T) {
	r := rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	lines, accepted := openstack.Fields.Lines(), 0
	for range 600 {
		m := conversiontest.Trip[providerSpec, infraSpec]{Lines: lines, Own: func(l conversion.Line) []string { return l.MachineAPI },
			Values: mixedProvider()}.Tame(r)
		m.APIVersion, m.Kind = machinev1alpha1.GroupVersion.String(), "OpenstackProviderSpec"
		m.Networks, m.Ports = m.Networks[:min(2, len(m.Networks))], m.Ports[:min(2, len(m.Ports))]
		travel(t, []byte(jsonOf(t, m)), conversiontest.ToClusterAPI, conversiontest.ToMachineAPI)
		accepted += goes(m)

		c := conversiontest.Trip[infraSpec, providerSpec]{Lines: lines, Own: func(l conversion.Line) []string { return l.ClusterAPI }, Values: mixedInfra()}.Tame(r)
		c.Ports = c.Ports[:min(3, len(c.Ports))]
		travel(t, []byte(jsonOf(t, c)), conversiontest.ToMachineAPI, conversiontest.ToClusterAPI)
	}
	if t.Logf("%d of 600 providerSpecs went", accepted); accepted < 30 {
		t.Error("that is no test")
	}
}

func goes(m *providerSpec) int {
	env := openstacktest.Kit().Env()
	p := conversion.NewPass(&env, &conversion.Core{}, "")
	if openstack.Fields.ToClusterAPI(p, m, &infraSpec{}); len(p.Errors()) > 0 {
		return 0
	}
	return 1
}

func mixedProvider() conversiontest.Values {
	type subnets = []machinev1alpha1.SubnetParam
	out := openstacktest.ProviderValues()
	out["tags"] = conversiontest.OneOf(nil, []string{"a"})
	out["additionalBlockDevices"] = conversiontest.OneOf[[]machinev1alpha1.AdditionalBlockDevice](nil)
	out["rootVolume"] = conversiontest.OneOf(nil, &machinev1alpha1.RootVolume{Size: 1, SourceUUID: one}, &machinev1alpha1.RootVolume{Size: 1, SourceUUID: "rhcos"})
	out["image"] = conversiontest.OneOf("", "rhcos")
	out["serverGroupID"] = conversiontest.OneOf("", one)
	out["networks[].uuid"] = conversiontest.OneOf("", one, two)
	out["networks[].filter"] = conversiontest.OneOf(machinev1alpha1.Filter{}, machinev1alpha1.Filter{}, machinev1alpha1.Filter{Name: "x"})
	out["networks[].subnets"] = conversiontest.OneOf(nil, subnets{{UUID: one}},
		subnets{{Filter: machinev1alpha1.SubnetFilter{Name: "lock-7x2k9-nodes", Tags: "openshiftClusterID=lock-7x2k9"}}})
	out["networks[].portTags"] = conversiontest.OneOf(nil, []string{"a"})
	out["ports[].tags"] = conversiontest.OneOf(nil, []string{"a"})
	out["ports[].networkID"] = conversiontest.OneOf(one, two)
	out["ports[].nameSuffix"] = conversiontest.OneOf("", "", "a")
	out["ports[].description"] = conversiontest.OneOf("", "", "a")
	out["ports[].macAddress"] = conversiontest.OneOf("", "", "fa:16:3e:00:00:01")
	out["ports[].fixedIPs"] = conversiontest.OneOf(nil, []machinev1alpha1.FixedIPs{{SubnetID: one}},
		[]machinev1alpha1.FixedIPs{{SubnetID: one, IPAddress: "10.0.0.9"}})
	out["ports[].allowedAddressPairs"] = conversiontest.OneOf(nil, []machinev1alpha1.AddressPair{{IPAddress: "10.0.0.5"}, {IPAddress: "10.0.0.7"}})
	out["ports[].securityGroups"] = conversiontest.OneOf([]string{}, []string{one}, []string{two})
	out["securityGroups"] = conversiontest.OneOf(nil, []machinev1alpha1.SecurityGroupParam{{UUID: one}}, []machinev1alpha1.SecurityGroupParam{{Name: "x"}})
	return out
}

func mixedInfra() conversiontest.Values {
	type (
		ips    = []openstackv1.FixedIP
		groups = []openstackv1.SecurityGroupParam
	)
	subnet, byName := &openstackv1.SubnetParam{ID: new(one)}, &openstackv1.SubnetParam{Filter: &openstackv1.SubnetFilter{Name: "y"}}
	out := openstacktest.InfraValues()
	out["flavor"] = conversiontest.OneOf(new("m1.large"))
	out["image"] = conversiontest.OneOf(openstackv1.ImageParam{Filter: &openstackv1.ImageFilter{Name: new("rhcos")}})
	out["tags"] = conversiontest.OneOf(nil, []string{"a"})
	out["additionalBlockDevices"] = conversiontest.OneOf[[]openstackv1.AdditionalBlockDevice](nil)
	out["serverMetadata"] = conversiontest.OneOf[[]openstackv1.ServerMetadata](nil)
	out["serverGroup"] = conversiontest.OneOf[*openstackv1.ServerGroupParam](nil)
	out["ports[].network"] = conversiontest.OneOf(nil, &openstackv1.NetworkParam{ID: new(one)}, &openstackv1.NetworkParam{ID: new(two)},
		&openstackv1.NetworkParam{Filter: &openstackv1.NetworkFilter{Name: "x"}})
	out["ports[].fixedIPs"] = conversiontest.OneOf(nil, ips{{Subnet: subnet}}, ips{{Subnet: byName}}, ips{{IPAddress: new("10.0.0.9")}},
		ips{{Subnet: subnet, IPAddress: new("10.0.0.9")}})
	out["ports[].securityGroups"] = conversiontest.OneOf(nil, groups{{ID: new(one)}}, groups{{ID: new(two)}},
		groups{{Filter: &openstackv1.SecurityGroupFilter{Name: "z"}}})
	out["securityGroups"] = conversiontest.OneOf(nil, nil, groups{{ID: new(one)}})
	out["ports[].nameSuffix"] = conversiontest.OneOf[*string](nil, nil, new("a"))
	out["ports[].disablePortSecurity"] = conversiontest.OneOf(nil, new(true), new(false))
	out["ports[].tags"] = conversiontest.OneOf(nil, []string{"a"})
	out["ports[].allowedAddressPairs"] = conversiontest.OneOf(nil, []openstackv1.AddressPair{{IPAddress: "10.0.0.5"}, {IPAddress: "10.0.0.7"}},
		[]openstackv1.AddressPair{{IPAddress: "10.0.0.9"}})
	for _, option := range []string{"ports[].description", "ports[].macAddress"} {
		out[option] = conversiontest.OneOf[*string](nil)
	}
	return out
}
