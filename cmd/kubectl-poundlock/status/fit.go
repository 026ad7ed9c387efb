// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
)

// Fit selects rows of a fleet that is higher than the screen: first the objects that move or wait, then the others, in the fleet's order. left is the number of
// objects that are not shown.
func Fit(all []standing.Standing, rows int) (shown []standing.Standing, left int) {
	rows = max(rows, 0)
	if len(all) <= rows {
		return all, 0
	}
	chosen := make([]int, 0, rows)
	for _, first := range []bool{true, false} {
		for i, s := range all {
			if (s.Moving() || s.Reason != "") == first && len(chosen) < rows {
				chosen = append(chosen, i)
			}
		}
	}
	slices.Sort(chosen)
	for _, i := range chosen {
		shown = append(shown, all[i])
	}
	return shown, len(all) - len(shown)
}
