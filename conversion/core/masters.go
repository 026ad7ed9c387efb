// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
)

// Masters returns the control plane Machines among Machine API's Machines, in the given order. It leaves out Machines that are being deleted, because they no
// longer need a load balancer.
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
