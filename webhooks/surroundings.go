// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// leaving reads whether what the objects of the API live in that a request asks for is being deleted; "": nothing is.
func (l Lookups) leaving(ctx context.Context, c policies.Change) (string, error) {
	kind, _ := authority.KindNamed(c.Kind)
	namespace, group := c.Namespace, kind.MachineAPI.Group
	toCluster := authority.Read(c.New).Requested == authority.ClusterAPI
	if toCluster {
		namespace, group = c.TwinNamespace, kind.ClusterAPI.Group
	}
	refs := []Ref{
		{GroupVersionKind: corev1.SchemeGroupVersion.WithKind(authority.Namespace), Name: namespace},
		{GroupVersionKind: apiextensionsv1.SchemeGroupVersion.WithKind(authority.Definition), Name: kind.Resource + "." + group},
	}
	if cluster := clusterOf(c.Facts.Twin); toCluster && cluster != "" {
		refs = append(refs, Ref{GroupVersionKind: clusterv1.GroupVersion.WithKind(authority.Cluster), Namespace: namespace, Name: cluster})
	}
	for _, ref := range refs {
		o, err := l.live(ctx, ref)
		if err != nil {
			return "", err
		}
		if o.Deleting() {
			return fmt.Sprintf("%s %s is being deleted", ref.Kind, ref.Name), nil
		}
	}
	return "", nil
}

// clusterOf is the name of a Cluster API object's Cluster.
func clusterOf(o *policies.Object) string {
	var spec struct {
		ClusterName string `json:"clusterName"`
	}
	if o == nil || json.Unmarshal(o.Spec, &spec) != nil {
		return ""
	}
	return spec.ClusterName
}
