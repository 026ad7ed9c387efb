// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

const (
	// GeneratedAnnotation has the spec with which the set was last generated. If the set differs from that spec, a person has edited the set, and the generator
	// keeps the edit. A set without the annotation was not generated, and the generator does not change it.
	GeneratedAnnotation = authority.Domain + "/generated"
	// ConditionGenerated reports whether a generated set follows the cluster.
	ConditionGenerated = "Generated"
	// AsFound is the reason of ConditionGenerated while the set follows the cluster.
	AsFound controlplane.Reason = "AsFound"
)

// Write is what the generator writes.
type Write string

// The writes.
const (
	// CreateSet creates the set, because there is none.
	CreateSet Write = "Produce"
	// PatchSet patches the set, because the cluster has changed since the set was generated.
	PatchSet Write = "Follow"
	// RecreateSet deletes the set, because a field that cannot be changed is wrong and nobody has edited the set. The generator recreates the set once the deleted
	// one is gone.
	RecreateSet Write = "Remake"
)

// Plan is what the generator does about the stored set.
type Plan struct {
	Write Write
	// Object is the set that is created.
	Object map[string]any
	// Patch is a merge patch of the stored set. It contains only the generator's fields.
	Patch map[string]any
	// Condition is to be written to the set; the caller adds its time. An empty type means that the generator reports nothing on this set.
	Condition metav1.Condition
	// Refusal is why no set is generated, or why the stored one cannot follow the cluster.
	Refusal *Refusal
	// Note describes the write, for an event.
	Note string
}

// Next returns what the generator does about the stored set, as JSON; nil for no set. It does not touch a set that is active, that is being deleted, or that a
// person made.
func Next(stored map[string]any, w World) Plan {
	if stored == nil {
		g, refusal := Generate(w)
		if refusal != nil {
			return Plan{Refusal: refusal}
		}
		return Plan{Write: CreateSet, Object: g.object(), Note: "Generated, Inactive. " + g.sentence()}
	}
	k, ours := keeping(stored)
	if !ours {
		return Plan{}
	}
	g, refusal := Generate(w)
	if refusal != nil {
		return Plan{Refusal: refusal, Condition: generated(refusal)}
	}
	return k.follow(g, w)
}

func generated(r *Refusal) metav1.Condition {
	return metav1.Condition{Type: ConditionGenerated, Status: metav1.ConditionFalse, Reason: string(r.Reason), Message: r.Message}
}

// object returns the generated set as it is created.
func (g *Generated) object() map[string]any {
	return map[string]any{
		"apiVersion": machinev1.GroupVersion.String(), "kind": controlplane.Kind,
		"metadata": map[string]any{"namespace": g.Set.Namespace, "name": g.Set.Name,
			"annotations": map[string]any{GeneratedAnnotation: string(values.Raw(g.content()))}},
		"spec": g.content(),
	}
}

// content returns the set's spec as it is stored, without empty members that Go's types always write.
func (g *Generated) content() map[string]any {
	spec, _ := values.Plain(g.Set.Spec).(map[string]any)
	for _, empty := range []string{"failureDomains", "spec.lifecycleHooks", "spec.metadata"} {
		way := values.Path("template." + string(machinev1.OpenShiftMachineV1Beta1MachineType) + "." + empty)
		if values.Empty(values.At(spec, way)) {
			values.Remove(spec, way)
		}
	}
	return spec
}

func (g *Generated) sentence() string {
	return strings.Join(append([]string{fmt.Sprintf("The set's template was generated from Machine %s, the newest running control plane Machine at that time.",
		g.From)}, g.Left...), " ")
}

// keeper is a generated set that may be changed: the stored object, its spec, and the spec with which it was last generated.
type keeper struct {
	object, stored, last map[string]any
}

func keeping(object map[string]any) (*keeper, bool) {
	k := &keeper{}
	k.object, _ = values.Plain(object).(map[string]any)
	k.stored, _ = k.object["spec"].(map[string]any)
	annotations, _ := values.At(k.object, values.Path("metadata.annotations")).(map[string]any)
	text, _ := annotations[GeneratedAnnotation].(string)
	deleting := values.At(k.object, values.Path("metadata.deletionTimestamp")) != nil
	if deleting || k.stored == nil || k.stored["state"] == string(machinev1.ControlPlaneMachineSetStateActive) || json.Unmarshal([]byte(text), &k.last) != nil {
		return nil, false
	}
	return k, values.At(k.stored, values.Path("template.machineType")) == string(machinev1.OpenShiftMachineV1Beta1MachineType)
}

// fixed returns the members of a set that cannot be changed after its creation.
func fixed() []string { return []string{"replicas", "selector"} }

func (k *keeper) follow(g *Generated, w World) Plan {
	next, m := g.content(), merger{platform.Named(platform.Of(w.Infrastructure))}
	u := Plan{Condition: metav1.Condition{Type: ConditionGenerated, Status: metav1.ConditionTrue, Reason: string(AsFound), Message: g.sentence()}}
	for _, name := range fixed() {
		if reflect.DeepEqual(k.stored[name], next[name]) {
			continue
		}
		if len(m.edits(k.last, k.stored)) == 0 && !g.vacant {
			return Plan{Write: RecreateSet, Condition: u.Condition, Note: fmt.Sprintf("Poundlock deletes the set and generates it again, because spec.%s cannot "+
				"be changed and should be %s.",
				name, values.Text(next[name]))}
		}
		u.Refusal = refuse(CannotFollow,
			"If the set were generated now, spec.%s would be %s instead of %s, but this field cannot be changed%s. Delete the set, and Poundlock generates it "+
				"again: kubectl -n %s "+
				"delete %s.%s %s --cascade=background",
			name, values.Text(next[name]), values.Text(k.stored[name]), g.unless(), w.Namespace, controlplane.Resource, machinev1.GroupName, controlplane.Name)
		next[name] = k.stored[name]
	}
	if g.vacant {
		places, last := values.Path("template."+string(machinev1.OpenShiftMachineV1Beta1MachineType)+".failureDomains"), k.last
		values.Put(next, places, kept(values.At(next, places), values.At(last, places)))
	}
	merged, _ := m.merge("", k.stored, k.last, next).(map[string]any)
	after, _ := values.Plain(k.object).(map[string]any)
	after["spec"] = merged
	if denied := w.denied(k.object, after); denied != "" {
		u.Refusal = refuse(CannotFollow, "Poundlock cannot update the generated set, because fields that somebody edited do not fit the present cluster: "+
			"%s", denied)
	} else {
		u.patch(k, next, merged)
	}
	if u.Refusal != nil {
		u.Condition = generated(u.Refusal)
	}
	if all := m.edits(next, merged); len(all) > 0 {
		u.Condition.Message += " Somebody edited these fields, and Poundlock keeps the edits: " + controlplane.ListDifferences(all) + "."
	}
	return u
}

// unless returns the end of a sentence. It warns that a control plane without one of its Machines may be changing its size; "" if no Machine is missing.
func (g *Generated) unless() string {
	if g.vacant {
		return ". If somebody is only replacing a Machine by hand, wait until the replacement is complete"
	}
	return ""
}

// kept returns the failure domains that were found now, together with those that the set was last generated with. The failure domain of a Machine that is
// missing still belongs to the control plane.
func kept(domains, before any) any {
	d, b, both := each[map[string]any](domains, before)
	if !both {
		return domains
	}
	for name := range d {
		if now, was, lists := each[[]any](d[name], b[name]); lists {
			is, out := byName(now), []any{}
			for _, item := range was {
				if is[nameOf(item)] == nil {
					out = append(out, item)
				} else if i := slices.IndexFunc(now, func(n any) bool { return nameOf(n) == nameOf(item) }); i >= 0 {
					out, now = append(out, now[i]), slices.Delete(slices.Clone(now), i, i+1)
				}
			}
			d[name] = append(out, now...)
		}
	}
	return d
}

// patch stores in the plan what is to be written, if anything: the fields that follow the cluster, and the spec with which the set is now generated.
func (u *Plan) patch(k *keeper, next, merged map[string]any) {
	patch := map[string]any{}
	if spec := mergePatch(k.stored, merged); len(spec) > 0 {
		patch["spec"] = spec
	}
	if !reflect.DeepEqual(k.last, next) {
		patch["metadata"] = map[string]any{"annotations": map[string]any{GeneratedAnnotation: string(values.Raw(next))}}
	}
	if len(patch) > 0 {
		u.Write, u.Patch = PatchSet, patch
		u.Note = "The generated set now follows the control plane. " + u.Condition.Message
	}
}

// merger merges a person's edits with the cluster's values, field by field.
type merger struct{ platform platform.Row }

// merge returns the stored value with the changes from "last" to "next". A change is applied only where the stored value still equals "last". Elsewhere a
// person has changed the value, and merge keeps it. nil is an absent value.
func (m merger) merge(path string, stored, last, next any) any {
	switch {
	case reflect.DeepEqual(last, next):
		return stored
	case reflect.DeepEqual(stored, last):
		return next
	}
	if s, n, both := each[map[string]any](stored, next); both {
		l, _ := last.(map[string]any)
		out := map[string]any{}
		for _, name := range keys(s, n) {
			if v := m.merge(strings.TrimPrefix(path+"."+name, "."), s[name], l[name], n[name]); v != nil {
				out[name] = v
			}
		}
		return out
	}
	if s, n, both := each[[]any](stored, next); both && m.keyed(path) {
		l, _ := last.([]any)
		return mergeLists(s, l, n)
	}
	return stored
}

func each[T any](a, b any) (T, T, bool) {
	x, ok := a.(T)
	y, too := b.(T)
	return x, y, ok && too
}

func keys(a, b map[string]any) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		if _, known := a[k]; !known {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// keyed reports whether the list at a path is merged item by item: its items are independent, and their order means nothing. Any other list is merged as one
// value.
func (m merger) keyed(path string) bool {
	rest, ok := strings.CutPrefix(path, "template."+string(machinev1.OpenShiftMachineV1Beta1MachineType)+".")
	provider, inProvider := strings.CutPrefix(rest, "spec.providerSpec.value.")
	return ok && (strings.HasPrefix(rest, "failureDomains.") || rest == "spec.taints" || inProvider && slices.Contains(m.platform.Unordered, provider))
}

// mergeLists merges lists by their items' names, and keeps the stored order. All items with one name are one value. For example, when a person edits one subnet
// of a zone, the generator keeps all subnets of that zone as they are.
func mergeLists(stored, last, next []any) any {
	was, is := byName(last), byName(next)
	have := byName(stored)
	out, done := []any{}, map[string]bool{}
	for _, item := range slices.Concat(stored, next) {
		name := nameOf(item)
		if done[name] {
			continue
		}
		done[name] = true
		if reflect.DeepEqual(have[name], was[name]) {
			out = append(out, is[name]...)
		} else {
			out = append(out, have[name]...)
		}
	}
	return out
}

func byName(list []any) map[string][]any {
	out := map[string][]any{}
	for _, item := range list {
		out[nameOf(item)] = append(out[nameOf(item)], item)
	}
	return out
}

// nameOf returns the text that identifies an item of a list: its zone, key or name, or else the whole item.
func nameOf(item any) string {
	for _, path := range []string{"name", "key", "zone", "availabilityZone", "placement.availabilityZone"} {
		if v, ok := values.At(item, values.Path(path)).(string); ok && v != "" {
			return v
		}
	}
	return values.Text(item)
}

// edits returns the fields in which the stored set differs from a generated one. A value that the CRD fills in by default is no edit.
func (m merger) edits(generated, stored map[string]any) []controlplane.Difference {
	in := controlplane.SpecPath.String()
	all := controlplane.Different(controlplane.SpecPath, m.ordered("", generated), m.ordered("", stored),
		in+".state", in+".authoritativeAPI", platform.TemplatePath().Child("spec", "authoritativeAPI").String())
	for i := range all {
		short, inProvider := strings.CutPrefix(all[i].Path, platform.ProviderSpecPath().String()+".")
		if !inProvider {
			short = strings.TrimPrefix(strings.TrimPrefix(all[i].Path, platform.TemplatePath().String()+"."), in+".")
		}
		all[i].Path = short
	}
	return all
}

// ordered returns a value in which each list without a meaningful order is replaced by a map from its items' names to the items. So two values that differ only
// in that order are equal.
func (m merger) ordered(path string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, item := range v {
			out[name] = m.ordered(strings.TrimPrefix(path+"."+name, "."), item)
		}
		return out
	case []any:
		if !m.keyed(path) {
			return v
		}
		out := map[string]any{}
		for name, items := range byName(v) {
			if out[name] = any(items); len(items) == 1 {
				out[name] = items[0]
			}
		}
		return out
	}
	return v
}

// mergePatch returns the merge patch from one object to another (RFC 7386).
func mergePatch(from, to map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range keys(from, to) {
		f, t, both := each[map[string]any](from[name], to[name])
		switch {
		case reflect.DeepEqual(from[name], to[name]):
		case both:
			if p := mergePatch(f, t); len(p) > 0 {
				out[name] = p
			}
		default:
			out[name] = to[name] // nil removes the member
		}
	}
	return out
}
