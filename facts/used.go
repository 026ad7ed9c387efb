// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"encoding/json"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// DeploymentKind is Cluster API's MachineDeployment. The API server need not serve this kind: then nothing of it refers to a template.
var DeploymentKind = clusterv1.GroupVersion.WithKind(authority.MachineDeployment)

// UsedTemplates returns the names of the platform's templates in a namespace of Cluster API to which a MachineSet or a MachineDeployment refers, or from which
// a machine was made. A MachineDeployment may refer to a template to which none of its MachineSets refers: it is paused, or has only just been created.
func UsedTemplates(ctx context.Context, from client.Reader, p conversion.Platform, namespace string) (sets.Set[string], error) {
	used := sets.New[string]()
	referred := func(o *unstructured.Unstructured) string {
		name, _, _ := unstructured.NestedString(o.Object, "spec", "template", "spec", "infrastructureRef", "name")
		return name
	}
	for _, users := range []struct {
		kind     schema.GroupVersionKind
		template func(*unstructured.Unstructured) string
	}{
		{clusterv1.GroupVersion.WithKind("MachineSet"), referred},
		{DeploymentKind, referred},
		{p.InfraMachine.GroupVersionKind, func(o *unstructured.Unstructured) string {
			return o.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation]
		}},
	} {
		found, err := served.List(ctx, from, users.kind, namespace, client.UnsafeDisableDeepCopy)
		if err != nil && !served.Missing(err) {
			return nil, err
		}
		for _, o := range found {
			used.Insert(users.template(o))
		}
	}
	return used, nil
}

// TemplateOfControlPlane returns the name of the template to which the ControlPlaneMachineSet of a namespace refers, "" if there is none.
func TemplateOfControlPlane(ctx context.Context, from client.Reader, namespace string) (string, error) {
	set, err := served.Get(ctx, from, machinev1.GroupVersion.WithKind(controlplane.Kind), namespace, controlplane.Name)
	if err != nil || set == nil {
		return "", err
	}
	raw, err := json.Marshal(set.Object)
	if err != nil {
		return "", err
	}
	member, err := controlplane.Template(raw)
	if err != nil || member == nil {
		return "", err
	}
	return member.Spec.InfrastructureRef.Name, nil
}
