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
// Poundlock also reads it on the Machine API's Machines, so that no check remediates the Machine, whichever API the check belongs to.
const SkipAnnotation = clusterv1.MachineSkipRemediationAnnotation

// MarkAnnotation on a Machine, with any value, has a check remediate the Machine whatever its Node reports. It is Cluster API's annotation, too.
const MarkAnnotation = clusterv1.RemediateMachineAnnotation

// Judgement is what a check finds at a moment.
type Judgement struct {
	// Expected is how many Machines there are, Healthy how many of them are healthy.
	Expected, Healthy int
	// MaxUnhealthy is how many of them may be other than healthy, in Machines.
	MaxUnhealthy int
	// Assessments are on every Machine, in the order in which they were given.
	Assessments []Assessment
	// Remediate are the Machines to remediate now, in the same order. They are unhealthy, the caller's own and not spared. There are none if the check is
	// restricted.
	Remediate []Assessment
	// Next is how long it takes from now until another Machine is unhealthy if nothing changes; 0 for never.
	Next time.Duration
}

// Unhealthy is how many Machines are not healthy: unhealthy ones, those that are on the way there, and those being deleted.
func (j Judgement) Unhealthy() int { return j.Expected - j.Healthy }

// Restricted reports whether so many Machines are not healthy that none may be remediated: the fault is then likelier to be elsewhere.
func (j Judgement) Restricted() bool { return j.Unhealthy() > j.MaxUnhealthy }

// Allowed is how many more Machines may become unhealthy and still be remediated.
func (j Judgement) Allowed() int { return max(0, j.MaxUnhealthy-j.Unhealthy()) }

// Restriction returns, in a sentence, why a restricted check remediates nothing.
func (j Judgement) Restriction() string {
	return fmt.Sprintf("Remediation is not allowed: the check finds %d of %s unhealthy, starting or being deleted, and maxUnhealthy allows %d",
		j.Unhealthy(), amount.Of(j.Expected, "Machine"), j.MaxUnhealthy)
}

// Judge judges all Machines that the check selects. mine selects the Machines that the caller remediates; nil selects all. The error is a sentence about a
// field of the spec with an invalid value. The caller may then remediate nothing.
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

// spared returns why an unhealthy Machine is not remediated. "MachineHealthChecks only remediate Machines that have owners" (converting › MachineHealthCheck
// remediates Machine): nobody would replace a Machine without an owner. A Machine of the control plane is no special case: it has an owner where a
// ControlPlaneMachineSet manages it. A remediation template does not delete the Machine, so it also applies to Machines without an owner.
func spared(spec *machinev1beta1.MachineHealthCheckSpec, v Assessment) string {
	if !v.Unhealthy() {
		return ""
	}
	switch {
	case v.Deleting():
		return "it is being deleted"
	case v.Skipped():
		return "its annotation " + SkipAnnotation + " says so"
	case v.Machine.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityMigrating:
		return "its authority is moving from one API to the other, and a deletion would delay the move"
	case spec.RemediationTemplate == nil && metav1.GetControllerOf(v.Machine) == nil:
		return "it has no controller that would replace it"
	}
	return ""
}

// MaxUnhealthy is how many of total Machines may be other than healthy. A percentage is rounded down and capped at 100%; absent is 100%.
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
