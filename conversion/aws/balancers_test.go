// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

func balancers(names ...string) []machinev1beta1.LoadBalancerReference {
	var out []machinev1beta1.LoadBalancerReference
	for _, name := range names {
		name, classic := strings.CutSuffix(name, " classic")
		lb := machinev1beta1.LoadBalancerReference{Name: name, Type: machinev1beta1.NetworkLoadBalancerType}
		if classic {
			lb.Type = machinev1beta1.ClassicLoadBalancerType
		}
		out = append(out, lb)
	}
	return out
}

// The patched load balancers of an AWSCluster keep the existing ones, are accepted by its webhook, and are the same for whichever Machine.
func TestBalancersPatch(t *testing.T) {
	const internal, external = `"loadBalancerType":"nlb","name":"x-int","scheme":"internal"`, `"loadBalancerType":"nlb","name":"x-ext","scheme":"internet-facing"`
	both := `{"spec":{"controlPlaneLoadBalancer":{` + internal + `},"secondaryControlPlaneLoadBalancer":{` + external + `}}}`
	for sentence, c := range map[string]struct {
		cluster string
		// masters are the load balancers of the control plane's Machines; the first Machine is the converted one.
		masters [][]string
		patch   string
		asks    bool
	}{
		"one Machine with both":                   {`{}`, [][]string{{"x-int", "x-ext"}}, both, false},
		"in the other order":                      {`{}`, [][]string{{"x-ext", "x-int"}}, both, false},
		"one with one, beside one with both":      {`{}`, [][]string{{"x-int"}, {"x-int", "x-ext"}}, both, false},
		"one each":                                {`{}`, [][]string{{"x-ext"}, {"x-int"}}, both, false},
		"names of a person's":                     {`{}`, [][]string{{"b"}, {"a"}}, `{"spec":{"controlPlaneLoadBalancer":{"loadBalancerType":"nlb","name":"b","scheme":"SCHEME"},"secondaryControlPlaneLoadBalancer":{"loadBalancerType":"nlb","name":"a","scheme":"SCHEME"}}}`, true},
		"one of them says its scheme":             {`{}`, [][]string{{"b", "x-int"}}, `{"spec":{"controlPlaneLoadBalancer":{` + internal + `},"secondaryControlPlaneLoadBalancer":{"loadBalancerType":"nlb","name":"b","scheme":"internet-facing"}}}`, false},
		"a classic one, which is the first":       {`{}`, [][]string{{"x-int", "x-ext classic"}}, `{"spec":{"controlPlaneLoadBalancer":{"loadBalancerType":"classic","name":"x-ext","scheme":"internet-facing"},"secondaryControlPlaneLoadBalancer":{` + internal + `}}}`, false},
		"two classic ones, of which it takes one": {`{}`, [][]string{{"x-int classic", "x-ext classic"}}, "", false},
		"three":                      {`{}`, [][]string{{"x-int", "x-ext"}, {"c"}}, "", false},
		"it names one, and keeps it": {`{"controlPlaneLoadBalancer":{"name":"x-int","loadBalancerType":"nlb","scheme":"internal"}}`, [][]string{{"x-int", "x-ext"}}, `{"spec":{"secondaryControlPlaneLoadBalancer":{` + external + `}}}`, false},
		"it names one that the others do not name":   {`{"controlPlaneLoadBalancer":{"name":"x-int","loadBalancerType":"nlb","scheme":"internal"}}`, [][]string{{"x-ext"}, {"x-int"}}, `{"spec":{"secondaryControlPlaneLoadBalancer":{` + external + `}}}`, false},
		"it names one that no Machine has":           {`{"controlPlaneLoadBalancer":{"name":"mine","loadBalancerType":"nlb","scheme":"internal"}}`, [][]string{{"x-ext"}}, "", false},
		"the other has the scheme of that one":       {`{"controlPlaneLoadBalancer":{"name":"a","loadBalancerType":"nlb","scheme":"internal"}}`, [][]string{{"a", "x-int"}}, "", false},
		"the other's scheme is the one that is left": {`{"controlPlaneLoadBalancer":{"name":"a","loadBalancerType":"nlb","scheme":"internal"}}`, [][]string{{"a", "b"}}, `{"spec":{"secondaryControlPlaneLoadBalancer":{"loadBalancerType":"nlb","name":"b","scheme":"internet-facing"}}}`, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := conversion.Env{InfraCluster: map[string]any{}}
			if err := json.Unmarshal([]byte(`{"spec":`+c.cluster+`}`), &env.InfraCluster); err != nil {
				t.Fatal(err)
			}
			for i, names := range c.masters {
				var content map[string]any
				raw, err := json.Marshal(map[string]any{"loadBalancers": balancers(names...)})
				if err != nil || json.Unmarshal(raw, &content) != nil {
					t.Fatal(err)
				}
				env.ControlPlane = append(env.ControlPlane, conversion.Master{Name: fmt.Sprint("master-", i), ProviderSpec: content})
			}
			for i, names := range c.masters {
				p := conversion.NewPass(&env, &conversion.Core{ControlPlane: true, Name: fmt.Sprint("master-", i)}, "")
				patch, asks := balancersPatch(p, clusterBalancers(p), conversion.OfControlPlane(p, "loadBalancers", balancers(names...)))
				if patch != c.patch || asks != c.asks {
					t.Errorf("for %q: %s %t\nwant %s %t", names, patch, asks, c.patch, c.asks)
				}
			}
		})
	}
}
