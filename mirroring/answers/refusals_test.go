// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
)

// A write that was refused rests, longer each time, whatever wakes the pair meanwhile; another one does not.
func TestARefusedWriteRests(t *testing.T) {
	now := time.Unix(0, 0)
	k := types.NamespacedName{Namespace: "n", Name: "m"}
	creation := func(spec string) *pairs.Write {
		return &pairs.Write{Verb: pairs.Create, Object: mirroringtest.Machine(t, `{kind: Machine, metadata: {name: m}, spec: {taint: `+spec+`}}`)}
	}
	var r Refusals
	if left := r.Left(k, creation("a"), now); left != 0 {
		t.Errorf("a first write rests for %s", left)
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 15, 15} {
		rest := r.Note(k, creation("a"), now)
		if rest != want*time.Second {
			t.Errorf("a write rests for %s, want %d s", rest, want)
		}
		if left := r.Left(k, creation("a"), now.Add(rest-time.Millisecond)); left != time.Millisecond {
			t.Errorf("shortly before its time the same write rests for %s", left)
		}
		if now = now.Add(rest); r.Left(k, creation("a"), now) != 0 {
			t.Error("the same write rests after its time")
		}
	}
	r.Note(k, creation("a"), now)
	if left := r.Left(k, creation("b"), now); left != 0 {
		t.Errorf("another write rests for %s", left)
	}
	if rest := r.Note(k, creation("a"), now); rest != firstRest {
		t.Errorf("after another write the first one rests for %s", rest)
	}
	r.Left(k, nil, now)
	if len(r.at) != 0 {
		t.Error("a pair that needs no write is remembered")
	}
}
