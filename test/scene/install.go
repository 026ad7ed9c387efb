// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/webhooks"
)

var dryRun = client.DryRunAll

// furnish brings the cluster to what it was before Poundlock came.
func (s *Stage) furnish(ctx context.Context) error {
	all, err := objects(clusterYAML)
	if err != nil {
		return err
	}
	return apply(ctx, s.Admin, all...)
}

// install does what `kubectl apply` of the manifests does in a cluster, but that the webhooks are at an address of this
// machine, which is another at each start.
func (s *Stage) install(ctx context.Context) error {
	if err := s.choosePorts(); err != nil {
		return err
	}
	identity, err := s.Plane.As(Identity)
	if err != nil {
		return err
	}
	if err := s.Plane.Kubeconfig(identity, s.identityFile()); err != nil {
		return err
	}
	all, err := s.manifests()
	if err != nil {
		return err
	}
	return apply(ctx, s.Admin, all...)
}

// manifests are Poundlock's own objects.
func (s *Stage) manifests() ([]*unstructured.Unstructured, error) {
	roles, err := objects(rolesYAML)
	if err != nil {
		return nil, err
	}
	configurations, err := s.webhookConfigurations()
	return append(roles, configurations...), err
}

func (s *Stage) webhookConfigurations() ([]*unstructured.Unstructured, error) {
	validating, mutating := webhooks.Configurations(webhooks.ConfigOptions{
		Platforms: []webhooks.Platform{webhooks.AWS()}, Pairs: s.Pairs, Own: []string{Identity},
		URL: "https://" + local(s.manager.webhooks),
	})
	var out []*unstructured.Unstructured
	for _, configuration := range []any{validating, mutating} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
		if err != nil {
			return nil, err
		}
		out = append(out, &unstructured.Unstructured{Object: content})
	}
	return out, nil
}

// createFleet makes the fleet in a new cluster; in one that has been played with it changes nothing.
func (s *Stage) createFleet(ctx context.Context) error {
	mark := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "fleet-was-created", "namespace": s.Pairs[0].MachineAPI},
	}}
	err := s.Admin.Get(ctx, client.ObjectKeyFromObject(mark), mark)
	if !apierrors.IsNotFound(err) {
		return err
	}
	fleet, err := objects(fleetYAML)
	if err != nil {
		return err
	}
	return create(ctx, s.Admin, append(fleet, mark)...)
}

func (s *Stage) waitForFleet(ctx context.Context) error {
	var missing string
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		var err error
		missing, err = s.missing(ctx)
		return missing == "" && err == nil, err
	})
	if wait.Interrupted(err) && missing != "" {
		return fmt.Errorf("the fleet is not ready: %s; Poundlock's log is %s", missing, s.Plane.Log(Poundlock))
	}
	return err
}
