// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/controlplane"
	"github.com/poundlock/poundlock/policies"
)

// trial keeps what the API server warns of.
type trial struct{ warned []string }

// HandleWarningHeader keeps a warning.
func (t *trial) HandleWarningHeader(_ int, _, text string) { t.warned = append(t.warned, text) }

// admission asks the rules, or the server, whether a set may be stored.
func (m *masters) admission(ctx context.Context, t *trial, server bool, proposed *unstructured.Unstructured,
	in policies.ControlPlane) (*controlplane.Admission, error) {
	stored := m.stored
	if stored != nil && stored.GetName() != proposed.GetName() {
		stored = nil
	}
	if !server {
		return controlplane.Judge(stored, proposed, in)
	}
	t.warned = nil
	out := &controlplane.Admission{By: controlplane.ByServer, Operation: string(admissionv1.Update)}
	sets := m.client.Resource(controlPlaneSets).Namespace(m.namespace)
	var err error
	if stored == nil {
		out.Operation = string(admissionv1.Create)
		_, err = sets.Create(ctx, proposed, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: cli.FieldManager})
	} else {
		_, err = sets.Update(ctx, proposed, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: cli.FieldManager})
	}
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return out, err // nobody answered
	}
	if out.Allowed = err == nil; err != nil {
		out.Refusals = append(out.Refusals, controlplane.Opinion{Message: err.Error()})
	}
	for _, text := range t.warned {
		out.Warnings = append(out.Warnings, controlplane.Opinion{Message: text})
	}
	return out, nil
}
