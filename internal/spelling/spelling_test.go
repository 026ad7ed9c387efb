// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling_test

import (
	"strings"
	"testing"

	"github.com/poundlock/poundlock/internal/spelling"
)

func TestNearest(t *testing.T) {
	known := []string{"instanceType", "subnet", "securityGroups", "ami", "zone", "tags"}
	for word, want := range map[string]string{
		"instanceTyp": "instanceType", "InstanceType": "instanceType", "isntanceType": "instanceType",
		"subnets": "subnet", "securitygroup": "securityGroups", "amis": "ami", "zoen": "zone", "tgas": "tags",
		"warpFactor": "", "x": "", "": "", strings.Repeat("a", 100000): "",
	} {
		if got := spelling.Nearest(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"zone", "zoen", 1}, {"kitten", "sitting", 3}, {"abc", "abc", 0}} {
		if got := spelling.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if spelling.Distance(c.a, c.b) != spelling.Distance(c.b, c.a) {
			t.Errorf("%q and %q: not the same both ways", c.a, c.b)
		}
	}
}
