// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"strings"

	"github.com/poundlock/poundlock/conversion"
)

// decode reads what converts of an object. It is strict about the spec only: most of the metadata and all of the status
// are none of its business. It returns false where there is nothing to convert.
func decode(p *pass, raw []byte, into any) bool {
	trial := conversion.NewPass(p.Env, p.Core, "")
	fits := trial.Decode(raw, into)
	for _, e := range trial.Errors() {
		if !fits || strings.HasPrefix(e.Field, "spec") {
			p.Add(e)
		}
	}
	return fits
}

// readInfra finds the machine's spec in an infrastructure object.
func readInfra(kind conversion.Resource, raw []byte, template bool) infra {
	if raw == nil {
		return infra{}
	}
	var o struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec json.RawMessage `json:"spec"`
	}
	_ = json.Unmarshal(raw, &o) // what it cannot read is empty, and refused as such
	out := infra{name: o.Metadata.Name, raw: o.Spec, root: kind.Kind + ".spec"}
	if template {
		out.root, out.raw = out.root+".template.spec", templateSpec(o.Spec)
	}
	if out.raw == nil {
		out.raw = []byte("{}")
	}
	return out
}

func templateSpec(raw []byte) []byte {
	var o struct {
		Template struct {
			Spec json.RawMessage `json:"spec"`
		} `json:"template"`
	}
	_ = json.Unmarshal(raw, &o)
	return o.Template.Spec
}
