// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// The conditions of a set and of the ClusterOperator. Only the ClusterOperator has Upgradeable.
const (
	Available   = "Available"
	Progressing = "Progressing"
	Degraded    = "Degraded"
	Upgradeable = "Upgradeable"
)

// OperatorName is the name of the ClusterOperator.
const OperatorName = "control-plane-machine-set"

// The reasons of conditions, besides those of problems.
const (
	AsExpected          Reason = "AsExpected"
	Inactive            Reason = "Inactive"
	NoSet               Reason = "NoControlPlaneMachineSet"
	UnavailableReplicas Reason = "UnavailableReplicas"
	RollingOut          Reason = "RollingOut"
	WaitingForHook      Reason = "WaitingForHook"
	WaitingForDeletion  Reason = "WaitingForDeletion"
	MovingAuthority     Reason = "MovingAuthority"
	Stopped             Reason = "Stopped"
)

// Conditions returns the set's conditions. The writer adds their times.
func (p *Plan) Conditions() []metav1.Condition {
	return []metav1.Condition{p.available(), p.progressing(), p.degraded()}
}

func condition(kind string, holds bool, r Reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: string(r), Message: message}
	if holds {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// available returns the condition Available. It is True if at least as many indexes as replicas have a Machine whose Node is ready, or has been not ready for
// less than NotReadyGrace. That Machine may be one that is being deleted.
func (p *Plan) available() metav1.Condition {
	var without []string
	for _, i := range p.Indexes {
		if !slices.ContainsFunc(i.Machines, func(m MachineState) bool { return m.available }) {
			without = append(without, fmt.Sprintf("index %d (%s)", i.Number, values.ListOr(NamesOf(i.Machines, nil), "no Machine")))
		}
	}
	if p.Numbers().Unavailable > 0 {
		return condition(Available, false, UnavailableReplicas, fmt.Sprintf("%d of %d control plane Machines run with a Node that is ready. Without a ready "+
			"Node: %s",
			p.Replicas-p.Numbers().Unavailable, p.Replicas, values.ListOr(without, "the whole control plane")))
	}
	if all := NamesOf(p.Machines(), func(m MachineState) bool { return m.available && !m.serves }); len(all) > 0 {
		return condition(Available, true, AsExpected,
			fmt.Sprintf("All %d control plane Machines run. The Nodes of these Machines became NotReady less than %s ago, perhaps because of a reboot: %s",
				p.Replicas, p.view.NotReadyGrace, strings.Join(all, ", ")))
	}
	return condition(Available, true, AsExpected, fmt.Sprintf("All %d control plane Machines run with a Node that is ready", p.Replicas))
}

func (p *Plan) progressing() metav1.Condition {
	next, making, held := p.changing()
	switch {
	case !p.Active:
		return condition(Progressing, false, Inactive, p.inactive())
	case len(p.Problems) > 0:
		return condition(Progressing, false, Stopped, p.stopped())
	case !making && p.moves() != "":
		return condition(Progressing, true, MovingAuthority, p.state("Waiting for "+p.Waits))
	case making && next.Verb == Create:
		return condition(Progressing, true, RollingOut, p.state(fmt.Sprintf("Next the set creates a Machine at index %d%s: %s",
			next.Index.Number, next.Index.where(), strings.TrimSuffix(next.Why, "."))))
	case making:
		return condition(Progressing, true, RollingOut, p.state(fmt.Sprintf("Next %s is deleted: %s", next.Machine.Name, strings.TrimSuffix(next.Why, "."))))
	case held != "":
		return condition(Progressing, true, RollingOut, p.state("Waiting for "+held))
	case len(p.Holds()) > 0:
		return condition(Progressing, true, WaitingForHook, p.state(p.Waits))
	case p.busy() != "":
		return condition(Progressing, true, RollingOut, p.state(p.Waits))
	case p.Waits != "" && p.Strategy == machinev1.OnDelete:
		return condition(Progressing, false, WaitingForDeletion, p.state("Waiting for "+p.Waits))
	case p.Waits != "":
		return condition(Progressing, true, RollingOut, p.state(p.Waits))
	}
	return condition(Progressing, false, AsExpected, sentence(p.rest()))
}

// stopped returns the message of Progressing for a set with problems. It quotes the API server's refusal of a Machine, because a person looks for that in
// Progressing.
func (p *Plan) stopped() string {
	message := "The set has stopped. Fix the problem that the Degraded condition names"
	if at := slices.IndexFunc(p.Problems, func(problem Problem) bool { return problem.Reason == MachineRefused }); at >= 0 {
		return sentence(message, p.Problems[at].Message)
	}
	return message
}

// state returns the message for a set that acts: the progress, then the text "now" (the next step or the wait), then what is still to be replaced.
func (p *Plan) state(now string) string {
	parts := []string{fmt.Sprintf("%d of %d control plane Machines match the template and are ready", p.Numbers().Updated, p.Replicas), now}
	if all := p.Outdated(); len(all) > 0 && p.Strategy != machinev1.OnDelete {
		parts = append(parts, "Still to be replaced: "+p.listOutdated(all))
	}
	return sentence(parts...)
}

// rest returns the message for a set that has nothing to do. The message names the differences from the template that the set ignores.
func (p *Plan) rest() string {
	message := "All control plane Machines match the template"
	if left := p.sum(Ignored); left != "" {
		message += ", except in fields that cause no replacement: " + left
	}
	return message
}

func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ". ")
}

// inactive returns the message for an inactive set: what its activation would lead to.
func (p *Plan) inactive() string {
	all := p.Forecast()
	for i := 1; i < len(all); i++ {
		all[i] = strings.Replace(all[i], p.doing(""), "It would ", 1)
	}
	return sentence(all...)
}

func (p *Plan) degraded() metav1.Condition {
	failed := p.failed(false)
	if holds := p.Holds(); len(p.Problems) == 0 && p.Active && len(failed) > 0 && len(holds) > 0 {
		return condition(Degraded, true, FailedMachines,
			fmt.Sprintf("These Machines have failed: %[1]s. The hook %[2]s of %[3]s holds %[4]s, and may wait until the failed Machines are gone. Do not remove "+
				"the hook. Delete the failed Machines, and the set creates others: kubectl -n %[5]s delete machines.machine.openshift.io %[6]s",
				strings.Join(failed, ", "), holds[0].Hook, holds[0].Owner, holds[0].Machine, p.set.Namespace, strings.Join(failed, " ")))
	}
	if len(p.Problems) == 0 && p.Active && len(failed) > 0 {
		return condition(Degraded, true, FailedMachines, fmt.Sprintf("These Machines have failed: %s. %s. The set continues to manage the other Machines",
			strings.Join(failed, ", "), afterFailure))
	}
	if len(p.Problems) == 0 {
		return condition(Degraded, false, AsExpected, "No problem stops the set")
	}
	if !p.Active {
		return condition(Degraded, false, Inactive, "The set does nothing while it is Inactive. The Progressing condition says what the set would do if it "+
			"were Active")
	}
	var parts []string
	for _, problem := range p.Problems {
		parts = append(parts, problem.Message)
	}
	return condition(Degraded, true, p.Problems[0].Reason, sentence(parts...))
}

// OperatorConditions returns the ClusterOperator's conditions. If there is no set, p is nil, and the text "ungenerated" says why no set can be generated ("" if
// one can be).
func OperatorConditions(p *Plan, ungenerated string) []configv1.ClusterOperatorStatusCondition {
	if p == nil || !p.Active {
		return idle(p, ungenerated)
	}
	var out []configv1.ClusterOperatorStatusCondition
	upgradeable := condition(Upgradeable, true, AsExpected, "The control plane is not being changed")
	for _, c := range p.Conditions() {
		out = append(out, operatorCondition(c))
		if c.Type != Available && c.Status == metav1.ConditionTrue && upgradeable.Status == metav1.ConditionTrue {
			upgradeable = condition(Upgradeable, false, Reason(c.Reason), "Upgrade once this change of the control plane is complete. "+c.Message)
		}
		if c.Type == Degraded && c.Status == metav1.ConditionTrue {
			upgradeable = condition(Upgradeable, false, Reason(c.Reason), "Upgrade once this problem is fixed. "+c.Message)
		}
	}
	return append(out, operatorCondition(upgradeable))
}

// idle returns the ClusterOperator's conditions while the operator does not manage the control plane's Machines.
func idle(p *Plan, ungenerated string) []configv1.ClusterOperatorStatusCondition {
	reason, message := NoSet, sentence("There is no ControlPlaneMachineSet: nothing is done to the control plane's Machines", ungenerated)
	if p != nil {
		reason, message = Inactive, "The ControlPlaneMachineSet is inactive: nothing is done to the control plane's Machines"
	}
	var out []configv1.ClusterOperatorStatusCondition
	for _, kind := range []string{Available, Progressing, Degraded, Upgradeable} {
		out = append(out, operatorCondition(condition(kind, kind == Available || kind == Upgradeable, reason, message)))
	}
	return out
}

func operatorCondition(c metav1.Condition) configv1.ClusterOperatorStatusCondition {
	return configv1.ClusterOperatorStatusCondition{
		Type: configv1.ClusterStatusConditionType(c.Type), Status: configv1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
	}
}
