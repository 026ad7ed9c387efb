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

// withProvider is the type for decoding the spec of a Machine API Machine. The providerSpec is decoded together with the spec, into the platform's type. The
// field ProviderSpec hides the embedded struct's field of that name, because encoding/json prefers the outer field.
type withProvider struct {
	machinev1beta1.MachineSpec `json:",inline"`
	ProviderSpec               struct {
		Value any `json:"value"`
	} `json:"providerSpec"`
}

// recognise checks the decoded providerSpec in spec. If the providerSpec is empty or another platform's, recognise removes it and returns the path of the
// providerSpec with a dot: errors below that path are then irrelevant. Otherwise it returns "". path is the path of the providerSpec.
func recognise(p *pass, path string, spec *withProvider) (void string) {
	if p.Env.Platform.Spec.Recognise(p.At(path), spec.ProviderSpec.Value) {
		return ""
	}
	spec.ProviderSpec.Value = nil
	return path + "."
}

func nothing(*pass) string { return "" }

// decode decodes those parts of an object that the conversion reads; into points to the result. It returns false if the JSON does not fit the type, so that
// there is nothing to convert. If the JSON fits, decode reports errors about the spec only, because most of the metadata and all of the status are not
// converted. judge inspects the decoded object and returns the path below which the decoder's errors are irrelevant, "" for none.
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

// undecoded returns the errors about an object that does not fit its type. If the object's providerSpec is another platform's, the only error is about the
// wrong kind.
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
