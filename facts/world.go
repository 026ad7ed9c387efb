// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
)

// World reads everything in a namespace from which a ControlPlaneMachineSet is generated.
func World(ctx context.Context, r client.Reader, namespace string) (generator.World, error) {
	out := generator.World{Namespace: namespace}
	kind := machinev1beta1.GroupVersion.WithKind
	if err := listInto(ctx, r, &out.Machines, kind("Machine"), client.InNamespace(namespace), client.MatchingLabels(controlplane.Selecting())); err != nil {
		return out, err
	}
	if err := listInto(ctx, r, &out.MachineSets, kind("MachineSet"), client.InNamespace(namespace)); err != nil {
		return out, err
	}
	in := &policies.ControlPlane{}
	err := infrastructure(ctx, r, in)
	out.Infrastructure = in.Infrastructure
	return out, err
}
