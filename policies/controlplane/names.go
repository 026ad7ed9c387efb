// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies/authority"
)

// Selecting are the labels by which a generated set selects: the whole control plane, even where a Machine lacks the cluster's name.
func Selecting() map[string]string { return map[string]string{RoleLabel: master, TypeLabel: master} }

const master = "master"

// OfControlPlane reports whether labels are those of a Machine that a generated set selects.
func OfControlPlane(labels map[string]string) bool {
	return labels[RoleLabel] == master && labels[TypeLabel] == master
}

// Name is the only one that a ControlPlaneMachineSet can have.
const Name = "cluster"

// OtherOperator is the Deployment of OpenShift's own operator of ControlPlaneMachineSets, in the namespace of the Machine API.
const OtherOperator = "control-plane-machine-set-operator"

// OtherOperatorRuns is an event's note, and a log message: while that operator runs, Poundlock does nothing.
func OtherOperatorRuns(deployment string) string {
	return "Poundlock does nothing to the control plane: OpenShift's own operator of ControlPlaneMachineSets runs too, Deployment " + deployment +
		", and both would create and delete control plane Machines. Run Poundlock without --control-plane, or stop that Deployment"
}

// Roles are the labels of a control plane's Nodes. Either of them identifies one.
func Roles() []string {
	return []string{machineapi.ControlPlaneRole, machineapi.MasterRole}
}

// Finalizer keeps a set until its Machines no longer refer to it as their owner.
const Finalizer = "controlplanemachineset.machine.openshift.io"

// SpecPath is the path of a set's spec.
var SpecPath = field.NewPath("spec")

// Kind and Resource are how the API server calls a ControlPlaneMachineSet.
const (
	Kind     = authority.ControlPlane
	Resource = "controlplanemachinesets"
)

// Labels of the Machine API that a control plane's Machines have.
const (
	ClusterLabel = machinev1beta1.MachineClusterIDLabel
	RoleLabel    = machineapi.RoleLabel
	TypeLabel    = machineapi.TypeLabel
)
