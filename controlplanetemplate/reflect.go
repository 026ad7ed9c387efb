// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetemplate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Mark is the value of authority.MirrorAnnotation on the infrastructure machine templates that Reflect makes for a ControlPlaneMachineSet.
const Mark = controlplane.Kind + "/" + controlplane.Name

// IsOwn reports whether Reflect made a template for a set. It requires both Mark and the form of the name, because a person's copy of such a template has the
// annotation too, but another name.
func IsOwn(mark, name string) bool {
	return mark == Mark && core.IsTemplateName(controlplane.Name, name)
}

// Reflect returns the infrastructure machine template that corresponds to a set's template for Machine API. As for a MachineSet, the template's name contains
// a hash of its content. If the set's template converts only in a failure domain, the result is the template in the set's first failure domain.
//
// If the Infrastructure lacks some of the set's failure domains, the errors are about these failure domains only: other errors would ask for fields that
// those failure domains are meant to set, and that must not be written into the template. Otherwise the errors are the fields that do not convert in at
// least one of the failure domains, by their path in the set, and whatever keeps Cluster API from creating an instance for a Machine of the set.
//
// A set with the member for Cluster API names its infrastructure machine template itself, so nothing needs to be made: both results are nil.
func Reflect(set *machinev1.ControlPlaneMachineSet, env conversion.Env) (*unstructured.Unstructured, field.ErrorList) {
	t := set.Spec.Template.OpenShiftMachineV1Beta1Machine
	if t == nil {
		return nil, nil
	}
	where, absent, err := places(set, env)
	if err != nil {
		return nil, field.ErrorList{field.InternalError(nil, err)}
	}
	if len(absent) > 0 {
		return nil, absent
	}
	var out *unstructured.Unstructured
	var errs field.ErrorList
	for _, at := range slices.Backward(where) {
		template, wrong := reflectAt(t, at.ProviderSpec, env)
		out, errs = template, append(wrong, errs...)
	}
	if len(errs) > 0 {
		return nil, distinct(errs)
	}
	if errs := uncreatable(set, where, env); len(errs) > 0 {
		return nil, underMember(errs)
	}
	if bare, wrong := reflectAt(t, nil, env); len(wrong) == 0 {
		out = bare
	}
	return out, nil
}

// underMember returns errors about a Machine's spec with the paths that the same fields have in a set for Machine API.
func underMember(errs field.ErrorList) field.ErrorList {
	var out field.ErrorList
	for _, e := range errs {
		at := *e
		if rest, ok := strings.CutPrefix(e.Field, "spec."); ok {
			at.Field = memberPath().Child("spec").String() + "." + rest
		}
		out = append(out, &at)
	}
	return out
}

// reflectAt converts the set's template into an infrastructure machine template. providerSpec replaces the template's own providerSpec, unless it is nil.
func reflectAt(t *machinev1.OpenShiftMachineV1Beta1MachineTemplate, providerSpec map[string]any,
	env conversion.Env) (*unstructured.Unstructured, field.ErrorList) {
	as, err := machineAPISet(t, providerSpec, env)
	if err != nil {
		return nil, field.ErrorList{field.InternalError(nil, err)}
	}
	twin, errs := core.ToClusterAPI("MachineSet", as, env)
	if len(errs) > 0 {
		return nil, moved(errs, memberPath())
	}
	twin.Infra.SetLabels(map[string]string{clusterv1.ClusterNameLabel: env.ClusterName})
	twin.Infra.SetAnnotations(map[string]string{authority.MirrorAnnotation: Mark})
	return twin.Infra, nil
}

// distinct returns errs without repetitions: several failure domains may have the same problem.
func distinct(errs field.ErrorList) field.ErrorList {
	var out field.ErrorList
	for _, e := range errs {
		if !slices.ContainsFunc(out, func(o *field.Error) bool { return o.Error() == e.Error() }) {
			out = append(out, e)
		}
	}
	return out
}

func memberPath() *field.Path {
	return field.NewPath("spec", "template", string(controlplane.MachineAPIMember))
}

// machineAPISet returns a Machine API MachineSet that has the set's template, so that the conversion of MachineSets can convert the template. Nothing creates
// this MachineSet in the cluster. providerSpec replaces the template's own providerSpec, unless it is nil.
func machineAPISet(t *machinev1.OpenShiftMachineV1Beta1MachineTemplate, providerSpec map[string]any, env conversion.Env) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(map[string]any{
		"selector": map[string]any{"matchLabels": t.ObjectMeta.Labels},
		"template": map[string]any{"metadata": t.ObjectMeta, "spec": t.Spec},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the set's template: %w", err)
	}
	var spec map[string]any
	if err := json.Unmarshal(raw, &spec); err != nil {
		return nil, fmt.Errorf("reading the set's template: %w", err)
	}
	if providerSpec != nil {
		if err := unstructured.SetNestedMap(spec, providerSpec, "template", "spec", "providerSpec", "value"); err != nil {
			return nil, fmt.Errorf("placing the set's template: %w", err)
		}
	}
	out := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	out.SetAPIVersion(machinev1beta1.GroupVersion.String())
	out.SetKind("MachineSet")
	out.SetNamespace(env.MachineAPINamespace)
	out.SetName(controlplane.Name)
	return out, nil
}
