// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// MadeFromAnnotation is on each Machine that a set creates. Its value is a hash of the providerSpec that the set asked for. If a Machine has the hash of the
// present providerSpec and still differs from that providerSpec, somebody else changes such Machines: replacing the Machine would begin an endless loop.
const MadeFromAnnotation = "poundlock.openshift.io/made-from"

// Trial is a Machine whose creation the caller tries with a dry run. Of is the hash by which the plan finds the result (TrialOf).
type Trial struct {
	Of string
	// Domain is the failure domain's name, "" for none.
	Domain  string
	Machine *machinev1beta1.Machine
}

// Trials returns the Machines that a review tries with a dry run: one for each failure domain, or one if the set has no failure domain.
func (p *Plan) Trials() []Trial {
	return p.try(func(Index) bool { return true }, p.Domains)
}

// NeededTrials returns the trials that the plan cannot do without: otherwise it might replace a Machine because of what admission writes, or create a Machine
// that the API server refuses. A control plane whose Machines all equal the template needs none.
func (p *Plan) NeededTrials() []Trial {
	step, any := p.change()
	return p.try(func(i Index) bool {
		if any && step.Index.Number == i.Number {
			return true
		}
		return slices.ContainsFunc(i.Machines, func(m MachineState) bool {
			return !m.Deleting && slices.ContainsFunc(m.Differences, func(d Difference) bool { return d.Effect != Ignored })
		})
	}, nil)
}

// try returns the trials at the indexes for which the function "at" returns true, and in the given domains, each once.
func (p *Plan) try(at func(Index) bool, domains []platform.Domain) []Trial {
	if len(p.Invalid) > 0 || p.Spec == nil {
		return nil
	}
	var out []Trial
	add := func(i Index) {
		if t := p.trial(i); !slices.ContainsFunc(out, func(known Trial) bool { return known.Of == t.Of }) {
			out = append(out, t)
		}
	}
	for _, i := range p.Indexes {
		if at(i) {
			add(i)
		}
	}
	for i := range domains {
		add(Index{Domain: &domains[i], Spec: domains[i].In(p.Spec)})
	}
	return out
}

func (p *Plan) trial(i Index) Trial {
	t := Trial{Of: p.TrialOf(i), Machine: p.Machine(i)}
	if i.Domain != nil {
		t.Domain = i.Domain.Name
	}
	return t
}

// TrialOf returns a hash of what a Machine at an index is made from. The Machine's name and owner are not part of it.
func (p *Plan) TrialOf(i Index) string {
	t := TemplateOf(p.set)
	return hashOf(t.ObjectMeta, t.Spec, p.MakesFor(), i.Spec)
}

func hashOf(of ...any) string {
	sum := sha256.Sum256(values.Raw(of))
	return hex.EncodeToString(sum[:8])
}

// tried returns the result of the trial at an index; the zero value if there was none.
func (p *Plan) tried(i Index) policies.Trial {
	if len(p.trials) == 0 {
		return policies.Trial{}
	}
	of := p.TrialOf(i)
	if at := slices.IndexFunc(p.trials, func(t policies.Trial) bool { return t.Of == of }); at >= 0 {
		return p.trials[at]
	}
	return policies.Trial{}
}

// becomes returns the Machine that the set wants, as it is after admission has changed it into m.
func (w wanted) becomes(m *machinev1beta1.Machine) wanted {
	own := w.template
	w.spec = platform.ProviderSpec(m.Spec)
	w.template = machinev1.OpenShiftMachineV1Beta1MachineTemplate{Spec: m.Spec}
	w.template.ObjectMeta.Labels, w.template.ObjectMeta.Annotations = among(m.Labels, own.ObjectMeta.Labels), among(m.Annotations, own.ObjectMeta.Annotations)
	w.template.Spec.Labels, w.template.Spec.Annotations = among(m.Spec.Labels, own.Spec.Labels), among(m.Spec.Annotations, own.Spec.Annotations)
	return w
}

// differences returns the differences between a Machine and what the set creates at an index. If a dry run was made, it also compares the Machine with the
// result of the dry run, and leaves out the differences that admission explains (explained).
func (p *Plan) differences(t machinev1.OpenShiftMachineV1Beta1MachineTemplate, i Index, m *machinev1beta1.Machine) []Difference {
	w := wanted{platform: p.Row, template: t, spec: i.Spec, authority: p.MakesFor()}
	out := w.differences(m)
	if tried := p.tried(i).Machine; tried != nil && len(out) > 0 {
		becomes := w.becomes(tried)
		return explained(out, becomes.differences(m))
	}
	return out
}

// among returns the members of a map whose keys are also in another map.
func among(all, keys map[string]string) map[string]string {
	out := maps.Clone(all)
	maps.DeleteFunc(out, func(k, _ string) bool {
		_, has := keys[k]
		return !has
	})
	return out
}

// explained returns the differences from the template that remain once admission's changes are known. It drops a difference if the Machine equals what
// admission makes of the template. If the template leaves a member to admission, the difference is ignored: nobody asked for another value, so the member is no
// reason to replace a Machine.
func explained(fromTemplate, fromTrial []Difference) []Difference {
	var out []Difference
	add := func(d Difference) {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	for _, d := range fromTemplate {
		for _, t := range fromTrial {
			switch {
			case !related(d.Path, t.Path):
			case void(d) && (!void(t) || len(t.Path) > len(d.Path)):
				t.Effect = Ignored
				add(t)
			case d.Path == t.Path:
				add(t)
			default:
				add(d)
			}
		}
	}
	return out
}

// related reports whether two paths are equal, or one is beneath the other.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// void reports whether the template has no value where the difference is. For an item of a list this cannot be determined, so void is false for it.
func void(d Difference) bool {
	return strings.HasSuffix(d.Want, byDefault) ||
		!strings.HasSuffix(d.Path, "]") && slices.Contains([]string{"none", `""`, "0", "false", "{}", "[]", "null"}, d.Want)
}

// Changes reports whether the plan creates or deletes a Machine now.
func (p *Plan) Changes() bool {
	return slices.ContainsFunc(p.Steps(), func(s PlannedStep) bool { return s.Verb == Create || s.Verb == Delete })
}

// Refused reports whether the API server refuses the Machine that the plan would create next.
func (p *Plan) Refused() bool {
	return slices.ContainsFunc(p.Problems, func(problem Problem) bool { return problem.Reason == MachineRefused })
}

// madeFrom returns the value of MadeFromAnnotation for a Machine at an index.
func madeFrom(i Index) string { return hashOf(i.Spec) }

// Overridden returns a warning for each field of the template that admission changes.
func (p *Plan) Overridden(t Trial, becomes *machinev1beta1.Machine) []string {
	w := wanted{platform: p.Row, template: TemplateOf(p.set), spec: platform.ProviderSpec(t.Machine.Spec), authority: p.MakesFor()}
	var out []string
	for _, d := range w.differences(becomes) {
		if d.Effect != Ignored && !void(d) {
			out = append(out, fmt.Sprintf("%s.%s: admission changes %s to %s in each Machine", platform.TemplatePath(), d.Path, d.Want, d.Have))
		}
	}
	return out
}
