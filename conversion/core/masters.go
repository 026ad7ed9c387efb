// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
)

// Masters are the Machine API's control plane Machines, in their order. One that is being deleted needs no load balancer any more.
func Masters(machines []*unstructured.Unstructured) []conversion.Master {
	var out []conversion.Master
	for _, m := range machines {
		if m.GetDeletionTimestamp() != nil || !controlPlane(m.GetLabels()) {
			continue
		}
		master := conversion.Master{Name: m.GetName()}
		if providerSpec, has, err := unstructured.NestedFieldNoCopy(m.Object, "spec", "providerSpec", "value"); err == nil && has {
			master.ProviderSpec, _ = providerSpec.(map[string]any)
		}
		out = append(out, master)
	}
	return out
}
