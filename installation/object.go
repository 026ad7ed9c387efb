// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/bundle"
)

// Key identifies an object. It has no version, because each version shows the same object.
type Key struct {
	schema.GroupKind
	Namespace, Name string
}

func (k Key) String() string { return k.Kind + "/" + k.Name }

// KeyOf returns the key of an object.
func KeyOf(o *unstructured.Unstructured) Key {
	return Key{o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName()}
}

// Object is an object of a provider as it is applied.
type Object struct {
	*unstructured.Unstructured
	Stage bundle.Stage
}

// Key returns the key of the object.
func (o Object) Key() Key { return KeyOf(o.Unstructured) }

// Provider is a provider in the form in which it is applied to a cluster: rendered, and with its objects in the order in which they are applied.
type Provider struct {
	bundle.Provider
	// Hash is the hash of all objects. It changes with the content, the images and the variables.
	Hash    string
	Objects []Object
	// Dropped are the documents of the content that are not applied, and why: the command that packed the content would have left them out.
	Dropped []bundle.Entry
}

// Prepare renders a bundle for a cluster.
func Prepare(b bundle.Bundle, needs bundle.Needs) (Provider, error) {
	documents, dropped, err := b.Render(needs)
	if err != nil {
		return Provider{}, err
	}
	p := Provider{Provider: b.Provider, Dropped: dropped}
	scaled := autoscaled(documents)
	all := make([]any, 0, len(documents))
	for _, d := range documents {
		o := &unstructured.Unstructured{Object: d.Object}
		own(o, scaled)
		p.Objects = append(p.Objects, Object{o, bundle.StageOf(d.GroupKind())})
		all = append(all, o.Object)
	}
	p.Hash = hashOf(all)
	return p, nil
}

// own removes from an object the fields that others write, and adds the label of the installer.
func own(o *unstructured.Unstructured, scaled map[string]bool) {
	delete(o.Object, "status")
	metadata := at(o.Object, "metadata")
	for _, field := range []string{"creationTimestamp", "managedFields", "uid", "resourceVersion", "generation", "selfLink"} {
		delete(metadata, field)
	}
	if injected(o) {
		for _, client := range clientConfigs(o) {
			delete(client, "caBundle")
		}
	}
	if at(o.Object, "aggregationRule") != nil {
		delete(o.Object, "rules")
	}
	if scaled[o.GetKind()+"/"+o.GetName()] {
		delete(at(o.Object, "spec"), "replicas")
	}
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[InstalledByLabel] = Manager
	o.SetLabels(labels)
}

// autoscaled returns the workloads whose replicas a HorizontalPodAutoscaler of the provider sets, as kind/name.
func autoscaled(documents []bundle.Document) map[string]bool {
	out := map[string]bool{}
	for _, d := range documents {
		if d.Kind() == "HorizontalPodAutoscaler" {
			target := at(d.Object, "spec", "scaleTargetRef")
			out[text(target, "kind")+"/"+text(target, "name")] = true
		}
	}
	return out
}

// clientConfigs returns the fields that say how a webhook or a conversion is called.
func clientConfigs(o *unstructured.Unstructured) []map[string]any {
	var out []map[string]any
	if isWebhooks(o) {
		for _, hook := range items(o.Object, "webhooks") {
			out = append(out, at(hook, "clientConfig"))
		}
	}
	if c := at(o.Object, "spec", "conversion"); isDefinition(o) && text(c, "strategy") == "Webhook" {
		out = append(out, at(c, "webhook", "clientConfig"))
	}
	return slices.DeleteFunc(out, func(m map[string]any) bool { return m == nil })
}

// Seal returns the object with the hash of its content in an annotation. It is the last step before an object is compared and applied.
func Seal(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, AppliedAnnotation)
	annotations[AppliedAnnotation] = hashOf(out.Object)
	out.SetAnnotations(annotations)
	return out
}

// In returns the objects of a stage.
func (p Provider) In(stage bundle.Stage) []Object {
	var out []Object
	for _, o := range p.Objects {
		if o.Stage == stage {
			out = append(out, o)
		}
	}
	return out
}

// Kinds returns the kinds of the providers' objects, each once, in a fixed order.
func Kinds(all []Provider) []schema.GroupVersionKind {
	seen := map[schema.GroupVersionKind]bool{}
	var out []schema.GroupVersionKind
	for _, p := range all {
		for _, o := range p.Objects {
			if kind := o.GroupVersionKind(); !seen[kind] {
				seen[kind] = true
				out = append(out, kind)
			}
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// CheckScopes returns an error for each object whose namespace does not fit the scope of its kind, or whose kind nobody serves. namespaced returns whether a
// kind has namespaces, and known, whether the API server serves the kind at all.
func CheckScopes(all []Provider, namespaced func(schema.GroupVersionKind) (is, known bool)) []error {
	defined := map[schema.GroupKind]bool{}
	var objects []Object
	for _, p := range all {
		p.define(defined)
		objects = append(objects, p.Objects...)
	}
	var problems []error
	for _, o := range objects {
		is, known := namespaced(o.GroupVersionKind())
		switch {
		case !known && !defined[o.GroupVersionKind().GroupKind()]:
			problems = append(problems, fmt.Errorf("%s: the API server does not serve the kind %s: exclude the object, or install the "+
				"CustomResourceDefinition of this kind", o.Key(), o.GroupVersionKind()))
		case known && is && o.GetNamespace() == "":
			problems = append(problems, fmt.Errorf("%s: metadata.namespace is missing: set it to %s", o.Key(), bundle.Namespace))
		case known && !is && o.GetNamespace() != "":
			problems = append(problems, fmt.Errorf("%s: metadata.namespace is set, but objects of this kind have no namespace: remove "+
				"metadata.namespace", o.Key()))
		}
	}
	return problems
}

// define adds to out the kinds that the CRDs of a provider define.
func (p Provider) define(out map[schema.GroupKind]bool) {
	for _, o := range p.Objects {
		if isDefinition(o.Unstructured) {
			spec := at(o.Object, "spec")
			out[schema.GroupKind{Group: text(spec, "group"), Kind: text(at(spec, "names"), "kind")}] = true
		}
	}
}
