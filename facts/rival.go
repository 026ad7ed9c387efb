// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
)

// Rival reads live whether OpenShift's own migration runs beside Poundlock, as authority.Rival says it; "" for no.
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
		_, there, err := find(ctx, r, admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"), name)
		if err != nil {
			return "", err
		}
		if there {
			policies = append(policies, name)
		}
	}
	return authority.Rival(platform, deployments, policies), nil
}

func platformOf(ctx context.Context, r client.Reader) (string, error) {
	u, there, err := find(ctx, r, configv1.GroupVersion.WithKind("Infrastructure"), "cluster")
	if err != nil || !there {
		return "", err
	}
	platform, _, _ := unstructured.NestedString(u.Object, "status", "platformStatus", "type")
	return platform, nil
}

// find reads one object of the cluster, which may not be there, as its kind may not.
func find(ctx context.Context, r client.Reader, kind schema.GroupVersionKind, name string) (u *unstructured.Unstructured, there bool, err error) {
	u = &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	switch err := r.Get(ctx, client.ObjectKey{Name: name}, u); {
	case apierrors.IsNotFound(err) || served.Missing(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	return u, true, nil
}
