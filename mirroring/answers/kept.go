// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"encoding/json"
	"hash/fnv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/lru"

	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/ownership"
)

// Kept remembers those objects that the API server returned with more in the items of their lists than was sent, each with a hash of what was sent. A new
// process sends such an object once more, which changes nothing if the additions are the API server's defaults.
type Kept struct{ sent *lru.Cache }

// NewKept returns a Kept that remembers nothing yet, and will remember at most twenty thousand objects. The mirror sends an object that Kept has forgotten once
// more.
func NewKept() Kept { return Kept{lru.New(20_000)} }

// Has reports whether exactly this content was sent last, and was returned with more.
func (a Kept) Has(want *unstructured.Unstructured) bool {
	last, known := a.sent.Get(pairs.Describe(want))
	return known && last == digest(want)
}

// Record stores that the API server returned the object now for the object sent. If the items of its lists have no more than was sent, Record removes the
// object instead. The caller does not record a refused write: the object is not equal then, and the same write would be refused again.
func (a Kept) Record(sent, now *unstructured.Unstructured) {
	if len(ownership.Leftover(sent, now)) == 0 {
		a.sent.Remove(pairs.Describe(sent))
		return
	}
	a.sent.Add(pairs.Describe(sent), digest(sent))
}

func digest(o *unstructured.Unstructured) uint64 {
	h := fnv.New64a()
	_ = json.NewEncoder(h).Encode(o.Object["spec"]) // of JSON, into memory
	return h.Sum64()
}
