// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
)

// The stories tell of a fleet of which all but one set converts, and that set for two reasons on AWS, and for one elsewhere.
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
