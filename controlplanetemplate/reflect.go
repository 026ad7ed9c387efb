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

// Mark is the value of authority.MirrorAnnotation on the infrastructure machine templates that are a set's.
const Mark = controlplane.Kind + "/" + controlplane.Name

// IsOwn reports whether a template is a set's, by its mark and its name. A person's copy of one has the mark alone.
func IsOwn(mark, name string) bool {
	return mark == Mark && core.IsTemplateName(controlplane.Name, name)
}

// Reflect is the infrastructure machine template that a set's template for Machine API stands for, as a MachineSet's is made: its name has a
// hash of its content. It means what the set's template does. Where a platform converts only what is somewhere, it is in the first of the
// set's failure domains. Those that the Infrastructure does not have are the only errors then: what they would set is missing in the template, and is not to be
// written there. Fields that do not convert, in whichever of the failure domains, are errors, by their path in the set; so is what keeps Cluster API from
// creating an instance for a Machine of the set. A set that has the other member is what it refers to: there is nothing to reflect, and both are nil.
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

// underMember names fields of a Machine by where a set for Machine API has them.
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

// reflectAt converts the template with another providerSpec than its own, if there is one.
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

// distinct returns each problem once, though several failure domains have it.
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

// machineAPISet is the MachineSet that would make the Machines, if there were one for a control plane.
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
