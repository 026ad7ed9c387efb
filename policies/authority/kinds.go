// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// Kind is one kind of object that can move between the APIs. Everything that differs between the kinds is data in this type.
type Kind struct {
	// Name is the kind's name, the same in both APIs.
	Name string
	// Resource is the kind's plural, the same in both APIs.
	Resource string
	// MachineAPI and ClusterAPI are the API versions that Poundlock reads and writes.
	MachineAPI, ClusterAPI schema.GroupVersion
	// Infra is the rules' name for the provider's objects that belong to objects of this kind: InfraMachine, InfraMachineTemplate, or "" for none.
	Infra string
	// Scales reports that the kind has a /scale subresource.
	Scales bool
	// Parent is the kind whose objects own objects of this kind, "" for none.
	Parent string
	// MachineAPIFinalizer and ClusterAPIFinalizer are the finalizers of each API's controller of the kind. The finalizer holds an object that is being deleted
	// until the controller has cleaned up. "" means that the controller has no finalizer.
	MachineAPIFinalizer, ClusterAPIFinalizer string
	// ObeysAnnotation reports that the Machine API's controller of the kind obeys the pause annotation, and may obey no other pause. The controller that OpenShift
	// ships ignores authority, and does not acknowledge a pause.
	ObeysAnnotation bool
}

// ControlPlane is the kind of the set of a control plane's Machines. Authority over such a set moves too. Kinds has no row for it, because the set has no twin.
const ControlPlane = "ControlPlaneMachineSet"

// The rules' names for the kinds of a provider's objects. Kind.Infra is InfraMachine for a Machine, and InfraMachineTemplate for a MachineSet.
const (
	InfraMachine         = "InfraMachine"
	InfraMachineTemplate = "InfraMachineTemplate"
	// InfraInstance is the object that some providers keep for each instance in addition to the provider's machine. The provider's machine owns that object
	// (InfraInstanceKind).
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

// KindNamed returns the row of Kinds with this name. It returns false if there is none.
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

// HasAuthority reports whether a Machine API object has the fields of authority. The published CRD of MachineHealthCheck lacks them. Poundlock's overlay of
// that CRD adds them with a default, so with the overlay spec.authoritativeAPI is never empty. Without the overlay, Poundlock leaves the check alone, and also
// a Cluster API check of the same name. For the other kinds HasAuthority is always true, so that they stay locked: machines depend on them, and two controllers
// must never act on one machine.
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

// Definitions returns the names of the CRDs whose deletion also deletes mirrors. They are the CRDs of all kinds in both APIs, and the CRDs of kinds that own
// mirrors but are not mirrored. When a CRD is deleted, the API server deletes the CRD's objects without asking admission. The mirrors that these objects own
// are then deleted too.
func Definitions() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, k.Resource+"."+k.MachineAPI.Group, k.Resource+"."+k.ClusterAPI.Group)
	}
	return append(out, "clusters."+clusterAPI.Group, DeploymentsDefinition, "controlplanemachinesets."+machineAPI.Group)
}

// Definitions returns the names of the CRDs that objects of this kind need in both APIs: the CRDs of the kind itself and those of the owners' kind.
func (k Kind) Definitions() []string {
	out := []string{k.Resource + "." + k.MachineAPI.Group, k.Resource + "." + k.ClusterAPI.Group}
	if parent, ok := KindNamed(k.Parent); ok {
		out = append(out, parent.Definitions()...)
	}
	return out
}
