// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestWhatTheEtcdOperatorDoesNext(t *testing.T) {
	held := func(n string) voter { return voter{machine: "m-" + n, node: n, hooked: true} }
	going := func(n string) voter { return voter{machine: "m-" + n, node: n, hooked: true, deleting: true} }
	for name, c := range map[string]struct {
		members, sick []string
		voters        []voter
		want          deed
	}{
		"a Machine does not vote before it is held": {voters: []voter{{machine: "m-a", node: "a"}}},
		"and then votes":                                                    {voters: []voter{held("a")}, want: deed{join, "m-a", "a"}},
		"one without a Node is let be":                                      {voters: []voter{{machine: "m-a"}}},
		"one whose Node is not ready does not come to vote":                 {voters: []voter{held("a")}, sick: []string{"a"}},
		"all is well":                                                       {members: []string{"a", "b", "c"}, voters: []voter{held("a"), held("b"), held("c")}},
		"one that goes is held while it is needed":                          {members: []string{"a", "b", "c"}, voters: []voter{going("a"), held("b"), held("c")}},
		"with its replacement in, it stops to vote":                         {members: []string{"a", "b", "c", "d"}, voters: []voter{going("a"), held("b"), held("c"), held("d")}, want: deed{leave, "m-a", "a"}},
		"but not while another is sick":                                     {members: []string{"a", "b", "c", "d"}, sick: []string{"b"}, voters: []voter{going("a"), held("b"), held("c"), held("d")}},
		"it is sick itself, and enough others are not":                      {members: []string{"a", "b", "c", "d"}, sick: []string{"a"}, voters: []voter{going("a"), held("b"), held("c"), held("d")}, want: deed{leave, "m-a", "a"}},
		"somebody took the hook away, and it votes as long as it is needed": {members: []string{"a", "b", "c"}, voters: []voter{{machine: "m-a", node: "a", deleting: true}, held("b"), held("c")}},
		"what is left of one that went by force goes when it can":           {members: []string{"a", "b", "c", "d"}, sick: []string{"a"}, voters: []voter{held("b"), held("c"), held("d")}, want: deed{leave, "", "a"}},
		"what is left of one that went by force stays while it has to":      {members: []string{"a", "b", "c"}, sick: []string{"a"}, voters: []voter{held("b"), held("c")}},
		"two that go at once, with one replacement: one of them may go":     {members: []string{"a", "b", "c", "d"}, voters: []voter{going("a"), going("b"), held("c"), held("d")}, want: deed{leave, "m-a", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := quorum{Membership: Membership{Members: c.members}, voters: c.voters, healthy: map[string]bool{}, desired: 3}
			for _, n := range []string{"a", "b", "c", "d"} {
				q.healthy[n] = !slices.Contains(c.sick, n)
			}
			if got := q.next(); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestMembershipIsKeptAsItIs(t *testing.T) {
	m := Membership{}
	for i := range 4 {
		m = m.with(false, fmt.Sprint("node-", i), fmt.Sprint("master-", i))
	}
	m = m.with(true, "node-0", "")
	kept := &corev1.ConfigMap{}
	m.write(kept)
	if diff := cmp.Diff("1 +node-0 master-0\n2 +node-1 master-1\n3 +node-2 master-2\n4 +node-3 master-3\n3 -node-0 -\n", kept.Data["history"]); diff != "" {
		t.Error(diff)
	}
	read, err := ReadMembership(kept)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, read); diff != "" {
		t.Error(diff)
	}
	if n, ok := read.Fewest(3); n != 3 || !ok {
		t.Errorf("fewest since 3: %d, %t", n, ok)
	}
	if n, ok := read.Fewest(4); n != 3 || !ok {
		t.Errorf("fewest since 4: %d, %t", n, ok)
	}
	if _, ok := read.Fewest(5); ok {
		t.Error("there never were 5")
	}
	kept.Data["history"] = "four\n"
	if _, err := ReadMembership(kept); err == nil {
		t.Error("a history that is none was read")
	}
}
