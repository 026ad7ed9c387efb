// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/amount"
)

// SkipAnnotation on a Machine, with any value, keeps every check from remediating the Machine; the Machine still counts. The annotation is Cluster API's.
// Poundlock also reads it on the Machine API's Machines. So no check of either API remediates the Machine.
const SkipAnnotation = clusterv1.MachineSkipRemediationAnnotation

// MarkAnnotation on a Machine, with any value, makes a check remediate the Machine whatever its Node reports. The annotation is Cluster API's.
const MarkAnnotation = clusterv1.RemediateMachineAnnotation

// Judgement is what a check finds about its Machines at one time.
type Judgement struct {
	// Expected is how many Machines the check selects, Healthy how many of them are healthy.
	Expected, Healthy int
	// MaxUnhealthy is how many of the selected Machines may be not healthy without stopping remediation. It is a number of Machines, also if the spec has a
	// percentage.
	MaxUnhealthy int
	// Assessments has one entry for every Machine, in the order in which the Machines were given.
	Assessments []Assessment
	// Remediate are the assessments of the Machines to remediate now, in the same order. These Machines are unhealthy, not spared, and the caller remediates
	// them. The list is empty if the check is restricted.
	Remediate []Assessment
	// Next is the time from now until another Machine becomes unhealthy if nothing changes; 0 for never.
	Next time.Duration
}

// Unhealthy returns how many Machines are not healthy: unhealthy ones, those whose fault has not lasted long enough, and those being deleted.
func (j Judgement) Unhealthy() int { return j.Expected - j.Healthy }

// Restricted reports whether so many Machines are not healthy that none may be remediated. The fault is then more likely to be outside the Machines.
func (j Judgement) Restricted() bool { return j.Unhealthy() > j.MaxUnhealthy }

// Allowed returns how many more Machines may become unhealthy and still be remediated.
func (j Judgement) Allowed() int { return max(0, j.MaxUnhealthy-j.Unhealthy()) }

// Restriction returns, in a sentence, why a restricted check remediates nothing.
func (j Judgement) Restriction() string {
	return fmt.Sprintf("Remediation is not allowed: %d of %s are unhealthy, starting or being deleted, and spec.maxUnhealthy allows %d",
		j.Unhealthy(), amount.Of(j.Expected, "Machine"), j.MaxUnhealthy)
}

// Judge judges all Machines that the check selects, at the time now. mine selects the Machines that the caller remediates; nil selects all. The error is a
// sentence that names a field of the spec with an invalid value. With an error, the caller must not remediate anything.
func Judge(spec *machinev1beta1.MachineHealthCheckSpec, targets []Target, now time.Time, mine func(*machinev1beta1.Machine) bool) (Judgement, error) {
	j := Judgement{Expected: len(targets)}
	var err error
	if j.MaxUnhealthy, err = MaxUnhealthy(spec.MaxUnhealthy, len(targets)); err != nil {
		return Judgement{}, err
	}
	for _, t := range targets {
		v := Of(spec, t, now)
		v.Spared = spared(spec, v)
		j.add(v)
	}
	if !j.Restricted() {
		j.Remediate = due(j.Assessments, mine)
	}
	return j, nil
}

func (j *Judgement) add(v Assessment) {
	j.Assessments = append(j.Assessments, v)
	if v.Healthy() {
		j.Healthy++
	}
	if v.In > 0 && !v.Deleting() && (j.Next == 0 || v.In < j.Next) {
		j.Next = v.In
	}
}

func due(assessments []Assessment, mine func(*machinev1beta1.Machine) bool) []Assessment {
	var out []Assessment
	for _, v := range assessments {
		if v.Unhealthy() && v.Spared == "" && (mine == nil || mine(v.Machine)) {
			out = append(out, v)
		}
	}
	return out
}

// spared returns why an unhealthy Machine is not remediated, "" if it is. "MachineHealthChecks only remediate Machines that have owners" (converting ›
// MachineHealthCheck remediates Machine), because nothing would replace a deleted Machine without an owner. A Machine of the control plane is no special case:
// it has an owner if a ControlPlaneMachineSet manages it. A check with a remediation template does not delete the Machine, so it also remediates Machines
// without an owner.
func spared(spec *machinev1beta1.MachineHealthCheckSpec, v Assessment) string {
	if !v.Unhealthy() {
		return ""
	}
	switch {
	case v.Deleting():
		return "the Machine is being deleted"
	case v.Skipped():
		return "the Machine's annotation " + SkipAnnotation + " turns remediation off"
	case v.Machine.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityMigrating:
		return "the Machine is migrating from one API to the other, and a deletion would delay the migration"
	case spec.RemediationTemplate == nil && metav1.GetControllerOf(v.Machine) == nil:
		return "the Machine has no controller as its owner, so nothing would replace it"
	}
	return ""
}

// MaxUnhealthy returns how many of total Machines may be not healthy without stopping remediation. value is spec.maxUnhealthy: a number, or a percentage, which
// is rounded down and capped at 100%. nil means 100%.
func MaxUnhealthy(value *intstr.IntOrString, total int) (int, error) {
	if value == nil {
		return total, nil
	}
	text, percent := strings.CutSuffix(value.String(), "%")
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("spec.maxUnhealthy is %q: give a number of Machines, such as 3, or a percentage, such as 40%%", value.String())
	}
	if percent {
		return total * int(min(n, 100)) / 100, nil
	}
	return int(n), nil
}
