// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"strings"
	"testing"
)

func TestTheLongestSuffixCounts(t *testing.T) {
	const s, p, https = Standard, Private, "=https://h/convert"
	u, err := ParseConverters([]string{s + https, "infrastructure." + s + "=https://i/convert", "aws.infrastructure." + s + "=https://a/convert"})
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]string{
		s: "h", "ipam." + s: "h", "controlplane." + s: "h", "infrastructure." + s: "i", "azure.infrastructure." + s: "i", "aws.infrastructure." + s: "a",
		"x.aws.infrastructure." + s: "a", "notinfrastructure." + s: "h", "not" + s: "", "apps": "",
	} {
		if to, has := u.Of(group); has != (want != "") || has && to.URL != "https://"+want+"/convert" {
			t.Errorf("%s is converted at %q", group, to.URL)
		}
	}
	for _, bad := range [][]string{nil, {s}, {https}, {s + "=http://h"}, {s + "=https://"}, {s + "=://"}, {"apps" + https}, {"." + s + https}, {p + https},
		{"operator." + s + https}, {s + https, s + https}} {
		if u, err := ParseConverters(bad); err == nil || !strings.Contains(err.Error(), "--upstream") {
			t.Errorf("%q: %v %v", bad, u, err)
		}
	}
}
