// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/aws"
)

func env() conversion.Env {
	return conversion.Env{
		Platform: aws.Platform(), ClusterName: "ocean-x7k2p", Region: "us-east-1",
		MachineAPINamespace: "openshift-machine-api", ClusterAPINamespace: "openshift-cluster-api",
		InfraCluster: map[string]any{"spec": map[string]any{
			"region":                            "us-east-1",
			"controlPlaneLoadBalancer":          map[string]any{"name": "ocean-x7k2p-int", "loadBalancerType": "nlb"},
			"secondaryControlPlaneLoadBalancer": map[string]any{"name": "ocean-x7k2p-ext", "loadBalancerType": "nlb"},
		}},
	}
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, &out.Object); err != nil {
		t.Fatal(err)
	}
	return out
}

// paths are the fields of errors, each with its type: the property that a test compares.
func paths(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Field+": "+string(e.Type))
	}
	return out
}

func diff(t testing.TB, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
