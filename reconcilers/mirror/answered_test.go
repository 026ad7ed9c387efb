// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"testing"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
)

func TestWhatTheAPIServerAnswered(t *testing.T) {
	sent := mirroringtest.Machine(t, `{metadata: {name: m}, spec: {disks: [{size: 1}]}}`)
	more := mirroringtest.Machine(t, `{metadata: {name: m}, spec: {disks: [{size: 1, type: default}]}}`)
	other := mirroringtest.Machine(t, `{metadata: {name: m}, spec: {disks: [{size: 2}]}}`)
	a := newAnswered()
	if a.has(sent) {
		t.Error("it knows what it never sent")
	}
	a.hear(sent, more)
	if !a.has(sent) {
		t.Error("a default came back, and it would be sent again")
	}
	if a.has(other) {
		t.Error("something else counts as answered")
	}
	a.hear(other, other)
	if a.has(sent) || a.has(other) {
		t.Error("what came back as it was sent is remembered")
	}
}
