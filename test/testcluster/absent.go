// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/embedded"
)

// ofClusterAPI reports whether a CRD belongs to Cluster API or to one of its providers.
func ofClusterAPI(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.Group == "cluster.x-k8s.io" || strings.HasSuffix(crd.Spec.Group, ".cluster.x-k8s.io")
}

func (s *Stage) clusterAPIDefinitions(ctx context.Context) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := embedded.CRDs(ctx, s.kit.Platform.Name)
	return slices.DeleteFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return !ofClusterAPI(crd) }), err
}

// InstallClusterAPI installs the CRDs of Cluster API and of the platform's provider, and the Cluster.
func (s *Stage) InstallClusterAPI(ctx context.Context) error {
	crds, err := s.clusterAPIDefinitions(ctx)
	if err != nil {
		return err
	}
	if err := s.Plane.InstallCRDs(ctx, crds...); err != nil {
		return err
	}
	return s.applyCluster(ctx)
}

// UninstallClusterAPI deletes what InstallClusterAPI installed, against Poundlock's advice, and returns when the API server has removed it.
func (s *Stage) UninstallClusterAPI(ctx context.Context) error {
	crds, err := s.clusterAPIDefinitions(ctx)
	if err != nil {
		return err
	}
	left := map[string]error{}
	for _, crd := range crds {
		left[crd.Name] = nil
	}
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for name := range left {
			if left[name] = s.uninstall(ctx, name); apierrors.IsNotFound(left[name]) {
				delete(left, name)
			}
		}
		return len(left) == 0, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("deleting the CRDs of Cluster API: %d are left: %v", len(left), left), err)
	}
	return nil
}

// Restore recreates what somebody deleted of everything that the fleet needs: CRDs, namespaces and what the manifests keep there, and the Cluster. It recreates
// no Machine.
func (s *Stage) Restore(ctx context.Context) error {
	crds, err := embedded.CRDs(ctx, s.kit.Platform.Name)
	if err != nil {
		return err
	}
	if err := s.Plane.InstallCRDs(ctx,
		slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Group == "cluster.x-k8s.io" })...); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.furnish, s.giveKubeconfig, s.ClusterAPI.Install, s.applyCluster, s.applyManifests, s.initialize} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Ready returns an error if the manager's /readyz does not answer that all is well.
func (s *Stage) Ready(ctx context.Context) error { return s.managerReady(ctx) }

// uninstall removes Poundlock's protection from a CRD (it breaks the glass), and deletes the CRD.
func (s *Stage) uninstall(ctx context.Context, name string) error {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name}}}
	allow := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"poundlock.openshift.io/allow-deletion":"true"}}}`))
	if err := s.Admin.Patch(ctx, o, allow); err != nil {
		return err
	}
	return s.Admin.Delete(ctx, o)
}

// Machine returns a Machine of the Machine API as the fleet has it, with another name.
func (s *Stage) Machine(name string) (*unstructured.Unstructured, error) {
	all, err := fleet(s.kit)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Machine" })
	if i < 0 {
		return nil, errors.New("the fleet has no Machine")
	}
	all[i].SetName(name)
	return all[i], nil
}
