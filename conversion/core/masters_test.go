// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
)

func TestMasters(t *testing.T) {
	machine := func(name string, labels, metadata map[string]any, spec any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name, "labels": labels}, "spec": spec}}
		for key, value := range metadata {
			o.Object["metadata"].(map[string]any)[key] = value
		}
		return o
	}
	role := func(is string) map[string]any {
		return map[string]any{"machine.openshift.io/cluster-api-machine-role": is}
	}
	value := map[string]any{"loadBalancers": []any{}}
	spec := map[string]any{"providerSpec": map[string]any{"value": value}}
	for sentence, c := range map[string]struct {
		machine *unstructured.Unstructured
		want    []conversion.Master
	}{
		"a master":                            {machine("a", role("master"), nil, spec), []conversion.Master{{Name: "a", ProviderSpec: value}}},
		"one by the other name of the role":   {machine("a", role("control-plane"), nil, spec), []conversion.Master{{Name: "a", ProviderSpec: value}}},
		"a worker":                            {machine("a", role("worker"), nil, spec), nil},
		"a Machine without labels":            {machine("a", nil, nil, spec), nil},
		"a master that is being deleted":      {machine("a", role("master"), map[string]any{"deletionTimestamp": "2026-11-21T17:00:00Z"}, spec), nil},
		"a master without a providerSpec":     {machine("a", role("master"), nil, map[string]any{}), []conversion.Master{{Name: "a"}}},
		"a master whose providerSpec is null": {machine("a", role("master"), nil, map[string]any{"providerSpec": map[string]any{"value": nil}}), []conversion.Master{{Name: "a"}}},
		"a master whose spec is no object":    {machine("a", role("master"), nil, "x"), []conversion.Master{{Name: "a"}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, core.Masters([]*unstructured.Unstructured{c.machine})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
