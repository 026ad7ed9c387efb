// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scopes is a RESTMapper that also knows the kinds of a cache's options (ByObject) while the API server does not serve them. When a cache is made, it asks for
// the scope of each of these kinds, and fails if a kind has no mapping. Their scope is in the options: a kind with namespaces is namespaced. As soon as the API
// server serves a kind, its own mapping counts.
type scopes struct {
	meta.RESTMapper
	known map[schema.GroupKind]meta.RESTScope
}

func withScopes(mapper meta.RESTMapper, byObject map[client.Object]cache.ByObject) meta.RESTMapper {
	known := map[schema.GroupKind]meta.RESTScope{}
	for o, options := range byObject {
		scope := meta.RESTScopeRoot
		if options.Namespaces != nil {
			scope = meta.RESTScopeNamespace
		}
		if kind := o.GetObjectKind().GroupVersionKind(); !kind.Empty() { // a typed object has none, and its kind is always served
			known[kind.GroupKind()] = scope
		}
	}
	return scopes{mapper, known}
}

// RESTMapping returns the API server's mapping of a kind, or one with the kind's scope.
func (s scopes) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := s.RESTMapper.RESTMapping(kind, versions...)
	if scope, known := s.known[kind]; known && len(versions) == 1 && meta.IsNoMatchError(err) {
		gvk := kind.WithVersion(versions[0])
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		return &meta.RESTMapping{Resource: plural, GroupVersionKind: gvk, Scope: scope}, nil
	}
	return mapping, err
}
