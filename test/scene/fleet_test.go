// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
)

// The stories tell of a fleet of which all but one set converts, and that set for two reasons.
func TestWhatOfTheFleetConverts(t *testing.T) {
	fleet, err := objects(fleetYAML)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, o := range fleet {
		_, errs := core.ToClusterAPI(o.GetKind(), o, env(t))
		paths := []string{}
		for _, e := range errs {
			paths = append(paths, e.Field)
		}
		got[o.GetName()] = paths
	}
	value := "spec.template.spec.providerSpec.value."
	want := map[string][]string{
		"master-0": {}, "worker-a": {},
		"worker-b": {value + "deviceIndex", value + "blockDevices[0].ebs.kmsKey.filters"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func env(t *testing.T) conversion.Env {
	t.Helper()
	cluster, err := objects(clusterAPIYAML)
	if err != nil {
		t.Fatal(err)
	}
	platform, ok := platforms.For("AWS")
	if !ok {
		t.Fatal("no platform AWS")
	}
	e := conversion.Env{
		Platform: platform, ClusterName: "lock-7x2k9", Region: "us-east-1",
		MachineAPINamespace: "openshift-machine-api", ClusterAPINamespace: "openshift-cluster-api",
	}
	for _, o := range cluster {
		if o.GetKind() == "AWSCluster" {
			e.InfraCluster = o.Object
		}
	}
	return e
}
