// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/test/capimanager"
)

// cluster is the name of the only cluster. Cluster API's Cluster has it, too.
const cluster = "lock-7x2k9"

// startClusterAPI does what the installer of a cluster does, in the same order: Cluster API's core manager runs before its Cluster exists.
func (s *Stage) startClusterAPI(ctx context.Context) error {
	if err := s.giveKubeconfig(ctx); err != nil {
		return err
	}
	var err error
	if s.ClusterAPI, err = capimanager.Start(ctx, s.Plane, capimanager.Options{Namespace: s.Pairs[0].ClusterAPI, Out: s.options.Out}); err != nil {
		return err
	}
	return s.initialize(ctx)
}

// giveKubeconfig creates the Secret by which Cluster API reaches the cluster that it manages, which is this one. The Secret must exist before the manager looks
// for it: a manager that does not find it looks again only half a minute later.
func (s *Stage) giveKubeconfig(ctx context.Context) error {
	identity, err := s.Plane.As("system:serviceaccount:" + s.Pairs[0].ClusterAPI + ":cluster-capi-operator")
	if err != nil {
		return err
	}
	path := filepath.Join(s.Plane.Dir(), cluster+".kubeconfig")
	if err := s.Plane.Kubeconfig(identity, path); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return apply(ctx, s.Admin, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
		"metadata": map[string]any{
			"name": cluster + "-kubeconfig", "namespace": s.Pairs[0].ClusterAPI,
			"labels": map[string]any{clusterv1.ClusterNameLabel: cluster},
		},
		"stringData": map[string]any{"value": string(text)},
	}})
}

// initialize creates the Cluster and waits until the core manager reaches it. Before that, the core manager finds no Node. initialize writes that the control
// plane is initialized until that stays. The core manager takes the value True as final once it has read it, but may write the opposite before that.
func (s *Stage) initialize(ctx context.Context) error {
	missing := "its condition ControlPlaneInitialized does not stay"
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster"}}
		err := s.Admin.Get(ctx, client.ObjectKey{Namespace: s.Pairs[0].ClusterAPI, Name: cluster}, o)
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
		if conditionOf(o, "ControlPlaneInitialized") != "True" {
			return false, s.applyCluster(ctx)
		}
		missing = without(o, "InfrastructureReady", "RemoteConnectionProbe")
		return missing == "", nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("waiting for Cluster API, which does not take up the Cluster %s: %s; its log is %s", cluster, missing, s.Plane.Log(capimanager.Name))
	}
	return err
}

func (s *Stage) applyCluster(ctx context.Context) error {
	all, err := clusterAPIObjects(s.kit)
	if err != nil {
		return err
	}
	return apply(ctx, s.Admin, all...)
}

// clusterAPIObjects returns the objects that Cluster API has on the kit's platform. Somebody else, the installer, manages the infrastructure cluster.
func clusterAPIObjects(kit conversiontest.Kit) ([]*unstructured.Unstructured, error) {
	infra := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{
			"name": cluster, "namespace": clusterAPI,
			"labels":      map[string]any{clusterv1.ClusterNameLabel: cluster},
			"annotations": map[string]any{clusterv1.ManagedByAnnotation: "cluster-infrastructure-operator"},
		},
		"spec": kit.InfraCluster, "status": map[string]any{"ready": true},
	}}
	infra.SetGroupVersionKind(kit.Platform.InfraCluster.GroupVersionKind)
	all, err := objects(bytes.ReplaceAll(clusterAPIYAML, []byte("INFRACLUSTER"), []byte(kit.Platform.InfraCluster.Kind)))
	return append([]*unstructured.Unstructured{infra}, all...), err
}

// without returns a sentence about the first of the conditions that is not True, "" if all are.
func without(o *unstructured.Unstructured, conditions ...string) string {
	for _, c := range conditions {
		if status := conditionOf(o, c); status != "True" {
			return fmt.Sprintf("its condition %s is %q", c, status)
		}
	}
	return ""
}

func conditionOf(o *unstructured.Unstructured, kind string) string {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if condition, ok := c.(map[string]any); ok && condition["type"] == kind {
			status, _ := condition["status"].(string)
			return status
		}
	}
	return ""
}
