// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"cmp"
	"hash/fnv"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/internal/machineapi"
)

// Each of these annotations on a Machine, with any value, makes the Machine the first to be deleted, as in Cluster API. The mirror copies them to Cluster API.
// OldDeleteAnnotation is the older name.
const (
	DeleteAnnotation    = machineapi.DeleteAnnotation
	OldDeleteAnnotation = machineapi.OldDeleteAnnotation
)

// candidate is a Machine that may be deleted. lot is its rank if nothing else decides; it is a hash of the seed and the Machine's UID.
type candidate struct {
	*machinev1beta1.Machine
	lot uint64
}

// order returns how a policy compares two Machines of equal standing: the lesser is deleted first. It returns nil for an unknown policy. The API documents for
// all three policies that marked Machines and unhealthy Machines are deleted before any other (standing). For the rest, the policy Random leaves the choice
// open, so order prefers a Machine that has no Node yet. Newest and Oldest do not leave the choice open.
func order(policy machinev1beta1.MachineSetDeletePolicy) func(a, b candidate) int {
	switch policy {
	case machinev1beta1.RandomMachineSetDeletePolicy:
		return func(a, b candidate) int {
			return cmp.Compare(place(a.Status.NodeRef != nil), place(b.Status.NodeRef != nil))
		}
	case machinev1beta1.NewestMachineSetDeletePolicy:
		return func(a, b candidate) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) }
	case machinev1beta1.OldestMachineSetDeletePolicy:
		return func(a, b candidate) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }
	}
	return nil
}

func policyOf(set *machinev1beta1.MachineSet) machinev1beta1.MachineSetDeletePolicy {
	return cmp.Or(machinev1beta1.MachineSetDeletePolicy(set.Spec.DeletePolicy), machinev1beta1.RandomMachineSetDeletePolicy)
}

// first returns the n Machines to delete first, or all of them if there are fewer than n. No two Machines rank the same: if nothing else distinguishes them,
// the seed decides.
func first(machines []*machinev1beta1.Machine, policy machinev1beta1.MachineSetDeletePolicy, seed string, n int) []*machinev1beta1.Machine {
	candidates := make([]candidate, 0, len(machines))
	for _, m := range machines {
		candidates = append(candidates, candidate{m, lot(seed, m)})
	}
	compare := order(policy)
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(standing(a), standing(b)), compare(a, b), cmp.Compare(a.lot, b.lot), cmp.Compare(a.Name, b.Name))
	})
	var out []*machinev1beta1.Machine
	for _, c := range candidates[:min(len(candidates), max(0, n))] {
		out = append(out, c.Machine)
	}
	return out
}

// standing returns the priority of a Machine's deletion, lowest first: 0 for a marked Machine, 1 for an unhealthy one, 2 for any other.
func standing(m candidate) int {
	_, marked := m.Annotations[DeleteAnnotation]
	_, markedOld := m.Annotations[OldDeleteAnnotation]
	switch {
	case marked || markedOld:
		return 0
	case unhealthy(m.Machine):
		return 1
	}
	return 2
}

func unhealthy(m *machinev1beta1.Machine) bool {
	return m.Status.ErrorReason != nil || m.Status.ErrorMessage != nil ||
		m.Status.Phase != nil && *m.Status.Phase == machinev1beta1.PhaseFailed
}

func place(later bool) int {
	if later {
		return 1
	}
	return 0
}

func lot(seed string, m *machinev1beta1.Machine) uint64 {
	h := fnv.New64a()
	h.Write([]byte(seed + "/" + string(m.UID)))
	return h.Sum64()
}
