// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ownership has the objects of a cache share what their managed fields have in common. These are half of a cached Machine, and nearly the same in all. What is read
// from the cache is a copy, so nobody writes to what is shared.
type ownership struct {
	mu    sync.Mutex
	trees map[[sha256.Size]byte]map[string]any
}

// most is how many different parts are kept for sharing: more than fleets have, and few enough to forget them never.
const most = 20000

// share is a cache's transform.
func (s *ownership) share(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil // of a built-in kind, or a deletion that was missed
	}
	metadata, _ := u.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if tree, ok := entry["fieldsV1"].(map[string]any); ok {
			entry["fieldsV1"], _ = s.of(tree)
		}
	}
	return u, nil
}

// of is the tree that all objects share which have the same, and its name.
func (s *ownership) of(tree map[string]any) (map[string]any, [sha256.Size]byte) {
	var says strings.Builder
	for _, field := range slices.Sorted(maps.Keys(tree)) {
		says.WriteString(strconv.Quote(field))
		if below, ok := tree[field].(map[string]any); ok {
			shared, name := s.of(below)
			if reflect.ValueOf(shared).Pointer() != reflect.ValueOf(below).Pointer() { // else it is shared already, and may be read now
				tree[field] = shared
			}
			says.Write(name[:])
		}
	}
	name := sha256.Sum256([]byte(says.String()))
	if known, ok := s.trees[name]; ok {
		return known, name
	}
	if s.trees == nil {
		s.trees = map[[sha256.Size]byte]map[string]any{}
	}
	if len(s.trees) < most {
		s.trees[name] = tree
	}
	return tree, name
}
