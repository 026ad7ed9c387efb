// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"regexp"
	"slices"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
)

// ToClusterAPI converts a providerSpec from JSON. The errors are in the pass. The result is nil if the JSON cannot be decoded, or if it is another platform's
// providerSpec.
func ToClusterAPI(p *conversion.Pass, raw []byte) any {
	spec := p.Env.Platform.Spec.NewProviderSpec()
	if !p.Decode(raw, spec) || !p.Env.Platform.Spec.Recognise(p, spec) {
		return nil
	}
	return p.Env.Platform.Spec.ToClusterAPI(p, spec)
}

// ToMachineAPI converts the spec of an infrastructure machine from JSON. The errors are in the pass. The result is nil if the JSON cannot be decoded.
func ToMachineAPI(p *conversion.Pass, raw []byte) any {
	spec := p.Env.Platform.Spec.NewInfraSpec()
	if !p.Decode(raw, spec) {
		return nil
	}
	return p.Env.Platform.Spec.ToMachineAPI(p, spec)
}

// Patched returns base with a JSON merge patch applied.
func Patched[T string | []byte](t *testing.T, base T, patch string) []byte {
	t.Helper()
	out, err := jsonpatch.MergePatch([]byte(base), []byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Same tests that errs are the wanted errors, each given as "PATH: TYPE", in any order. Each error must also have a reason, of any text.
func Same(t *testing.T, want []string, errs field.ErrorList) {
	t.Helper()
	var got []string
	for _, e := range errs {
		got = append(got, e.Field+": "+string(e.Type))
		if e.Detail == "" {
			t.Errorf("%s is refused without a reason", e.Field)
		}
	}
	slices.Sort(got)
	want = slices.Clone(want)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s\n%v", d, errs.ToAggregate())
	}
}

// Advised tests that each error about a valid field that does not convert contains advice: what the reader should do.
func Advised(t *testing.T, errs field.ErrorList) {
	t.Helper()
	for _, e := range errs {
		if e.Type == field.ErrorTypeNotSupported && !advice.MatchString(e.Detail) {
			t.Errorf("%s: nothing is asked for: %s", e.Field, e.Detail)
		}
	}
}

var advice = regexp.MustCompile(`(?i)(^|[:,.;] |, or |, and |, so )(remove|give|set|keep|leave|name|associate|make|create|say|use|rename|shorten|unset)\b` +
	`|must equal|supported values|supported is|must be|must begin|kubectl `)
