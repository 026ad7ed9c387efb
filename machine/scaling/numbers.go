// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Numbers are the counts that a set reports in its status, and when they will change.
type Numbers struct {
	Replicas, FullyLabeled, Ready, Available int32
	// Next is the time from now until another Machine becomes available if nothing changes; 0 for never.
	Next time.Duration
}

// Count counts the set's Machines at the time now. node returns the Node with a name, nil if there is none. A Machine is ready "when the node has been created
// and is Ready", and available when it has been ready for minReadySeconds.
func Count(set *machinev1beta1.MachineSet, machines []*machinev1beta1.Machine, node func(name string) *corev1.Node, now time.Time) Numbers {
	n := Numbers{Replicas: int32(len(machines))}
	template := labels.SelectorFromSet(set.Spec.Template.Labels)
	wait := time.Duration(set.Spec.MinReadySeconds) * time.Second
	for _, m := range machines {
		if template.Matches(labels.Set(m.Labels)) {
			n.FullyLabeled++
		}
		if m.Status.NodeRef == nil {
			continue
		}
		if since, ok := readySince(node(m.Status.NodeRef.Name)); ok {
			n.ready(since.Add(wait).Sub(now), wait)
		}
	}
	return n
}

// ready counts one ready Machine. "in" is the time until that Machine is available, zero or negative if it is available already. wait is minReadySeconds. If
// wait is zero, ready ignores "in" and counts the Machine as available, because the clock of a Node may be ahead of this process' clock.
func (n *Numbers) ready(in, wait time.Duration) {
	n.Ready++
	if in <= 0 || wait <= 0 {
		n.Available++
	} else if n.Next == 0 || in < n.Next {
		n.Next = in
	}
}

func readySince(n *corev1.Node) (time.Time, bool) {
	if n == nil {
		return time.Time{}, false
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}
