// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package privatetypes

import (
	"bytes"
	"crypto/x509"
	"embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/poundlock/poundlock/translation"
)

// Shim is the name of the conversion shim's Service, Deployment and so on.
const Shim = "capi-conversion-webhook-shim"

// The label of every object that belongs to an installation, and its value.
const (
	PartOf = "app.kubernetes.io/part-of"
	Name   = "poundlock-private-types"
)

//go:embed *.yaml
var files embed.FS

// Options say where private types are installed, and with which parts.
type Options struct {
	Namespace, Image string
	// Upstreams are the converters that the shim calls, in the form SUFFIX=URL.
	Upstreams []string
	// URL is the URL of a shim that runs outside of the cluster. If it is set, no shim is installed in the cluster.
	URL string
	// CABundle is the CA that signed the shim's certificate. Nil means that OpenShift's service CA signs it, and writes its own CA into the definitions.
	CABundle []byte
	// Clients are ServiceAccounts (NAMESPACE/NAME) that get rights for the objects under their private names.
	Clients []string
}

// check returns an error for options that the API server or the shim would refuse.
func (o Options) check() error {
	if len(o.Upstreams) > 0 {
		if o.URL != "" {
			return errors.New("--upstream and --shim-url exclude each other: a shim outside of the cluster (--shim-url) gets --upstream on its own " +
				"command line. Remove one of the two flags")
		}
		if _, err := translation.ParseConverters(o.Upstreams); err != nil {
			return err
		}
	}
	if to, err := url.Parse(o.URL); err != nil || o.URL != "" && (to.Scheme != "https" || to.Host == "") {
		return fmt.Errorf("--shim-url %s is not valid: use a URL that begins with https://", o.URL)
	}
	if o.CABundle != nil && !x509.NewCertPool().AppendCertsFromPEM(o.CABundle) {
		return errors.New("--ca-bundle: the file has no certificate in PEM format")
	}
	return nil
}

// Kinds are the kinds of the objects, in the order in which the objects are applied. Objects of an Optional kind are left out if the kind's definition is
// missing.
var Kinds = []struct {
	GroupVersionKind schema.GroupVersionKind
	Resource         string
	Namespaced       bool
	Optional         bool
}{
	{schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, "serviceaccounts", true, false},
	{schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, "clusterroles", false, false},
	{schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"}, "clusterrolebindings", false, false},
	{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", true, false},
	{schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "services", true, false},
	{schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, "networkpolicies", true, false},
	{schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, "poddisruptionbudgets", true, false},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments", true, false},
	{schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}, "servicemonitors", true, true},
	{schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"}, "podmonitors", true, true},
	{schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"}, "prometheusrules", true, true},
}

// Objects returns the objects of an installation, except for the definitions, in the order of Kinds.
func Objects(o Options) ([]*unstructured.Unstructured, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	all, err := read()
	if err != nil {
		return nil, err
	}
	for _, client := range o.Clients {
		binding, err := o.binding(client)
		if err != nil {
			return nil, err
		}
		all = append(all, binding)
	}
	var out []*unstructured.Unstructured
	for _, kind := range Kinds {
		for _, object := range all {
			if object.GroupVersionKind() != kind.GroupVersionKind || o.URL != "" && ofShim(object) {
				continue
			}
			if kind.Namespaced {
				object.SetNamespace(o.Namespace)
			}
			if object.GetKind() == "Deployment" {
				if err := o.start(object); err != nil {
					return nil, err
				}
			}
			out = append(out, object)
		}
	}
	return out, nil
}

// ofShim reports whether an object is useless without a shim in the cluster. Objects for monitoring count, too: a shim elsewhere is monitored there.
func ofShim(o *unstructured.Unstructured) bool {
	return strings.HasPrefix(o.GetName(), Shim)
}

// read returns the objects in this folder's files.
func read() ([]*unstructured.Unstructured, error) {
	names, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, name := range names {
		if name.Name() == "kustomization.yaml" {
			continue
		}
		text, err := files.ReadFile(name.Name())
		if err != nil {
			return nil, err
		}
		objects, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name.Name(), err)
		}
		for _, o := range objects {
			mark(o)
		}
		out = append(out, objects...)
	}
	return out, nil
}

// Parse returns the objects in a stream of YAML or JSON documents. It replaces lists by their items.
func Parse(text []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var raw runtime.RawExtension
		switch err := decoder.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		case len(raw.Raw) == 0 || string(raw.Raw) == "null":
			continue
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(raw.Raw); err != nil {
			return nil, err
		}
		if !o.IsList() {
			out = append(out, o)
			continue
		}
		list, err := o.ToList()
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
}

func mark(o *unstructured.Unstructured) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[PartOf] = Name
	o.SetLabels(labels)
}

func (o Options) binding(client string) (*unstructured.Unstructured, error) {
	namespace, name, ok := strings.Cut(client, "/")
	if !ok || namespace == "" || name == "" {
		return nil, fmt.Errorf("%q does not name a ServiceAccount: use NAMESPACE/NAME", client)
	}
	b := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": Name + "-client"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": name}},
	}}
	b.SetName(Name + "-client:" + namespace + ":" + name)
	mark(b)
	return b, nil
}

// Migrate adds a rule to the clients' ClusterRole that lets them change definitions. Cluster API moves objects to another storage version, and records that in
// the definition. The Role that Cluster API comes with names the standard definitions, and RBAC is not translated.
func Migrate(objects []*unstructured.Unstructured, definitions []string) error {
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "ClusterRole" && o.GetName() == Name+"-client"
	})
	if i < 0 {
		return errors.New("the manifests lack the ClusterRole of the private types' clients")
	}
	rules, _, err := unstructured.NestedSlice(objects[i].Object, "rules")
	if err != nil {
		return err
	}
	var names []any
	for _, d := range slices.Compact(slices.Sorted(slices.Values(definitions))) {
		names = append(names, d)
	}
	rules = append(rules, map[string]any{
		"apiGroups": []any{"apiextensions.k8s.io"}, "resources": []any{"customresourcedefinitions", "customresourcedefinitions/status"},
		"resourceNames": names, "verbs": []any{"patch", "update"},
	})
	return unstructured.SetNestedSlice(objects[i].Object, rules, "rules")
}

// start sets the image and the upstreams in the shim's Deployment.
func (o Options) start(deployment *unstructured.Unstructured) error {
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		return fmt.Errorf("deployment.yaml has %d containers: %w", len(containers), err)
	}
	container, _ := containers[0].(map[string]any)
	args, _, err := unstructured.NestedSlice(container, "args")
	if err != nil {
		return err
	}
	for _, u := range o.Upstreams {
		args = append(args, "--upstream="+u)
	}
	container["args"], container["image"] = args, o.Image
	return unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
}
