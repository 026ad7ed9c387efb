// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
)

// DefaultStartupTimeout is how long a Machine may have no Node if the check does not set nodeStartupTimeout.
const DefaultStartupTimeout = 10 * time.Minute

// Cause is why a Machine is not healthy, in CamelCase for events and metrics.
type Cause string

// The causes, in the order in which Of checks for them.
const (
	// Marked: a person asks for the remediation with MarkAnnotation.
	Marked         Cause = "HasRemediateAnnotation"
	MachineFailed  Cause = "MachineFailed"
	NodeGone       Cause = "NodeGone"
	StartupTimeout Cause = "NodeStartupTimeout"
	NodeCondition  Cause = "UnhealthyNode"
)

// Target is a Machine and its Node, as they were read. The Node is nil if the Machine names none, or if the named Node does not exist.
type Target struct {
	Machine *machinev1beta1.Machine
	Node    *corev1.Node
}

// Deleting reports whether the Machine is being deleted. A Machine that is being deleted needs no other remediation, whatever is wrong with it.
func (t Target) Deleting() bool { return !t.Machine.DeletionTimestamp.IsZero() }

// Skipped reports whether the Machine has SkipAnnotation, so that no check remediates it.
func (t Target) Skipped() bool {
	_, skip := t.Machine.Annotations[SkipAnnotation]
	return skip
}

// Assessment is what a check finds about one Machine.
type Assessment struct {
	Target
	// Cause is what is wrong, "" if nothing is.
	Cause Cause
	// Message is the reason in a sentence without a full stop.
	Message string
	// In is the time from now until the Machine becomes unhealthy if nothing changes. It is 0 if the Machine is unhealthy already, or if nothing is wrong.
	In time.Duration
	// Spared is why an unhealthy Machine is not remediated, "" if nothing prevents the remediation.
	Spared string
}

// Unhealthy reports whether the Machine has a fault that has lasted long enough to be remediated.
func (v Assessment) Unhealthy() bool { return v.Cause != "" && v.In == 0 }

// Healthy reports whether nothing is wrong with the Machine and it is not being deleted. While a fault has not lasted long enough, a Machine is neither Healthy
// nor Unhealthy.
func (v Assessment) Healthy() bool { return v.Cause == "" && !v.Deleting() }

// Of judges one Machine by the check's conditions and startup timeout. It leaves the Assessment's Spared empty: Judge fills that in.
func Of(spec *machinev1beta1.MachineHealthCheckSpec, t Target, now time.Time) Assessment {
	_, marked := t.Machine.Annotations[MarkAnnotation]
	switch m := t.Machine; {
	case marked:
		return Assessment{Target: t, Cause: Marked, Message: "the Machine has the annotation " + MarkAnnotation}
	case m.Status.Phase != nil && *m.Status.Phase == machinev1beta1.PhaseFailed:
		return Assessment{Target: t, Cause: MachineFailed, Message: failed(m)}
	case t.Node == nil && m.Status.NodeRef != nil:
		return Assessment{Target: t, Cause: NodeGone, Message: fmt.Sprintf("the Machine's Node %s is gone", m.Status.NodeRef.Name)}
	case t.Node == nil:
		return starting(spec, t, now)
	}
	return conditions(spec, t, now)
}

func failed(m *machinev1beta1.Machine) string {
	if m.Status.ErrorMessage != nil && *m.Status.ErrorMessage != "" {
		return "the Machine has failed: " + *m.Status.ErrorMessage
	}
	return "the Machine has failed"
}

func starting(spec *machinev1beta1.MachineHealthCheckSpec, t Target, now time.Time) Assessment {
	timeout := DefaultStartupTimeout
	if spec.NodeStartupTimeout != nil {
		timeout = spec.NodeStartupTimeout.Duration
	}
	if timeout <= 0 {
		return Assessment{Target: t} // "disable startup checks by setting this value explicitly to 0"
	}
	return Assessment{
		Target: t, Cause: StartupTimeout, In: remaining(begun(t.Machine, now), timeout, now),
		Message: fmt.Sprintf("the Machine has had no Node for %s, counted from its creation or its last change of phase", timeout),
	}
}

// begun returns since when a Machine has been starting: since its creation, or since the last change of its phase, whichever is later. A Machine that has moved
// to Cluster API without an instance has no time for its phase until Cluster API's controllers report one. For such a Machine, begun returns now, however old
// the Machine is, because its instance is about to be created.
func begun(m *machinev1beta1.Machine, now time.Time) time.Time {
	changed := m.Status.LastUpdated
	switch {
	case changed == nil && m.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityClusterAPI:
		return now
	case changed != nil && changed.After(m.CreationTimestamp.Time):
		return changed.Time
	}
	return m.CreationTimestamp.Time
}

// conditions returns the Assessment by the conditions of the Machine's Node. One unhealthy condition is enough. If several hold, the Assessment names the one
// whose timeout ends first.
func conditions(spec *machinev1beta1.MachineHealthCheckSpec, t Target, now time.Time) Assessment {
	first := Assessment{Target: t}
	for _, named := range spec.UnhealthyConditions {
		c, ok := conditionOf(t.Node, named.Type)
		if !ok || c.Status != named.Status {
			continue
		}
		in := remaining(c.LastTransitionTime.Time, named.Timeout.Duration, now)
		if first.Cause != "" && in >= first.In {
			continue
		}
		first.Cause, first.In = NodeCondition, in
		first.Message = fmt.Sprintf("the condition %s of the Machine's Node %s has been %s since %s, for %s or more",
			c.Type, t.Node.Name, c.Status, c.LastTransitionTime.UTC().Format(time.RFC3339), named.Timeout.Duration)
	}
	return first
}

func conditionOf(n *corev1.Node, kind corev1.NodeConditionType) (corev1.NodeCondition, bool) {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c, true
		}
	}
	return corev1.NodeCondition{}, false
}

// remaining returns the time until something that began at "since" has lasted for timeout, 0 if it has already.
func remaining(since time.Time, timeout time.Duration, now time.Time) time.Duration {
	return max(0, since.Add(timeout).Sub(now))
}
