// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package topics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/policies/authority"
)

// writers returns topics for the other components that write to the same objects, and what happens to each of their writes. check names the components that a
// move would affect.
func writers() []Topic {
	var out []Topic
	add := func(names string, p Part) {
		for name := range strings.SplitSeq(names, ", ") {
			i := slices.IndexFunc(out, func(t Topic) bool { return t.Name == name })
			if i < 0 {
				i, out = len(out), append(out, Topic{Name: name, About: "another writer of the same objects", kind: reason})
			}
			out[i].Parts = append(out[i].Parts, p)
		}
	}
	for _, g := range authority.Grants() {
		add(g.Writer, Part{fmt.Sprintf("%s of a %s of %s", strings.Join(g.Fields, ", "), strings.Join(g.Kinds, ", "), g.Side),
			fmt.Sprintf("%s (%s): %s", g.Treatment(), g.While, g.Why)})
	}
	for _, o := range authority.Others() {
		part := Part{o.Writes, fmt.Sprintf("%s while the other API is authoritative: %s", o.Treatment, o.Why)}
		if o.Rule != "" {
			part.Text += " [" + o.Rule + "]"
		}
		add(o.Writer, part)
	}
	return out
}
