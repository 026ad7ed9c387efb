// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"
)

// spread returns a domain for each index, as a number from 0 to domains-1; nil if there is no domain. An index keeps its present domain unless that domain has
// more than its share of the indexes. Otherwise the index gets the domain with the fewest indexes. The list "have" has the present domain of each index, -1 for
// none. The list "moves" has a number for each index: if a domain has too many indexes, those with the greatest numbers leave it. Of equal ones the later
// leave.
//
// The result depends on the indexes alone. The order in which the set lists its domains matters only for domains that no Machine uses.
func spread(have, moves []int, domains int) []int {
	if domains == 0 {
		return nil
	}
	share, full := (len(have)+domains-1)/domains, len(have)%domains
	if full == 0 {
		full = domains
	}
	out, used, atShare := slices.Repeat([]int{-1}, len(have)), make([]int, domains), 0
	order := make([]int, len(have))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return moves[a] - moves[b] })
	for _, i := range order {
		d := have[i]
		if d < 0 || used[d] >= share || used[d]+1 == share && atShare >= full {
			continue
		}
		out[i] = d
		if used[d]++; used[d] == share {
			atShare++
		}
	}
	for i := range out {
		if out[i] < 0 {
			out[i] = slices.Index(used, slices.Min(used))
			used[out[i]]++
		}
	}
	return out
}
