// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
)

// The stories use a fleet in which all sets but one convert. That set does not for two reasons on AWS, and for one elsewhere.
func TestWhatOfTheFleetConverts(t *testing.T) {
	value := "spec.template.spec.providerSpec.value."
	for _, kit := range platformstest.Kits() {
		want := map[string][]string{"infra-0": {}, "worker-a": {}, "worker-b": {value + "colour"}}
		if kit.Platform.Name == "AWS" {
			want = map[string][]string{"master-0": {}, "worker-a": {}, "worker-b": {value + "deviceIndex", value + "blockDevices[0].ebs.kmsKey.filters"}}
		}
		t.Run(kit.Platform.Name, func(t *testing.T) {
			all, err := fleet(kit)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for _, o := range all {
				_, errs := core.ToClusterAPI(o.GetKind(), o, kit.Env())
				paths := []string{}
				for _, e := range errs {
					paths = append(paths, e.Field)
				}
				got[o.GetName()] = paths
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A control plane moves as a whole, or nothing of it does: on each platform all its Machines convert.
func TestControlPlanesConvert(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			all, err := masters(kit, 5)
			if err != nil {
				t.Fatal(err)
			}
			var names, zones []string
			for _, o := range all {
				names = append(names, o.GetName())
				made, errs := core.ToClusterAPI(o.GetKind(), o, kit.Env())
				if len(errs) > 0 {
					t.Fatalf("%s: %v", o.GetName(), errs.ToAggregate())
				}
				zone, _, _ := unstructured.NestedString(made.Core.Object, "spec", "failureDomain")
				zones = append(zones, zone)
			}
			if diff := cmp.Diff([]string{"master-0", "master-1", "master-2", "master-3", "master-4"}, names); diff != "" {
				t.Error(diff)
			}
			slices.Sort(zones)
			if got, want := len(slices.Compact(zones)), max(1, len(kit.Zones)); got != want {
				t.Errorf("in %d failure domains, want %d: %q", got, want, zones)
			}
		})
	}
}
