// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetemplate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Purpose is for what Cluster API needs its objects of the cluster here, in a sentence about one that is missing.
const Purpose = "a control plane can be made there"

// Resolve reads a set from its JSON and converts its template to Machine API's form, whichever member of the union it has. Unresolved lists by path why a
// template does not convert, that it does not exist, or what keeps Cluster API from creating an instance for a Machine made from it. The error is that of get,
// of account or of the JSON. account returns the account of the cloud that the cluster is in, for the platforms whose conversions need it.
func Resolve(get environment.Get, account Account, pair authority.Pair, set []byte) (controlplane.Resolved, error) {
	out := &machinev1.ControlPlaneMachineSet{}
	if err := json.Unmarshal(set, out); err != nil {
		return controlplane.Resolved{}, fmt.Errorf("reading a ControlPlaneMachineSet: %w", err)
	}
	t, err := controlplane.Template(set)
	if err != nil || t == nil {
		return controlplane.Resolved{Set: out}, err
	}
	providerSpec, errs, err := resolve(get, account, pair, controlplane.Resolve(out, t, nil, nil).Set, t)
	if err != nil {
		return controlplane.Resolved{}, err
	}
	return controlplane.Resolve(out, t, providerSpec, errs), nil
}

// Account reads the account of the cloud that a cluster is in, empty where nothing has it; nil returns none.
type Account func(conversion.Platform, map[string]any) (string, error)

func resolve(get environment.Get, account Account, pair authority.Pair, set *machinev1.ControlPlaneMachineSet, t *controlplane.ClusterAPITemplate) ([]byte,
	field.ErrorList, error) {
	path := controlplane.ClusterAPITemplatePath().Child("spec", "infrastructureRef")
	env := conversion.Env{MachineAPINamespace: pair.MachineAPI, ClusterAPINamespace: pair.ClusterAPI}
	missing, err := environment.Read(get, true, &env)
	if err == nil && missing == (conversion.Missing{}) {
		missing, err = environment.NeedInfraCluster(get, &env, Purpose)
	}
	if err == nil && missing == (conversion.Missing{}) && account != nil {
		env.Account, err = account(env.Platform, env.Infrastructure)
	}
	if err != nil {
		return nil, nil, err
	}
	if missing != (conversion.Missing{}) {
		return nil, field.ErrorList{field.Invalid(path, t.Spec.InfrastructureRef.Name, missing.Message)}, nil
	}
	template, err := get(env.Platform.InfraMachineTemplate.GroupVersionKind, pair.ClusterAPI, t.Spec.InfrastructureRef.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s %s/%s: %w", t.Spec.InfrastructureRef.Kind, pair.ClusterAPI, t.Spec.InfrastructureRef.Name, err)
	}
	where, _, err := places(set, env)
	if err != nil {
		return nil, nil, err
	}
	converted, errs := core.ToMachineAPI("MachineSet", core.Twin{Core: clusterAPISet(t, where[0].FailureDomain, env), Infra: template}, env)
	if len(errs) > 0 {
		return nil, unzoned(moved(errs, controlplane.ClusterAPITemplatePath()), env.Platform.Name), nil
	}
	providerSpec, _, err := unstructured.NestedMap(converted.Object, "spec", "template", "spec", "providerSpec", "value")
	if err != nil {
		return nil, nil, fmt.Errorf("reading the providerSpec that %s converts into: %w", t.Spec.InfrastructureRef.Name, err)
	}
	raw, err := json.Marshal(providerSpec)
	if err != nil {
		return nil, nil, err
	}
	made := controlplane.Resolve(set, t, raw, nil).Set
	if where, _, err = places(made, env); err != nil {
		return nil, nil, err
	}
	return raw, underTemplate(uncreatable(made, where, env), t.Spec.InfrastructureRef), nil
}

// uncreatable is what keeps a set's new Machines from becoming Cluster API's, each problem once. A template may leave to the failure domains what a Machine
// cannot be without, such as AWS's subnet: so each place's Machine is converted, as it is once it exists.
func uncreatable(set *machinev1.ControlPlaneMachineSet, where []controlplane.Place, env conversion.Env) field.ErrorList {
	var errs field.ErrorList
	for _, at := range where {
		raw, err := json.Marshal(map[string]any{
			"apiVersion": machinev1beta1.GroupVersion.String(), "kind": "Machine",
			"metadata": map[string]any{
				"name": controlplane.Name + "-0", "namespace": env.MachineAPINamespace, "labels": controlplane.TemplateOf(set).ObjectMeta.Labels,
			},
			"spec": map[string]any{"providerSpec": map[string]any{"value": at.ProviderSpec}},
		})
		if err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
		errs = append(errs, core.Check("Machine", raw, env)...)
	}
	return distinct(errs)
}

// underTemplate names the infrastructure machine template that a set for Cluster API refers to: it has what the providerSpec of a Machine has, with the
// set's failure domains.
func underTemplate(errs field.ErrorList, ref controlplane.TemplateReference) field.ErrorList {
	var out field.ErrorList
	for _, e := range errs {
		at := *e
		if rest, ok := strings.CutPrefix(e.Field, "spec.providerSpec.value."); ok {
			at = *field.Invalid(controlplane.ClusterAPITemplatePath().Child("spec", "infrastructureRef"), ref.Name, rest+": "+e.Detail)
		}
		out = append(out, &at)
	}
	return out
}

// clusterAPISet is the MachineSet that would make the Machines, if there were one for a control plane. Only what Cluster API reads of
// such Machines is in its labels: the set's own labels are in Machine API's words already. Some platforms convert only what is in a zone: then
// each of the set's failure domains is that zone in turn.
func clusterAPISet(t *controlplane.ClusterAPITemplate, failureDomain string, env conversion.Env) *unstructured.Unstructured {
	ref := t.Spec.InfrastructureRef
	out := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"clusterName": env.ClusterName,
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{
					clusterv1.ClusterNameLabel: env.ClusterName, clusterv1.MachineControlPlaneLabel: "", clusterv1.NodeRoleLabelPrefix + "/master": "",
				}},
				"spec": map[string]any{
					"clusterName":       env.ClusterName,
					"infrastructureRef": map[string]any{"apiGroup": ref.APIGroup, "kind": ref.Kind, "name": ref.Name},
					"bootstrap":         map[string]any{"dataSecretName": t.Spec.Bootstrap.DataSecretName},
				},
			},
		},
	}}
	out.SetAPIVersion(clusterv1.GroupVersion.String())
	out.SetKind("MachineSet")
	out.SetNamespace(env.ClusterAPINamespace)
	out.SetName(controlplane.Name)
	if failureDomain != "" {
		// The way there is made above: this cannot fail.
		_ = unstructured.SetNestedField(out.Object, failureDomain, "spec", "template", "spec", "failureDomain")
	}
	return out
}

// places are where a set makes Machines. The plan reports one that the Infrastructure does not describe.
func places(set *machinev1.ControlPlaneMachineSet, env conversion.Env) ([]controlplane.Place, field.ErrorList, error) {
	about := &configv1.Infrastructure{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(env.Infrastructure, about); err != nil {
		return nil, nil, fmt.Errorf("reading Infrastructure cluster: %w", err)
	}
	all, errs := controlplane.Places(set, about)
	return all, slices.DeleteFunc(errs, func(e *field.Error) bool { return e.Type != field.ErrorTypeNotFound }), nil
}

// unzoned names the field in which a set has the zone of its Machines: a Cluster API Machine has it in spec.failureDomain, a set for Cluster API in its failure
// domains.
func unzoned(errs field.ErrorList, platform string) field.ErrorList {
	member := controlplane.ClusterAPITemplatePath()
	for _, e := range errs {
		if e.Field == member.Child("spec", "failureDomain").String() {
			e.Field = member.Child("failureDomains").String()
			e.Detail += fmt.Sprintf(`. A template for Cluster API names no zone: list it here, also where it is the only one, as {"platform":%q,%q:[{"zone":"ZONE"}]}`,
				platform, strings.ToLower(platform))
		}
	}
	return errs
}

// moved names fields by where a set has its template.
func moved(errs field.ErrorList, member *field.Path) field.ErrorList {
	var out field.ErrorList
	for _, e := range errs {
		at := *e
		if rest, ok := strings.CutPrefix(e.Field, "spec.template."); ok {
			at.Field = member.String() + "." + rest
		}
		out = append(out, &at)
	}
	return out
}
