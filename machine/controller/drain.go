// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/kubectl/pkg/drain"

	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/machine"
)

// drain evicts the pods of the Node, as far as one pass can.
//
// The drain library decides what is evicted, what may stay, and how. The library's own loop is not used, because it would occupy a worker until the last pod is
// gone: it keeps asking for pods that a disruption budget protects. drain asks once for each pod and reports the pods that are left. The next pass continues.
func (c *machines) drain(ctx context.Context, p *pass) (*stop, error) {
	done, _ := conditionOfType(p.machine.Status.Conditions, machinev1beta1.MachineDrained)
	switch {
	case done.Status == corev1.ConditionTrue && !outdated(done, p.node):
		return nil, nil
	case p.node == nil:
		p.is(machine.True(machinev1beta1.MachineDrained, machine.ReasonNoNode, "The Machine has no Node"))
		return nil, nil
	case machine.ExcludesDrain(p.machine):
		p.is(machine.True(machinev1beta1.MachineDrained, machine.ReasonDrainSkipped, "The annotation "+machine.ExcludeDrainAnnotation+" turns the drain off"))
		return nil, nil
	}
	if err := c.beginDrain(ctx, p); err != nil {
		return nil, err
	}
	left, err := c.evict(ctx, p.node)
	if err != nil {
		p.is(drainFailed(p.node, err))
		return &stop{}, err
	}
	if len(left) > 0 {
		return &stop{after: c.pace.drain, waits: draining(p.node, left)}, nil
	}
	p.is(machine.True(machinev1beta1.MachineDrained, machine.ReasonDrained, fmt.Sprintf("Node %s is drained", p.node.Name)))
	if done.Status == corev1.ConditionTrue && done.Reason == machine.ReasonDrained {
		return nil, nil // the cache did not have the Node's cordon yet, or no pod had come to it
	}
	c.recordEvent(p, corev1.EventTypeNormal, machine.ReasonDrained, "Drain", fmt.Sprintf("Node %s is drained", p.node.Name))
	return nil, nil
}

// outdated reports whether a completed drain no longer counts, because new pods may run on the Node. A hook may hold the Machine for long after the drain.
// Meanwhile its Node may register, or somebody may uncordon the Node, as the Machine Config Operator does after an update.
func outdated(done machinev1beta1.Condition, node *corev1.Node) bool {
	switch {
	case node == nil:
		return false
	case done.Reason == machine.ReasonNoNode:
		return true
	}
	return done.Reason == machine.ReasonDrained && !node.Spec.Unschedulable
}

// beginDrain stores that the drain has begun, before the first eviction. So another process that takes over lets this drain finish first (takeTurn).
func (c *machines) beginDrain(ctx context.Context, p *pass) error {
	if machine.DrainBegun(p.machine) {
		return nil
	}
	p.is(machine.False(machinev1beta1.MachineDrained, machinev1beta1.ConditionSeverityInfo, machine.ReasonDraining, "Draining Node %s", p.node.Name))
	c.recordEvent(p, corev1.EventTypeNormal, machine.ReasonDraining, "Drain", fmt.Sprintf("Draining Node %s", p.node.Name))
	return c.store(ctx, p)
}

// evict cordons the Node and asks for an eviction of each pod. It returns the pods that are left, each with the reason.
func (c *machines) evict(ctx context.Context, node *corev1.Node) ([]leftover, error) {
	ctx, cancel := context.WithTimeout(ctx, c.pace.evict)
	defer cancel()
	h := c.drainer(ctx, node)
	if err := drain.RunCordonOrUncordon(h, node.DeepCopy(), true); err != nil {
		return nil, fmt.Errorf("cordoning Node %s: %w", node.Name, err)
	}
	list, errs := h.GetPodsForDeletion(node.Name)
	if len(errs) > 0 {
		return nil, fmt.Errorf("listing the Pods of Node %s: %w", node.Name, errors.Join(errs...))
	}
	var left []leftover
	for _, pod := range list.Pods() {
		if l, stays := evictPod(ctx, h, pod); stays {
			left = append(left, l)
		}
	}
	slices.SortFunc(left, func(a, b leftover) int { return strings.Compare(a.pod, b.pod) })
	return left, nil
}

// drainer returns the drain library's helper, set up for one Node. It evicts everything but the pods of DaemonSets and static pods. It also evicts pods without
// a controller, and data in emptyDir is lost, because the instance is deleted.
func (c *machines) drainer(ctx context.Context, node *corev1.Node) *drain.Helper {
	h := &drain.Helper{
		Ctx: ctx, Client: c.pods, Force: true, IgnoreAllDaemonSets: true, DeleteEmptyDirData: true,
		GracePeriodSeconds: -1, // each pod's own grace period
		Out:                io.Discard, ErrOut: io.Discard,
	}
	if machine.Unreachable(node) {
		// No kubelet will report that a pod has ended. So pods that are being deleted are not waited for. Disruption budgets are still obeyed.
		h.GracePeriodSeconds, h.SkipWaitForDeleteTimeoutSeconds = 1, 1
	}
	return h
}

// leftover is a pod that an eviction has not removed yet. why is the reason, refused means that the API server refused the eviction.
type leftover struct {
	pod, why string
	refused  bool
}

func evictPod(ctx context.Context, h *drain.Helper, pod corev1.Pod) (_ leftover, stays bool) {
	l := leftover{pod: pod.Namespace + "/" + pod.Name, why: "is ending"}
	if !pod.DeletionTimestamp.IsZero() {
		return l, true
	}
	switch err := h.EvictPod(pod, policyv1.SchemeGroupVersion); {
	case err == nil:
		return l, true
	case apierrors.IsNotFound(err):
		return l, false
	case ctx.Err() != nil:
		l.why = "was not asked yet"
	default:
		l.why, l.refused = refusal(err), true
	}
	return l, true
}

// refusal returns the API server's reason against an eviction. If a disruption budget is the reason, the text has the budget's name and numbers.
func refusal(err error) string {
	why := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			why += " " + cause.Message
		}
	}
	return strings.TrimSuffix(why, ".")
}

func draining(node *corev1.Node, left []leftover) machinev1beta1.Condition {
	reason, severity := machine.ReasonDraining, machinev1beta1.ConditionSeverityInfo
	if slices.ContainsFunc(left, func(l leftover) bool { return l.refused }) {
		reason, severity = machinev1beta1.MachineDrainError, machinev1beta1.ConditionSeverityWarning
	}
	return machine.False(machinev1beta1.MachineDrained, severity, reason, "Pods are being evicted from Node %s, and %s are left: %s",
		node.Name, amount.Of(len(left), "pod"), named(left))
}

func drainFailed(node *corev1.Node, err error) machinev1beta1.Condition {
	return machine.False(machinev1beta1.MachineDrained, machinev1beta1.ConditionSeverityWarning, machinev1beta1.MachineDrainError, "Node %s: %s", node.Name, err)
}

// mostNamed is how many of the remaining pods a condition names. Refused pods are named first.
const mostNamed = 10

func named(left []leftover) string {
	slices.SortStableFunc(left, func(a, b leftover) int {
		switch {
		case a.refused == b.refused:
			return 0
		case a.refused:
			return -1
		}
		return 1
	})
	var names []string
	for _, l := range left[:min(len(left), mostNamed)] {
		names = append(names, l.pod+" "+l.why)
	}
	if more := len(left) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, "; ")
}
