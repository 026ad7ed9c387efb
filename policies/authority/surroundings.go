// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

const (
	// HoldsMirrorsAnnotation is on each object without which mirrors cannot live. Its value counts what lives there, for people.
	HoldsMirrorsAnnotation = Domain + "/holds-mirrors"
	// AllowDeletionAnnotation lets a person delete such an object all the same, whatever its value.
	AllowDeletionAnnotation = Domain + "/allow-deletion"
	// AdmissionLabel is on each mirrored namespace in which webhooks fail closed, with the value Enforced: from the first answer on that came through the API
	// server.
	AdmissionLabel = Domain + "/admission"
	Enforced       = "enforced"
)

// Kinds of the surroundings.
const (
	Namespace  = "Namespace"
	Definition = "CustomResourceDefinition"
	Cluster    = "Cluster"
)

// SurroundingsKept: "policy and webhook refuse DELETE by it unless poundlock.openshift.io/allow-deletion is set" (DESIGN §3.3, Deletion of the
// surroundings). The mark itself can only be removed in the same way, or it would protect nothing. The namespace controller may delete the Cluster
// of a namespace: it does so only while the namespace is being deleted, which somebody had to allow.
func SurroundingsKept(c policies.Change) policies.Verdict {
	mark := c.Old.Metadata.Annotations[HoldsMirrorsAnnotation]
	switch {
	case c.Actor == policies.Poundlock || mark == "" || c.Old.Deleting() || c.Old.Metadata.Annotations[AllowDeletionAnnotation] != "":
		return policies.Verdict{}
	case c.Operation == admissionv1.Delete && c.Kind == Cluster && c.Actor == policies.NamespaceController:
		return policies.Verdict{}
	case c.Operation == admissionv1.Delete:
		return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"),
			fmt.Sprintf("Poundlock mirrors %s, which need this %s. First migrate them to the API that stays, then run: kubectl poundlock cleanup. "+
				"To delete it at once, with the instances that the deleted API is authoritative for: %s", mark, c.Kind, allow(c))))
	case c.New.Metadata.Annotations[HoldsMirrorsAnnotation] == mark || c.New.Metadata.Annotations[AllowDeletionAnnotation] != "":
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "annotations").Key(HoldsMirrorsAnnotation),
		fmt.Sprintf("Poundlock keeps this mark while it mirrors %s, which need this %s. To allow its deletion: %s", mark, c.Kind, allow(c))))
}

// allow is the command that breaks the glass.
func allow(c policies.Change) string {
	in := ""
	if c.Kind == Cluster {
		in = "-n " + c.Namespace + " "
	}
	return fmt.Sprintf("kubectl %sannotate %s %s %s=true", in, c.Resource, c.Name, AllowDeletionAnnotation)
}
