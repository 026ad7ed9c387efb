// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// SparedUntilReady is Poundlock's value of SparedAnnotation, on a Cluster API Machine that has moved there without an instance. Cluster API's
// check counts the start of a Machine from the later of its creation and of the time at which its infrastructure was ready. The mirror is as old as the
// Machine, so a check that finds it before its infrastructure is ready would delete it, and the instance that Cluster API has just created with it.
const (
	SparedAnnotation = clusterv1.MachineSkipRemediationAnnotation
	SparedUntilReady = "poundlock-until-infrastructure-is-ready"
)

// Spares reports whether no check of Cluster API's may remediate a Machine when its present move ends: it moves there without an instance.
func Spares(machine *policies.Object, shape Shape) bool {
	return machine != nil && machine.Kind == "Machine" && !machine.Deleting() && providerID(machine) == "" &&
		shape.Current == Migrating && Source(shape) == MachineAPI
}
