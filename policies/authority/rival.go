// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies"
)

// rivalProcess is the name of the container, in the cluster-capi-operator's Deployment, that runs OpenShift's own migration.
const rivalProcess = "machine-api-migration"

// RivalPolicies returns the names of the ValidatingAdmissionPolicies that come with OpenShift's own migration. They refuse what Poundlock writes, on every
// platform.
func RivalPolicies() []string { return []string{"cluster-api-machine-vap", "machine-api-machine-vap"} }

// Rival returns the parts of OpenShift's own migration that would conflict with Poundlock over every field, as a list for a sentence; "" if there are none.
// deployments are those of the Cluster API namespaces. policies are the names in RivalPolicies that exist in the cluster.
//
// Field managers in objects do not show whether that migration runs: they remain after the process that wrote has ended.
func Rival(platform string, deployments []unstructured.Unstructured, policies []string) string {
	var out []string
	rivalled := slices.ContainsFunc(providers, func(p Provider) bool { return p.Platform == platform && p.Rivalled })
	for _, d := range deployments {
		if rivalled && runsRival(d) {
			out = append(out, fmt.Sprintf("Deployment %s/%s with the container %s", d.GetNamespace(), d.GetName(), rivalProcess))
		}
	}
	for _, name := range policies {
		out = append(out, "ValidatingAdmissionPolicy "+name)
	}
	return strings.Join(out, ", ")
}

func runsRival(deployment unstructured.Unstructured) bool {
	replicas, given, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	return (!given || replicas > 0) && slices.ContainsFunc(containers, func(c any) bool {
		container, _ := c.(map[string]any)
		return container["name"] == rivalProcess
	})
}

// gateWarning returns the warning for a request to move while the feature gate MachineAPIMigration is off; nil while it is on.
func gateWarning(c policies.Change) []string {
	if !c.Facts.GateOff {
		return nil
	}
	return []string{"nothing moves: the feature gate MachineAPIMigration is off in FeatureGate cluster. The request is carried out once it is on"}
}

// rivalWarnings returns the warning for a person who requests a move while OpenShift's own migration is active; nil while it is not.
func rivalWarnings(c policies.Change) []string {
	if c.Facts.Rival == "" {
		return nil
	}
	return []string{fmt.Sprintf("nothing moves: OpenShift's own migration is active, so Poundlock does nothing, or the two would fight. Stop or remove %s",
		c.Facts.Rival)}
}
