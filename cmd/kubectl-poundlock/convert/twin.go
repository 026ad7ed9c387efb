// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// unconvertible returns why the pair does not convert, or what an answer needs.
func unconvertible(pair inventory.Pair, env conversion.Env, unknown error, lacks []inventory.Lack) (errs field.ErrorList, needs readiness.Needs) {
	if needs := readiness.Unplaced(pair, unknown); len(needs.Names()) > 0 {
		return nil, needs
	}
	if unknown != nil {
		return field.ErrorList{{Type: field.ErrorTypeNotSupported, Field: "platform", Detail: unknown.Error()}}, needs
	}
	return readiness.Unconvertible(pair, env, lacks)
}

// destination is the API that is converted to: away from the authoritative one, or from the only one that has the object.
func destination(pair inventory.Pair) authority.API {
	if pair.Authoritative() == authority.MachineAPI || pair.ClusterAPI == nil {
		return authority.ClusterAPI
	}
	return authority.MachineAPI
}

func converted(pair inventory.Pair, env conversion.Env) ([]piece, field.ErrorList) {
	if destination(pair) == authority.ClusterAPI {
		return toClusterAPI(pair, env)
	}
	return toMachineAPI(pair, env)
}

func toClusterAPI(pair inventory.Pair, env conversion.Env) ([]piece, field.ErrorList) {
	source := content(pair.MachineAPI)
	twin, errs := core.ToClusterAPI(pair.Kind.Name, source, env)
	if len(errs) > 0 {
		return nil, errs
	}
	at := places(pair.Kind)
	platform := Rows(linesOf(env), conversion.OnlyClusterAPI, Place{Name: "providerSpec", Source: at.providerSpec,
		Target: at.infra, Core: at.template})
	rows := append(Core(platform), Rows(tableOf(pair.Kind), conversion.OnlyClusterAPI, Place{})...)
	header := fmt.Sprintf(
		"From %s %s of the Machine API. This is its content; Poundlock's mirror also sets\n"+
			"owner references, the sync finalizer and, while Machine API is authoritative, the pause.",
		pair.Kind.Name, pair.Name)
	out := []piece{{twin.Core, source, header, rows}}
	if twin.Infra != nil {
		out = append(out, piece{twin.Infra, source, "", platform})
	}
	return out, nil
}

func toMachineAPI(pair inventory.Pair, env conversion.Env) ([]piece, field.ErrorList) {
	twin := core.Twin{Core: content(pair.ClusterAPI)}
	if pair.Infra != nil {
		twin.Infra = content(pair.Infra)
	}
	made, errs := core.ToMachineAPI(pair.Kind.Name, twin, env)
	if len(errs) > 0 {
		return nil, errs
	}
	at := places(pair.Kind)
	rows := Rows(linesOf(env), conversion.OnlyMachineAPI, Place{Name: env.Platform.InfraMachine.Kind, Target: at.providerSpec, Core: at.template})
	rows = append(rows, Rows(tableOf(pair.Kind), conversion.OnlyMachineAPI, Place{})...)
	header := fmt.Sprintf("From %s %s of Cluster API. To have Poundlock take it over, create it with spec.authoritativeAPI: ClusterAPI.",
		pair.Kind.Name, pair.Name)
	return []piece{{made, twin.Core, header, rows}}, nil
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

// spots are where a kind's objects have a machine's fields.
type spots struct{ template, providerSpec, infra string }

func places(kind authority.Kind) spots {
	if kind.Infra == authority.InfraMachineTemplate {
		return spots{"spec.template", "spec.template.spec.providerSpec.value", "spec.template.spec"}
	}
	return spots{"", "spec.providerSpec.value", "spec"}
}

// content is an object as conversions take it.
func content(o *policies.Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(o.Raw()); err != nil {
		return &unstructured.Unstructured{Object: map[string]any{"kind": o.Kind, "metadata": map[string]any{"name": o.Metadata.Name}}}
	}
	return u
}
