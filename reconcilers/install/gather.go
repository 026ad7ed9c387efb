// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/internal/served"
)

// Rivals are the names that the Deployment of OpenShift's own installer has had in the releases so far.
var Rivals = []client.ObjectKey{
	{Namespace: bundle.Namespace, Name: "cluster-capi-operator"},
	{Namespace: "openshift-cluster-api-operator", Name: "capi-operator"},
	{Namespace: "openshift-cluster-api-operator", Name: "capi-installer"},
}

// rival returns the name of the Deployment of OpenShift's own installer if that installer runs, else "".
func (r *reconciler) rival(ctx context.Context) (string, error) {
	for _, key := range Rivals {
		d := &appsv1.Deployment{}
		switch err := r.client.Get(ctx, key, d); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return "", fmt.Errorf("reading whether OpenShift's own installer runs: %w", err)
		case d.Spec.Replicas == nil || *d.Spec.Replicas > 0:
			return key.String(), nil
		}
	}
	return "", nil
}

// inputs are everything that content is made from.
type inputs struct {
	platform installation.Platform
	// transports are the ConfigMaps that carry providers. Other ConfigMaps with a provider's label are left out.
	transports []corev1.ConfigMap
	// lastGood has the content that became ready last, in the form of ConfigMaps, by provider.
	lastGood map[string][]corev1.ConfigMap
	// damaged has the reason why the content that became ready last cannot be applied, by provider.
	damaged map[string]error
	records map[string]*record
	needs   bundle.Needs
	// needsThen are the needs with which lastGood was made, by provider.
	needsThen map[string]bundle.Needs
	// needsFrom are the ConfigMaps from which needs was read.
	needsFrom []corev1.ConfigMap
	// needsErr is the error of reading the images of the release.
	needsErr error
	operator *configv1.ClusterOperator
}

func (r *reconciler) inputs(ctx context.Context) (*inputs, error) {
	in := &inputs{lastGood: map[string][]corev1.ConfigMap{}, damaged: map[string]error{}, records: map[string]*record{}, needsThen: map[string]bundle.Needs{}}
	operator := &configv1.ClusterOperator{}
	switch err := r.client.Get(ctx, client.ObjectKey{Name: installation.OperatorName}, operator); {
	case err == nil:
		in.operator = operator
	case !apierrors.IsNotFound(err) && !served.Missing(err):
		return in, fmt.Errorf("reading ClusterOperator %s: %w", installation.OperatorName, err)
	}
	infrastructure := &unstructured.Unstructured{}
	infrastructure.SetGroupVersionKind(configv1.GroupVersion.WithKind("Infrastructure"))
	switch err := r.client.Get(ctx, client.ObjectKey{Name: "cluster"}, infrastructure); {
	case apierrors.IsNotFound(err), served.Missing(err):
		infrastructure.Object = nil
	case err != nil:
		return in, fmt.Errorf("reading the Infrastructure: %w", err)
	}
	in.platform = installation.PlatformOf(infrastructure.Object, r.Enabled)
	return in, r.configMaps(ctx, in)
}

func (r *reconciler) configMaps(ctx context.Context, in *inputs) error {
	transports, records := &corev1.ConfigMapList{}, &corev1.ConfigMapList{}
	if err := r.client.List(ctx, transports, client.InNamespace(bundle.Namespace), client.HasLabels{bundle.ProviderLabel}); err != nil {
		return fmt.Errorf("listing the providers' ConfigMaps: %w", r.emptied(ctx, err))
	}
	in.transports = slices.DeleteFunc(transports.Items, func(cm corev1.ConfigMap) bool { return !installation.Carries(&cm) })
	if err := r.client.List(ctx, records, client.InNamespace(bundle.Namespace), client.HasLabels{installation.RecordLabel}); err != nil {
		return fmt.Errorf("listing the installer's ConfigMaps: %w", err)
	}
	for i := range records.Items {
		in.read(&records.Items[i])
	}
	return r.needs(ctx, in)
}

// emptied adds the state of the namespace to an error that may follow from this state. While a namespace is being deleted, its ConfigMaps and the installer's
// role in it are deleted one after the other.
func (r *reconciler) emptied(ctx context.Context, err error) error {
	namespace := &corev1.Namespace{}
	switch asked := r.client.Get(ctx, client.ObjectKey{Name: bundle.Namespace}, namespace); {
	case apierrors.IsNotFound(asked):
		return fmt.Errorf("namespace %s does not exist: create it, and apply the manifests of the installer and all ConfigMaps of the release again: %w",
			bundle.Namespace, err)
	case asked != nil || namespace.DeletionTimestamp == nil:
		return err
	}
	return fmt.Errorf("namespace %s is being deleted, and its status.conditions show what the deletion waits for. Once the namespace is gone, create it, and "+
		"apply the manifests of the installer and all ConfigMaps of the release again: %w",
		bundle.Namespace, err)
}

// needs reads the images and the values of variables for in. The ConfigMap of the variables is optional.
func (r *reconciler) needs(ctx context.Context, in *inputs) error {
	images, variables := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: bundle.ImagesConfigMap}, images)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the images of the release: %w", err)
	}
	if err != nil {
		images = nil
	}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: bundle.VariablesConfigMap}, variables); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the values of variables: %w", err)
	}
	in.needsFrom = []corev1.ConfigMap{*variables}
	if images != nil {
		in.needsFrom = append(in.needsFrom, *images)
	}
	in.needs = bundle.Needs{Values: variables.Data, AllowTags: r.AllowTags}
	in.needs.References, in.needsErr = installation.References(images)
	return nil
}

// world is the cluster as a pass knows it: the objects that the pass has read, each one once, and what it has written itself since.
type world struct {
	r      *reconciler
	live   map[installation.Key]*unstructured.Unstructured // nil: the object does not exist
	served map[string][]string
	// listed are the kinds for which live has all objects that the installer has marked as its own.
	listed map[schema.GroupVersionKind]bool
	// named are the names of all objects of a kind, also of objects that are not the installer's. An object whose name is not among them needs no request.
	named map[schema.GroupVersionKind]map[installation.Key]bool
	// certificates and endpoints are read when the first gate needs them.
	certificates map[string]installation.Certificate
	endpoints    map[string]int
}

func (r *reconciler) look() *world {
	return &world{
		r: r, live: map[installation.Key]*unstructured.Unstructured{}, served: map[string][]string{},
		listed: map[schema.GroupVersionKind]bool{}, named: map[schema.GroupVersionKind]map[installation.Key]bool{},
	}
}

// list reads, once per pass, the objects of a kind that are marked as the installer's. It runs when the first object of the kind is needed. So a kind that
// cannot be read, for example because its conversion has no server, delays only what needs this kind.
func (w *world) list(ctx context.Context, kind schema.GroupVersionKind) error {
	if w.listed[kind] {
		return nil
	}
	namespaced, known, err := w.r.scope(kind)
	if err != nil || !known {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	options := []client.ListOption{client.MatchingLabels{installation.InstalledByLabel: installation.Manager}}
	if namespaced {
		options = append(options, client.InNamespace(bundle.Namespace))
	}
	if err := w.r.client.List(ctx, list, options...); err != nil && !served.Missing(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("listing what is installed of %s: %w", kind.Kind, err)
	}
	w.listed[kind] = true
	for i := range list.Items {
		if k := installation.KeyOf(&list.Items[i]); !w.knows(k) {
			w.live[k] = &list.Items[i]
		}
	}
	return nil
}

func (w *world) knows(k installation.Key) bool {
	_, known := w.live[k]
	return known
}

// scope returns whether a kind is namespaced, and whether it is known. It asks the mapper, which asks the API server about kinds that it does not know. An
// error proves nothing about the kind.
func (r *reconciler) scope(kind schema.GroupVersionKind) (namespaced, known bool, err error) {
	mapping, err := r.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("asking the API server about %s: %w", kind.Kind, err)
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, true, nil
}

// absent reports whether no object of a kind has this name. It lists the names of the kind once per pass.
func (w *world) absent(ctx context.Context, kind schema.GroupVersionKind, k installation.Key) (bool, error) {
	if _, listed := w.named[kind]; !listed {
		namespaced, known, err := w.r.scope(kind)
		if err != nil || !known {
			return err == nil, err
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		var options []client.ListOption
		if namespaced {
			options = append(options, client.InNamespace(bundle.Namespace))
		}
		if err := w.r.client.List(ctx, list, options...); served.Missing(err) || apierrors.IsNotFound(err) {
			return true, nil
		} else if err != nil {
			return false, fmt.Errorf("listing the names of %s: %w", kind.Kind, err)
		}
		names := map[installation.Key]bool{}
		for i := range list.Items {
			names[installation.Key{GroupKind: kind.GroupKind(), Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}] = true
		}
		w.named[kind] = names
	}
	return !w.named[kind][k], nil
}

// get returns an object as this pass knows it, and reads it if needed; nil if it does not exist.
func (w *world) get(ctx context.Context, kind schema.GroupVersionKind, k installation.Key) (*unstructured.Unstructured, error) {
	if w.knows(k) {
		return w.live[k], nil
	}
	if err := w.list(ctx, kind); err != nil {
		return nil, err
	}
	if w.knows(k) {
		return w.live[k], nil
	}
	if absent, err := w.absent(ctx, kind, k); absent || err != nil {
		if err == nil {
			w.live[k] = nil
		}
		return nil, err
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err := w.r.client.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: k.Name}, o)
	switch {
	case apierrors.IsNotFound(err) || served.Missing(err):
		o = nil
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", k, err)
	}
	w.live[k] = o
	return o, nil
}

func (w *world) serves(resource schema.GroupVersionResource) bool {
	version := resource.GroupVersion().String()
	if _, asked := w.served[version]; !asked {
		found, err := w.r.lister.ServerResourcesForGroupVersion(version)
		if err != nil {
			return false // the next pass asks again
		}
		names := []string{}
		for _, one := range found.APIResources {
			names = append(names, one.Name)
		}
		w.served[version] = names
	}
	return slices.Contains(w.served[version], resource.Resource)
}

// readCertificates reads only the Secrets of the type that the service CA writes.
func (w *world) readCertificates(ctx context.Context) error {
	list := &corev1.SecretList{}
	if err := w.r.client.List(ctx, list, client.InNamespace(bundle.Namespace), client.MatchingFields{"type": string(corev1.SecretTypeTLS)}); err != nil {
		return fmt.Errorf("listing certificates: %w", err)
	}
	w.certificates = map[string]installation.Certificate{}
	for _, s := range list.Items {
		if len(s.Data[corev1.TLSCertKey]) > 0 && len(s.Data[corev1.TLSPrivateKeyKey]) > 0 {
			w.certificates[s.Name] = installation.CertificateOf(s.Annotations)
		}
	}
	return nil
}

func (w *world) readEndpoints(ctx context.Context) error {
	list := &discoveryv1.EndpointSliceList{}
	if err := w.r.client.List(ctx, list, client.InNamespace(bundle.Namespace)); err != nil {
		return fmt.Errorf("listing endpoints: %w", err)
	}
	w.endpoints = map[string]int{}
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				w.endpoints[s.Labels[discoveryv1.LabelServiceName]]++
			}
		}
	}
	return nil
}
