// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
)

var (
	// The resources of namespaces, CRDs and Clusters. Mirrors are deleted with these objects.
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	clusters    = clusterv1.GroupVersion.WithResource("clusters")
	// The resources of Poundlock's policies and webhook configurations. The policies have the labels of Poundlock's manifests.
	admission = append([]schema.GroupVersionResource{
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	}, presence.Webhooks...)
)

// admission lists Poundlock's policies and webhook configurations.
func (c *cleaner) admission(ctx context.Context) ([]owned, error) {
	var out []owned
	for _, resource := range admission {
		list, err := c.client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=poundlock"})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", resource.GroupResource(), err)
		}
		for i := range list.Items {
			out = append(out, owned{GroupVersionResource: resource, name: list.Items[i].GetName()})
		}
	}
	return out, nil
}

// surroundings lists the namespaces, CRDs, Clusters and infrastructure clusters that have the annotation by which admission refuses their deletion, or the
// label by which webhooks fail closed. It also records which of the namespaces, CRDs and Clusters are being deleted.
func (c *cleaner) surroundings(ctx context.Context, pairs authority.Pairs) ([]owned, error) {
	var out []owned
	add := func(resource schema.GroupVersionResource, items ...unstructured.Unstructured) {
		for i := range items {
			if items[i].GetAnnotations()[authority.HoldsMirrorsAnnotation] != "" || items[i].GetLabels()[authority.AdmissionLabel] != "" {
				out = append(out, owned{resource, items[i].GetNamespace(), items[i].GetName()})
			}
		}
	}
	for _, pair := range pairs {
		for _, name := range []string{pair.MachineAPI, pair.ClusterAPI} {
			o, err := c.get(ctx, namespaces, "", name)
			if err != nil {
				return nil, err
			}
			c.leaves(authority.Namespace, "", name, o)
			if o != nil {
				add(namespaces, *o)
			}
		}
	}
	names, resources := sets.New(authority.Definitions()...), []schema.GroupVersionResource{clusters}
	for _, p := range platforms.List() {
		names.Insert(p.Definitions()...)
		resources = append(resources, p.InfraCluster.GroupVersion().WithResource(p.InfraCluster.Plural))
	}
	for _, name := range sets.List(names) {
		o, err := c.get(ctx, definitions, "", name)
		if err != nil {
			return nil, err
		}
		c.leaves(authority.Definition, "", name, o)
		if o != nil {
			add(definitions, *o)
		}
	}
	for _, pair := range pairs {
		for _, resource := range resources {
			list, err := c.client.Resource(resource).Namespace(pair.ClusterAPI).List(ctx, metav1.ListOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("listing %s: %w", resource.GroupResource(), err)
			}
			if err != nil {
				continue
			}
			add(resource, list.Items...)
			for i := range list.Items {
				if resource == clusters {
					c.leaves(authority.Cluster, pair.ClusterAPI, list.Items[i].GetName(), &list.Items[i])
				}
			}
		}
	}
	return out, nil
}

// leaves records the object in c.leaving if it is being deleted.
func (c *cleaner) leaves(kind, namespace, name string, o *unstructured.Unstructured) {
	if o != nil && o.GetDeletionTimestamp() != nil {
		c.leaving[Place{Kind: kind, Namespace: namespace, Name: name}] = true
	}
}

// manager returns the signs of whether a manager runs.
func (c *cleaner) manager(ctx context.Context, namespace string) (Manager, error) {
	m := Manager{Name: c.name, Namespace: namespace}
	deployment, err := c.get(ctx, presence.Deployments, namespace, c.name)
	if err != nil {
		return m, err
	}
	if deployment != nil {
		replicas, given, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
		if m.Deployment = replicas; !given {
			m.Deployment = 1
		}
	}
	lease, err := c.get(ctx, presence.Leases, namespace, c.name)
	if err != nil {
		return m, err
	}
	c.known = deployment != nil || lease != nil
	if lease != nil {
		m.Holder, _, _ = unstructured.NestedString(lease.Object, "spec", "holderIdentity")
		renewed, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
		m.Renewed, _ = time.Parse(time.RFC3339Nano, renewed) // a time that cannot be read counts as long ago
		seconds, _, _ := unstructured.NestedInt64(lease.Object, "spec", "leaseDurationSeconds")
		m.Term = time.Duration(seconds) * time.Second
	}
	is, err := presence.Of(ctx, c.Plugin, namespace)
	m.Answers = is == presence.Answers
	return m, err
}

func (c *cleaner) get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := c.client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", resource.GroupResource(), inventory.Place(namespace, name), err)
	}
	return u, nil
}
