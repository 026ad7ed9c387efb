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

// Standard reports whether a definition is of a group that has a private twin.
func Standard(crd *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	return crd.GetKind() == "CustomResourceDefinition" && translation.ToPrivate.Group(group) != group
}

// Definition is the private twin of a standard definition. Labels are kept, contracts' among them. Annotations are not, as they have others write into the
// definition, or prune it. More than one version means a conversion by the shim.
func Definition(standard *unstructured.Unstructured, o Options) (*unstructured.Unstructured, error) {
	if !Standard(standard) {
		return nil, fmt.Errorf("%s %s: it is no definition of %s or a group beneath it", standard.GetKind(), standard.GetName(), translation.Standard)
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
		return nil, fmt.Errorf("%s: it should be named %s.%s", standard.GetName(), plural, group)
	case len(versions) == 0:
		return nil, errors.New(standard.GetName() + ": it has no versions")
	}
	spec["group"] = translation.ToPrivate.Group(group)
	spec["conversion"] = map[string]any{"strategy": "None"}
	private := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	private.SetGroupVersionKind(standard.GroupVersionKind())
	private.SetName(translation.ToPrivate.Definition(standard.GetName()))
	private.SetLabels(standard.GetLabels())
	if len(versions) > 1 { // else there is nothing to convert, and a converter would be one more thing that can be away
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

// WithoutContract reports whether Cluster API's core manager would not find the version of a definition: those of providers need a label for it.
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
