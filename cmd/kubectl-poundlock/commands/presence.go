// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// presence is what can be told of Poundlock in the cluster.
type presence int

const (
	// unknown: whoever runs the command may not try.
	unknown presence = iota
	answers
	silent
)

// present has the API server ask Poundlock's webhooks about a Lease that it does not store. Their warning is the answer: no policy judges a Lease, so nobody else's can be
// taken for it.
func (p *plugin) present(ctx context.Context, namespace string) (presence, error) {
	heard := &listener{}
	client, err := p.client(heard)
	if err != nil {
		return unknown, err
	}
	lease := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": authority.ProbeName, "namespace": namespace},
	}}
	_, err = client.Resource(leases).Namespace(namespace).Create(ctx, lease, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
	switch {
	case heard.poundlock:
		return answers, nil // whatever else became of the request
	case apierrors.IsForbidden(err):
		return unknown, nil
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err):
		return silent, nil
	}
	return unknown, fmt.Errorf("trying whether Poundlock answers: %w", err)
}

// listener hears a webhook of Poundlock's.
type listener struct{ poundlock bool }

// HandleWarningHeader listens for the answer.
func (l *listener) HandleWarningHeader(_ int, _, text string) {
	l.poundlock = l.poundlock || strings.HasPrefix(text, authority.ProbeAnswer)
}
