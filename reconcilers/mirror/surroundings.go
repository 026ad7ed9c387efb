// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/mirroring"
	"github.com/poundlock/poundlock/mirroring/deletion"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// gatherSurroundings reads from the API server whether a part of the pair is deleted, or is missing, because what it lives in is being deleted. A pair that is
// complete is not asked about.
func (r *reconciler) gatherSurroundings(ctx context.Context, s *pairs.State) error {
	if s.Complete() {
		return nil
	}
	why, err := facts.FirstLeaving(ctx, r.live, mirroring.LivesIn(s), func(authority.Surrounding, bool) bool { return true })
	if err == nil && why != "" {
		s.Leaves(why)
	}
	return err
}

// gatherGate reads the feature gate where it matters to a deletion: while the gate is off, the Machine API's controllers delete what belongs to a set of Cluster API's.
func (r *reconciler) gatherGate(ctx context.Context, s *pairs.State) (err error) {
	if deletion.Of(s).Gated() {
		s.Gate, err = r.gate(ctx)
	}
	return err
}
