// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

// mutation is what an API server does to a Machine that is created.
type mutation func(*machinev1beta1.Machine)

// fills writes a member of the providerSpec where there is none, overrides also where there is one.
func fills(key string, value any) mutation {
	return func(m *machinev1beta1.Machine) {
		var s map[string]any
		if _ = json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, &s); s[key] == nil {
			edit(&m.Spec.ProviderSpec, key, value)
		}
	}
}

func overrides(key string, value any) mutation {
	return func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, key, value) }
}

// tries answers the plan's trials as an API server with such an admission.
func tries(does mutation) change {
	return func(v *controlplane.View) {
		p := controlplane.Make(*v)
		for _, t := range p.Trials() {
			does(t.Machine)
			v.Trials = append(v.Trials, policies.Trial{Of: t.Of, Machine: t.Machine})
		}
	}
}

func refuses(words string) change {
	return func(v *controlplane.View) {
		p := controlplane.Make(*v)
		for _, t := range p.Trials() {
			v.Trials = append(v.Trials, policies.Trial{Of: t.Of, Refused: words})
		}
	}
}

// made adds the Machine that the set creates next, as admission leaves it, with a Node.
func made(does mutation) change {
	return func(v *controlplane.View) {
		p := controlplane.Make(*v)
		for _, s := range p.Steps() {
			if s.Verb != controlplane.Create {
				continue
			}
			m := p.Machine(s.Index)
			does(m)
			ran := running(m.Name, "", 1000)
			m.UID, m.CreationTimestamp, m.Status = types.UID(m.Name), ran.CreationTimestamp, ran.Status
			v.Machines, v.Nodes = append(v.Machines, *m), append(v.Nodes, node(m.Name))
		}
	}
}

func TestAMachineIsComparedWithWhatAdmissionMakesOfIt(t *testing.T) {
	tagged := fills("keyName", "ops")
	haveTag := func(value any) change {
		return func(v *controlplane.View) {
			for i := range v.Machines {
				edit(&v.Machines[i].Spec.ProviderSpec, "keyName", value)
			}
		}
	}
	for sentence, c := range map[string]struct {
		do       []change
		steps    []string
		problem  string
		left     string
		needless bool
	}{
		"a field that admission fills":                            {do: []change{haveTag("ops"), tries(tagged)}},
		"without an answer it is a difference":                    {do: []change{haveTag("ops")}, steps: []string{"Create 0 in a"}},
		"Machines from before the policy are as the template has": {do: []change{tries(tagged)}, needless: true},
		"another value than admission fills today":                {do: []change{haveTag("old"), tries(tagged)}, left: "providerSpec.value.keyName"},
		"a value that nobody fills":                               {do: []change{haveTag("old"), tries(func(*machinev1beta1.Machine) {})}, steps: []string{"Create 0 in a"}},
		"an object that admission fills, with another value":      {do: []change{haveTag(map[string]any{"a": "x"}), tries(fills("keyName", map[string]any{"a": "y"}))}, left: "providerSpec.value.keyName.a"},
		"a value that admission overrides":                        {do: []change{want("keyName", "mine"), haveTag("ops"), tries(overrides("keyName", "ops"))}},
		"also beside Machines that have the template's":           {do: []change{want("keyName", "mine"), haveTag("mine"), tries(overrides("keyName", "ops"))}, needless: true},
		"a value that neither has":                                {do: []change{want("keyName", "mine"), haveTag("old"), tries(overrides("keyName", "ops"))}, steps: []string{"Create 0 in a"}},
		"what the template changes is rolled out":                 {do: []change{larger, haveTag("ops"), tries(tagged)}, steps: []string{"Create 0 in a"}},
		"and the replacement is as it is to be":                   {do: []change{larger, tries(tagged), made(tagged)}, steps: []string{"Delete c-master-0"}},
		"a label that admission overrides": {do: []change{func(v *controlplane.View) { template(v).ObjectMeta.Labels["team"] = "x" }, func(v *controlplane.View) {
			for i := range v.Machines {
				v.Machines[i].Labels["team"] = "y"
			}
		}, tries(func(m *machinev1beta1.Machine) { m.Labels["team"] = "y" })}},
		"a taint that admission adds": {do: []change{func(v *controlplane.View) {
			for i := range v.Machines {
				v.Machines[i].Spec.Taints = []corev1.Taint{{Key: "k", Effect: "NoSchedule"}}
			}
		}, tries(func(m *machinev1beta1.Machine) { m.Spec.Taints = []corev1.Taint{{Key: "k", Effect: "NoSchedule"}} })}},

		"one that was created otherwise than the answer": {do: []change{want("keyName", "mine"), tries(overrides("keyName", "1")), made(overrides("keyName", "2"))}, problem: "AlteredMachines (keyName 2 → 1)"},
		"the same without an answer":                     {do: []change{larger, made(overrides("instanceType", "x"))}, problem: "AlteredMachines (instanceType x → m6i.2xlarge)"},
		"it is deleted":                                  {do: []change{larger, made(overrides("instanceType", "x")), on(3, going)}},
		"the template is edited":                         {do: []change{larger, made(overrides("instanceType", "x")), want("instanceType", "y")}, steps: []string{"Delete c-master-"}},
		"a refusal":                                      {do: []change{larger, refuses("no m6i.2xlarge here")}, problem: "MachineRefused index 0 in a: no m6i.2xlarge here"},
		"a refusal keeps no deletion back that needs no Machine": {do: []change{larger, with("c-master-x-0", "a", false), refuses("exceeded quota")}, steps: []string{"Delete c-master-0"}},
		"a refusal of what nobody makes":                         {do: []change{refuses("no")}, needless: true},
		"Recreate deletes nothing whose replacement is refused":  {do: []change{larger, strategy("Recreate"), refuses("no m6i.2xlarge here")}, problem: "MachineRefused index 0 in a"},
	} {
		t.Run(sentence, func(t *testing.T) {
			v := world()
			for _, do := range c.do {
				do(v)
			}
			p := controlplane.Make(*v)
			got := steps(p)
			if len(c.steps) == 1 && len(got) == 1 && strings.HasPrefix(got[0], c.steps[0]) {
				got = c.steps
			}
			if d := cmp.Diff(c.steps, got); d != "" {
				t.Errorf("steps (-want +got):\n%s", d)
			}
			problem := ""
			for _, found := range p.Problems {
				problem += string(found.Reason) + " " + found.Message
			}
			reason, words, _ := strings.Cut(c.problem, " ")
			if !strings.HasPrefix(problem, reason) || !strings.Contains(problem, words) || c.problem == "" && problem != "" {
				t.Errorf("problem %q, want %q", problem, c.problem)
			}
			for _, i := range p.Indexes {
				for _, m := range i.Machines {
					if left := m.In(controlplane.Ignored); c.left != "" && (len(left) != 1 || !strings.HasSuffix(left[0].Path, c.left)) {
						t.Errorf("%s leaves %v, want %s", m.Name, left, c.left)
					}
				}
			}
			if needed := p.NeededTrials(); c.needless && len(needed) > 0 {
				t.Errorf("needs %d trials", len(needed))
			}
		})
	}
}

func TestTrialsAreOneForEachFailureDomain(t *testing.T) {
	v := world()
	template(v).FailureDomains.AWS = zones("a", "b", "c", "d")
	p := controlplane.Make(*v)
	if got := p.Trials(); len(got) != 4 {
		t.Errorf("%d trials for four failure domains", len(got))
	}
	larger(v)
	p = controlplane.Make(*v)
	if got := p.NeededTrials(); len(got) != 3 {
		t.Errorf("%d trials are needed for three Machines", len(got))
	}
	template(v).FailureDomains = nil
	p = controlplane.Make(*v)
	if got := p.Trials(); len(got) != 1 {
		t.Errorf("%d trials without failure domains", len(got))
	}
}

// TestTried asks the rule as a review does, with the answers of an API server with such an admission.
func TestTried(t *testing.T) {
	refused := func(words string) func(controlplane.Trial) policies.Trial {
		return func(t controlplane.Trial) policies.Trial { return policies.Trial{Of: t.Of, Refused: words} }
	}
	in := func(domain string, then func(controlplane.Trial) policies.Trial) func(controlplane.Trial) policies.Trial {
		return func(t controlplane.Trial) policies.Trial {
			if t.Domain == domain {
				return then(t)
			}
			return policies.Trial{Of: t.Of, Machine: t.Machine}
		}
	}
	admits := func(does mutation) func(controlplane.Trial) policies.Trial {
		return func(t controlplane.Trial) policies.Trial {
			m := t.Machine.DeepCopy()
			does(m)
			return policies.Trial{Of: t.Of, Machine: m}
		}
	}
	const member = "spec.template.machines_v1beta1_machine_openshift_io"
	for sentence, c := range map[string]struct {
		row
		answer func(controlplane.Trial) policies.Trial
		want   []string
		asked  int
	}{
		"a refusal":                            {row: row{do: changes(larger)}, answer: refused("no m6i.2xlarge here"), asked: 3, want: []string{"denied " + member}},
		"in one failure domain":                {row: row{do: changes(larger)}, answer: in("b", refused("no")), asked: 3, want: []string{"denied " + member}},
		"of a new set":                         {row: row{create: true}, answer: refused("no"), asked: 3, want: []string{"denied " + member}},
		"of one that is activated":             {row: row{stored: changes(inactive), do: changes(activate)}, answer: refused("no"), asked: 3, want: []string{"denied " + member}},
		"of one that is stored already":        {row: row{in: changes(larger), do: changes(strategy("OnDelete"))}, answer: refused("no"), asked: 3},
		"of one at rest: nothing is asked":     {row: row{do: changes(strategy("OnDelete"))}, answer: refused("no")},
		"no answer":                            {row: row{do: changes(larger)}, answer: func(t controlplane.Trial) policies.Trial { return policies.Trial{Of: t.Of, Unanswered: "too late"} }, asked: 3, want: []string{"warned Poundlock could not check whether the API server accepts a Machine of this set: too late"}},
		"what admission fills is its business": {row: row{do: changes(larger)}, answer: admits(fills("keyName", "ops")), asked: 3},
		"what it overrides is told":            {row: row{do: changes(larger)}, answer: admits(overrides("instanceType", "m5.large")), asked: 3, want: []string{"warned " + member + ".spec.providerSpec.value.instanceType: admission changes m6i.2xlarge to m5.large in each Machine"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			change := c.change(t)
			asked := admission.Asked(change, change.Facts.ControlPlane)
			if len(asked) != c.asked {
				t.Errorf("%d Machines are asked for, want %d", len(asked), c.asked)
			}
			world := *change.Facts.ControlPlane
			for _, a := range asked {
				world.Trials = append(world.Trials, c.answer(a))
			}
			change.Facts.ControlPlane = &world
			if d := cmp.Diff(c.want, said(admission.Rules(), change)["controlplane/machine-refused"]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
