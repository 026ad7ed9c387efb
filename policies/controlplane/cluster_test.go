// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// eachValue hands every value below an infrastructure cluster's spec to use, with what replaces it for a moment.
func eachValue(v any, path string, set func(any), use func(path string, was any, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range maps.Clone(v) {
			at := path + "." + name
			put := func(now any) {
				if v[name] = now; now == nil {
					delete(v, name)
				}
			}
			eachValue(below, at, put, use)
			use(at, below, put)
		}
	case []any:
		for i, below := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			put := func(now any) { v[i] = now }
			eachValue(below, at, put, use)
			use(at, below, put)
		}
	}
}

// TestAnEditOfTheInfrastructureClusterReplacesNothing edits each value of an infrastructure cluster object: what its edit changes in the mirror of a control
// plane Machine of Cluster API's does not have that Machine replaced.
func TestAnEditOfTheInfrastructureClusterReplacesNothing(t *testing.T) {
	seen := map[string]bool{}
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			spec := copied(t, kit.ProviderSpec)
			maps.Copy(spec, copied(t, kit.Master))
			env, core := kit.Env(), &conversion.Core{ControlPlane: true}
			infra := raw(t, conversiontest.ToClusterAPI(conversion.NewPass(&env, core, ""), []byte(raw(t, spec))))
			cluster := copied(t, kit.InfraCluster)
			mirror := func() map[string]any {
				env := kit.Env()
				env.InfraCluster = map[string]any{"spec": cluster}
				out, err := conversion.Encode(conversiontest.ToMachineAPI(conversion.NewPass(&env, core, ""), []byte(infra)))
				if err != nil {
					t.Fatal(err)
				}
				return copied(t, out)
			}
			before := mirror()
			ofClusterAPI := func(v *controlplane.View) {
				into(t, kit.Infrastructure, v.Infrastructure)
				for i := range v.Machines {
					v.Machines[i].Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI
				}
			}
			eachValue(cluster, "spec", nil, func(path string, was any, set func(any)) {
				if text, is := was.(string); is {
					set(text + "-edited")
				} else {
					set(nil)
				}
				after := mirror()
				set(was)
				changed := controlplane.Different(field.NewPath("value"), before, after)
				if len(changed) == 0 {
					return
				}
				seen[kit.Platform.Name] = true
				if got := rolledOut(kit.Platform.Name, before, after, ofClusterAPI); len(got) > 0 {
					t.Errorf("an edit of %s replaces a Machine that Cluster API runs: %s", path, strings.Join(got, ", "))
				}
			})
		})
	}
	if len(seen) < 5 {
		t.Errorf("edits changed mirrors on %v alone", seen)
	}
}

func TestWhatAnInfrastructureClusterHasIsComparedUnderTheMachineAPIAlone(t *testing.T) {
	machine := map[string]any{"loadBalancers": []any{map[string]any{"name": "int", "type": "network"}}, "instanceType": "m6i.xlarge"}
	template := map[string]any{"loadBalancers": []any{map[string]any{"name": "int", "type": "network"}, map[string]any{"name": "ext", "type": "network"}},
		"instanceType": "m6i.xlarge"}
	larger := map[string]any{"loadBalancers": template["loadBalancers"], "instanceType": "m6i.2xlarge"}
	run := func(api machinev1beta1.MachineAuthority) change {
		return func(v *controlplane.View) { v.Machines[0].Status.AuthoritativeAPI = api }
	}
	made := func(v *controlplane.View) {
		v.Set.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI
	}
	for text, c := range map[string]struct {
		template map[string]any
		in       []change
		replaced int
	}{
		"of the Machine API": {template, []change{run(machinev1beta1.MachineAuthorityMachineAPI)}, 1},
		"of Cluster API":     {template, []change{run(machinev1beta1.MachineAuthorityClusterAPI)}, 0},
		"on the move":        {template, []change{run(machinev1beta1.MachineAuthorityMigrating)}, 0},
		"whose replacement would be Cluster API's":           {template, []change{run(machinev1beta1.MachineAuthorityMachineAPI), made}, 0},
		"of Cluster API, with another difference of its own": {larger, []change{run(machinev1beta1.MachineAuthorityClusterAPI)}, 1},
	} {
		t.Run(text, func(t *testing.T) {
			if got := rolledOut("AWS", c.template, machine, c.in...); len(got) != c.replaced {
				t.Errorf("it is replaced for %v", got)
			}
		})
	}
}
