// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ConfigController simulates the machine-config-controller's writes of boot images (row 47 of the survey of writers). On AWS it writes the ami of every
// MachineSet of the Machine API that has no owner and whose Machines do not run Windows. It sends a merge patch.
type ConfigController struct{ AMI string }

// Identity is the controller's service account.
func (ConfigController) Identity() string {
	return "system:serviceaccount:openshift-machine-config-operator:machine-config-controller"
}

// Pass looks at all sets once.
func (m ConfigController) Pass(ctx context.Context, c client.Client) error {
	path := strings.Split("spec.template.spec.providerSpec.value.ami", ".")
	return each(ctx, c, "MachineSet", func(o *unstructured.Unstructured) error {
		id, there, _ := unstructured.NestedString(o.Object, append(path, "id")...)
		windows, _, _ := unstructured.NestedString(o.Object, "spec", "template", "metadata", "labels", "machine.openshift.io/os-id")
		if !there || id == m.AMI || len(o.GetOwnerReferences()) > 0 || windows == "Windows" {
			return nil
		}
		before := o.DeepCopy()
		if err := unstructured.SetNestedMap(o.Object, map[string]any{"id": m.AMI}, path...); err != nil {
			return err
		}
		return patched(ctx, c, before, o)
	})
}
