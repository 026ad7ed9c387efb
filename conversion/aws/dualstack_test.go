// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

func dualEnv(family string) *conversion.Env {
	env := testEnv()
	env.Infrastructure = map[string]any{"status": map[string]any{"platformStatus": map[string]any{"type": "AWS", "aws": map[string]any{"ipFamily": family}}}}
	env.InfraCluster["spec"].(map[string]any)["network"] = map[string]any{"vpc": map[string]any{"ipv6": map[string]any{}}}
	return env
}

func TestDualStack(t *testing.T) {
	const both = `{"assignPrimaryIPv6":"enabled","privateDnsName":{"enableResourceNameDnsAAAARecord":true,"enableResourceNameDnsARecord":true,"hostnameType":"resource-name"},`
	for name, c := range map[string]struct{ family, authentication, want string }{
		"one family":                         {"IPv4", "", `{}`},
		"an older cluster":                   {"", "Required", `{"instanceMetadataOptions":{"httpTokens":"required"}}`},
		"IPv4 first":                         {"DualStackIPv4Primary", "", both + `"instanceMetadataOptions":{"httpTokens":"optional","httpProtocolIpv6":"enabled"}}`},
		"IPv6 first, with tokens of its own": {"DualStackIPv6Primary", "Required", both + `"instanceMetadataOptions":{"httpTokens":"required","httpProtocolIpv6":"enabled"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			env := dualEnv(c.family)
			p := conversion.NewPass(env, &conversion.Core{}, "")
			twin := conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, `{"metadataServiceOptions":{"authentication":"`+c.authentication+`"}}`)).(*infraSpec)
			var want infraSpec
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			got := infraSpec{AssignPrimaryIPv6: twin.AssignPrimaryIPv6, PrivateDNSName: twin.PrivateDNSName, InstanceMetadataOptions: twin.InstanceMetadataOptions}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			back := conversion.NewPass(env, &conversion.Core{}, "")
			raw, _ := json.Marshal(twin)
			conversiontest.ToMachineAPI(back, raw)
			conversiontest.Same(t, nil, append(p.Errors(), back.Errors()...))
		})
	}
}

func TestDualStackOfAnInfraSpec(t *testing.T) {
	for name, c := range map[string]struct {
		family, patch string
		want          []string
	}{
		"older than the second family":  {"DualStackIPv4Primary", `{}`, nil},
		"without records in DNS":        {"DualStackIPv4Primary", `{"privateDnsName": {"hostnameType": "resource-name"}}`, nil},
		"with one record in DNS":        {"DualStackIPv6Primary", `{"privateDnsName": {"hostnameType": "resource-name", "enableResourceNameDnsAAAARecord": true}}`, nil},
		"with a record that is refused": {"DualStackIPv6Primary", `{"privateDnsName": {"hostnameType": "resource-name", "enableResourceNameDnsARecord": false}}`, []string{"privateDnsName: FieldValueNotSupported"}},
		"by its address's name":         {"DualStackIPv4Primary", `{"privateDnsName": {"hostnameType": "ip-name"}}`, []string{"privateDnsName: FieldValueNotSupported"}},
		"without a primary address":     {"DualStackIPv6Primary", `{"assignPrimaryIPv6": "disabled"}`, []string{"assignPrimaryIPv6: FieldValueNotSupported"}},
		"in a cluster of one family": {"IPv4", `{"assignPrimaryIPv6": "enabled", "privateDnsName": {"hostnameType": "resource-name"}, "instanceMetadataOptions": {"httpProtocolIpv6": "enabled"}}`,
			[]string{"assignPrimaryIPv6: FieldValueNotSupported", "instanceMetadataOptions.httpProtocolIpv6: FieldValueNotSupported",
				"privateDnsName: FieldValueNotSupported"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := conversion.NewPass(dualEnv(c.family), &conversion.Core{}, "")
			conversiontest.ToMachineAPI(p, conversiontest.Patched(t, plainInfra, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
		})
	}
}

// The provider creates no instance with a primary IPv6 address unless the AWSCluster has the VPC's IPv6 addresses. A Machine with an instance moves.
func TestDualStackOfAnAWSClusterThatDoesNotKnowIt(t *testing.T) {
	for name, c := range map[string]struct {
		core conversion.Core
		want []string
	}{
		"a template":  {conversion.Core{Template: true}, []string{"AWSCluster.spec.network.vpc.ipv6: FieldValueNotSupported"}},
		"a Machine":   {conversion.Core{}, []string{"AWSCluster.spec.network.vpc.ipv6: FieldValueNotSupported"}},
		"an instance": {conversion.Core{ProviderID: "aws:///us-east-1a/i-0123456789abcdef0"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			env := dualEnv("DualStackIPv4Primary")
			delete(env.InfraCluster["spec"].(map[string]any), "network")
			p := conversion.NewPass(env, &c.core, "")
			conversiontest.ToClusterAPI(p, []byte(plain))
			conversiontest.Same(t, c.want, p.Errors())
			for _, e := range p.Errors() {
				if !strings.HasSuffix(e.Detail, `--type=merge -p '{"spec":{"network":{"vpc":{"ipv6":{}}}}}'`) {
					t.Error(e.Detail)
				}
			}
		})
	}
}
