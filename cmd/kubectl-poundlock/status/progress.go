// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/policies/authority"
)

// Progress is the progress of a fleet.
type Progress struct {
	To authority.API `json:"to"`
	// All were requested to move to To: There of them have arrived, and Moving are in progress.
	There  int `json:"there"`
	Moving int `json:"moving"`
	All    int `json:"all"`
}

// ProgressOf counts, for each API to which an object moves, the objects that have arrived. It is empty while nothing moves.
func ProgressOf(all []standing.Standing) []Progress {
	var out []Progress
	for _, to := range []authority.API{authority.ClusterAPI, authority.MachineAPI} {
		p := Progress{To: to}
		for _, s := range all {
			switch {
			case s.Moving() && s.Requested == to:
				p.Moving++
			case s.Current == to && !s.Moving():
				p.There++
			}
		}
		p.All = p.There + p.Moving
		if p.Moving > 0 {
			out = append(out, p)
		}
	}
	return out
}
