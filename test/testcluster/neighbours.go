// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/neighbours"
)

// NeighboursProcess is the name of the process that simulates the neighbours which every cluster has.
const NeighboursProcess = "neighbours"

// Admit gives writers the RBAC rights for what they write. In a cluster each has a role of its own, but admission does not look at roles.
func (s *Stage) Admit(ctx context.Context, writers ...neighbours.Writer) error {
	role := &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: "simulated-neighbours"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"machine.openshift.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"machines", "machinesets", "machinehealthchecks"},
				Verbs: []string{"get", "list", "update", "patch"}},
		},
	}
	binding := &rbacv1.ClusterRoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: role.APIVersion, Kind: "ClusterRoleBinding"}, ObjectMeta: role.ObjectMeta,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}}
	for _, w := range writers {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: w.Identity()})
	}
	for _, o := range []any{role, binding} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return err
		}
		if err := s.Admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content}), client.FieldOwner("stage"),
			client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
}

// startNeighbours starts the neighbours that every cluster has. They write from then on.
func (s *Stage) startNeighbours(ctx context.Context) error {
	if err := s.Admit(ctx, slices.Collect(maps.Values(neighbours.Residents("worker-a")))...); err != nil {
		return err
	}
	return s.attach(NeighboursProcess)
}
