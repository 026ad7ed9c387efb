// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/policies/authority"
)

// Name is the name of Poundlock's objects in the manifests.
const Name = "poundlock"

// The resources of Poundlock's own objects.
var (
	Deployments = appsv1.SchemeGroupVersion.WithResource("deployments")
	Leases      = coordinationv1.SchemeGroupVersion.WithResource("leases")
	Webhooks    = []schema.GroupVersionResource{
		admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"),
		admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations"),
	}
)

// Of returns whether Poundlock's webhooks answer. It sends a Lease as a dry run, which they answer with a warning. No policy judges a Lease, so nothing else
// sends this warning.
func Of(ctx context.Context, p *cli.Plugin, namespace string) (Presence, error) {
	answers := &listener{}
	client, err := p.Client(answers)
	if err != nil {
		return NotAsked, err
	}
	lease := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": authority.ProbeName, "namespace": namespace},
	}}
	_, err = client.Resource(Leases).Namespace(namespace).Create(ctx, lease,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: cli.FieldManager})
	switch {
	case answers.poundlock:
		return Answers, nil // whatever else became of the request
	case apierrors.IsForbidden(err):
		return NotAsked, nil
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err):
		return Silent, nil
	}
	return NotAsked, fmt.Errorf("trying whether Poundlock answers: %w", err)
}

// Try returns the signs of whether Poundlock runs, or the error of reading them.
func Try(ctx context.Context, p *cli.Plugin, namespace string) (Seen, error) {
	is, err := Of(ctx, p, namespace)
	if err != nil {
		return Seen{}, err
	}
	return signs(ctx, p, namespace, is), nil
}

// Signs returns the signs of whether Poundlock runs. A sign that cannot be read counts as unknown.
func Signs(ctx context.Context, p *cli.Plugin, namespace string) Seen {
	is, err := Of(ctx, p, namespace)
	if err != nil {
		is = NotAsked
	}
	return signs(ctx, p, namespace, is)
}

func signs(ctx context.Context, p *cli.Plugin, namespace string, is Presence) Seen {
	client, err := p.Client(nil)
	if err != nil {
		return Seen{Presence: is}
	}
	var lease Lease
	if u, err := client.Resource(Leases).Namespace(namespace).Get(ctx, Name, metav1.GetOptions{}); err == nil {
		var l coordinationv1.Lease
		if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &l) == nil && l.Spec.RenewTime != nil && l.Spec.LeaseDurationSeconds != nil {
			lease = Lease{Renewed: l.Spec.RenewTime.Time, Duration: time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second}
		}
	}
	return Seen{Presence: is, Lease: lease, Missing: missing(ctx, client)}
}

// listener records whether Poundlock's webhook has answered.
type listener struct{ poundlock bool }

// HandleWarningHeader looks for the webhook's answer in a warning.
func (l *listener) HandleWarningHeader(_ int, _, text string) {
	l.poundlock = l.poundlock || strings.HasPrefix(text, authority.ProbeAnswer)
}
