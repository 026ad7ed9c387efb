// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
)

func TestWhatTheAPIServerAnswered(t *testing.T) {
	sent := mirroringtest.Machine(t, `{metadata: {name: m}, spec: {disks: [{size: 1}]}}`)
	more := mirroringtest.Machine(t, `{metadata: {name: m}, spec: {disks: [{size: 1, type: default}]}}`)
	resource := schema.GroupResource{Resource: "machines"}
	for name, c := range map[string]struct {
		err      error
		defaults bool
		want     bool
	}{
		"a default came back":    {nil, true, true},
		"nothing more came back": {nil, false, false},
		"it is refused":          {apierrors.NewForbidden(resource, "m", errors.New("immutable")), false, true},
		"it met a conflict":      {apierrors.NewConflict(resource, "m", errors.New("changed")), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, now := newAnswered(), sent
			if c.defaults {
				now = more
			}
			a.hear(sent, now, c.err)
			if got := a.has(sent); got != c.want {
				t.Errorf("answered: %t, want %t", got, c.want)
			}
			if other := mirroringtest.Machine(t, `{metadata: {name: m}, spec: {disks: [{size: 2}]}}`); a.has(other) {
				t.Error("something else counts as answered")
			}
		})
	}
}
