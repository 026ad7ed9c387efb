// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package capimanager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is long enough for a machine whose processors are busy with something else.
const patience = 90 * time.Second

var errDied = errors.New("it ended by itself")

// ready waits until the manager works and the API server calls it.
func (m *Manager) ready(ctx context.Context) error {
	last := errors.New("no answer yet")
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if m.plane.PID(Name) == 0 {
			return false, errDied
		}
		now := m.healthy(ctx)
		if now == nil {
			now = m.called(ctx)
		}
		if ctx.Err() == nil { // else the error says only that time is up
			last = now
		}
		return now == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("not ready after %s: %w", patience, last)
	}
	return err
}

func (m *Manager) healthy(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.health+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", answer.Status)
	}
	return nil
}

// called returns nil if the API server calls the manager. It tries three creations as dry runs, of kinds for which nobody else has webhooks. The first is in an
// old version: its success shows that the API server can have it converted. A label on the second shows that the API server calls the mutating webhooks. A
// refusal of the third shows that it calls the validating ones.
func (m *Manager) called(ctx context.Context) error {
	if err := m.admin.Create(ctx, drainRule(), client.DryRunAll); err != nil {
		return err
	}
	good := deployment("probe")
	if err := m.admin.Create(ctx, good, client.DryRunAll); err != nil {
		return err
	}
	if good.GetLabels()[clusterv1.ClusterNameLabel] != "probe" {
		return errors.New("the API server does not call the mutating webhooks yet")
	}
	err := m.admin.Create(ctx, deployment("another"), client.DryRunAll)
	if err == nil || !strings.Contains(err.Error(), "must be set to the same value") {
		return fmt.Errorf("the API server does not call the validating webhooks yet (%w)", err)
	}
	return nil
}

func drainRule() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDrainRule",
		"metadata": map[string]any{"name": "probe", "namespace": "default"},
		"spec":     map[string]any{"drain": map[string]any{"behavior": "Skip"}},
	}}
}

// deployment returns a MachineDeployment of the cluster "probe". It is valid if its template is of that cluster, too.
func deployment(templateCluster string) *unstructured.Unstructured {
	labels := map[string]any{"probe": "probe"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
		"metadata": map[string]any{"name": "probe", "namespace": "default"},
		"spec": map[string]any{
			"clusterName": "probe", "replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{
					"clusterName": templateCluster, "bootstrap": map[string]any{"dataSecretName": "probe"},
					"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachineTemplate", "name": "probe"},
				},
			},
		},
	}}
}
