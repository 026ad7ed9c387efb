// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// Kind is one kind of object that can move between the APIs. It has everything that differs between the kinds, as data.
type Kind struct {
	// Name is the kind's name, the same in both APIs.
	Name string
	// Resource is the kind's plural, the same in both APIs.
	Resource string
	// MachineAPI and ClusterAPI are the API versions that Poundlock reads and writes.
	MachineAPI, ClusterAPI schema.GroupVersion
	// Infra is the rules' name of the provider's objects behind objects of this kind: InfraMachine, InfraMachineTemplate, or "" for none.
	Infra string
	// Scales reports that the kind has a /scale subresource.
	Scales bool
	// Parent is the kind whose objects own objects of this kind, "" for none.
	Parent string
	// MachineAPIFinalizer and ClusterAPIFinalizer are the finalizers of each API's controller, by which that controller holds an object until it has cleaned up
	// behind it. "" means that the controller has none.
	MachineAPIFinalizer, ClusterAPIFinalizer string
	// ObeysAnnotation: the Machine API's own controller of the kind obeys the pause annotation, and may obey no other pause. The controller that OpenShift ships
	// ignores authority and acknowledges nothing.
	ObeysAnnotation bool
}

// ControlPlane is the kind of the set of a control plane's Machines. Authority over such a set moves too, but the set has no twin, and so Kinds has no row
// for it.
const ControlPlane = "ControlPlaneMachineSet"

// The rules' names for the kinds of a provider's objects. Kind.Infra of a Machine is InfraMachine, and of a MachineSet InfraMachineTemplate.
const (
	InfraMachine         = "InfraMachine"
	InfraMachineTemplate = "InfraMachineTemplate"
	// InfraInstance is the object that some providers keep for each instance, besides the provider's machine, which owns that object (InfraInstanceKind).
	InfraInstance = "InfraInstance"
)

var (
	machineAPI = machinev1beta1.GroupVersion
	clusterAPI = clusterv1.GroupVersion
)

// Kinds returns the kinds of objects that can move between the APIs. A further kind with a twin needs one row in this list and one conversion.
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

// MachineAPIGVK returns the kind in the Machine API's group and version.
func (k Kind) MachineAPIGVK() schema.GroupVersionKind { return k.MachineAPI.WithKind(k.Name) }

// ClusterAPIGVK returns the kind in Cluster API's group and version.
func (k Kind) ClusterAPIGVK() schema.GroupVersionKind { return k.ClusterAPI.WithKind(k.Name) }

// GVKOf returns the kind in the group and version of an API.
func (k Kind) GVKOf(api API) schema.GroupVersionKind {
	if api == ClusterAPI {
		return k.ClusterAPIGVK()
	}
	return k.MachineAPIGVK()
}

// DefinitionIn returns the name of the kind's CustomResourceDefinition in an API.
func (k Kind) DefinitionIn(api API) string { return k.Resource + "." + k.GVKOf(api).Group }

// HasAuthority reports whether a Machine API object has the fields of authority. The published CRD of MachineHealthCheck lacks these fields. Poundlock's
// overlay adds them with a default, so with the overlay spec.authoritativeAPI is never empty. Without the overlay, Poundlock leaves the check alone, and also
// a Cluster API check of the same name. HasAuthority is always true for the other kinds, which therefore stay locked: behind them are machines, on which two
// controllers must never act.
func (k Kind) HasAuthority(mapi *policies.Object) bool {
	s := Read(mapi)
	return k.Infra != "" || s.Requested != Unset || s.Current != Unset
}

// Children returns the kind whose objects are owned by objects of this kind. It returns false if there is none.
func (k Kind) Children() (Kind, bool) {
	for _, child := range Kinds() {
		if child.Parent == k.Name {
			return child, true
		}
	}
	return Kind{}, false
}

// Definitions returns the names of the CRDs with which mirrors are deleted: the CRDs of all kinds in both APIs, and those of the kinds that own mirrors
// without being mirrored. When a CRD is deleted, the API server deletes the CRD's objects without asking admission, and the mirrors that those objects own
// are deleted with them.
func Definitions() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, k.Resource+"."+k.MachineAPI.Group, k.Resource+"."+k.ClusterAPI.Group)
	}
	return append(out, "clusters."+clusterAPI.Group, "machinedeployments."+clusterAPI.Group, "controlplanemachinesets."+machineAPI.Group)
}

// Definitions returns the names of the CRDs that objects of this kind need in both APIs: those of the kind itself and those of its owners' kind.
func (k Kind) Definitions() []string {
	out := []string{k.Resource + "." + k.MachineAPI.Group, k.Resource + "." + k.ClusterAPI.Group}
	if parent, ok := KindNamed(k.Parent); ok {
		out = append(out, parent.Definitions()...)
	}
	return out
}
