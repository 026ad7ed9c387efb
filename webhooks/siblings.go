// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// siblings adds to c the MachineSets in the API of the set under review, and the Machines of that API that no set owns, because these sets may adopt them. If
// the set is created, it adds the MachineSets of the other API as well. If the set is deleted, it adds instead the Machines that the deletion leaves without a
// set, in either API, and the MachineSets of both APIs. For a Machine under review it adds only the MachineSets of both APIs. The cost grows with the number of
// sets and of these Machines, but not with the size of the fleet.
func (l Lookups) siblings(ctx context.Context, c *policies.Change) error {
	if l.Sets == nil || l.Owned == nil {
		return nil
	}
	other := policies.SideClusterAPI
	if c.Side == policies.SideClusterAPI {
		other = policies.SideMachineAPI
	}
	if c.Kind == "Machine" {
		sets, err := l.Sets.All(ctx, coreKind(c.Side, "MachineSet"), c.Namespace)
		c.Facts.Siblings = sets
		if err != nil {
			return err
		}
		others, err := l.Sets.All(ctx, coreKind(other, "MachineSet"), c.TwinNamespace)
		c.Facts.Siblings = append(slices.Clone(sets), others...)
		if served.Missing(err) {
			return nil
		}
		return err
	}
	type place struct {
		side      policies.Side
		namespace string
		owner     types.UID
	}
	places := []place{{c.Side, c.Namespace, facts.Nobody}}
	switch {
	case c.Operation == admissionv1.Create:
		sets, err := l.Sets.All(ctx, coreKind(other, c.Kind), c.TwinNamespace)
		if err != nil && !served.Missing(err) {
			return err
		}
		c.Facts.Siblings = sets
	case c.Operation == admissionv1.Delete:
		places[0].owner = c.Old.Metadata.UID
		if twin := c.Facts.Twin; twin != nil {
			places = append(places, place{other, c.TwinNamespace, twin.Metadata.UID})
		}
	}
	kind, _ := authority.KindNamed(c.Kind)
	child, _ := kind.Children()
	for _, p := range places {
		sets, err := l.Sets.All(ctx, coreKind(p.side, c.Kind), p.namespace)
		if err != nil {
			return err
		}
		machines, err := l.Owned.Of(ctx, coreKind(p.side, child.Name), p.namespace, p.owner)
		if err != nil {
			return err
		}
		c.Facts.Siblings, c.Facts.Adoptable = append(c.Facts.Siblings, sets...), append(c.Facts.Adoptable, machines...)
	}
	return nil
}
