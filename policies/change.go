// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"strings"

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

// Side is the part of a pair to which an object belongs: one of the two APIs, a provider's objects, or the surroundings (the constant Surroundings).
type Side string

const (
	// SideMachineAPI is OpenShift's machine.openshift.io.
	SideMachineAPI Side = "MachineAPI"
	// SideClusterAPI is cluster.x-k8s.io.
	SideClusterAPI Side = "ClusterAPI"
	// SideInfrastructure is infrastructure.cluster.x-k8s.io: the provider's objects that belong to Cluster API's objects.
	SideInfrastructure Side = "Infrastructure"
	// Surroundings are the objects that the objects of the other three sides live in or depend on: namespaces, CRDs, the Cluster and the provider's cluster.
	Surroundings Side = "Surroundings"
)

// Subject identifies the object that a request is about.
type Subject struct {
	Side Side
	// Kind is the name by which the rules know the kind. For an object of one of the two APIs it is the object's own kind ("Machine", "MachineSet"). For a
	// provider's object it is InfraMachine, InfraMachineTemplate or InfraInstance.
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
	// Username is the name of the user that makes the request. It is for messages and metrics only: rules decide by Actor.
	Username string
	// FieldManager is the field manager that an UPDATE names explicitly. It is "" if the UPDATE names none, and the API server then takes the name of the client
	// program. New shows which manager the API server records, except in a review of /scale.
	FieldManager string
	// Propagation is the propagation policy that a DELETE asks for; "" if it names none.
	Propagation metav1.DeletionPropagation
	// NamespaceTerminating reports that the object's namespace is being deleted. The caller of the rules (such as webhooks) reads the namespace only if the
	// namespace controller deletes surroundings, and otherwise leaves this false. A ValidatingAdmissionPolicy gets the namespace with each request.
	NamespaceTerminating bool
	// Old is the stored object, and nil for CREATE. New is the requested object, and nil for DELETE. In a review of /scale both are Scale objects.
	Old, New *Object
	Facts    Facts
}

// ServiceAccounts is the prefix of the user names of ServiceAccounts.
const ServiceAccounts = "system:serviceaccount:"

// ByServiceAccount reports whether the user is a ServiceAccount. Controllers that run in a cluster are ServiceAccounts.
func (c Change) ByServiceAccount() bool { return strings.HasPrefix(c.Username, ServiceAccounts) }

// Facts is what the caller of the rules (such as webhooks) looked up before the rules ran. A fact that no rule of the request needs has its zero value.
type Facts struct {
	// Twin is the object of the same name in the other API. For a provider's object it is the Machine API object to whose pair the provider's object belongs. It
	// is nil if there is no such object.
	Twin *Object
	// TwinLive reports that Twin was read from the API server, not from a cache.
	TwinLive bool
	// Stored is the stored object whose /scale subresource is under review, because the review itself has only a Scale. It is nil in every other review.
	Stored *Object
	// Infra is the provider's object to which the Cluster API object of the pair refers; nil if there is none. If an object that a provider keeps for an instance
	// is under review, Infra is the provider's machine, from a cache.
	Infra *Object
	// InfraInstance is the object that the provider keeps for the instance in addition to Infra; nil if there is none.
	InfraInstance *Object
	// Owners are those owners of the requested object that exist, read from the API server. A provider's machine has Cluster API Machines as owners, an object
	// that a provider keeps for an instance has the provider's machine, and a Machine has its MachineSet. Clusters are among the owners too. If a provider's
	// object is deleted, Owners has instead the Cluster API Machine of that object, from a cache.
	Owners []*Object
	// OwnerSet is the MachineSet that controls a Machine which is being created. OwnerSetTwin is the MachineSet of the same name in the other API. OwnerSetTwin is
	// nil if there is none, or if OwnerSet has Machines already. If OwnerSetTwin is nil and OwnerSet has no Machines, OwnerSet is nil too.
	OwnerSet, OwnerSetTwin *Object
	// OwnerCount has the numbers of the Cluster API MachineSet for which a Machine is created. It is nil if Machine API runs none of the set's
	// Machines.
	OwnerCount *OwnerCount
	// Namesake reports that a Cluster API Machine refers to a provider's machine that has the name of a Machine API Machine (authority.Namesake).
	Namesake bool
	// InfraNamesake is the provider's machine that has the name of a Machine API Machine which is being created without a twin; nil if there is none.
	InfraNamesake *Object
	// KeptNamesake is the object that a provider keeps for an instance, if it has the name of a Machine API Machine which is being created without a twin; nil if
	// there is none.
	KeptNamesake *Object
	// Holders are the names of other Machines that have the same instance ID as the object under review.
	Holders []string
	// AlsoKept are objects that a provider keeps for the instance of a Machine that is to move, but that do not belong to the Machine's pair. Each object is given
	// as a kind and a name.
	AlsoKept []string
	// Unconvertible are the errors of a conversion that was run in the review itself. They name the fields of the authoritative object that the other API cannot
	// express, by their paths in the authoritative object.
	Unconvertible field.ErrorList
	// ConversionRun reports that a conversion was run. An empty Unconvertible means that everything can be converted only if ConversionRun is true.
	ConversionRun bool
	// Uncounted are the Machines that only one of the two MachineSets of the pair counts, sorted by name.
	Uncounted []Uncounted
	// UnknownInstances are the names of those Machines of a Cluster API MachineSet or MachineDeployment whose provider does not know their instances yet.
	UnknownInstances []string
	// Hooked are the names of those Machines of a Cluster API MachineSet or MachineDeployment that have deletion hooks other than Poundlock's own. The hooks delay
	// a deletion.
	Hooked []string
	// WithNodes are the names of those Machines of a Cluster API MachineSet or MachineDeployment that Cluster API runs, and whose Nodes Cluster API drains before
	// it deletes the Machines.
	WithNodes []string
	// Ending are the names of the Machines that are deleted, with their instances, if the object under review is deleted. For a MachineSet that is deleted in the
	// foreground these are the Machines that the set's API runs. For surroundings (a namespace, CRD or Cluster) they are Machines of the control plane.
	// ControlPlaneSize is the number of Machines of the control plane. For a single Machine it counts only those that are not being deleted yet.
	Ending           []string
	ControlPlaneSize int
	// ControlPlaneLost are the names of those Machines of the control plane that have failed and whose instances are gone (authority.Lost).
	ControlPlaneLost []string
	// Moving are the names of Machines that were asked to move away from the API whose surroundings (a namespace, CRD or Cluster) are deleted, and that have not
	// moved yet.
	Moving []string
	// Masters are the Cluster API Machines of the control plane. They are looked up only if a provider's machine is deleted that may belong to one of them.
	// Otherwise there are none.
	Masters []*Object
	// Undrained reports that every control plane Machine which Cluster API's controller finds is being deleted, or that the controller finds none. The controller
	// then deletes Machines without draining their Nodes.
	Undrained bool
	// Sets are the MachineSets of the API to which a Machine is to move. If a Machine is created, they are the MachineSets of the Machine's own API.
	Sets []*Object
	// MachineAPISets are the MachineSets of the Machine API, in addition to Sets, if a MachineDeployment is deleted.
	MachineAPISets []*Object
	// Siblings are the MachineSets that a rule compares with the MachineSet or Machine under review. They are all MachineSets of its API, including the one under
	// review. If a MachineSet is created or deleted, they are the MachineSets of both APIs. Adoptable are the Machines that one of Siblings may adopt. If a
	// MachineSet is deleted, these are the Machines that are left without a set. Otherwise they are the Machines of the set's API that no set owns.
	Siblings, Adoptable []*Object
	// Deployments are Cluster API's MachineDeployments. They are looked up if a MachineSet is to move to Cluster API, or if one of them may select the MachineSet.
	Deployments []*Object
	// Leaving is a sentence about a namespace, CRD or Cluster (surroundings) that is being deleted, of the API to which an object is to move. If Masters were
	// looked up, it is about the surroundings of Cluster API's objects. It is "" if no surroundings are being deleted.
	Leaving string
	// PausedCluster is the name of the paused Cluster of an object that is to move or be deleted. It is "" if the Cluster is not paused.
	PausedCluster string
	// Remediation is whether the template exists from which a MachineHealthCheck creates its remediation requests. The template is looked up in the namespace of
	// the API to which the check is to move.
	Remediation Existence
	// Rival lists those parts of OpenShift's own migration that run in the cluster; "" if none do. Poundlock moves nothing while one of them runs.
	Rival string
	// GateOff reports that the feature gate MachineAPIMigration is off. Poundlock moves nothing while it is.
	GateOff bool
	// ControlPlane is the state of the control plane that a ControlPlaneMachineSet is compared with; nil if no rule needs it.
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
	// Why is a clause that says why the other side's MachineSet does not count the Machine.
	Why string `json:"why"`
	// Undefined reports that the CRD of Machines is missing in the other API, or is being deleted.
	Undefined bool `json:"undefined,omitempty"`
	// Unreflected reports that Poundlock creates no Machine API object for the Machine, whether or not the Machine can be converted.
	Unreflected bool `json:"unreflected,omitempty"`
}

// OwnerCount compares what a Cluster API MachineSet was asked for with its Machines. The Machine under review is not among them.
type OwnerCount struct {
	// Replicas is spec.replicas of the set, and Counted the number of the Machines that the set counts.
	Replicas int `json:"replicas"`
	Counted  int `json:"counted"`
	// Unmirrored are the names of the Machines that Machine API runs for the set and that the set does not count yet, sorted.
	Unmirrored []string `json:"unmirrored"`
}

// ControlPlane is a cluster's control plane as the caller of the rules (such as webhooks) has read it. Rules change nothing in it.
type ControlPlane struct {
	// Machines are the Machines of the ControlPlaneMachineSet's namespace that the set's selector matches.
	Machines []machinev1beta1.Machine
	// Nodes are the Nodes with the role of the control plane.
	Nodes []corev1.Node
	// OtherNodes are the Nodes that lack the role of the control plane although one of Machines refers to them.
	OtherNodes []corev1.Node
	// Unselected are the Machines that belong to one of Nodes although the set's selector does not match them. They may have lost a label.
	Unselected []machinev1beta1.Machine
	// ClusterAPINamespace is the namespace of Cluster API's objects, in which the Machines are for which Cluster API is authoritative.
	ClusterAPINamespace string
	// Infrastructure is the Infrastructure named cluster; nil if there is none.
	Infrastructure *configv1.Infrastructure
	// Templates has the Machine API form of each infrastructure machine template of Cluster API to which a set under review refers.
	Templates []Template
	// Stored has the Machine API form of the stored templates, if a change of an infrastructure machine template is under review. Templates then has the form of
	// the requested ones.
	Stored []Template
	// Trials are the API server's answers to dry runs of the Machines that the set under review would create.
	Trials []Trial
	// Now is the time at which the ControlPlane was read.
	Now time.Time
	// MayRecreate reports that the strategy Recreate is allowed.
	MayRecreate bool
	// NotReadyGrace is the operator's setting: how long a Node may be not ready before its Machine counts as unavailable. If it is nil, the setting is unknown,
	// and a plan assumes the default.
	NotReadyGrace *time.Duration
	// Set is the stored ControlPlaneMachineSet, if the review is about one of its Machines; nil if there is no set.
	Set *Object
	// Edited is the Machine API mirror of a Machine that Cluster API runs, as the mirror will be after the edit under review. The edit is one of the Machine or of
	// its provider's machine. Edited is nil in every other review, and if the edited object cannot be converted.
	Edited *machinev1beta1.Machine
}

// Template is a ControlPlaneMachineSet's template for Cluster API, converted to the Machine API form.
type Template struct {
	// Of identifies the template. It is the member of the set's template that refers to Cluster API, as canonical JSON.
	Of string
	// ProviderSpec is the providerSpec of the Machines that are created from the template. If it is nil, Unresolved has the reason.
	ProviderSpec []byte
	Unresolved   field.ErrorList
}

// Trial is the API server's answer to the creation of a Machine with a dry run. Exactly one of Machine, Refused and Unanswered is set.
type Trial struct {
	// Of identifies the Machine whose creation was tried.
	Of string
	// Machine is the Machine that would have been stored, including what admission and defaults have written.
	Machine *machinev1beta1.Machine
	// Refused is the API server's message that refuses the creation.
	Refused string
	// Unanswered is why the API server gave no answer.
	Unanswered string
}

// Need is the set of facts that a rule reads, as bits. The zero Need has no facts. A rule that needs no facts also exists in CEL (its twin in package cel).
type Need uint32

const (
	// NeedTwin asks for Facts.Twin, from a cache if authority.CacheSuffices allows that.
	NeedTwin Need = 1 << iota
	// NeedLiveTwin asks for Facts.Twin from the API server. It is for rules that decide by the absence of the twin, and for requests to move.
	NeedLiveTwin
	// NeedStored asks for Facts.Stored.
	NeedStored
	// NeedInfra asks for Facts.Infra and Facts.InfraInstance.
	NeedInfra
	// NeedConversion asks for Facts.Unconvertible.
	NeedConversion
	// NeedControlPlane asks for Facts.ControlPlane, from the API server.
	NeedControlPlane
	// NeedUncounted asks for Facts.Uncounted, from an indexed cache. The CRD of a kind that may be missing is read from the API server.
	NeedUncounted
	// NeedOwners asks for Facts.Owners.
	NeedOwners
	// NeedLiveInfra asks for Facts.Infra from the API server.
	NeedLiveInfra
	// NeedHolders asks for Facts.Holders, from an indexed cache. For a Machine API Machine it also asks for Facts.AlsoKept.
	NeedHolders
	// NeedSets asks for Facts.Sets, from a cache, and for Facts.Deployments, from the API server.
	NeedSets
	// NeedSurroundings asks for Facts.Leaving and Facts.PausedCluster, from the API server.
	NeedSurroundings
	// NeedPausedCluster asks for Facts.PausedCluster of a deletion, from the API server.
	NeedPausedCluster
	// NeedUnknownInstances asks for Facts.UnknownInstances, from an indexed cache. For a MachineSet or a MachineDeployment it also asks for Facts.Hooked and
	// Facts.WithNodes.
	NeedUnknownInstances
	// NeedControlPlaneSet asks for Facts.ControlPlane including its member Set, from the API server.
	NeedControlPlaneSet
	// NeedEnding asks for Facts.Ending, Facts.ControlPlaneSize, Facts.ControlPlaneLost and Facts.Moving, from an indexed cache.
	NeedEnding
	// NeedUndrained asks for Facts.Undrained. It is read from an indexed cache, and from the API server if the cache has no control plane Machine that stays.
	NeedUndrained
	// NeedRemediation asks for Facts.Remediation, from the API server.
	NeedRemediation
	// NeedNamesake asks, from the API server, for Facts.Namesake of a Cluster API Machine, and for Facts.InfraNamesake and Facts.KeptNamesake of a Machine API
	// Machine.
	NeedNamesake
	// NeedOwnerSet asks for Facts.OwnerSet and Facts.OwnerSetTwin. They are read from the API server, unless the cache shows that OwnerSet has Machines.
	NeedOwnerSet
	// NeedOwnerCount asks for Facts.OwnerCount. Machine API's Machines are read from an indexed cache and, if it runs any, Cluster API's from the API server.
	NeedOwnerCount
	// NeedSiblings asks for Facts.Siblings and Facts.Adoptable, from an indexed cache.
	NeedSiblings
	// NeedMasters asks for Facts.Masters, and for Facts.Leaving of Cluster API's objects. They are read from the API server if the Machine may be a control plane
	// Machine.
	NeedMasters
)

// Has reports whether n includes all of other.
func (n Need) Has(other Need) bool { return n&other == other }

// Actor is the role of a request's user in the rules. Which user has which role is configured (Identities).
type Actor string

const (
	// Anyone is every user that Identities does not name: people, GitOps, and cluster administrators alike.
	Anyone Actor = ""
	// Poundlock is the product itself. Only Poundlock may write to everything that is locked.
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
	// GarbageCollector is the garbage collector of Kubernetes.
	GarbageCollector Actor = "GarbageCollector"
	// NamespaceController is the namespace controller of Kubernetes. It deletes everything in a namespace that is being deleted.
	NamespaceController Actor = "NamespaceController"
)

// Identities has the exact user names of each Actor. It has no groups, so that no group is exempt from a lock.
type Identities map[Actor][]string

// Actor returns the Actor of the user with this name. It returns Anyone if no Actor has the name.
func (i Identities) Actor(username string) Actor {
	for actor, names := range i {
		if slices.Contains(names, username) {
			return actor
		}
	}
	return Anyone
}
