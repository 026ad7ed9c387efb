// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"context"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// VersionOperator simulates what the cluster-version-operator writes to an object that Poundlock looks at (row 46 of the survey of writers). It makes the
// release's MachineHealthCheck equal to what the release has, by a PUT whenever the spec differs in anything. It looks at the spec, and at the labels,
// annotations and owners that the release has, and at nothing else of the object.
type VersionOperator struct{}

// Identity is the operator's service account.
func (VersionOperator) Identity() string {
	return "system:serviceaccount:openshift-cluster-version:default"
}

// released is the check, with the fields that the release has. The check differs if its spec has another field.
const released = `{apiVersion: machine.openshift.io/v1beta1, kind: MachineHealthCheck,
  metadata: {name: machine-api-termination-handler, namespace: openshift-machine-api,
  annotations: {include.release.openshift.io/self-managed-high-availability: "true"}},
  spec: {maxUnhealthy: 100%, nodeStartupTimeout: 10m, selector: {matchLabels: {machine.openshift.io/interruptible-instance: ""}},
    unhealthyConditions: [{type: Terminating, status: "True", timeout: 0s}]}}`

// Pass is one sync of the operator.
func (VersionOperator) Pass(ctx context.Context, c client.Client) error {
	want, live := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(released), &want.Object); err != nil {
		return err
	}
	live.SetGroupVersionKind(want.GroupVersionKind())
	switch err := c.Get(ctx, client.ObjectKeyFromObject(want), live); {
	case apierrors.IsNotFound(err):
		return c.Create(ctx, want)
	case err != nil:
		return err
	case reflect.DeepEqual(live.Object["spec"], want.Object["spec"]):
		return nil
	}
	live.Object["spec"] = want.Object["spec"]
	live.SetLabels(want.GetLabels())
	live.SetAnnotations(want.GetAnnotations())
	live.SetOwnerReferences(want.GetOwnerReferences())
	return quiet(c.Update(ctx, live))
}
