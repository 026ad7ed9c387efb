// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StatusWriter simulates any controller of the Machine API that only knows its own conditions (rows 3, 5, 9 and 11 of the survey of writers). It sends the
// whole list of conditions, without those that it does not know, as a merge patch of status without a resourceVersion.
type StatusWriter struct{ Kind string }

// Identity is the service account of the Machine API's controllers.
func (StatusWriter) Identity() string { return MachineAPIIdentity }

// Pass looks at all objects of the kind once.
func (s StatusWriter) Pass(ctx context.Context, c client.Client) error {
	return each(ctx, c, s.Kind, func(o *unstructured.Unstructured) error {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		known := slices.DeleteFunc(conditions, func(c any) bool {
			condition, _ := c.(map[string]any)
			return condition["type"] == "Synchronized" || condition["type"] == "AuthoritySettled"
		})
		data, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": known}})
		if err != nil {
			return err
		}
		return c.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, data))
	})
}

// StorageMigrator simulates the storage version migrator (row 74 of the survey of writers). It sends each object back as it read it.
type StorageMigrator struct{ Kind string }

// Identity is the migrator's service account.
func (StorageMigrator) Identity() string {
	return "system:serviceaccount:openshift-kube-storage-version-migrator:kube-storage-version-migrator-sa"
}

// Pass rewrites all objects of the kind.
func (s StorageMigrator) Pass(ctx context.Context, c client.Client) error {
	return each(ctx, c, s.Kind, func(o *unstructured.Unstructured) error { return c.Update(ctx, o) })
}

// GitOps simulates Argo CD, which knows its objects by an annotation and applies what their manifests have (row 70 of the survey of writers). The manifest here
// has only that annotation and a label, for one set.
type GitOps struct{ App, Set string }

// Identity is the service account of Argo CD's application controller.
func (GitOps) Identity() string {
	return "system:serviceaccount:openshift-gitops:openshift-gitops-argocd-application-controller"
}

// Pass is one sync of Argo CD.
func (g GitOps) Pass(ctx context.Context, c client.Client) error {
	return each(ctx, c, "MachineSet", func(o *unstructured.Unstructured) error {
		if o.GetName() != g.Set {
			return nil
		}
		manifest := &unstructured.Unstructured{Object: map[string]any{}}
		manifest.SetGroupVersionKind(o.GroupVersionKind())
		manifest.SetNamespace(o.GetNamespace())
		manifest.SetName(o.GetName())
		manifest.SetLabels(map[string]string{"app.kubernetes.io/instance": g.App})
		manifest.SetAnnotations(map[string]string{"argocd.argoproj.io/tracking-id": g.App + ":machine.openshift.io/MachineSet:" +
			o.GetNamespace() + "/" + o.GetName()})
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(manifest), client.FieldOwner("argocd-controller"), client.ForceOwnership)
	})
}

// Residents returns the neighbours that every cluster has, as they behave when nothing changes, and GitOps for the MachineSet `set`.
func Residents(set string) map[string]Writer {
	return map[string]Writer{
		"the provider's MachineSet controller": SetSizes{VCPU: "4", MemoryMb: "16384"},
		"machine-config-controller":            ConfigController{AMI: "ami-0f3c7d07486cad139"}, // the AMI that the fleet of a stage has
		"cluster-version-operator":             VersionOperator{},
		"Machine API's machine controller":     StatusWriter{Kind: "Machine"},
		"Machine API's MachineSet controller":  StatusWriter{Kind: "MachineSet"},
		"storage version migrator, Machines":   StorageMigrator{Kind: "Machine"},
		"storage version migrator, sets":       StorageMigrator{Kind: "MachineSet"},
		"GitOps":                               GitOps{App: "fleet", Set: set},
	}
}
