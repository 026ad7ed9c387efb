// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/policies/authority"
)

// Progress is how far the objects are that were requested to move to one API.
type Progress struct {
	To authority.API `json:"to"`
	// There is how many of All objects have arrived, and Moving is how many are in progress.
	There  int `json:"there"`
	Moving int `json:"moving"`
	All    int `json:"all"`
}

// ProgressOf returns the progress for each API to which an object moves. It is empty while nothing moves.
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
