// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AutoscalerOperator simulates what the cluster-autoscaler-operator writes to MachineSets (row 45 of the survey of writers). It writes what a MachineAutoscaler
// asks for, in one PUT of the whole object, which it has read without a Go type. It only supports the Machine API's MachineSet.
type AutoscalerOperator struct {
	client    client.Client
	namespace string
}

// AutoscalerOperatorIdentity is the operator's service account.
const AutoscalerOperatorIdentity = "system:serviceaccount:openshift-machine-api:cluster-autoscaler-operator"

// The annotations that the operator writes.
const (
	MinSize     = "machine.openshift.io/cluster-api-autoscaler-node-group-min-size"
	MaxSize     = "machine.openshift.io/cluster-api-autoscaler-node-group-max-size"
	TargetOwner = "autoscaling.openshift.io/machineautoscaler"
	Capacity    = "capacity.cluster-autoscaler.kubernetes.io/cpu"
)

// NewAutoscalerOperator returns an operator that writes in one namespace of the Machine API.
func NewAutoscalerOperator(config *rest.Config, namespace string) (AutoscalerOperator, error) {
	c, err := as(config, AutoscalerOperatorIdentity, "cluster-autoscaler-operator")
	return AutoscalerOperator{c, namespace}, err
}

// Limit writes the limits of a MachineAutoscaler with the set's name.
func (a AutoscalerOperator) Limit(ctx context.Context, set string, least, most int) error {
	return a.put(ctx, set, func(annotations map[string]string) {
		annotations[MinSize], annotations[MaxSize] = strconv.Itoa(least), strconv.Itoa(most)
		annotations[TargetOwner], annotations[Capacity] = a.namespace+"/"+set, "4"
	})
}

// Release removes the limits, because the MachineAutoscaler is being deleted. The MachineAutoscaler keeps its finalizer until this has succeeded.
func (a AutoscalerOperator) Release(ctx context.Context, set string) error {
	return a.put(ctx, set, func(annotations map[string]string) {
		for _, name := range []string{MinSize, MaxSize, TargetOwner} {
			delete(annotations, name)
		}
	})
}

func (a AutoscalerOperator) put(ctx context.Context, set string, change func(map[string]string)) error {
	return put(ctx, a.client, object(schema.GroupVersion{Group: "machine.openshift.io", Version: "v1beta1"}, "MachineSet", a.namespace, set), change)
}
