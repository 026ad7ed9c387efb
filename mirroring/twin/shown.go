// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package twin

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// typeFields are the fields of providerSpecs that have the type of the instance, one for each platform.
var typeFields = []string{"instanceType", "vmSize", "machineType", "flavor"}

// show adds the labels for which `kubectl get machines.machine.openshift.io` has columns. The Machine API's controllers set them when they create an instance.
// For an instance that Cluster API created, nobody else would set them. In the other direction, the mirror leaves Cluster API's own status on the Cluster API
// Machine as it is.
func (s Twin) show(want *unstructured.Unstructured) {
	if s.Kind.Infra != authority.InfraMachine {
		return
	}
	value, _, _ := unstructured.NestedMap(want.Object, "spec", "providerSpec", "value")
	kind := ""
	for _, field := range typeFields {
		text, _ := value[field].(string)
		kind = cmp.Or(kind, text)
	}
	labels := want.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for label, value := range map[string]string{
		machineapi.InstanceTypeLabel: kind,
		machineapi.RegionLabel:       s.Env.Region,
		machineapi.ZoneLabel:         pairs.Nested(s.Core, "spec", "failureDomain"),
	} {
		if _, has := labels[label]; !has && value != "" {
			labels[label] = value
		}
	}
	want.SetLabels(labels)
}
