// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package numbers_test

import (
	"strings"
	"testing"

	"github.com/poundlock/poundlock/internal/numbers"
)

func TestEndless(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":"1e-999999999"}`: true, `{"a":1E-9999}`: true, `[-.5e-1000]`: true, `{"a":"` + strings.Repeat("9", 200) + `"}`: true,
		`{"a":"16Gi","b":1e-9,"c":"vm-e-99999","d":1e30}`: false, `{"a":"` + strings.Repeat("a", 2000) + `"}`: false, ``: false,
	} {
		if got := numbers.Endless([]byte(text)); got != want {
			t.Errorf("%.40s: %v, want %v", text, got, want)
		}
	}
}
