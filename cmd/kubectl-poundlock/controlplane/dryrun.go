// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// trial records the API server's warnings.
type trial struct{ warned []string }

// HandleWarningHeader records a warning.
func (t *trial) HandleWarningHeader(_ int, _, text string) { t.warned = append(t.warned, text) }

// admission returns whether a set may be stored, by the webhook's rules or by the API server's answer to a dry run.
func (m *masters) admission(ctx context.Context, t *trial, server bool, proposed *unstructured.Unstructured,
	in policies.ControlPlane) (*Admission, error) {
	stored := m.stored
	if stored != nil && stored.GetName() != proposed.GetName() {
		stored = nil
	}
	if !server {
		return Judge(stored, proposed, in)
	}
	t.warned = nil
	out := &Admission{By: ByServer, Operation: string(admissionv1.Update)}
	sets := m.client.Resource(controlPlaneSets).Namespace(m.namespace)
	var err error
	if stored == nil {
		out.Operation = string(admissionv1.Create)
		_, err = sets.Create(ctx, proposed, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: cli.FieldManager})
	} else {
		_, err = sets.Update(ctx, proposed, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: cli.FieldManager})
	}
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return out, err // the API server gave no answer
	}
	if out.Allowed = err == nil; err != nil {
		out.Refusals = append(out.Refusals, Opinion{Message: err.Error()})
	}
	for _, text := range printers.Whole(t.warned) {
		out.Warnings = append(out.Warnings, Opinion{Message: text})
	}
	return out, nil
}

// try asks the API server how admission changes the Machines that the plan compares with and creates. It sends dry runs, as the operator does, so nothing is
// stored.
func (m *masters) try(ctx context.Context, s *sight) {
	plan := controlplane.Make(s.view())
	trials := plan.NeededTrials()
	for _, t := range trials {
		t.Machine.OwnerReferences = nil // whether the user may refer to the set is irrelevant for the Machine
	}
	answers, err := facts.Try(ctx, dryRunner{m.client}, trials)
	for _, a := range answers {
		if a.Unanswered != "" && err == nil {
			err = errors.New(a.Unanswered)
		}
	}
	s.in.Trials = answers
	if err != nil {
		fmt.Fprintf(m.ErrOut, "This plan does not show how admission would change new Machines, because a dry run of their creation failed: %v\n", err)
	}
}
