// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanemirror

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane/handover"
)

// reporting decides what is written. The time is the only thing that it needs in addition to the state.
type reporting struct{ now func() time.Time }

// report returns the one write of the set's status, nil if nothing changes. The write has which API is authoritative, whether Cluster API's side is equal, and
// what a request waits for. All of these are in one patch, with the resourceVersion of the set on which the decision was based.
func (r reporting) report(s *state) *write {
	side := handover.InStep
	if s.refusal != (problem{}) {
		side = handover.Refused
	}
	step := handover.Next(s.handover(side))
	status := authorityOf(s, step, side)
	have := conditionlist.Of(s.set)
	conditions, synchronized := conditionlist.Set(have, s.synchronized(side), r.now())
	settled, now := r.settledCondition(step, s, conditions)
	conditions, changed := conditionlist.Set(conditions, settled, r.now())
	if synchronized || changed {
		status["conditions"] = conditions
	}
	if len(status) == 0 {
		return nil
	}
	w := &write{verb: patchStatus, object: s.set, reason: step.Reason, warning: step.Action == authority.Wait,
		patch: map[string]any{"status": status}}
	switch was := conditionlist.Find(have, authority.ConditionSynchronized); {
	case now && step.Action != authority.Settle:
		w.note = conditionlist.Text(settled, "message")
	case synchronized && side == handover.Refused &&
		(conditionlist.Text(was, "reason") != s.refusal.reason || conditionlist.Text(was, "message") != s.refusal.message):
		w.reason, w.note, w.warning = s.refusal.reason, s.refusal.message, true
	case synchronized && conditionlist.Text(was, "status") != string(metav1.ConditionTrue) && side == handover.InStep:
		w.reason, w.note, w.warning = authority.ConditionSynchronized, s.inStep(), false
	}
	return w
}

// authorityOf returns the changes that a step makes to the status fields of the authority, and the generation from which Cluster API's side is made.
func authorityOf(s *state, step authority.Step, side handover.Side) map[string]any {
	status := map[string]any{}
	switch step.Action {
	case authority.Adopt, authority.Switch:
		status["authoritativeAPI"], status["synchronizedAPI"] = string(step.To), string(step.To)
	case authority.Acknowledge:
		status["authoritativeAPI"], status["synchronizedAPI"] = string(authority.Migrating), string(s.shape.Current)
	case authority.Settle:
		if s.shape.SynchronizedAPI != s.shape.Current {
			status["synchronizedAPI"] = string(s.shape.Current)
		}
	}
	if side == handover.InStep && s.shape.SynchronizedGeneration < s.set.GetGeneration() {
		status["synchronizedGeneration"] = s.set.GetGeneration()
	}
	return status
}

func (s *state) synchronized(side handover.Side) map[string]any {
	if side == handover.Refused {
		return conditionlist.New(authority.ConditionSynchronized, metav1.ConditionFalse, s.refusal.reason, s.refusal.message)
	}
	return conditionlist.New(authority.ConditionSynchronized, metav1.ConditionTrue, "ResourceSynchronized", s.inStep())
}

// inStep returns a sentence that names the object of Cluster API with the same content as the set's template: the infrastructure machine template or, if there
// is none, the infrastructure machine of one of the set's Machines.
func (s *state) inStep() string {
	name := ""
	if s.template != nil {
		name = s.template.GetName()
	} else if s.member != nil {
		name = s.member.Spec.InfrastructureRef.Name
	}
	out := []string{fmt.Sprintf("%s %s/%s is equal to the set's template", s.env.Platform.InfraMachineTemplate.Kind, s.pair.ClusterAPI, name)}
	switch domains, missing := s.domains(), s.unlisted(); {
	case len(domains) == 0:
	case len(missing) == 0:
		out = append(out, fmt.Sprintf("%s lists the set's failure domains %s for the control plane", describe(s.infraCluster), strings.Join(domains, ", ")))
	default:
		out = append(out, fmt.Sprintf(
			"%s does not list the set's failure domains %s for the control plane. Poundlock does not add them, because this object has no annotation "+
				"cluster.x-k8s.io/managed-by, so its provider writes its status",
			describe(s.infraCluster), strings.Join(missing, ", ")))
	}
	return strings.Join(out, "; ") + "."
}

// settledCondition returns the condition AuthoritySettled that follows from a step. now reports that its status or reason is new. Its lastTransitionTime also
// changes with the reason, because it shows since when the set has waited for this reason.
func (r reporting) settledCondition(step authority.Step, s *state, conditions []any) (c map[string]any, now bool) {
	status := metav1.ConditionFalse
	if step.Action == authority.Settle {
		status = metav1.ConditionTrue
	}
	message := step.Message
	if step.Reason == authority.ReasonNotSynchronized {
		message += fmt.Sprintf(" The condition Synchronized says %s: %s.", s.refusal.reason, strings.TrimSuffix(s.refusal.message, "."))
	}
	c = conditionlist.New(authority.ConditionSettled, status, step.Reason, message)
	before, since := conditionlist.Find(conditions, authority.ConditionSettled), r.now().UTC().Format(time.RFC3339)
	if now = conditionlist.Text(before, "status") != conditionlist.Text(c, "status") || conditionlist.Text(before, "reason") != step.Reason; !now {
		since = conditionlist.Text(before, "lastTransitionTime")
	}
	c["lastTransitionTime"] = since
	if step.Action == authority.Wait {
		c["message"] = message + " Since " + since + "."
	}
	return c, now
}
