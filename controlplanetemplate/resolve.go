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

// Purpose ends the message about a missing Cluster or infrastructure cluster (conversion.Env.Absent): "Cluster API needs this object before control plane
// Machines can be created in Cluster API".
const Purpose = "control plane Machines can be created in Cluster API"

// Resolve reads a set from its JSON and returns the set with its template in Machine API's form, whichever member of the union the set has. The result's
// field Unresolved lists the problems by path: why the template does not convert, that no infrastructure machine template of this name exists, or what keeps
// Cluster API from creating an instance for a Machine that is created from the template. The returned error is one of get, of account or of the JSON. account
// returns the account of the cluster's cloud; only some platforms' conversions need it.
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

// Account returns the account of a cluster's cloud, from the platform and the content of the Infrastructure. It returns "" if no source has the account. A
// nil Account means that no account is read.
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

// uncreatable returns the errors that keep a set's new Machines from being converted to Cluster API, each problem once. It converts one Machine per place,
// with the place's providerSpec, which is what a real Machine would have. The template by itself is not enough to check, because it may leave a required
// field to the failure domains, such as the subnet on AWS.
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

// underTemplate returns errors about a Machine's providerSpec as errors about the set's infrastructureRef: the infrastructure machine template of that name
// has the content of the providerSpec. Such an error has the path inside the providerSpec in its text. Other errors stay as they are.
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

// clusterAPISet returns a Cluster API MachineSet that has the set's template, so that the conversion of MachineSets can convert the template. Nothing creates
// this MachineSet in the cluster. Its labels are only those that Cluster API reads on control plane Machines, because the set's own labels are already in
// Machine API's form. failureDomain is the zone of the Machines; "" for none. It is necessary because some platforms convert a template only if it has a
// zone.
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
		// This cannot fail, because the parent maps were created above.
		_ = unstructured.SetNestedField(out.Object, failureDomain, "spec", "template", "spec", "failureDomain")
	}
	return out
}

// places returns where a set creates Machines. The errors are about failure domains that the Infrastructure does not describe; other errors of
// controlplane.Places are left out.
func places(set *machinev1.ControlPlaneMachineSet, env conversion.Env) ([]controlplane.Place, field.ErrorList, error) {
	about := &configv1.Infrastructure{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(env.Infrastructure, about); err != nil {
		return nil, nil, fmt.Errorf("reading Infrastructure cluster: %w", err)
	}
	all, errs := controlplane.Places(set, about)
	return all, slices.DeleteFunc(errs, func(e *field.Error) bool { return e.Type != field.ErrorTypeNotFound }), nil
}

// unzoned moves an error about spec.failureDomain to the set's failureDomains, and adds the remedy. A Cluster API Machine has its zone in spec.failureDomain,
// but a set for Cluster API has the zones of its Machines in its failure domains.
func unzoned(errs field.ErrorList, platform string) field.ErrorList {
	member := controlplane.ClusterAPITemplatePath()
	for _, e := range errs {
		if e.Field == member.Child("spec", "failureDomain").String() {
			e.Field = member.Child("failureDomains").String()
			e.Detail += fmt.Sprintf(". An infrastructure machine template of Cluster API has no zone: list each zone of the Machines in this field, even if there "+
				`is only one, as {"platform":%q,%q:[{"zone":"ZONE"}]}`,
				platform, strings.ToLower(platform))
		}
	}
	return errs
}

// moved returns errors about a MachineSet's spec.template with the paths that the same fields have in a ControlPlaneMachineSet: below member.
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
