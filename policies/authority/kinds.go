// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// Kind is one row of what can move between the APIs: everything that differs between the kinds, as data.
type Kind struct {
	// Name is the kind's name, the same in both APIs.
	Name string
	// Resource is its plural, the same in both APIs.
	Resource string
	// MachineAPI and ClusterAPI are the versions that Poundlock reads and writes.
	MachineAPI, ClusterAPI schema.GroupVersion
	// Infra is the kind of provider's object behind it: InfraMachine, InfraMachineTemplate, or "" for none.
	Infra string
	// Scales reports that the kind has a /scale subresource.
	Scales bool
	// Parent is the kind whose objects own this kind's, "" for none.
	Parent string
	// MachineAPIFinalizer and ClusterAPIFinalizer are the finalizers under which each API's controller promises to
	// clean up, "" where it has none.
	MachineAPIFinalizer, ClusterAPIFinalizer string
	// ObeysAnnotation: the Machine API's own controller of the kind obeys the pause annotation, and may have no other pause. The controller that OpenShift
	// ships ignores authority and acknowledges nothing.
	ObeysAnnotation bool
}

// ControlPlane is the kind of a control plane's set. It moves too, but has no twin, and so no row.
const ControlPlane = "ControlPlaneMachineSet"

// Kinds of the rules' provider side: a row on the two APIs' sides points at one of the first two.
const (
	InfraMachine         = "InfraMachine"
	InfraMachineTemplate = "InfraMachineTemplate"
	// InfraInstance is what some providers keep for each instance, beside the machine that owns it (InfraInstanceKind).
	InfraInstance = "InfraInstance"
)

var (
	machineAPI = machinev1beta1.GroupVersion
	clusterAPI = clusterv1.GroupVersion
)

// Kinds lists what can change hands. A kind of its own kind of twin is one row here and one conversion.
func Kinds() []Kind {
	return []Kind{
		{
			Name: "Machine", Resource: "machines", MachineAPI: machineAPI, ClusterAPI: clusterAPI,
			Infra: InfraMachine, Parent: "MachineSet",
			MachineAPIFinalizer: MachineAPIMachineFinalizer, ClusterAPIFinalizer: clusterv1.MachineFinalizer,
		},
		{
			Name: "MachineSet", Resource: "machinesets", MachineAPI: machineAPI, ClusterAPI: clusterAPI,
			Infra: InfraMachineTemplate, Scales: true,
			ClusterAPIFinalizer: clusterv1.MachineSetFinalizer,
		},
		{
			Name: "MachineHealthCheck", Resource: "machinehealthchecks", MachineAPI: machineAPI, ClusterAPI: clusterAPI,
			ObeysAnnotation: true,
		},
	}
}

// KindNamed returns the row of a kind.
func KindNamed(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// MachineAPIGVK is the kind as the Machine API has it.
func (k Kind) MachineAPIGVK() schema.GroupVersionKind { return k.MachineAPI.WithKind(k.Name) }

// ClusterAPIGVK is the kind as Cluster API has it.
func (k Kind) ClusterAPIGVK() schema.GroupVersionKind { return k.ClusterAPI.WithKind(k.Name) }

// GVKOf is the kind as an API has it.
func (k Kind) GVKOf(api API) schema.GroupVersionKind {
	if api == ClusterAPI {
		return k.ClusterAPIGVK()
	}
	return k.MachineAPIGVK()
}

// DefinitionIn is the name of the kind's CustomResourceDefinition in an API.
func (k Kind) DefinitionIn(api API) string { return k.Resource + "." + k.GVKOf(api).Group }

// HasAuthority reports whether a Machine API object has the fields of authority. The published CRD of a check lacks them. Poundlock's overlay adds them
// with a default, so spec.authoritativeAPI is never empty there. Without the overlay, the check is left alone, and so is one of its name in Cluster API.
// The other kinds stay locked in any case: behind them are machines, on which two controllers must never act.
func (k Kind) HasAuthority(mapi *policies.Object) bool {
	s := Read(mapi)
	return k.Infra != "" || s.Requested != Unset || s.Current != Unset
}

// Children is the kind whose objects are owned by this kind's.
func (k Kind) Children() (Kind, bool) {
	for _, child := range Kinds() {
		if child.Parent == k.Name {
			return child, true
		}
	}
	return Kind{}, false
}

// Definitions are the names of the CRDs that mirrors live in: those of all kinds in both APIs, and of what owns mirrors without being one. The API server
// deletes the objects of a CRD without asking admission, and the mirrors that they own go with them.
func Definitions() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, k.Resource+"."+k.MachineAPI.Group, k.Resource+"."+k.ClusterAPI.Group)
	}
	return append(out, "clusters."+clusterAPI.Group, "machinedeployments."+clusterAPI.Group, "controlplanemachinesets."+machineAPI.Group)
}

// Definitions are the names of the CRDs that objects of this kind need in both APIs: the kind's own, and the one of its owners.
func (k Kind) Definitions() []string {
	out := []string{k.Resource + "." + k.MachineAPI.Group, k.Resource + "." + k.ClusterAPI.Group}
	if parent, ok := KindNamed(k.Parent); ok {
		out = append(out, parent.Definitions()...)
	}
	return out
}
