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

// Annotations that mark a Machine as the first to go, whatever the value, as in Cluster API, to which they are mirrored; the
// second is the older name.
const (
	DeleteAnnotation    = machineapi.DeleteAnnotation
	OldDeleteAnnotation = machineapi.OldDeleteAnnotation
)

// candidate is a Machine with its place under the policy Random.
type candidate struct {
	*machinev1beta1.Machine
	lot uint64
}

// order compares Machines that are equal in standing: the lesser is deleted first. It returns nil for an unknown policy. For all three policies the API
// documents that marked Machines and unhealthy Machines are deleted before any other. For the rest, Random leaves the choice open, so order chooses a Machine
// that runs nothing yet, if there is one. Newest and Oldest do not leave it open.
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

// first returns the n Machines to delete first, fewer if there are fewer. No two have the same rank: where nothing else distinguishes them, the seed decides.
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

// standing is 0 for a marked Machine, 1 for an unhealthy one, 2 for any other.
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
