// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"slices"
	"strings"
)

// maxWord is longer than the name of any field. A longer word is no typing error, and comparing it would cost its length squared.
const maxWord = 64

// Nearest returns the known word that is nearest to a misspelt one; "" if none is near. A known word is near if at most a third of the letters (at least one)
// are wrong, missing or too many. Case does not count. If two known words are equally near, Nearest returns the first in the alphabet.
func Nearest(word string, known []string) string {
	if len(word) > maxWord {
		return ""
	}
	best, least := "", max(1, len(word)/3)+1
	asked := strings.ToLower(word)
	for _, k := range slices.Sorted(slices.Values(known)) {
		if len(k) > maxWord {
			continue
		}
		if d := Distance(asked, strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// Distance returns how many letters must be inserted, removed or changed to turn one word into the other. A swap of two neighbouring letters counts as one
// (Damerau-Levenshtein, with each letter changed once).
func Distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
