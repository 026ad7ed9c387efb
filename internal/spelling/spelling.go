// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"slices"
	"strings"
)

// maxWord is longer than the name of any field. A longer word is no typing error, and comparing it would cost its length squared.
const maxWord = 64

// Nearest is the known word that is meant by a misspelt one: at most a third of its letters are wrong, missing or too many. One that differs only in case
// comes first. Of two that are equally near, it is the first in the alphabet; "" where none is near.
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

// Distance is how many letters must be inserted, removed or changed to turn one word into the other. Two swapped letters count as one (Damerau and
// Levenshtein, each letter changed once).
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
