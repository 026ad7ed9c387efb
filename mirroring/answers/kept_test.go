// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"testing"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
)

func TestWhatTheAPIServerAnswered(t *testing.T) {
	sent := mirroringtest.Machine(t, `{metadata: {name: m}, spec: {disks: [{size: 1}]}}`)
	more := mirroringtest.Machine(t, `{metadata: {name: m}, spec: {disks: [{size: 1, type: default}]}}`)
	other := mirroringtest.Machine(t, `{metadata: {name: m}, spec: {disks: [{size: 2}]}}`)
	a := NewKept()
	if a.Has(sent) {
		t.Error("it knows what it never sent")
	}
	a.Record(sent, more)
	if !a.Has(sent) {
		t.Error("a default came back, and it would be sent again")
	}
	if a.Has(other) {
		t.Error("something else counts as answered")
	}
	a.Record(other, other)
	if a.Has(sent) || a.Has(other) {
		t.Error("what came back as it was sent is remembered")
	}
}
