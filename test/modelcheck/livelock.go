// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
)

// livelock checks what becomes of every reachable state once nothing spontaneous happens any more. The actors may take their turns in any order, but nobody who
// could go on is left waiting for ever. Then everything has to come to rest. livelock returns a flaw if a run goes on for ever. (What a state of rest must be
// like is checked where one is found.)
//
// A run that does not end stays for ever in one strongly connected part of the graph of promised moves. Such a run is fair if and only if each actor, somewhere
// in that part, either moves within the part or has no move: a run through the whole part then owes nobody a turn. If some actor could move in every state of
// the part, but only out of the part, no run within the part is fair. So it is enough to look at each part.
func (w *walk[W]) livelock() *flaw {
	part := w.parts()
	size := make([]int32, len(part))
	for _, p := range part {
		size[p]++
	}
	members := map[int32][]int{}
	for s, p := range part {
		if size[p] > 1 {
			members[p] = append(members[p], s)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(members)) {
		if !w.fair(members[p], part) {
			continue
		}
		first := uint32(slices.Min(members[p]))
		f := w.flaw(fmt.Sprintf("it never comes to rest: %d states in a circle", len(members[p])), first)
		f.story = append(f.story, w.circle(first, part)...)
		return f
	}
	return nil
}

// fair reports whether a run can stay in a strongly connected part for ever without owing anybody a turn.
func (w *walk[W]) fair(states []int, part []int32) bool {
	var always, within [256]bool
	for a := range always {
		always[a] = true
	}
	for _, s := range states {
		var here [256]bool
		next, by := w.promised(s)
		for i, to := range next {
			here[by[i]] = true
			within[by[i]] = within[by[i]] || part[to] == part[s]
		}
		for a := range always {
			always[a] = always[a] && here[a]
		}
	}
	for a := range always {
		if always[a] && !within[a] {
			return false
		}
	}
	return true
}

// circle returns the moves of one circle through the part, in words.
func (w *walk[W]) circle(start uint32, part []int32) []string {
	var lines []string
	state := w.state(w.way(start))
	for s, seen := start, map[uint32]bool{}; !seen[s]; {
		seen[s] = true
		next, _ := w.promised(int(s))
		s = next[slices.IndexFunc(next, func(to uint32) bool { return part[to] == part[s] })]
		was, pauseRequested := state, false
		w.model.moves(was, func(m move, to W) {
			if !pauseRequested && !m.spontaneous && w.footprint(to) == w.prints[s] {
				lines, state, pauseRequested = append(lines, "  and round: "+m.what), to, true
			}
		})
	}
	return lines
}

// parts numbers the strongly connected parts of the graph of promised moves (Tarjan's algorithm, with a stack of its own).
func (w *walk[W]) parts() []int32 {
	n := len(w.prints)
	part, low, number := make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range part {
		part[i] = -1
	}
	type frame struct{ state, edge int32 }
	var calls []frame
	var open []int32
	count, parts := int32(0), int32(0)
	enter := func(s int32) {
		count++
		number[s], low[s] = count, count
		open = append(open, s)
		calls = append(calls, frame{s, 0})
	}
	for root := range n {
		if number[root] != 0 {
			continue
		}
		for enter(int32(root)); len(calls) > 0; {
			f := &calls[len(calls)-1]
			s := f.state
			next, _ := w.promised(int(s))
			if int(f.edge) < len(next) {
				to := int32(next[f.edge])
				f.edge++
				switch {
				case number[to] == 0:
					enter(to)
				case part[to] < 0:
					low[s] = min(low[s], number[to])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				up := calls[len(calls)-1].state
				low[up] = min(low[up], low[s])
			}
			if low[s] != number[s] {
				continue
			}
			for {
				last := open[len(open)-1]
				open = open[:len(open)-1]
				part[last] = parts
				if last == s {
					break
				}
			}
			parts++
		}
	}
	return part
}
