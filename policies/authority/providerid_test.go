// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/policies"
	. "github.com/poundlock/poundlock/policies/authority"
)

// TestTwoIDsOfOneInstance: an ID that begins with another cloud's scheme may have been stored before admission refused it, or while admission was absent.
// Controllers ignore the scheme, so it is an ID of the instance all the same.
func TestTwoIDsOfOneInstance(t *testing.T) {
	machine, _ := KindNamed("Machine")
	for _, p := range Providers() {
		t.Run(p.Platform, func(t *testing.T) {
			_, path, _ := strings.Cut(p.InstanceID, "://")
			own, segments := p.InstanceID, strings.Split(strings.Trim(path, "/"), "/")
			last := segments[len(segments)-1]
			segments[0] = "else"
			byPath := p.Platform == "Azure" || p.Platform == "GCP"
			for _, c := range []struct {
				other string
				same  bool
			}{
				{own, true},
				{"gce://" + path, true},
				{"azure://" + path, true},
				{"aws://" + path, true},
				{"else://" + path, true},
				{"gce://elsewhere/there/" + last, !byPath},
				{"azure:///subscriptions/s/" + last, !byPath},
				{"aws:///zone/" + last, !byPath},
				{strings.TrimSuffix(own, last) + "another", false},
				{"gce://" + strings.TrimSuffix(path, last) + "another", false},
				{"gce://" + strings.Join(segments, "/"), len(segments) > 1 && !byPath},
				{"", false},
			} {
				objects := func(id string) []*policies.Object {
					return []*policies.Object{
						parsed(t, fmt.Sprintf(`{kind: Machine, metadata: {name: m}, spec: {providerID: %q, providerSpec: {value: {kind: %s}}}}`, id, p.ProviderSpec)),
						parsed(t, fmt.Sprintf(`{kind: Machine, metadata: {name: m}, spec: {providerID: %q, infrastructureRef: {kind: %s, name: m}}}`, id, p.Machine)),
						parsed(t, fmt.Sprintf(`{kind: %s, metadata: {name: m}, spec: {providerID: %q}}`, p.Machine, id)),
					}
				}
				for _, a := range objects(own) {
					for _, b := range objects(c.other) {
						if got := SameInstance(a, b); got != c.same || got != SameInstance(b, a) || (InstanceKeyOf(a) == InstanceKeyOf(b)) != c.same {
							t.Errorf("%s %s and %s %s: the same instance %t, by their keys %q and %q", a.Kind, own, b.Kind, c.other, got, InstanceKeyOf(a), InstanceKeyOf(b))
						}
						if got := ForeignTo(machine, a, b) != ForeignInstance; a.Kind == "Machine" && c.other != "" && got != c.same {
							t.Errorf("%s %s beside a Machine of %s: %q", b.Kind, c.other, own, ForeignTo(machine, a, b))
						}
					}
				}
				bare := parsed(t, fmt.Sprintf(`{kind: Machine, metadata: {name: m}, spec: {providerID: %q}}`, c.other))
				if got := SameInstance(bare, objects(own)[2]); got != c.same {
					t.Errorf("%s, of no known platform itself, and %s: %t", c.other, own, got)
				}
			}
		})
	}
}
