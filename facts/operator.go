// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// OtherOperator returns the name of the Deployment of OpenShift's own operator of ControlPlaneMachineSets, if that operator is to run in a namespace; ""
// otherwise.
func OtherOperator(ctx context.Context, r client.Reader, namespace string) (string, error) {
	d, err := served.Get(ctx, r, appsv1.SchemeGroupVersion.WithKind("Deployment"), namespace, controlplane.OtherOperator)
	if err != nil || d == nil {
		return "", err
	}
	if replicas, given, _ := unstructured.NestedInt64(d.Object, "spec", "replicas"); given && replicas == 0 {
		return "", nil
	}
	return namespace + "/" + d.GetName(), nil
}
