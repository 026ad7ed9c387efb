// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

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

func readMachine(p *pass, raw []byte, m *mapiMachine) bool {
	var o struct {
		Metadata metadata     `json:"metadata"`
		Spec     withProvider `json:"spec"`
	}
	o.Spec.ProviderSpec.Value = p.Env.Platform.Spec.NewProviderSpec()
	fits := decode(p, raw, &o, func(p *pass) string { return recognise(p, providerPath, &o.Spec) })
	*m = mapiMachine{Metadata: o.Metadata, Spec: o.Spec.MachineSpec, provider: o.Spec.ProviderSpec.Value}
	return fits
}

func readMachineSet(p *pass, raw []byte, m *mapiSet) bool {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			machinev1beta1.MachineSetSpec `json:",inline"`
			Template                      struct {
				Metadata machinev1beta1.ObjectMeta `json:"metadata"`
				Spec     withProvider              `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	template := &o.Spec.Template
	template.Spec.ProviderSpec.Value = p.Env.Platform.Spec.NewProviderSpec()
	fits := decode(p, raw, &o, func(p *pass) string { return recognise(p, "spec.template."+providerPath, &template.Spec) })
	*m = mapiSet{Metadata: o.Metadata, Spec: o.Spec.MachineSetSpec, provider: template.Spec.ProviderSpec.Value}
	m.Spec.Template = machinev1beta1.MachineTemplateSpec{ObjectMeta: template.Metadata, Spec: template.Spec.MachineSpec}
	return fits
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
		p.Add(trial.Errors()...)
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

// readInfraMachine reads an infrastructure machine; raw is nil where there is none.
func readInfraMachine(p *pass, raw []byte) infra {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     any      `json:"spec"`
	}
	o.Spec = p.Env.Platform.Spec.NewInfraSpec()
	if !readInfra(p, p.Env.Platform.InfraMachine, raw, &o) {
		return infra{unread: raw != nil}
	}
	return infra{spec: o.Spec, name: o.Metadata.Name, root: p.Env.Platform.InfraMachine.Kind + ".spec"}
}

// readTemplate reads an infrastructure machine template.
func readTemplate(p *pass, raw []byte) infra {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Template struct {
				Metadata metadata `json:"metadata"`
				Spec     any      `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	o.Spec.Template.Spec = p.Env.Platform.Spec.NewInfraSpec()
	if !readInfra(p, p.Env.Platform.InfraMachineTemplate, raw, &o) {
		return infra{unread: raw != nil}
	}
	if of := o.Spec.Template.Metadata; len(of.Labels)+len(of.Annotations) > 0 {
		p.Under(p.Env.Platform.InfraMachineTemplate.Kind).Unsupported("spec.template.metadata", nil,
			"Machine API has no labels and annotations of infrastructure machines: make a template without them, and let the MachineSet refer to that")
	}
	return infra{spec: o.Spec.Template.Spec, name: o.Metadata.Name, root: p.Env.Platform.InfraMachineTemplate.Kind + ".spec.template.spec"}
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
