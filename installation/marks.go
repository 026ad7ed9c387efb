// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/internal/issuers"
)

// The field manager, labels and annotations by which the installer marks what it writes.
const (
	// Manager is the field manager of all content, and the value of InstalledByLabel.
	Manager = "poundlock-install"
	// InstalledByLabel is on each object that the installer applies.
	InstalledByLabel = "poundlock.openshift.io/installed-by"
	// AdoptAnnotation lets the installer take over an object of another owner, if its value is "true".
	AdoptAnnotation = "poundlock.openshift.io/adopt"
	// AppliedAnnotation has the hash of the content that was applied, so that an equal object needs no request.
	AppliedAnnotation = "poundlock.openshift.io/applied"
	// RecordLabel is on the installer's own ConfigMaps. Its value says whether the ConfigMap is an inventory or has content that became ready last. ForLabel has
	// the provider.
	RecordLabel = "poundlock.openshift.io/install-record"
	ForLabel    = "poundlock.openshift.io/provider"
)

// Values of RecordLabel.
const (
	InventoryRecord = "inventory"
	LastGoodRecord  = "last-good"
)

const (
	admissionGroup = admissionregistrationv1.GroupName
	rbacGroup      = "rbac.authorization.k8s.io"
	crdKind        = "CustomResourceDefinition"
)

// hashOf returns a hash that is the same for equal content, because JSON has the keys of maps in order.
func hashOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func at(o map[string]any, path ...string) map[string]any {
	for _, key := range path {
		o, _ = o[key].(map[string]any)
	}
	return o
}

func text(o map[string]any, key string) string {
	s, _ := o[key].(string)
	return s
}

func number(o map[string]any, key string) int64 {
	switch n := o[key].(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	case int:
		return int64(n)
	}
	return 0
}

func items(o map[string]any, key string) []map[string]any {
	list, _ := o[key].([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func isWebhooks(o *unstructured.Unstructured) bool {
	kind := o.GroupVersionKind()
	return kind.Group == admissionGroup && (kind.Kind == "MutatingWebhookConfiguration" || kind.Kind == "ValidatingWebhookConfiguration")
}

func isDefinition(o *unstructured.Unstructured) bool { return o.GetKind() == crdKind }

// IsDefinition reports whether an object is a CustomResourceDefinition.
func IsDefinition(o *unstructured.Unstructured) bool { return isDefinition(o) }

func injected(o *unstructured.Unstructured) bool {
	return o.GetAnnotations()[issuers.InjectCABundle] == "true"
}
