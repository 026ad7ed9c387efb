// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/status"
	"github.com/poundlock/poundlock/policies/authority"
)

// present has the API server ask Poundlock's webhooks about a Lease that it does not store. Their warning is the answer: no policy judges a
// Lease, so nobody else's can be taken for it.
func (p *plugin) present(ctx context.Context, namespace string) (status.Presence, error) {
	heard := &listener{}
	client, err := p.Client(heard)
	if err != nil {
		return status.NotAsked, err
	}
	lease := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": authority.ProbeName, "namespace": namespace},
	}}
	_, err = client.Resource(leases).Namespace(namespace).Create(ctx, lease, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: cli.FieldManager})
	switch {
	case heard.poundlock:
		return status.Answers, nil // whatever else became of the request
	case apierrors.IsForbidden(err):
		return status.NotAsked, nil
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err):
		return status.Silent, nil
	}
	return status.NotAsked, fmt.Errorf("trying whether Poundlock answers: %w", err)
}

// away returns that nobody answers or leads, and since when; "" where all is well, or where that is unknown.
func (p *plugin) away(ctx context.Context, namespace string) string {
	is, lease := p.signs(ctx, namespace)
	return status.Away(is, lease, p.Now())
}

// signs are what shows whether Poundlock runs.
func (p *plugin) signs(ctx context.Context, namespace string) (status.Presence, status.Lease) {
	is, err := p.present(ctx, namespace)
	if err != nil {
		is = status.NotAsked
	}
	client, err := p.Client(nil)
	if err != nil {
		return is, status.Lease{}
	}
	var lease status.Lease
	if u, err := client.Resource(leases).Namespace(namespace).Get(ctx, leaseName, metav1.GetOptions{}); err == nil {
		var l coordinationv1.Lease
		if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &l) == nil && l.Spec.RenewTime != nil && l.Spec.LeaseDurationSeconds != nil {
			lease = status.Lease{Renewed: l.Spec.RenewTime.Time, Duration: time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second}
		}
	}
	return is, lease
}

// leaseName is what the managers lead by.
const leaseName = "poundlock"

// listener hears a webhook of Poundlock's.
type listener struct{ poundlock bool }

// HandleWarningHeader listens for the answer.
func (l *listener) HandleWarningHeader(_ int, _, text string) {
	l.poundlock = l.poundlock || strings.HasPrefix(text, authority.ProbeAnswer)
}
