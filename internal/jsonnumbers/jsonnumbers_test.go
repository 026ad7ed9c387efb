// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonnumbers_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

func TestEndless(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":"1e-999999999"}`: true, `{"a":1E-9999}`: true, `[-.5e-1000]`: true, `[5.e-1000]`: true, `1e-9999`: true, `{"a":"image-e-12345-1e-9999"}`: false, `{"a":"vm1e-99999x"}`: false, `{"a":"` + strings.Repeat("9", 200) + `"}`: true,
		`{"a":"16Gi","b":1e-9,"c":"vm-e-99999","d":1e30}`: false, `{"a":"` + strings.Repeat("a", 2000) + `"}`: false, ``: false,
	} {
		if got := jsonnumbers.Endless([]byte(text)); got != want {
			t.Errorf("%.40s: %v, want %v", text, got, want)
		}
	}
}

func TestVast(t *testing.T) {
	for text, want := range map[string]bool{"1e999999999": true, "1e+999999": true, "-3E100": true, "1e99": false, "16Gi": false, "4096Mi": false, "0": false,
		"1e3": false, "123456789012345678901234567890": false} {
		if got := jsonnumbers.Vast(resource.MustParse(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{`{"a":"1e999"}`: true, `{"a":1E+1000}`: true, `1.e100`: true, `{"a":"1e99"}`: false, `"vm-e1000"`: false,
		`16Gi`: false, ``: false, `e100`: false} {
		if got := jsonnumbers.Exponents([]byte(text)); got != want {
			t.Errorf("exponents in %s: %v, want %v", text, got, want)
		}
	}
}

func TestParseQuantity(t *testing.T) {
	for text, takes := range map[string]bool{"50Mi": true, "0.1": true, "1e3": true, "1e999999999": false, "1e-999999999": false, strings.Repeat("9", 200): false, "many": false} {
		if _, err := jsonnumbers.ParseQuantity(text); (err == nil) != takes {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}
