// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// sharing lets equal parts of a cache's objects share one copy in memory. Most of a Machine equals the other Machines of its set, and nearly all of its managed
// fields do. What is read from the cache is either copied or not written to, so nobody writes to a shared part.
type sharing struct {
	mu   sync.Mutex
	seed maphash.Seed
	// parts are the parts that were seen at least twice, by their hashes. seen has the hashes of all other parts.
	parts map[uint64]any
	seen  map[uint64]struct{}
}

// most is how many parts are kept for sharing, and how many hashes of parts that were seen once. Fleets have fewer parts in common. Above this number, sharing
// begins anew, and parts that are shared already stay shared.
const most = 50_000

// short is the length, in bytes, from which a text is shared.
const short = 8

func newSharing() *sharing {
	return &sharing{seed: maphash.MakeSeed(), parts: map[uint64]any{}, seen: map[uint64]struct{}{}}
}

// share is a cache's transform. It returns a new object, and does not change its argument, because a cache may pass that again.
func (s *sharing) share(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil // an object of a built-in kind, or the tombstone of a deletion that was missed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shared, _ := s.of(timeless(u.Object))
	content, _ := shared.(map[string]any)
	return &unstructured.Unstructured{Object: content}, nil
}

// timeless returns the object without the times of status writes in its managed fields. Nobody reads these times, and otherwise equal managed fields of
// Machines differ only by them.
func timeless(o map[string]any) map[string]any {
	metadata, _ := o["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	var out []any
	for i, e := range entries {
		entry, _ := e.(map[string]any)
		if entry["subresource"] != "status" || entry["time"] == nil {
			continue
		}
		if out == nil {
			out = slices.Clone(entries)
		}
		entry = maps.Clone(entry)
		delete(entry, "time")
		out[i] = entry
	}
	if out == nil {
		return o
	}
	o, metadata = maps.Clone(o), maps.Clone(metadata)
	metadata["managedFields"], o["metadata"] = out, metadata
	return o
}

// of returns the one copy of a part that all objects with an equal part share, and the part's hash.
func (s *sharing) of(part any) (any, uint64) {
	const next = 0x9E3779B97F4A7C15 // odd, so that no bit is lost
	switch v := part.(type) {
	case map[string]any:
		out, hash := make(map[string]any, len(v)), uint64(len(v)+1)
		for name, below := range v {
			key, h := s.of(name)
			shared, b := s.of(below)
			out[key.(string)] = shared  //nolint:forcetypeassert // a text's part is a text
			hash += (h ^ b*next) * next // a sum, because maps have no order
		}
		if v == nil {
			return part, hash
		}
		return s.keep(out, hash)
	case []any:
		out, hash := make([]any, len(v)), uint64(len(v)+2)
		for i, below := range v {
			shared, b := s.of(below)
			out[i], hash = shared, (hash^b)*next
		}
		if v == nil {
			return part, hash
		}
		return s.keep(out, hash)
	case string:
		hash := maphash.String(s.seed, v)
		if len(v) < short {
			return part, hash
		}
		return s.keep(part, hash)
	}
	return part, maphash.Comparable(s.seed, part)
}

// keep returns the kept part with this hash if it is equal to the given part. Otherwise it returns the given part, and keeps it if the hash was seen before.
func (s *sharing) keep(part any, hash uint64) (any, uint64) {
	if known, ok := s.parts[hash]; ok {
		if same(known, part) {
			return known, hash
		}
		return part, hash
	}
	if _, again := s.seen[hash]; !again {
		if len(s.seen) >= most {
			clear(s.seen)
		}
		s.seen[hash] = struct{}{}
		return part, hash
	}
	if len(s.parts) >= most {
		clear(s.parts)
	}
	s.parts[hash] = part
	return part, hash
}

// same reports whether two parts are equal. The parts within both must be shared already, so that identical can compare them.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, below := range a {
			if other, ok := b[name]; !ok || !identical(below, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !identical(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}

// identical reports whether two values are equal. Maps and lists are equal here only if they are one and the same in memory.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
