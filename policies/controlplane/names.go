// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies/authority"
)

// Selecting returns the labels by which a generated set selects its Machines. They select the whole control plane, even a Machine that lacks the label with the
// cluster's name.
func Selecting() map[string]string { return map[string]string{RoleLabel: master, TypeLabel: master} }

const master = "master"

// OfControlPlane reports whether a generated set selects a Machine with these labels.
func OfControlPlane(labels map[string]string) bool {
	return labels[RoleLabel] == master && labels[TypeLabel] == master
}

// Name is the only name that a ControlPlaneMachineSet can have.
const Name = "cluster"

// OtherOperator is the Deployment of OpenShift's own operator of ControlPlaneMachineSets, in the namespace of the Machine API.
const OtherOperator = "control-plane-machine-set-operator"

// OtherOperatorRuns returns the text of an event and of a log message, which says that Poundlock does nothing while OpenShift's own operator runs.
func OtherOperatorRuns(deployment string) string {
	return "Poundlock changes nothing in the control plane, because OpenShift's own operator of ControlPlaneMachineSets runs too: Deployment " + deployment +
		". Both operators would create and delete control plane Machines. Run Poundlock without --control-plane, or stop that Deployment"
}

// Roles returns the labels that mark Nodes of a control plane. A Node with any one of them belongs to the control plane.
func Roles() []string {
	return []string{machineapi.ControlPlaneRole, machineapi.MasterRole}
}

// Finalizer keeps a deleted set until its Machines no longer refer to the set as their owner.
const Finalizer = "controlplanemachineset.machine.openshift.io"

// SpecPath is the path of a set's spec.
var SpecPath = field.NewPath("spec")

// Kind and Resource are the API's names for a ControlPlaneMachineSet and for the resource.
const (
	Kind     = authority.ControlPlane
	Resource = "controlplanemachinesets"
)

// Labels of Machine API that a control plane's Machines have.
const (
	ClusterLabel = machinev1beta1.MachineClusterIDLabel
	RoleLabel    = machineapi.RoleLabel
	TypeLabel    = machineapi.TypeLabel
)
