// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
)

// Rival reads from the API server whether OpenShift's own migration runs beside Poundlock. It returns the text of authority.Rival; "" if it does not run.
func Rival(ctx context.Context, r client.Reader, pairs authority.Pairs) (string, error) {
	platform, err := platformOf(ctx, r)
	if err != nil {
		return "", err
	}
	var deployments []unstructured.Unstructured
	for _, pair := range pairs {
		found := &unstructured.UnstructuredList{}
		found.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DeploymentList"))
		if err := r.List(ctx, found, client.InNamespace(pair.ClusterAPI)); err != nil {
			return "", fmt.Errorf("listing Deployments of %s: %w", pair.ClusterAPI, err)
		}
		deployments = append(deployments, found.Items...)
	}
	var policies []string
	for _, name := range authority.RivalPolicies() {
		found, err := served.Get(ctx, r, admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"), "", name)
		if err != nil {
			return "", err
		}
		if found != nil {
			policies = append(policies, name)
		}
	}
	return authority.Rival(platform, deployments, policies), nil
}

func platformOf(ctx context.Context, r client.Reader) (string, error) {
	u, err := served.Get(ctx, r, configv1.GroupVersion.WithKind("Infrastructure"), "", "cluster")
	if err != nil || u == nil {
		return "", err
	}
	platform, _, _ := unstructured.NestedString(u.Object, "status", "platformStatus", "type")
	return platform, nil
}
