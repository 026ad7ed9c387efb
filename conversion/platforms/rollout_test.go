// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion/core"
)

// An Active ControlPlaneMachineSet replaces Machines that differ from it, so the edit of one that a message asks for begins a rollout. On each platform the
// message has the order in which nothing is replaced: for control plane Machines alone, and only if their providerSpec is what to edit.
func TestARemedyForAControlPlaneMachineBeginsNoRollout(t *testing.T) {
	const order = `kubectl patch controlplanemachinesets.machine.openshift.io cluster -n openshift-machine-api --type=merge -p '{"spec":{"strategy":{"type":"OnDelete"}}}'`
	eachCluster(t, func(t *testing.T, folder string, c corpus, _ variants) {
		workers, _ := filepath.Glob(filepath.Join(folder, "worker*.yaml"))
		for role, warned := range map[string]bool{"master": true, "worker": false, "infra": false} {
			o := read(t, workers[0])
			template := []string{"spec", "template"}
			for path, value := range map[string]string{"cluster-api-machine-role": role, "cluster-api-machine-type": role} {
				if err := unstructured.SetNestedField(o.Object, value, append(template, "metadata", "labels", "machine.openshift.io/"+path)...); err != nil {
					t.Fatal(err)
				}
			}
			metadata := append(template, "spec", "providerSpec", "value", "metadata")
			if err := unstructured.SetNestedField(o.Object, map[string]any{"name": "x"}, metadata...); err != nil {
				t.Fatal(err)
			}
			_, errs := core.ToClusterAPI(o.GetKind(), o, c.Env(t))
			edited := false
			for _, e := range errs {
				inSpec := strings.HasPrefix(e.Field, "spec.template.spec.providerSpec.value.")
				edited = edited || inSpec
				if got := strings.HasSuffix(e.Detail, order); got != (warned && inSpec) {
					t.Errorf("of a %s, %s: %s", role, e.Field, e.Detail)
				}
				if strings.Contains(e.Detail, "this is a control plane Machine") {
					t.Errorf("a set's template is called a Machine: %s", e.Detail)
				}
			}
			if !edited {
				t.Errorf("of a %s: %v", role, errs)
			}
		}
	})
}
