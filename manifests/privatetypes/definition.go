// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package privatetypes

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/internal/issuers"
	"github.com/poundlock/poundlock/translation"
)

// Standard reports whether a CustomResourceDefinition belongs to a group that has a private counterpart.
func Standard(crd *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	return crd.GetKind() == "CustomResourceDefinition" && translation.ToPrivate.Group(group) != group
}

// Definition returns the private counterpart of a standard CustomResourceDefinition. It keeps the labels, which include those of contracts. It drops the
// annotations, because they make other components write into the definition, or prune it. If the definition has more than one version, the shim converts them.
func Definition(standard *unstructured.Unstructured, o Options) (*unstructured.Unstructured, error) {
	if !Standard(standard) {
		return nil, fmt.Errorf("%s %s is not a CustomResourceDefinition of the group %s or a group beneath "+
			"it", standard.GetKind(), standard.GetName(), translation.Standard)
	}
	spec, _, err := unstructured.NestedMap(standard.Object, "spec")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", standard.GetName(), err)
	}
	group, _, _ := unstructured.NestedString(spec, "group")
	plural, _, _ := unstructured.NestedString(spec, "names", "plural")
	versions, _, _ := unstructured.NestedSlice(spec, "versions")
	switch {
	case standard.GetName() != plural+"."+group:
		return nil, fmt.Errorf("the CustomResourceDefinition %s must have the name %s.%s", standard.GetName(), plural, group)
	case len(versions) == 0:
		return nil, errors.New(standard.GetName() + ": the CustomResourceDefinition has no versions")
	}
	spec["group"] = translation.ToPrivate.Group(group)
	spec["conversion"] = map[string]any{"strategy": "None"}
	private := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	private.SetGroupVersionKind(standard.GroupVersionKind())
	private.SetName(translation.ToPrivate.Definition(standard.GetName()))
	private.SetLabels(standard.GetLabels())
	if len(versions) > 1 { // with one version, a converter would have nothing to convert, and could only fail
		spec["conversion"] = o.conversion()
		if o.CABundle == nil {
			private.SetAnnotations(map[string]string{issuers.InjectCABundle: "true"})
		}
	}
	mark(private)
	return private, nil
}

func (o Options) conversion() map[string]any {
	client := map[string]any{}
	if o.URL != "" {
		client["url"] = o.URL
	} else {
		client["service"] = map[string]any{"name": Shim, "namespace": o.Namespace, "path": "/convert", "port": int64(443)}
	}
	if o.CABundle != nil {
		client["caBundle"] = base64.StdEncoding.EncodeToString(o.CABundle)
	}
	return map[string]any{"strategy": "Webhook", "webhook": map[string]any{"clientConfig": client, "conversionReviewVersions": []any{"v1", "v1beta1"}}}
}

// WithoutContract reports whether a definition lacks the label by which Cluster API's core manager finds its version. Only definitions of providers need it.
func WithoutContract(crd *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	prefix, _, _ := strings.Cut(group, ".")
	if prefix != "infrastructure" && prefix != "bootstrap" && prefix != "controlplane" {
		return false
	}
	for label := range crd.GetLabels() {
		if strings.HasPrefix(label, translation.Standard+"/v1") {
			return false
		}
	}
	return true
}
