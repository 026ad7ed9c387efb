// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"
)

func TestNamesOfTemplates(t *testing.T) {
	for _, set := range []string{"s", "s-a", "s.a", strings.Repeat("s.", 126) + "s"} {
		name := TemplateName(set, map[string]any{"a": 1})
		if !IsTemplateName(set, name) || len(name) > maxName {
			t.Errorf("%s is no name of a template of %s", name, set)
		}
		for _, other := range []string{name + "-2", "x" + name, TemplatePrefix(set) + "larger", TemplatePrefix(set), set} {
			if IsTemplateName(set, other) {
				t.Errorf("%s is a name of a template of %s", other, set)
			}
		}
	}
}
