// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Side is the part of a pair to which an object belongs: one of the two APIs, a provider's objects, or the surroundings.
type Side string

const (
	// SideMachineAPI is OpenShift's machine.openshift.io.
	SideMachineAPI Side = "MachineAPI"
	// SideClusterAPI is cluster.x-k8s.io.
	SideClusterAPI Side = "ClusterAPI"
	// SideInfrastructure is infrastructure.cluster.x-k8s.io: the provider's objects that belong to Cluster API's objects.
	SideInfrastructure Side = "Infrastructure"
	// Surroundings are the objects in which those of the other three sides live: namespaces, CRDs, the Cluster and the provider's cluster.
	Surroundings Side = "Surroundings"
)

// Subject identifies the object that a request is about.
type Subject struct {
	Side Side
	// Kind is the name of the kind in the rules. On the sides of the two APIs it is the object's own kind ("Machine", "MachineSet"). For a provider's object it is
	// InfraMachine, InfraMachineTemplate or InfraInstance.
	Kind string
	// Resource is the object's own resource, such as machines.machine.openshift.io.
	Resource schema.GroupResource
	// Subresource is "", "status" or "scale".
	Subresource     string
	Namespace, Name string
	// TwinNamespace is the namespace of the object of the same name in the other API.
	TwinNamespace string
}

// Change is one request, as the API server describes it, with the facts that were looked up for it.
type Change struct {
	Subject
	Operation admissionv1.Operation
	DryRun    bool
	Actor     Actor
	// Username is the name of the user that makes the request, for messages and metrics. Rules decide by Actor.
	Username string
	// FieldManager is the field manager that an UPDATE names explicitly; "" if it names none, and the API server takes the name of the program. Which manager the
	// API server records is in New, except for /scale.
	FieldManager string
	// Propagation is the propagation policy that a DELETE asks for; "" if it names none.
	Propagation metav1.DeletionPropagation
	// NamespaceTerminating reports that the object's namespace is being deleted. A shell (such as webhooks) reads the namespace for that only if the namespace
	// controller deletes surroundings. A ValidatingAdmissionPolicy has the namespace in each request.
	NamespaceTerminating bool
	// Old is the stored object, nil for CREATE; New the requested one, nil for DELETE.
	// In a review of /scale both are Scale objects.
	Old, New *Object
	Facts    Facts
}

// Facts is what a shell (such as webhooks) looked up before the rules ran. A fact that no rule of the request needs has its zero value.
type Facts struct {
	// Twin is the object of the same name in the other API. For a provider's object it is the Machine API object to whose pair the provider's object belongs. nil:
	// there is none.
	Twin *Object
	// TwinLive reports that Twin was read from the API server, not from a cache.
	TwinLive bool
	// Stored is the stored object whose subresource is reviewed, if the review does not contain that object (/scale); otherwise nil.
	Stored *Object
	// Infra is the provider's object to which the Cluster API object of the pair refers; nil if there is none. If the review is of an object that a provider keeps
	// for an instance, Infra is the provider's machine, from a cache.
	Infra *Object
	// InfraInstance is the object that the provider keeps for the instance, beside Infra; nil if there is none.
	InfraInstance *Object
	// Owners are the objects that the object's owner references name, from the API server: of a provider's machine its Cluster API Machines, of an object that a
	// provider keeps for an instance the provider's machine, of a Machine its MachineSet, and the Clusters. If the review is of the deletion of a provider's
	// object, Owners has its Cluster API Machine, from a cache.
	Owners []*Object
	// OwnerSet is the MachineSet that controls a Machine which is created, and OwnerSetTwin the MachineSet of OwnerSet's name in the other API. OwnerSetTwin is
	// nil if there is none, or if OwnerSet has Machines already. Without an OwnerSetTwin, OwnerSet is nil unless it has Machines.
	OwnerSet, OwnerSetTwin *Object
	// Namesake reports that a Machine API Machine has the name of the provider's machine that a Cluster API Machine refers to (authority.Namesake).
	Namesake bool
	// InfraNamesake is the provider's machine that has the name of a Machine API Machine which is created without a twin; nil if there is none.
	InfraNamesake *Object
	// KeptNamesake is the object that the provider keeps for an instance under the name of that Machine API Machine; nil if there is none.
	KeptNamesake *Object
	// Holders are the names of other Machines that have the ID of the object's instance.
	Holders []string
	// AlsoKept are the objects, as a kind and a name, that a provider keeps for the instance of a Machine that is to move, and that do not belong to the Machine's
	// pair.
	AlsoKept []string
	// Unconvertible are the errors of a conversion that was run in the review itself: the fields of the authoritative object that the other API cannot express.
	// Their paths are those of the authoritative object.
	Unconvertible field.ErrorList
	// ConversionRun reports that a conversion was run: only then does an empty Unconvertible mean that everything can be converted.
	ConversionRun bool
	// Uncounted are the Machines that one MachineSet of the pair counts and the other MachineSet does not, by name.
	Uncounted []Uncounted
	// UnknownInstances are the names of those Machines of a Cluster API MachineSet or MachineDeployment whose provider does not know their instances yet.
	UnknownInstances []string
	// Hooked are the names of those Machines of a Cluster API MachineSet or MachineDeployment that have hooks of somebody, which delay a deletion.
	Hooked []string
	// WithNodes are the names of those Machines of the Cluster API MachineSet or MachineDeployment that Cluster API runs, and whose Nodes it drains before it
	// deletes the Machines.
	WithNodes []string
	// Ending are the names of Machines that are deleted, with their instances, if the object under review is deleted. For a MachineSet that is deleted in the
	// foreground these are the Machines that its API runs, for surroundings the control plane's. ControlPlaneSize is the number of Machines of the control plane.
	Ending           []string
	ControlPlaneSize int
	// ControlPlaneLost are the names of those control plane Machines that have failed and whose instance is gone (authority.Lost).
	ControlPlaneLost []string
	// Moving are the names of Machines that have a request to move away from the API whose surroundings are deleted, and that have not moved yet.
	Moving []string
	// Masters are the control plane's Machines in Cluster API. They are gathered if one of them that a hook holds loses its provider's machine; else there are
	// none.
	Masters []*Object
	// Undrained reports that Cluster API's controller finds no control plane Machine except those being deleted, and so deletes Machines without draining their
	// Nodes.
	Undrained bool
	// Sets are the MachineSets of the API to which a Machine is to move. For a Machine that is created, they are the MachineSets of its own API.
	Sets []*Object
	// MachineAPISets are the MachineSets of the Machine API, in addition to Sets, if a MachineDeployment is deleted.
	MachineAPISets []*Object
	// Siblings are the MachineSets of the API of the MachineSet or Machine under review, including that MachineSet itself. For the deletion of a MachineSet, they
	// are those of both APIs. Adoptable are the Machines that Siblings may adopt: for a deletion the Machines that it leaves without a set, else those of the
	// set's API that no set owns.
	Siblings, Adoptable []*Object
	// Deployments are the MachineDeployments of Cluster API, gathered if a MachineSet is to move to Cluster API, or may be selected by one of them.
	Deployments []*Object
	// Leaving is a sentence about those surroundings that are being deleted, of the API to which an object is to move; "" if none are. If Masters were gathered,
	// it is about the surroundings of Cluster API's objects.
	Leaving string
	// PausedCluster is the name of the Cluster of an object that is to move, if that Cluster is paused; else "".
	PausedCluster string
	// Remediation is whether the template exists from which a MachineHealthCheck makes requests for remediation, in the namespace of the API to which the check is
	// to move.
	Remediation Existence
	// Rival lists the parts of OpenShift's own migration that run in the cluster; "" if none do. Poundlock moves nothing while there are any.
	Rival string
	// GateOff reports that the feature gate MachineAPIMigration is off. Poundlock moves nothing while it is.
	GateOff bool
	// ControlPlane is the state of the control plane by which a ControlPlaneMachineSet is judged; nil if no rule needs it.
	ControlPlane *ControlPlane
}

// Existence is the result of a lookup of an object.
type Existence string

// The results of a lookup. The zero Existence means that the lookup was not possible.
const (
	Exists Existence = "exists"
	Absent Existence = "absent"
)

// Uncounted is a Machine that the MachineSet of one side counts and the MachineSet of the other side does not.
type Uncounted struct {
	Name string `json:"name"`
	By   Side   `json:"by"`
	// Why is a clause: why the other side's MachineSet does not count the Machine.
	Why string `json:"why"`
	// Undefined reports that the definition (CRD) of the Machine's kind is missing in the other API, or is being deleted.
	Undefined bool `json:"undefined,omitempty"`
	// Unreflected reports that the mirror makes no Machine API object for the Machine, whether the Machine converts or not.
	Unreflected bool `json:"unreflected,omitempty"`
}

// ControlPlane is a cluster's control plane as a shell (such as webhooks) has read it. Rules do not change anything in it.
type ControlPlane struct {
	// Machines are the Machines of the ControlPlaneMachineSet's namespace that the set's selector matches.
	Machines []machinev1beta1.Machine
	// Nodes are the Nodes with the role of the control plane.
	Nodes []corev1.Node
	// OtherNodes are Nodes without that role to which one of Machines refers.
	OtherNodes []corev1.Node
	// Unselected are Machines that belong to one of Nodes and that the set's selector does not match. They may have lost a label.
	Unselected []machinev1beta1.Machine
	// ClusterAPINamespace is the namespace of the Machines for which Cluster API is authoritative, in that API.
	ClusterAPINamespace string
	// Infrastructure is the Infrastructure named cluster; nil if there is none.
	Infrastructure *configv1.Infrastructure
	// Templates are, for sets under review whose template refers to a template of Cluster API's, what that stands for in Machine API's words.
	Templates []Template
	// Stored are what these templates stand for as stored, if the review is about a change of a template of Cluster API's.
	Stored []Template
	// Trials are the API server's answers to dry runs of the Machines that the set under review would create.
	Trials []Trial
	// Now is the time at which the ControlPlane was read.
	Now time.Time
	// MayRecreate reports that the strategy Recreate is allowed.
	MayRecreate bool
	// Set is the stored ControlPlaneMachineSet, if the review is about one of its Machines; nil if there is no set.
	Set *Object
	// Edited is the mirror in Machine API of a Machine that Cluster API runs, as it will be after the edit under review of the Machine or of its provider's
	// machine. It is nil in every other review, and if the edited object does not convert.
	Edited *machinev1beta1.Machine
}

// Template is what a ControlPlaneMachineSet's template for Cluster API stands for in Machine API's words.
type Template struct {
	// Of identifies the template: the member of the set's template, as JSON in a fixed form.
	Of string
	// ProviderSpec is the providerSpec with which a Machine is made. If it is nil, Unresolved is the reason.
	ProviderSpec []byte
	Unresolved   field.ErrorList
}

// Trial is the API server's answer to the creation of a Machine with a dry run. One of Machine, Refused and Unanswered is set.
type Trial struct {
	// Of identifies the Machine whose creation was tried.
	Of string
	// Machine is the Machine that would have been stored, with what admission and defaults write.
	Machine *machinev1beta1.Machine
	// Refused is the API server's reason for refusing the creation, in its own words.
	Refused string
	// Unanswered is why the API server gave no answer.
	Unanswered string
}

// Need is the set of facts that a rule reads, as bits. The zero Need is no fact: a rule without needs has a CEL twin.
type Need uint32

const (
	// NeedTwin asks for Facts.Twin, from a cache where authority.CacheSuffices allows it.
	NeedTwin Need = 1 << iota
	// NeedLiveTwin asks for Facts.Twin from the API server, because its absence decides, or because a move is requested.
	NeedLiveTwin
	// NeedStored asks for Facts.Stored.
	NeedStored
	// NeedInfra asks for Facts.Infra and Facts.InfraInstance.
	NeedInfra
	// NeedConversion asks for Facts.Unconvertible.
	NeedConversion
	// NeedControlPlane asks for Facts.ControlPlane, from the API server.
	NeedControlPlane
	// NeedUncounted asks for Facts.Uncounted, from an indexed cache, and, from the API server, for the definition of a kind that may be missing.
	NeedUncounted
	// NeedOwners asks for Facts.Owners.
	NeedOwners
	// NeedLiveInfra asks for Facts.Infra from the API server.
	NeedLiveInfra
	// NeedHolders asks for Facts.Holders, and of a Machine API Machine for Facts.AlsoKept, from an indexed cache.
	NeedHolders
	// NeedSets asks for Facts.Sets, from a cache, and for Facts.Deployments, from the API server.
	NeedSets
	// NeedSurroundings asks for Facts.Leaving and Facts.PausedCluster, from the API server.
	NeedSurroundings
	// NeedUnknownInstances asks for Facts.UnknownInstances, and of a MachineSet or a MachineDeployment for Facts.Hooked and Facts.WithNodes, from
	// an indexed cache.
	NeedUnknownInstances
	// NeedControlPlaneSet asks for Facts.ControlPlane with its Set, from the API server.
	NeedControlPlaneSet
	// NeedEnding asks for Facts.Ending, Facts.ControlPlaneSize, Facts.ControlPlaneLost and Facts.Moving, from an indexed cache.
	NeedEnding
	// NeedUndrained asks for Facts.Undrained, from an indexed cache, and from the API server if the cache has no such Machine.
	NeedUndrained
	// NeedRemediation asks for Facts.Remediation, from the API server.
	NeedRemediation
	// NeedNamesake asks for Facts.Namesake of a Cluster API Machine, and for Facts.InfraNamesake and Facts.KeptNamesake of a Machine API
	// Machine, from the API server.
	NeedNamesake
	// NeedOwnerSet asks for Facts.OwnerSet and Facts.OwnerSetTwin, from the API server unless the cache shows that OwnerSet has Machines.
	NeedOwnerSet
	// NeedSiblings asks for Facts.Siblings and Facts.Adoptable, from an indexed cache.
	NeedSiblings
	// NeedMasters asks for Facts.Masters, and for Facts.Leaving of Cluster API's objects, from the API server if the Machine may be a control plane Machine.
	NeedMasters
)

// Has reports whether n includes all of other.
func (n Need) Has(other Need) bool { return n&other == other }

// Actor is the part that a request's user plays in the rules. Which user plays which part is configured (Identities).
type Actor string

const (
	// Anyone is every user that Identities does not name: people, GitOps, and cluster administrators alike.
	Anyone Actor = ""
	// Poundlock is the product itself: the only user that may write to everything that is locked.
	Poundlock Actor = "Poundlock"
	// MachineAPIController are the controllers of machine.openshift.io.
	MachineAPIController Actor = "MachineAPIController"
	// ClusterAPIController are Cluster API's core controllers.
	ClusterAPIController Actor = "ClusterAPIController"
	// InfrastructureController are the Cluster API provider's controllers.
	InfrastructureController Actor = "InfrastructureController"
	// Autoscaler is the cluster autoscaler.
	Autoscaler Actor = "Autoscaler"
	// AutoscalerOperator writes the limits of autoscaling onto sets (cluster-autoscaler-operator).
	AutoscalerOperator Actor = "AutoscalerOperator"
	// ControlPlaneOperator is OpenShift's control-plane-machine-set-operator.
	ControlPlaneOperator Actor = "ControlPlaneOperator"
	// EtcdOperator is OpenShift's cluster-etcd-operator.
	EtcdOperator Actor = "EtcdOperator"
	// GarbageCollector is Kubernetes' own.
	GarbageCollector Actor = "GarbageCollector"
	// NamespaceController is Kubernetes' own: it empties a namespace that is being deleted.
	NamespaceController Actor = "NamespaceController"
)

// Identities has the exact user names of each Actor. Groups cannot be an Actor: no group is exempt from a lock.
type Identities map[Actor][]string

// Actor returns the Actor of the user with this name; Anyone if no Actor has the name.
func (i Identities) Actor(username string) Actor {
	for actor, names := range i {
		if slices.Contains(names, username) {
			return actor
		}
	}
	return Anyone
}
