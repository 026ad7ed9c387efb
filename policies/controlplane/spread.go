// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"
)

// spread gives each index a domain: the one that it has, as far as no domain then has more than its share, else the one that is used least.
// have is each index's present domain in all, -1 for none of them; the answer is an index into all each, and nil where there is no domain.
//
// It depends on the indexes alone, and not on the order in which the set lists its domains, but for those of which none is in use.
func spread(have []int, domains int) []int {
	if domains == 0 {
		return nil
	}
	share, full := (len(have)+domains-1)/domains, len(have)%domains
	if full == 0 {
		full = domains
	}
	out, used, atShare := slices.Repeat([]int{-1}, len(have)), make([]int, domains), 0
	for i, d := range have {
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
