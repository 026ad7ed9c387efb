// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// surroundings reads what the objects of the API live in that a request asks for: whether some of it is being deleted, or a Cluster among it is paused; "":
// nothing is.
func (l Lookups) surroundings(ctx context.Context, c policies.Change) (leaving, paused string, err error) {
	kind, _ := authority.KindNamed(c.Kind)
	kinds := map[string]schema.GroupVersionKind{
		authority.Namespace:  corev1.SchemeGroupVersion.WithKind(authority.Namespace),
		authority.Definition: apiextensionsv1.SchemeGroupVersion.WithKind(authority.Definition),
		authority.Cluster:    clusterv1.GroupVersion.WithKind(authority.Cluster),
	}
	for _, part := range kind.Surroundings(authority.Read(c.New).Requested, pairOf(c), c.New, c.Facts.Twin) {
		o, err := l.live(ctx, Ref{GroupVersionKind: kinds[part.Kind], Namespace: part.Namespace, Name: part.Name})
		if err != nil {
			return "", "", err
		}
		if o.Deleting() {
			return fmt.Sprintf("%s %s is being deleted", part.Kind, part.Name), "", nil
		}
		if part.Kind == authority.Cluster && authority.PausesAll(o) {
			paused = part.Name
		}
	}
	return "", paused, nil
}
