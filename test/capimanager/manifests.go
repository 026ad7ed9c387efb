// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package capimanager

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/poundlock/poundlock/test/build"
)

const module = "sigs.k8s.io/cluster-api"

// manifests are what the module's kustomization makes, with this manager's namespace and with its address for the webhooks.
type manifests struct {
	crds []*apiextensionsv1.CustomResourceDefinition
	// rest are the account, its roles and the webhook configurations. There is no Deployment, because the manager is a process.
	rest []*unstructured.Unstructured
}

func (m *Manager) manifests(ctx context.Context) (manifests, error) {
	dir, err := build.ModuleDir(ctx, module)
	if err != nil {
		return manifests{}, err
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, "config", "default"))
	if err != nil {
		return manifests{}, fmt.Errorf("making the manifests of %s: %w", module, err)
	}
	var all manifests
	for _, resource := range made.Resources() {
		content, err := resource.Map()
		if err != nil {
			return manifests{}, err
		}
		if err := all.add(m, &unstructured.Unstructured{Object: content}); err != nil {
			return manifests{}, fmt.Errorf("reading %s %s of %s: %w", resource.GetKind(), resource.GetName(), module, err)
		}
	}
	return all, nil
}

func (all *manifests) add(m *Manager, o *unstructured.Unstructured) error {
	o.SetAnnotations(nil) // they ask cert-manager for the CA, which is written in below
	switch o.GetKind() {
	case "CustomResourceDefinition":
		return all.addCRD(m, o)
	case "ServiceAccount":
		o.SetNamespace(m.options.Namespace)
	case "ClusterRoleBinding":
		if err := m.bind(o); err != nil {
			return err
		}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		if err := m.redirect(o); err != nil {
			return err
		}
	case "ClusterRole":
	default:
		return nil // what only a pod needs, and leader election
	}
	all.rest = append(all.rest, o)
	return nil
}

func (all *manifests) addCRD(m *Manager, o *unstructured.Unstructured) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, crd); err != nil {
		return err
	}
	conversion := crd.Spec.Conversion
	if conversion == nil || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil || conversion.Webhook.ClientConfig.Service == nil {
		return fmt.Errorf("spec.conversion names no webhook's Service: has the module moved it?")
	}
	url := m.url(conversion.Webhook.ClientConfig.Service.Path)
	conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: m.ca()}
	all.crds = append(all.crds, crd)
	return nil
}

// bind moves the subjects of a binding to this manager's namespace.
func (m *Manager) bind(o *unstructured.Unstructured) error {
	return each(o, "subjects", func(subject map[string]any) error {
		subject["namespace"] = m.options.Namespace
		return nil
	})
}

// redirect has the API server call the webhooks of a configuration at this manager's address.
func (m *Manager) redirect(o *unstructured.Unstructured) error {
	return each(o, "webhooks", func(webhook map[string]any) error {
		path, found, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil || !found {
			return fmt.Errorf("a webhook names no Service's path: has the module moved it? (%w)", err)
		}
		webhook["clientConfig"] = map[string]any{"url": m.url(&path), "caBundle": m.encodedCA()}
		return nil
	})
}

func (m *Manager) encodedCA() string { return base64.StdEncoding.EncodeToString(m.ca()) }

// each applies change to every item of the list that is named list.
func each(o *unstructured.Unstructured, list string, change func(map[string]any) error) error {
	items, _, err := unstructured.NestedSlice(o.Object, list)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := change(item.(map[string]any)); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(o.Object, items, list)
}
