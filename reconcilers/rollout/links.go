// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies"
)

// links remember the Nodes that had a Machine, by UID, with the time since when they have had none; the zero time means that they have one. A Node outlives its
// Machine for a moment. An operator that has just started remembers no Node, and stops at once if a Node has no Machine.
type links map[types.UID]time.Time

// unlinked returns the Nodes that had a Machine and have none now, by UID, with the time since when.
func (l *links) unlinked(in *policies.ControlPlane, now time.Time) map[types.UID]time.Time {
	next, out := links{}, map[types.UID]time.Time{}
	for _, n := range in.Nodes {
		since, had := (*l)[n.UID]
		switch {
		case slices.ContainsFunc(in.Machines, func(m machinev1beta1.Machine) bool { return m.Status.NodeRef != nil && m.Status.NodeRef.Name == n.Name }):
			next[n.UID] = time.Time{}
		case had && since.IsZero():
			next[n.UID], out[n.UID] = now, now
		case had:
			next[n.UID], out[n.UID] = since, since
		}
	}
	*l = next
	return out
}
