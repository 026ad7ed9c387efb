// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/mirroring/twin"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// unconvertible returns why the pair does not convert, or what else must be shown.
func unconvertible(pair inventory.Pair, env conversion.Env, unknown error, lacks []inventory.Lack) (errs field.ErrorList, needs readiness.Needs) {
	if needs := readiness.Unplaced(pair, unknown); len(needs.Names()) > 0 {
		return nil, needs
	}
	if unknown != nil {
		return field.ErrorList{{Type: field.ErrorTypeNotSupported, Field: "platform", Detail: unknown.Error()}}, needs
	}
	errs, needs = readiness.Unconvertible(pair, env, lacks)
	if len(errs) == 0 && len(needs.Names()) > 0 { // everything that is missing at once, as in check
		needs = needs.And(readiness.Doubts(pair, env, lacks))
	}
	return errs, needs
}

// unmovable returns why a pair that converts cannot move; "" if the pair can move, or only has to wait.
func unmovable(pair inventory.Pair, env conversion.Env, lacks []inventory.Lack) string {
	if pair.MachineAPI == nil {
		return ""
	}
	f := readiness.Judge(pair, destination(pair), env, nil, lacks)
	if f.Readiness != readiness.Blocked || f.Reason != readiness.ReasonRefused {
		return ""
	}
	return f.Message
}

// destination returns the API to convert to: the API that is not authoritative, or the API without the object.
func destination(pair inventory.Pair) authority.API {
	if pair.Authoritative() == authority.MachineAPI || pair.ClusterAPI == nil {
		return authority.ClusterAPI
	}
	return authority.MachineAPI
}

// converted returns the objects that the mirror would make of a pair. selects reports whether the pair's MachineSet selects the pair by a label.
func converted(pair inventory.Pair, env conversion.Env, selects func(label string) bool) ([]piece, field.ErrorList) {
	if destination(pair) == authority.ClusterAPI {
		return toClusterAPI(pair, env, selects)
	}
	return toMachineAPI(pair, env, selects)
}

// leaveOut removes from the object what the mirror does not copy, and returns a sentence about that; "" if nothing was removed.
func leaveOut(pair inventory.Pair, o *unstructured.Unstructured, selects func(label string) bool) string {
	names := twin.LeaveOut(pair.Kind, o, selects)
	if names == nil {
		return ""
	}
	return "\nThe mirror does not copy these labels and annotations, by which their writers recognize the authoritative object: " + strings.Join(names, ", ") + "."
}

// leftOut returns the fields that the conversion of a pair leaves out.
func leftOut(pair inventory.Pair, env conversion.Env) []readiness.Field {
	if destination(pair) != authority.ClusterAPI {
		return nil
	}
	return readiness.LeftOut(pair, env)
}

// ignoredBy returns the lines of a header about fields that the conversion left out, because Machine API ignores them; "" if there are none.
func ignoredBy(fields []readiness.Field) string {
	const most = 20
	if len(fields) == 0 {
		return ""
	}
	out := "\nThe conversion left out these fields:"
	for _, f := range fields[:min(len(fields), most)] {
		out += "\n  " + strings.ReplaceAll(wrapped(f.Path+": "+f.Reason), "\n", "\n    ")
	}
	if more := len(fields) - most; more > 0 {
		out += fmt.Sprintf("\n  and %d more, which `kubectl poundlock check -o json` lists", more)
	}
	return out
}

func toClusterAPI(pair inventory.Pair, env conversion.Env, selects func(label string) bool) ([]piece, field.ErrorList) {
	source := content(pair.MachineAPI)
	made, errs := core.ToClusterAPI(pair.Kind.Name, source, env)
	if len(errs) > 0 {
		return nil, errs
	}
	at := places(pair.Kind)
	platform := Rows(linesOf(env), conversion.OnlyClusterAPI, Place{Name: "providerSpec", Source: at.providerSpec,
		Target: at.infra, Core: at.template})
	rows := append(Core(platform), Rows(tableOf(pair.Kind), conversion.OnlyClusterAPI, Place{})...)
	header := fmt.Sprintf(
		"From %s %s of the Machine API. In the mirror, Poundlock also sets owner\n"+
			"references, the sync finalizer and, while Machine API is authoritative, the pause annotation.",
		pair.Kind.Name, pair.Name)
	header += leaveOut(pair, made.Core, selects) + ignoredBy(leftOut(pair, env))
	out := []piece{{made.Core, source, header, rows}}
	if made.Infra != nil {
		leaveOut(pair, made.Infra, selects)
		out = append(out, piece{made.Infra, source, "", platform})
	}
	return out, nil
}

func toMachineAPI(pair inventory.Pair, env conversion.Env, selects func(label string) bool) ([]piece, field.ErrorList) {
	from := core.Twin{Core: content(pair.ClusterAPI)}
	if pair.Infra != nil {
		from.Infra = content(pair.Infra)
	}
	made, errs := core.ToMachineAPI(pair.Kind.Name, from, env)
	if len(errs) > 0 {
		return nil, errs
	}
	at := places(pair.Kind)
	rows := Rows(linesOf(env), conversion.OnlyMachineAPI, Place{Name: env.Platform.InfraMachine.Kind, Target: at.providerSpec, Core: at.template})
	rows = append(rows, Rows(tableOf(pair.Kind), conversion.OnlyMachineAPI, Place{})...)
	header := fmt.Sprintf("From %s %s of Cluster API. If you create this object unchanged, Poundlock keeps it as the mirror:\n"+
		"spec.authoritativeAPI is ClusterAPI, so Cluster API stays authoritative.", pair.Kind.Name, pair.Name)
	header += leaveOut(pair, made, selects)
	if err := mirrors(pair, made); err != nil {
		return nil, field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	return []piece{{made, from.Core, header, rows}}, nil
}

// mirrors sets the object's spec.authoritativeAPI to ClusterAPI, as the creator of a mirror must. A set's template gets the same value, for new Machines. If
// the set is stored already, its template keeps the stored value, or has none.
func mirrors(pair inventory.Pair, made *unstructured.Unstructured) error {
	if err := unstructured.SetNestedField(made.Object, string(authority.ClusterAPI), "spec", "authoritativeAPI"); err != nil {
		return err
	}
	if !pair.Kind.Scales {
		return nil
	}
	at, wanted := []string{"spec", "template", "spec", "authoritativeAPI"}, string(authority.ClusterAPI)
	if pair.MachineAPI != nil {
		if wanted, _, _ = unstructured.NestedString(content(pair.MachineAPI).Object, at...); wanted == "" {
			return nil
		}
	}
	return unstructured.SetNestedField(made.Object, wanted, at...)
}

func linesOf(env conversion.Env) []conversion.Line {
	if env.Platform.Spec == nil {
		return nil
	}
	return env.Platform.Spec.Lines()
}

func tableOf(kind authority.Kind) []conversion.Line {
	switch kind.Name {
	case "Machine":
		return core.Machines.Lines()
	case "MachineSet":
		return core.MachineSets.Lines()
	}
	return core.MachineHealthChecks.Lines()
}

// spots has the paths of a machine's fields in the objects of a kind.
type spots struct{ template, providerSpec, infra string }

func places(kind authority.Kind) spots {
	if kind.Infra == authority.InfraMachineTemplate {
		return spots{"spec.template", "spec.template.spec.providerSpec.value", "spec.template.spec"}
	}
	return spots{"", "spec.providerSpec.value", "spec"}
}

// content returns an object in the form that conversions take.
func content(o *policies.Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(o.Raw()); err != nil {
		return &unstructured.Unstructured{Object: map[string]any{"kind": o.Kind, "metadata": map[string]any{"name": o.Metadata.Name}}}
	}
	return u
}
