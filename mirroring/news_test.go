// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
)

// What makes a mirror, or makes it equal, is one event; whatever else a pass does has one of its own.
func TestNewsOfAPass(t *testing.T) {
	object := mirroringtest.Machine(t, `{metadata: {name: m, uid: u}}`)
	both, alone := &pairs.State{MachineAPI: object, Core: mirroringtest.Machine(t, `{metadata: {name: m, uid: v}}`)}, &pairs.State{Core: object}
	created, equal := &pairs.Write{Reason: "MirrorCreated", Note: "created m"}, &pairs.Write{Reason: "Synchronized", Note: "it is equal"}
	deleted, refused := &pairs.Write{Reason: "MirrorDeleted", Note: "deleted m"}, &pairs.Write{Reason: "MirrorUpdated", Note: "refused", Failure: true}
	for sentence, c := range map[string]struct {
		s      *pairs.State
		writes []*pairs.Write
		want   []string
	}{
		"routine is joined under its last reason":                {both, []*pairs.Write{created, equal}, []string{"Synchronized: created m; it is equal"}},
		"a deletion stands alone":                                {both, []*pairs.Write{created, deleted, equal}, []string{"MirrorCreated: created m", "MirrorDeleted: deleted m", "Synchronized: it is equal"}},
		"a warning is not joined with what is not":               {both, []*pairs.Write{created, refused}, []string{"MirrorCreated: created m", "warning MirrorUpdated: refused"}},
		"nobody gains from a write without a note":               {both, []*pairs.Write{created, {Reason: "Synchronized"}}, []string{"MirrorCreated: created m"}},
		"without a Machine API object it is about the other one": {alone, []*pairs.Write{created}, []string{"MirrorCreated: created m"}},
		"without any object there is nothing to say":             {&pairs.State{}, []*pairs.Write{created}, nil},
	} {
		var all []Event
		for _, w := range c.writes {
			all = WithEvent(all, c.s, w)
		}
		var got []string
		for _, n := range all {
			text := n.Reason + ": " + n.Text()
			if n.Warning {
				text = "warning " + text
			}
			if got = append(got, text); n.About != object {
				t.Errorf("%s: it is about %s", sentence, pairs.Describe(n.About))
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, d)
		}
	}
}
