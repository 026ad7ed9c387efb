// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/internal/managedfields"
)

// Claim says to whom a live object belongs, and so what the installer may do with it.
type Claim int

// The claims.
const (
	Absent   Claim = iota
	Ours           // apply
	Adopted        // apply, and take over what others set, because a user allowed this
	Foreign        // do not touch
	Deleting       // wait: it is being deleted
)

// Collision is the error that an object belongs to somebody else.
type Collision struct {
	Object Key
	Owner  string
}

func (c *Collision) Error() string {
	return fmt.Sprintf("%s already belongs to %s: have that owner give up the object, or let the installer take it over with the annotation %s=true "+
		"on the object", c.Object, c.Owner, AdoptAnnotation)
}

// ClaimOf returns to whom a live object belongs. It belongs to the installer if at least two of three proofs exist: the label, the field manager, and the UID
// in the inventory. Each proof alone can be lost: a user removes a label, a client clears managed fields, or the process ends before it has stored a UID.
func ClaimOf(live *unstructured.Unstructured, recorded types.UID) Claim {
	if live == nil {
		return Absent
	}
	proofs := 0
	for _, proof := range []bool{live.GetLabels()[InstalledByLabel] == Manager, managed(live), recorded != "" && recorded == live.GetUID()} {
		if proof {
			proofs++
		}
	}
	const enough = 2
	switch {
	case proofs < enough && live.GetAnnotations()[AdoptAnnotation] != "true":
		return Foreign
	case live.GetDeletionTimestamp() != nil:
		return Deleting
	case proofs < enough:
		return Adopted
	}
	return Ours
}

func managed(live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return isOwn(e) })
}

func isOwn(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == Manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// OwnerOf returns the owner of an object, in words for people.
func OwnerOf(live *unstructured.Unstructured) string {
	var parts []string
	if owner := metav1.GetControllerOf(live); owner != nil {
		parts = append(parts, owner.Kind+"/"+owner.Name)
	}
	var managers []string
	for _, e := range live.GetManagedFields() {
		if e.Subresource == "" && e.Manager != managedfields.MarksManager && !slices.Contains(managers, e.Manager) {
			managers = append(managers, e.Manager)
		}
	}
	if len(managers) > 0 {
		parts = append(parts, "field manager "+strings.Join(managers, ", "))
	}
	if label := live.GetLabels()[bundle.ProviderLabel]; label != "" {
		parts = append(parts, "provider "+label)
	}
	if len(parts) == 0 {
		return "somebody else"
	}
	return strings.Join(parts, ", ")
}
