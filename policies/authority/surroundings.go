// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

const (
	// HoldsMirrorsAnnotation is on each object whose deletion would delete mirrors with it. Its value is a text for people, with the number of these mirrors.
	HoldsMirrorsAnnotation = Domain + "/holds-mirrors"
	// AllowDeletionAnnotation lets a person delete an object in spite of HoldsMirrorsAnnotation, if its value is one of Allows.
	AllowDeletionAnnotation = Domain + "/allow-deletion"
	// AllowsDeletion and AllowsControlPlane are the values of AllowDeletionAnnotation that allow a deletion. Any other value, such as "false", allows nothing.
	AllowsDeletion = "true"
	// AdmissionLabel, with the value Enforced, is on each mirrored namespace in which webhooks fail closed. Poundlock sets the label once the API server has
	// called one of its webhooks.
	AdmissionLabel = Domain + "/admission"
	// Enforced is the value of AdmissionLabel in a namespace in which webhooks fail closed. Without the label, webhooks fail open.
	Enforced = "enforced"
)

// The values of Surrounding.Kind.
const (
	Namespace  = "Namespace"
	Definition = "CustomResourceDefinition"
	Cluster    = "Cluster"
	// InfraCluster is a provider's cluster object, such as an AWSCluster. The provider needs the object for each machine, also for machines that the provider did
	// not create.
	InfraCluster = "InfraCluster"
)

// Surrounding is an object that others depend on (a namespace, a CRD, a Cluster or a provider's cluster object): if it is deleted, the others are deleted, too
// (DESIGN §3.3, Deletion of the surroundings).
type Surrounding struct {
	Kind, Namespace, Name string
	// UID is the UID that an owner reference has for this object; "" if any object of the name counts.
	UID types.UID
	// Since is when an object that depends on this Surrounding was created. An object with the Surrounding's name that was created after Since is not this
	// Surrounding. Since is zero if that does not matter.
	Since metav1.Time
	// Outlived reports that the dependent object stays for a while after this Surrounding is gone, until the garbage collector deletes the dependent object.
	Outlived bool
}

// Surroundings returns the objects on which a pair's object of an API depends: its namespace, its definition (CRD), the definition of the kind of set that owns
// it and, in Cluster API, the Cluster that it names. The definition of the set matters because all sets are deleted with it, and the garbage collector deletes
// their Machines.
func (k Kind) Surroundings(of API, namespaces Pair, machineAPI, clusterAPI *policies.Object) []Surrounding {
	if of != ClusterAPI {
		return append([]Surrounding{{Kind: Namespace, Name: namespaces.MachineAPI}, {Kind: Definition, Name: k.Resource + "." + k.MachineAPI.Group}},
			k.ownersDefinition(machineAPI, func(parent Kind) string { return parent.MachineAPI.Group })...)
	}
	out := append([]Surrounding{{Kind: Namespace, Name: namespaces.ClusterAPI}, {Kind: Definition, Name: k.Resource + "." + k.ClusterAPI.Group}},
		k.ownersDefinition(clusterAPI, func(parent Kind) string { return parent.ClusterAPI.Group })...)
	if name := ClusterOf(clusterAPI); name != "" {
		out = append(out, Surrounding{Kind: Cluster, Namespace: namespaces.ClusterAPI, Name: name})
	}
	return out
}

func (k Kind) ownersDefinition(o *policies.Object, group func(parent Kind) string) []Surrounding {
	parent, ok := KindNamed(k.Parent)
	if o == nil || !ok || !slices.ContainsFunc(o.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.Kind == parent.Name && r.Controller != nil && *r.Controller
	}) {
		return nil
	}
	return []Surrounding{{Kind: Definition, Name: parent.Resource + "." + group(parent), Outlived: true}}
}

// SurroundingsKept refuses the deletion of an object that has HoldsMirrorsAnnotation: "policy and webhook refuse DELETE by it unless
// poundlock.openshift.io/allow-deletion is set" (DESIGN §3.3, Deletion of the surroundings). Without the annotation that allows a deletion, it also refuses to
// change or remove HoldsMirrorsAnnotation, which would otherwise protect nothing.
func SurroundingsKept(c policies.Change) policies.Verdict {
	mark := c.Old.Metadata.Annotations[HoldsMirrorsAnnotation]
	switch {
	case c.Actor == policies.Poundlock || mark == "" || c.Old.Deleting() || allowed(c.Old):
		return policies.Verdict{}
	case c.Operation == admissionv1.Delete && follows(c):
		return policies.Verdict{}
	case c.Operation == admissionv1.Delete:
		return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"),
			fmt.Sprintf("Poundlock mirrors %s, which need this %s%s. First migrate them to the API that stays, then stop Poundlock and run: kubectl poundlock "+
				"cleanup. To delete this object at once, together with the instances of Machines for which the deleted API is authoritative (if control plane Machines "+
				"are among them, use the value with-control-plane): %s",
				mark, kindOf(c), notAllowed(c.Old), allow(c))))
	case c.New.Metadata.Annotations[HoldsMirrorsAnnotation] == mark || allowed(c.New):
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "annotations").Key(HoldsMirrorsAnnotation),
		fmt.Sprintf("Poundlock keeps this mark while it mirrors %s, which need this %s%s. Leave the mark as it is, also in a manifest that replaces the "+
			"object. To allow its deletion: %s",
			mark, kindOf(c), notAllowed(c.New), allow(c))))
}

// allowed reports whether somebody has allowed the deletion of an object, by AllowDeletionAnnotation.
func allowed(o *policies.Object) bool {
	return slices.Contains(Allows(), o.Metadata.Annotations[AllowDeletionAnnotation])
}

// Allows lists the values of AllowDeletionAnnotation that allow a deletion.
func Allows() []string { return []string{AllowsDeletion, AllowsControlPlane} }

// notAllowed returns a text in parentheses if an object has AllowDeletionAnnotation with a value that allows no deletion; "" if the object does not have the
// annotation. The caller has checked before that the value allows nothing.
func notAllowed(o *policies.Object) string {
	if o.Metadata.Annotations[AllowDeletionAnnotation] == "" {
		return ""
	}
	return fmt.Sprintf(" (%s allows its deletion only with the value %s)", AllowDeletionAnnotation, AllowsDeletion)
}

// follows reports whether a deletion is the consequence of another deletion, which somebody had to allow: the namespace controller deletes the objects in a
// namespace that is being deleted, and Cluster API's controller or the garbage collector deletes the infrastructure cluster with its Cluster.
func follows(c policies.Change) bool {
	switch c.Actor {
	case policies.NamespaceController:
		return c.NamespaceTerminating && (c.Kind == Cluster || c.Kind == InfraCluster)
	case policies.ClusterAPIController, policies.GarbageCollector:
		return c.Kind == InfraCluster
	}
	return false
}

// allow returns the command by which a person allows the deletion of the object under review.
func allow(c policies.Change) string { return allowAs(c, AllowsDeletion) }

func allowAs(c policies.Change, value string) string {
	in := ""
	if c.Kind == Cluster || c.Kind == InfraCluster {
		in = "-n " + c.Namespace + " "
	}
	return fmt.Sprintf("kubectl %sannotate --overwrite %s %s %s=%s", in, c.Resource, c.Name, AllowDeletionAnnotation, value)
}
