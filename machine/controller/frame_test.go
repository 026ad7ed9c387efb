// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// OpenShift's controllers store Paused=False with the severity Info: a controller that acts is nothing to worry about.
func TestTheSeverityOfPaused(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]machinev1beta1.ConditionSeverity{
		metav1.ConditionFalse: machinev1beta1.ConditionSeverityInfo, metav1.ConditionTrue: machinev1beta1.ConditionSeverityNone,
	} {
		if c := conditionOf(authority.Condition{Type: authority.ConditionPaused, Status: status}); c.Severity != want {
			t.Errorf("Paused=%s has the severity %q, want %q", status, c.Severity, want)
		}
	}
}
