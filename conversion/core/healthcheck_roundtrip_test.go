// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/internal/machineapi"
)

func checkThere(m *mapiCheck) (*capiCheck, field.ErrorList) {
	p, c := conversion.NewPass(checkEnv(), &conversion.Core{}, ""), capiCheck{}
	MachineHealthChecks.ToClusterAPI(p, m, &c)
	return &c, p.Errors()
}

func checkBack(c *capiCheck) (*mapiCheck, field.ErrorList) {
	p, m := conversion.NewPass(checkEnv(), &conversion.Core{}, ""), mapiCheck{}
	MachineHealthChecks.ToMachineAPI(p, c, &m)
	return &m, p.Errors()
}

// checkEnv has no platform: a check needs none.
func checkEnv() *conversion.Env {
	return &conversion.Env{ClusterName: "ocean", MachineAPINamespace: "m", ClusterAPINamespace: "c"}
}

// selectorLabels are never empty.
func selectorLabels(own string) func(*rand.Rand) any {
	return func(r *rand.Rand) any {
		out := some(r, own, "ocean", "team", "sea")
		put(&out, machineapi.MachineSetLabel, "worker-a")
		return out
	}
}

func someConditions[T any](one func(*rand.Rand) T) func(*rand.Rand) any {
	return func(r *rand.Rand) any {
		var out []T
		for range 1 + r.IntN(4) {
			out = append(out, one(r))
		}
		return out
	}
}

func TestACheckComesBack(t *testing.T) {
	conversiontest.Trip[mapiCheck, capiCheck]{
		There: checkThere, Back: checkBack, Lines: MachineHealthChecks.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
		Values: conversiontest.Values{
			"metadata.name": conversiontest.OneOf("workers"),
			"metadata.labels": func(r *rand.Rand) any {
				return some(r, clusterLabel, "ocean", "team", "sea", "machine.openshift.io/zone", "a")
			},
			"metadata.annotations": func(r *rand.Rand) any {
				return some(r, lastApplied, "{}", "note", "", rebootAnnotation, "", clusterv1.PausedAnnotation, "", ownDomain+"x", "y")
			},
			"spec.selector.matchLabels":                 selectorLabels(clusterLabel),
			"spec.selector.matchExpressions[].operator": conversiontest.OneOf(metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn),
			"spec.selector.matchExpressions[].values":   func(*rand.Rand) any { return []string{"a", "b"} },
			"spec.maxUnhealthy":                         conversiontest.OneOf(intstr.FromInt32(0), intstr.FromInt32(5), intstr.FromString("40%"), intstr.FromString("100%"), intstr.FromString("7"), intstr.FromString("007")),
			"spec.nodeStartupTimeout":                   conversiontest.OneOf(metav1.Duration{}, metav1.Duration{Duration: 30 * time.Second}, metav1.Duration{Duration: 10 * time.Minute}),
			"spec.unhealthyConditions[].timeout":        conversiontest.OneOf(metav1.Duration{}, metav1.Duration{Duration: 300 * time.Second}, metav1.Duration{Duration: 90 * time.Hour}),
			"spec.remediationTemplate.namespace":        conversiontest.OneOf("", "m"),
		},
		Repair: func(r *rand.Rand, m *mapiCheck) {
			if r.IntN(6) == 0 { // few values do not convert
				m.Spec.RemediationTemplate = &corev1.ObjectReference{APIVersion: "a.b/v1", Kind: "C", Name: "d", UID: "e"}
			}
			if len(m.Spec.UnhealthyConditions) == 0 {
				m.Spec.UnhealthyConditions = []machinev1beta1.UnhealthyCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
			}
		},
		Normal: func(m *mapiCheck) {
			for k, v := range m.Metadata.Annotations {
				if stays(k, v) {
					delete(m.Metadata.Annotations, k)
				}
			}
			if t := m.Spec.RemediationTemplate; t != nil {
				t.Namespace = ""
			}
			if n := m.Spec.MaxUnhealthy; n != nil && n.Type == intstr.String && !strings.HasSuffix(n.StrVal, "%") {
				number, _ := strconv.Atoi(n.StrVal)
				*n = intstr.FromInt32(int32(number))
			}
		},
		Runs: 500,
	}.Run(t)
}

func TestAClusterAPICheckComesBack(t *testing.T) {
	conversiontest.Trip[capiCheck, mapiCheck]{
		There: checkBack, Back: checkThere, Lines: MachineHealthChecks.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI },
		Values: conversiontest.Values{
			"metadata.name": conversiontest.OneOf("workers"),
			"metadata.labels": func(*rand.Rand) any {
				return map[string]string{clusterLabel: "ocean", clusterv1.ClusterNameLabel: "ocean", "team": "sea"}
			},
			"metadata.annotations":                                  func(r *rand.Rand) any { return some(r, "note", "x") },
			"spec.clusterName":                                      conversiontest.OneOf("ocean"),
			"spec.selector.matchLabels":                             selectorLabels(clusterv1.ClusterNameLabel),
			"spec.selector.matchExpressions[].operator":             conversiontest.OneOf(metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist),
			"spec.selector.matchExpressions[].values":               func(*rand.Rand) any { return []string{} },
			"spec.checks.nodeStartupTimeoutSeconds":                 conversiontest.OneOf[int32](0, 30, 600),
			"spec.checks.unhealthyNodeConditions":                   someConditions(unhealthyNode),
			"spec.remediation.triggerIf.unhealthyLessThanOrEqualTo": conversiontest.OneOf(intstr.FromInt32(3), intstr.FromString("0%"), intstr.FromString("100%")),
			"spec.remediation.templateRef":                          conversiontest.OneOf(clusterv1.MachineHealthCheckRemediationTemplateReference{}, clusterv1.MachineHealthCheckRemediationTemplateReference{APIVersion: "a.b/v1", Kind: "C", Name: "d"}),
		},
		Repair: func(r *rand.Rand, c *capiCheck) {
			if r.IntN(6) == 0 { // few values do not convert
				c.Spec.Remediation.TriggerIf.UnhealthyInRange = "[1-3]"
			}
		},
		Normal: func(*capiCheck) {},
		Runs:   500,
	}.Run(t)
}

func unhealthyNode(r *rand.Rand) clusterv1.UnhealthyNodeCondition {
	seconds := r.Int32N(1000)
	return clusterv1.UnhealthyNodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, TimeoutSeconds: &seconds}
}
