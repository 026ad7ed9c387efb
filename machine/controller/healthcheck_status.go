// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"reflect"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/machine/health"
)

// reasonInvalid is the reason of the condition RemediationAllowed of a check whose spec is invalid.
const reasonInvalid = "InvalidConfiguration"

// report stores the numbers and conditions of a judgement in the check's status, if they changed. more are further conditions.
func (r *healthChecks) report(ctx context.Context, c *check, j health.Judgement, more []machinev1beta1.Condition) error {
	r.meters.judged(c.stored, j)
	allowed := machinev1beta1.Condition{Type: machinev1beta1.RemediationAllowedCondition, Status: corev1.ConditionTrue}
	if j.Restricted() {
		allowed = prevented(machinev1beta1.TooManyUnhealthyReason, j.Restriction())
	}
	return r.write(ctx, c, map[string]any{
		"expectedMachines": int64(j.Expected), "currentHealthy": int64(j.Healthy), "remediationsAllowed": int64(j.Allowed()),
	}, append(more, allowed))
}

// refuse reports in the check's status that the check is invalid. It keeps the check's numbers, but sets remediationsAllowed to 0.
func (r *healthChecks) refuse(ctx context.Context, c *check, why error) error {
	return r.write(ctx, c, map[string]any{"remediationsAllowed": int64(0)},
		[]machinev1beta1.Condition{prevented(reasonInvalid, "Nothing is remediated: "+why.Error())})
}

func prevented(reason, message string) machinev1beta1.Condition {
	return machinev1beta1.Condition{
		Type: machinev1beta1.RemediationAllowedCondition, Status: corev1.ConditionFalse,
		Severity: machinev1beta1.ConditionSeverityWarning, Reason: reason, Message: message,
	}
}

// write stores the fields and conditions that differ from the stored status. Then it writes an event for each condition that has become False.
func (r *healthChecks) write(ctx context.Context, c *check, status map[string]any, conditions []machinev1beta1.Condition) error {
	stored, _, _ := unstructured.NestedMap(c.stored.Object, "status")
	for name, value := range status {
		if reflect.DeepEqual(stored[name], value) {
			delete(status, name)
		}
	}
	before := c.conditions
	after := c.withoutExternal()
	for _, condition := range conditions {
		after = r.with(after, condition)
	}
	if !reflect.DeepEqual(before, after) {
		status["conditions"] = after
	}
	if len(status) == 0 {
		return nil
	}
	if err := patchStatusFields(ctx, r, c.stored, status); err != nil {
		return err
	}
	r.announce(ctx, c, before, conditions)
	return nil
}

// withoutExternal returns the check's conditions. If the check names no remediation template, it leaves out the conditions about a template.
func (c *check) withoutExternal() []machinev1beta1.Condition {
	if c.spec.RemediationTemplate != nil {
		return c.conditions
	}
	return slices.DeleteFunc(slices.Clone(c.conditions), func(x machinev1beta1.Condition) bool {
		return x.Type == machinev1beta1.ExternalRemediationTemplateAvailable || x.Type == machinev1beta1.ExternalRemediationRequestAvailable
	})
}

// with returns the conditions with c set (withCondition). If the stored condition equals c apart from the time, with returns the conditions unchanged.
func (r *healthChecks) with(conditions []machinev1beta1.Condition, c machinev1beta1.Condition) []machinev1beta1.Condition {
	old, ok := conditionOfType(conditions, c.Type)
	if ok && old.Status == c.Status && old.Severity == c.Severity && old.Reason == c.Reason && old.Message == c.Message {
		return conditions
	}
	return withCondition(conditions, c, r.clock.Now())
}

// announce writes an event for each condition that has become False, or that is False for another reason than before.
func (r *healthChecks) announce(ctx context.Context, c *check, before, conditions []machinev1beta1.Condition) {
	for _, now := range conditions {
		was, _ := conditionOfType(before, now.Type)
		if now.Status != corev1.ConditionFalse || was.Status == now.Status && was.Reason == now.Reason {
			continue
		}
		r.recorder.Eventf(c.stored, nil, corev1.EventTypeWarning, now.Reason, "check", "%s", cut(now.Message, longestNote))
		log.FromContext(ctx).Info("remediation is held up", "reason", now.Reason, "message", now.Message)
	}
}
