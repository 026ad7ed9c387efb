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

// Side is the API to which an object belongs.
type Side string

const (
	// SideMachineAPI is OpenShift's machine.openshift.io.
	SideMachineAPI Side = "MachineAPI"
	// SideClusterAPI is cluster.x-k8s.io.
	SideClusterAPI Side = "ClusterAPI"
	// SideInfrastructure is a provider's half of a Cluster API object: infrastructure.cluster.x-k8s.io.
	SideInfrastructure Side = "Infrastructure"
	// Surroundings are what objects of all three live in: namespaces, CRDs and the Cluster.
	Surroundings Side = "Surroundings"
)

// Subject is which object a request is about.
type Subject struct {
	Side Side
	// Kind is the kind by its name in the rules: the object's own kind on the two APIs' sides
	// ("Machine", "MachineSet"), InfraMachine, InfraMachineTemplate or InfraInstance for a provider's.
	Kind string
	// Resource is the object's own, e.g. machines.machine.openshift.io.
	Resource schema.GroupResource
	// Subresource is "", "status" or "scale".
	Subresource     string
	Namespace, Name string
	// TwinNamespace is where the object of the same name in the other API lives.
	TwinNamespace string
}

// Change is one request, as the API server describes it, with what was looked up for it.
type Change struct {
	Subject
	Operation admissionv1.Operation
	DryRun    bool
	Actor     Actor
	// Username is who asks, for messages and metrics; rules decide by Actor.
	Username string
	// FieldManager is the one that an UPDATE names itself, empty where the API server takes the name of the program: what it records shows in New, but
	// not of /scale.
	FieldManager string
	// Propagation is what a DELETE asks for; empty where it asks for nothing.
	Propagation metav1.DeletionPropagation
	// NamespaceTerminating reports that the object's namespace is being deleted. A shell reads the namespace where the namespace
	// controller deletes surroundings; a policy has it in each request.
	NamespaceTerminating bool
	// Old is the stored object, nil for CREATE; New the requested one, nil for DELETE.
	// In a review of /scale both are Scale objects.
	Old, New *Object
	Facts    Facts
}

// Facts is what a shell looked up, by name, before the rules ran. A fact that no rule of the request needed is zero.
type Facts struct {
	// Twin is the object of the same name in the other API. For a provider's object it is the Machine API object
	// whose machine it describes. nil: there is none.
	Twin *Object
	// TwinLive reports that Twin was read from the API server and not from a cache.
	TwinLive bool
	// Stored is the object whose subresource is reviewed, where the review does not carry it (/scale); otherwise nil.
	Stored *Object
	// Infra is the provider's object behind the Cluster API object of the pair, nil where there is none. Of what a provider keeps for an instance it is the
	// provider's machine, from a cache.
	Infra *Object
	// InfraInstance is what the provider keeps for the instance beside Infra, nil where there is none.
	InfraInstance *Object
	// Owners are what the object's owner references name, from the API server: the Cluster API Machines of a provider's machine, the provider's machine of
	// what is kept for its instance, the MachineSet of a Machine, and the Clusters. Of a provider's object that is deleted they are its Cluster API Machine,
	// from a cache.
	Owners []*Object
	// OwnerSet is the MachineSet that controls a Machine which is created, and OwnerSetTwin the one of its name in the other API; nil where there is none, or
	// where OwnerSet has Machines already.
	OwnerSet, OwnerSetTwin *Object
	// Namesake reports that a Machine API Machine has the name of the provider's machine that a Cluster API Machine refers to (authority.Namesake).
	Namesake bool
	// InfraNamesake is the provider's machine of the name of a Machine API Machine that is created without a twin, nil for none.
	InfraNamesake *Object
	// KeptNamesake is what the provider keeps for an instance under that name, nil for nothing.
	KeptNamesake *Object
	// Holders are the names of other Machines with the object's spec.providerID.
	Holders []string
	// AlsoKept are the objects, as a kind and a name, that a provider keeps for the instance of a Machine that is to move, and that are not its pair's.
	AlsoKept []string
	// Unconvertible are the fields of the authority that the other API cannot express: from a conversion run in the
	// review itself, paths those of the authority's object.
	Unconvertible field.ErrorList
	// ConversionRun reports that Unconvertible is an answer: without it, empty means "not asked".
	ConversionRun bool
	// Uncounted are the Machines that one MachineSet of the pair counts and the other does not, by name.
	Uncounted []Uncounted
	// UnknownInstances are the names of those Machines of a Cluster API MachineSet or MachineDeployment whose instances their provider does not hold yet.
	UnknownInstances []string
	// Hooked are the names of those Machines of a Cluster API MachineSet or MachineDeployment whose deletion somebody's hooks hold up.
	Hooked []string
	// WithNodes are the names of those of its Machines that Cluster API runs and whose Nodes it drains before it deletes them.
	WithNodes []string
	// Ending are the names of Machines that are deleted with the object under review, and with their instances: of a MachineSet that is deleted in the foreground
	// those that its API runs, of surroundings those of the control plane. ControlPlaneSize is how many Machines the control plane has.
	Ending           []string
	ControlPlaneSize int
	// ControlPlaneLost are the names of those of the control plane that have failed and whose instance is gone (authority.Lost).
	ControlPlaneLost []string
	// Moving are the names of Machines that are asked to move away from the API whose surroundings are deleted, and have not moved yet.
	Moving []string
	// Masters are the control plane's Machines in Cluster API, where one that hooks hold loses its provider's machine; else none.
	Masters []*Object
	// Undrained reports that Cluster API's controller finds no Machine of the control plane that stays, and deletes Machines without a drain.
	Undrained bool
	// Sets are the MachineSets of the API that a Machine is to move to; of a Machine that is created, those of its own API.
	Sets []*Object
	// MachineAPISets are the MachineSets of the Machine API beside Sets, where a MachineDeployment is deleted.
	MachineAPISets []*Object
	// Siblings are the MachineSets beside one under review, itself included; of a deletion those of both APIs; for a Machine those of its API. Adoptable are
	// Machines that they may adopt: those that the deletion leaves without a set, else those of the set's API that no set owns.
	Siblings, Adoptable []*Object
	// Deployments are the MachineDeployments of Cluster API, to which a MachineSet is to move.
	Deployments []*Object
	// Leaving is what of the surroundings of the API that an object is to move to is being deleted, in a sentence; "" for nothing. Beside Masters it is what of
	// Cluster API's surroundings is.
	Leaving string
	// PausedCluster is the name of the Cluster of an object that is to move, if that Cluster is paused; "" for none.
	PausedCluster string
	// Remediation is what was found of the template from which a MachineHealthCheck makes requests to remediate, in the namespace of the API that it is
	// to move to.
	Remediation Existence
	// Rival is what of OpenShift's own migration runs beside Poundlock, "" for nothing: nothing moves then.
	Rival string
	// GateOff reports that the feature gate MachineAPIMigration is off: nothing moves then either.
	GateOff bool
	// ControlPlane is what a ControlPlaneMachineSet is judged by, nil where nobody asked for it.
	ControlPlane *ControlPlane
}

// Existence is what a look for an object found.
type Existence string

// What a look may find. The zero Existence is that nobody could look.
const (
	Exists Existence = "exists"
	Absent Existence = "absent"
)

// Uncounted is a Machine that the MachineSet of one side counts and the other does not.
type Uncounted struct {
	Name string `json:"name"`
	By   Side   `json:"by"`
	// Why the other does not, as a clause.
	Why string `json:"why"`
	// Undefined reports that the definition of its kind is missing in the other API, or is being deleted.
	Undefined bool `json:"undefined,omitempty"`
	// Unreflected reports that the mirror makes no Machine API object for it, whether it converts or not.
	Unreflected bool `json:"unreflected,omitempty"`
}

// ControlPlane is a cluster's control plane as a shell has read it. Nothing in it is changed.
type ControlPlane struct {
	// Machines are those of the set's namespace that its selector matches.
	Machines []machinev1beta1.Machine
	// Nodes are those with the role of the control plane.
	Nodes []corev1.Node
	// OtherNodes are those without that role that one of the Machines refers to.
	OtherNodes []corev1.Node
	// Unselected are Machines that belong to one of the Nodes, and that the set's selector does not match: they may have lost a label.
	Unselected []machinev1beta1.Machine
	// ClusterAPINamespace is where Cluster API has the Machines for which it is authoritative.
	ClusterAPINamespace string
	// Infrastructure is the one named cluster; nil where there is none.
	Infrastructure *configv1.Infrastructure
	// Templates are what the templates of sets under review stand for that name one of Cluster API's.
	Templates []Template
	// Stored are what those templates stand for now, where the review is about one of Cluster API's that somebody changes.
	Stored []Template
	// Trials are the API server's answers to dry runs of the Machines that the set under review would create.
	Trials []Trial
	// Now is when all this was read.
	Now time.Time
	// MayRecreate: the strategy Recreate is allowed.
	MayRecreate bool
	// Set is the stored set, where the review is about one of its Machines; nil where there is none.
	Set *Object
	// Edited is the mirror in Machine API of a Machine that Cluster API runs, as it will be after the edit under review of the Machine or of its provider's
	// machine. It is nil in every other review, and if the edited object does not convert.
	Edited *machinev1beta1.Machine
}

// Template is a control plane set's template for Cluster API in Machine API's words.
type Template struct {
	// Of is what it is the answer for, the set's member as JSON in a fixed form.
	Of string
	// ProviderSpec is what a Machine is made from. Where it is nil, Unresolved is the reason.
	ProviderSpec []byte
	Unresolved   field.ErrorList
}

// Trial is the API server's answer to the creation of a Machine with a dry run. One of Machine, Refused and Unanswered is set.
type Trial struct {
	// Of identifies the Machine that was tried.
	Of string
	// Machine is the one that would have been stored: with what admission and defaults write.
	Machine *machinev1beta1.Machine
	// Refused is the API server's reason why there would be none, in its words.
	Refused string
	// Unanswered is why there is no answer.
	Unanswered string
}

// Need names facts that a rule looks at. The zero Need is none: such a rule has a CEL twin.
type Need uint32

const (
	// NeedTwin asks for Facts.Twin, from a cache where authority.CacheSuffices allows it.
	NeedTwin Need = 1 << iota
	// NeedLiveTwin asks for Facts.Twin from the API server: absence decides, or a move is requested.
	NeedLiveTwin
	// NeedStored asks for Facts.Stored.
	NeedStored
	// NeedInfra asks for Facts.Infra and Facts.InfraInstance.
	NeedInfra
	// NeedConversion asks for Facts.Unconvertible.
	NeedConversion
	// NeedControlPlane asks for Facts.ControlPlane, from the API server.
	NeedControlPlane
	// NeedUncounted asks for Facts.Uncounted, from an indexed cache, and the definition of a kind that may be missing from the API server.
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
	// NeedUndrained asks for Facts.Undrained, from an indexed cache, and from the API server where that has no such Machine.
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
	// NeedMasters asks for Facts.Masters, and Facts.Leaving of Cluster API's objects, from the API server where the Machine may be one.
	NeedMasters
)

// Has reports whether n includes all of other.
func (n Need) Has(other Need) bool { return n&other == other }

// Actor is what a request's user is to the rules. Who is which is configuration (Identities).
type Actor string

const (
	// Anyone is everybody who is not named below: people, GitOps, and cluster administrators alike.
	Anyone Actor = ""
	// Poundlock is the product itself: the only one who writes to what is locked.
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

// Identities names, by exact user name, who plays each part. Groups play none: no group is exempt from a lock.
type Identities map[Actor][]string

// Actor returns what the user of this name is to the rules.
func (i Identities) Actor(username string) Actor {
	for actor, names := range i {
		if slices.Contains(names, username) {
			return actor
		}
	}
	return Anyone
}
