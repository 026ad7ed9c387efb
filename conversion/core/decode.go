// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
)

const providerPath = "spec.providerSpec.value"

// withProvider is a Machine's spec whose providerSpec is decoded in the same pass, into the platform's type: its field
// hides the embedded one, as encoding/json has it.
type withProvider struct {
	machinev1beta1.MachineSpec `json:",inline"`
	ProviderSpec               struct {
		Value any `json:"value"`
	} `json:"providerSpec"`
}

// recognise drops a providerSpec that is not the platform's, and returns the path below which nothing else matters then.
func recognise(p *pass, path string, spec *withProvider) (void string) {
	if p.Env.Platform.Spec.Recognise(p.At(path), spec.ProviderSpec.Value) {
		return ""
	}
	spec.ProviderSpec.Value = nil
	return path + "."
}

func nothing(*pass) string { return "" }

// decode reads what converts of an object. It is strict about the spec only: most of the metadata and all of the status
// are none of its business. judge looks at what has been read, and returns the path below which the decoder's complaints
// are void, or nothing. It returns false where there is nothing to convert.
func decode(p *pass, raw []byte, into any, judge func(*pass) (void string)) bool {
	trial := conversion.NewPass(p.Env, p.Core, "")
	if !trial.Decode(raw, into) {
		p.Add(undecoded(p, trial, judge)...)
		return false
	}
	void := judge(p)
	for _, e := range trial.Errors() {
		if strings.HasPrefix(e.Field, "spec") && (void == "" || !strings.HasPrefix(e.Field, void)) {
			p.Add(e)
		}
	}
	return true
}

// undecoded is why an object does not fit its type: where its providerSpec is another platform's, that alone.
func undecoded(p, trial *pass, judge func(*pass) (void string)) field.ErrorList {
	other := conversion.NewPass(p.Env, p.Core, "")
	if void := judge(other); void != "" {
		for _, e := range other.Errors() {
			if e.Field == void+"kind" {
				return field.ErrorList{e}
			}
		}
	}
	return trial.Errors()
}

func readInfra(p *pass, kind conversion.Resource, raw []byte, into any) bool {
	if raw == nil {
		return false
	}
	trial := conversion.NewPass(p.Env, p.Core, kind.Kind)
	fits := trial.Decode(raw, into)
	for _, e := range trial.Errors() {
		if !fits || strings.HasPrefix(e.Field, kind.Kind+".spec") {
			p.Add(e)
		}
	}
	return fits
}
