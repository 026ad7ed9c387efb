// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// SparedUntilReady is Poundlock's value of SparedAnnotation, on a Cluster API Machine that has moved to Cluster API without an instance. Cluster API's
// MachineHealthCheck times the start of a Machine from its creation, or from the time at which its infrastructure was ready if that is later. The mirror is as
// old as the Machine API Machine. So without this annotation a check would delete the Machine before its infrastructure is ready, with the instance that
// Cluster API has just created.
const (
	SparedAnnotation = clusterv1.MachineSkipRemediationAnnotation
	SparedUntilReady = "poundlock-until-infrastructure-is-ready"
)

// Spares reports whether a Machine moves to Cluster API without an instance, so that Cluster API's checks have to spare it when the move ends
// (SparedUntilReady).
func Spares(machine *policies.Object, shape Shape) bool {
	return machine != nil && machine.Kind == "Machine" && !machine.Deleting() && providerID(machine) == "" &&
		shape.Current == Migrating && Source(shape) == MachineAPI
}
