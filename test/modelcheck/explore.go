// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"
)

// model is a world that can be walked. Its states are small comparable values, and moves lists what may happen in each.
type model[W comparable] interface {
	// starts returns the states that a walk begins in, by name.
	starts() map[string]W
	// moves calls happens with every change that anybody could make to w next.
	moves(w W, happens func(move, W))
	// wrong returns the invariant that does not hold in w, or "" if all hold.
	wrong(w W) string
	// unrest returns what is wrong with w if nothing more is promised to happen in it, or "" if nothing is.
	unrest(w W) string
	// describe returns w in words, for a person.
	describe(w W) string
}

// invariant is a condition that must hold in every state. is reports whether it is violated, and broken says what is then wrong.
type invariant[M, W any] struct {
	broken string
	is     func(M, W) bool
}

// firstBroken returns what is wrong by the first invariant that is violated in w, or "" if all hold.
func firstBroken[M, W any](all []invariant[M, W], model M, w W) string {
	for _, i := range all {
		if i.is(model, w) {
			return i.broken
		}
	}
	return ""
}

// move is one change: by whom, what in words, and whether it is spontaneous. A change that is spontaneous (a user's, a crash) may never happen. Fairness
// promises the others.
type move struct {
	by          mover
	what        string
	spontaneous bool
}

// footprint stands for a state. It is two hashes of the state, so that a walk of many millions fits into the memory of a small computer. That two of a billion
// states have the same footprint is less likely than an error of the computer.
type footprint [2]uint64

// walk holds the states of a model that were found, and the moves between them.
type walk[W comparable] struct {
	model model[W]
	seeds [2]maphash.Seed

	at      map[footprint]uint32
	prints  []footprint
	parent  []int32
	madeBy  []uint16
	words   []string
	wordsAt map[string]uint16
	// ahead are the states that were found and not yet looked at, in order.
	ahead []W

	// edges are the moves that fairness promises. Those out of state s begin at first[s].
	first []uint32
	edges []uint32
	by    []mover

	transitions int
	depth       int
	took        time.Duration
	// whole reports whether every state was visited.
	whole bool
}

// flaw is something that is wrong, and the shortest story that leads to it.
type flaw struct {
	what  string
	story []string
}

func (f *flaw) String() string {
	return f.what + "\n" + strings.Join(f.story, "\n")
}

// explore visits the states of the model, nearest first, until it has found more than `most` states. It ends at the first flaw, and returns that.
func explore[W comparable](m model[W], most int) (*walk[W], *flaw) {
	begun := time.Now()
	w := &walk[W]{model: m, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, at: map[footprint]uint32{}, wordsAt: map[string]uint16{}}
	defer func() { w.took = time.Since(begun) }()
	for _, name := range sorted(m.starts()) {
		w.visit(m.starts()[name], -1, "there is "+name)
	}
	for s, level := 0, len(w.prints); s < len(w.prints); s++ {
		if s == level {
			w.depth, level = w.depth+1, len(w.prints)
		}
		if len(w.prints) > most {
			return w, nil
		}
		state := w.ahead[0]
		w.ahead = w.ahead[1:]
		if f := w.expand(uint32(s), state); f != nil {
			return w, f
		}
	}
	w.whole = true
	w.first = append(w.first, uint32(len(w.edges)))
	return w, w.livelock()
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// expand checks a state, and visits the states that can follow it. If nothing is promised to follow, the state also has to be a good rest.
func (w *walk[W]) expand(s uint32, state W) *flaw {
	if what := w.model.wrong(state); what != "" {
		return w.flaw(what, s)
	}
	w.first = append(w.first, uint32(len(w.edges)))
	w.model.moves(state, func(m move, to W) {
		if to == state {
			return
		}
		w.transitions++
		id := w.visit(to, int32(s), m.what)
		if !m.spontaneous {
			w.edges, w.by = append(w.edges, id), append(w.by, m.by)
		}
	})
	if int(w.first[s]) == len(w.edges) {
		if what := w.model.unrest(state); what != "" {
			return w.flaw("at rest, but "+what, s)
		}
	}
	return nil
}

func (w *walk[W]) footprint(state W) footprint {
	return footprint{maphash.Comparable(w.seeds[0], state), maphash.Comparable(w.seeds[1], state)}
}

func (w *walk[W]) visit(state W, from int32, what string) uint32 {
	p := w.footprint(state)
	if id, ok := w.at[p]; ok {
		return id
	}
	id := uint32(len(w.prints))
	w.at[p] = id
	w.prints, w.parent, w.madeBy = append(w.prints, p), append(w.parent, from), append(w.madeBy, w.word(what))
	w.ahead = append(w.ahead, state)
	return id
}

func (w *walk[W]) word(what string) uint16 {
	id, ok := w.wordsAt[what]
	if !ok {
		id = uint16(len(w.words))
		w.words, w.wordsAt[what] = append(w.words, what), id
	}
	return id
}

// flaw returns what is wrong in state s, with the story that leads to it.
func (w *walk[W]) flaw(what string, s uint32) *flaw {
	way := w.way(s)
	var story []string
	for i, at := range way {
		story = append(story, fmt.Sprintf("  %2d. %s", i, w.words[w.madeBy[at]]))
	}
	return &flaw{what: what, story: append(story, "  so: "+w.model.describe(w.state(way)))}
}

// way returns the states on the shortest way to s, s included.
func (w *walk[W]) way(s uint32) []uint32 {
	var way []uint32
	for at := int32(s); at >= 0; at = w.parent[at] {
		way = append(way, uint32(at))
	}
	slices.Reverse(way)
	return way
}

// state repeats the moves of a way, and returns the state at its end.
func (w *walk[W]) state(way []uint32) W {
	var state W
	for _, start := range w.model.starts() {
		if w.footprint(start) == w.prints[way[0]] {
			state = start
		}
	}
	for _, next := range way[1:] {
		was := state
		w.model.moves(was, func(_ move, to W) {
			if w.footprint(to) == w.prints[next] {
				state = to
			}
		})
	}
	return state
}

// promised returns the moves out of state s that fairness promises: the states they lead to, and who makes them.
func (w *walk[W]) promised(s int) ([]uint32, []mover) {
	from, to := w.first[s], w.first[s+1]
	return w.edges[from:to], w.by[from:to]
}
