// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestADeploymentsDefinitionIsASurrounding: with the CRD of MachineDeployments, Cluster API deletes their sets, and the Machines of these. Nothing else that is
// deleted depends on that CRD.
func TestADeploymentsDefinitionIsASurrounding(t *testing.T) {
	const (
		going      = `deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [f], `
		made       = `labels: {cluster.x-k8s.io/deployment-name: d}, `
		deployment = `ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, name: d, uid: d, controller: true}], `
	)
	for it, c := range map[string]struct {
		kind, core, set string
		want            bool
	}{
		"a set of a MachineDeployment is deleted":                {kind: "MachineSet", core: going + deployment, want: true},
		"a set of a MachineDeployment stays":                     {kind: "MachineSet", core: deployment},
		"a set that a person made is deleted":                    {kind: "MachineSet", core: going},
		"a Machine is deleted with its MachineDeployment's set":  {kind: "Machine", core: going + made, set: going + deployment, want: true},
		"a Machine whose set is gone is deleted":                 {kind: "Machine", core: going + made, want: true},
		"a Machine is deleted, and its set stays":                {kind: "Machine", core: going + made, set: deployment},
		"a Machine is deleted with a set that a person made":     {kind: "Machine", core: going, set: going},
		"a set that a person relabelled is deleted with Machine": {kind: "Machine", core: going + made, set: going},
	} {
		object := func(metadata string) *unstructured.Unstructured {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte("{metadata: {"+metadata+"name: a}}"), &o.Object); err != nil {
				t.Fatal(err)
			}
			return o
		}
		kind, _ := authority.KindNamed(c.kind)
		s := &pairs.State{Kind: kind, Name: "a", Core: object(c.core), Parents: map[authority.API]*unstructured.Unstructured{}}
		if c.set != "" {
			s.Parents[authority.ClusterAPI] = object(c.set)
		}
		names := []string{}
		for _, part := range LivesIn(s) {
			names = append(names, part.Name)
		}
		if got := slices.Contains(names, authority.DeploymentsDefinition); got != c.want {
			t.Errorf("%s: %t, of %v", it, got, names)
		}
	}
}
