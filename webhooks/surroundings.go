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

var surroundingKinds = map[string]schema.GroupVersionKind{
	authority.Namespace:  corev1.SchemeGroupVersion.WithKind(authority.Namespace),
	authority.Definition: apiextensionsv1.SchemeGroupVersion.WithKind(authority.Definition),
	authority.Cluster:    clusterv1.GroupVersion.WithKind(authority.Cluster),
}

// surrounding reads one of the objects in which mirrors live. leaving is a sentence if the object is being deleted, else "".
func (l Lookups) surrounding(ctx context.Context, part authority.Surrounding) (o *policies.Object, leaving string, err error) {
	o, err = l.live(ctx, Ref{GroupVersionKind: surroundingKinds[part.Kind], Namespace: part.Namespace, Name: part.Name})
	if err == nil && o.Deleting() {
		leaving = fmt.Sprintf("%s %s is being deleted", part.Kind, part.Name)
	}
	return o, leaving, err
}

// surroundings reads the namespace, CRDs and Cluster in which the objects of the requested API live. leaving is a sentence about the first of these that is
// being deleted. paused is the name of the paused Cluster of the Cluster API object, whichever API is requested. Each is "" if there is none.
func (l Lookups) surroundings(ctx context.Context, c policies.Change) (leaving, paused string, err error) {
	kind, _ := authority.KindNamed(c.Kind)
	for _, part := range kind.Surroundings(authority.Read(c.New).Requested, pairOf(c), c.New, c.Facts.Twin) {
		o, leaving, err := l.surrounding(ctx, part)
		if err != nil || leaving != "" {
			return leaving, "", err
		}
		if part.Kind == authority.Cluster && authority.PausesAll(o) {
			paused = part.Name
		}
	}
	if authority.Read(c.New).Requested == authority.MachineAPI {
		if paused, err = l.pausedCluster(ctx, c); err != nil {
			return "", "", err
		}
	}
	return "", paused, nil
}

// pausedCluster returns the name of the Cluster of the Cluster API object of a pair, if that Cluster is paused.
func (l Lookups) pausedCluster(ctx context.Context, c policies.Change) (string, error) {
	core, namespace := c.Facts.Twin, c.TwinNamespace
	if c.Side == policies.SideClusterAPI {
		core, namespace = c.Old, c.Namespace
	}
	name := authority.ClusterOf(core)
	if name == "" {
		return "", nil
	}
	cluster, err := l.live(ctx, Ref{GroupVersionKind: surroundingKinds[authority.Cluster], Namespace: namespace, Name: name})
	if err != nil || !authority.PausesAll(cluster) {
		return "", err
	}
	return name, nil
}
