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

// withProvider is a Machine's spec whose providerSpec is decoded in the same pass, into the platform's type: its field hides the embedded one, as in
// encoding/json.
type withProvider struct {
	machinev1beta1.MachineSpec `json:",inline"`
	ProviderSpec               struct {
		Value any `json:"value"`
	} `json:"providerSpec"`
}

// recognise drops a providerSpec of another platform, and returns the path below which errors are then irrelevant.
func recognise(p *pass, path string, spec *withProvider) (void string) {
	if p.Env.Platform.Spec.Recognise(p.At(path), spec.ProviderSpec.Value) {
		return ""
	}
	spec.ProviderSpec.Value = nil
	return path + "."
}

func nothing(*pass) string { return "" }

// decode reads the part of an object that converts. It is strict about the spec only: most of the metadata and all of the status are not converted. judge
// inspects the result, and returns the path below which the decoder's errors are irrelevant, or nothing. It returns false if there is nothing to convert.
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

// undecoded is why an object does not fit its type: if its providerSpec is another platform's, only that.
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
