// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Standin plays the parts of a cluster that a bare API server lacks. Its methods may be called from several goroutines.
type Standin struct {
	Client    client.Client
	Namespace string
	// CA has the certificates that the service CA injects, as PEM.
	CA []byte
	// Issue issues the certificates of the service CA, as PEM. It may be nil if nobody reads them.
	Issue func(names ...string) (certificate, key []byte, err error)
	// Controllers reports whether the control plane runs the real controllers of workloads and endpoints. If so, only the service CA is played.
	Controllers bool
	// Every is the time between two beats; 0 is 100 ms.
	Every time.Duration
	// RolledOut is called when a workload's newest content runs for the first time.
	RolledOut func(name string)

	mu      sync.Mutex
	crashes map[string]bool
	away    bool
	rolled  map[string]int64
	// seen has the versions of objects in which no CA is missing.
	seen map[types.UID]string
}

// Crash makes the pods of a workload crash, or run again.
func (s *Standin) Crash(name string, crashes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashes == nil {
		s.crashes = map[string]bool{}
	}
	s.crashes[name] = crashes
}

// TakeAway stops the service CA, or lets it work again.
func (s *Standin) TakeAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// Run calls Beat again and again until ctx is done.
func (s *Standin) Run(ctx context.Context) {
	const beat = 100 * time.Millisecond
	wait.UntilWithContext(ctx, func(ctx context.Context) { _ = s.Beat(ctx) }, cmp.Or(s.Every, beat))
}

// Beat does what there is to do, once.
func (s *Standin) Beat(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if !s.Controllers {
		errs = append(errs, s.workloads(ctx), s.endpoints(ctx))
	}
	if !s.away {
		errs = append(errs, s.secrets(ctx), s.bundles(ctx))
	}
	return errors.Join(errs...)
}

func (s *Standin) workloads(ctx context.Context) error {
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.DaemonSetList{}
	if err := errors.Join(s.Client.List(ctx, deployments, client.InNamespace(s.Namespace)),
		s.Client.List(ctx, sets, client.InNamespace(s.Namespace))); err != nil {
		return err
	}
	var errs []error
	for i := range deployments.Items {
		errs = append(errs, s.deployment(ctx, &deployments.Items[i]))
	}
	for i := range sets.Items {
		d := &sets.Items[i]
		want := appsv1.DaemonSetStatus{ObservedGeneration: d.Generation, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1,
			NumberAvailable: 1, NumberReady: 1}
		if s.crashes[d.Name] {
			want.NumberAvailable, want.NumberReady = 0, 0
		}
		if d.Status.ObservedGeneration != want.ObservedGeneration || d.Status.NumberAvailable != want.NumberAvailable {
			d.Status = want
			errs = append(errs, s.Client.Status().Update(ctx, d))
		}
	}
	return errors.Join(errs...)
}

func (s *Standin) deployment(ctx context.Context, d *appsv1.Deployment) error {
	pods := ptr.Deref(d.Spec.Replicas, 1)
	status, available := corev1.ConditionTrue, pods
	if s.crashes[d.Name] {
		status, available = corev1.ConditionFalse, 0
	}
	if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == available && d.Status.Replicas == pods && len(d.Status.Conditions) > 0 {
		return nil
	}
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: available, AvailableReplicas: available,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: status, Reason: "Standin", Message: "pods crash: " + string(status)}},
	}
	if status == corev1.ConditionTrue && s.RolledOut != nil && s.rolled[d.Name] != d.Generation {
		if s.rolled == nil {
			s.rolled = map[string]int64{}
		}
		s.rolled[d.Name] = d.Generation
		s.RolledOut(d.Name)
	}
	return s.Client.Status().Update(ctx, d)
}

// endpoints keeps one address behind each Service whose pods run.
func (s *Standin) endpoints(ctx context.Context) error {
	services, deployments := &corev1.ServiceList{}, &appsv1.DeploymentList{}
	if err := errors.Join(s.Client.List(ctx, services, client.InNamespace(s.Namespace)),
		s.Client.List(ctx, deployments, client.InNamespace(s.Namespace))); err != nil {
		return err
	}
	var errs []error
	for _, service := range services.Items {
		ready := false
		for _, d := range deployments.Items {
			matches := len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels))
			ready = ready || matches && d.Status.AvailableReplicas > 0
		}
		errs = append(errs, s.slice(ctx, service.Name, ready))
	}
	return errors.Join(errs...)
}

func (s *Standin) slice(ctx context.Context, service string, ready bool) error {
	slice := &discoveryv1.EndpointSlice{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: service + "-standin"}, slice)
	if apierrors.IsNotFound(err) {
		return s.Client.Create(ctx, &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: service + "-standin", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.128.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(ready)}}},
		})
	}
	if err != nil || ptr.Deref(slice.Endpoints[0].Conditions.Ready, false) == ready {
		return err
	}
	slice.Endpoints[0].Conditions.Ready = ptr.To(ready)
	return s.Client.Update(ctx, slice)
}

const (
	servingCert = "service.beta.openshift.io/serving-cert-secret-name"
	inject      = "service.beta.openshift.io/inject-cabundle"
)

func (s *Standin) secrets(ctx context.Context) error {
	services := &corev1.ServiceList{}
	if err := s.Client.List(ctx, services, client.InNamespace(s.Namespace)); err != nil {
		return err
	}
	var errs []error
	for _, service := range services.Items {
		if name := service.Annotations[servingCert]; name != "" {
			errs = append(errs, s.issueFor(ctx, &service, name))
		}
	}
	return errors.Join(errs...)
}

const (
	originName = "service.beta.openshift.io/originating-service-name"
	originUID  = "service.beta.openshift.io/originating-service-uid"
	failed     = "service.beta.openshift.io/serving-cert-generation-error"
)

// issueFor creates the Secret of a Service. If somebody else has created it, issueFor leaves it as it is and complains in an annotation of the Service, as the
// service CA does.
func (s *Standin) issueFor(ctx context.Context, service *corev1.Service, name string) error {
	secret := &corev1.Secret{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, secret)
	complaint := ""
	switch {
	case apierrors.IsNotFound(err):
		err = s.create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: name, Annotations: map[string]string{originName: service.Name, originUID: string(service.UID)},
		}}, service.Name+"."+s.Namespace+".svc")
	case err == nil && secret.Annotations[originName] == service.Name && secret.Annotations[originUID] != string(service.UID):
		return s.Client.Delete(ctx, secret) // what the garbage collector would do, since its owner is gone
	case err == nil && secret.Annotations[originUID] != string(service.UID):
		complaint = "secret " + s.Namespace + "/" + name + " does not have corresponding service UID " + string(service.UID)
	}
	if err != nil || service.Annotations[failed] == complaint {
		return err
	}
	patch := client.MergeFrom(service.DeepCopy())
	service.Annotations[failed] = complaint
	if complaint == "" {
		delete(service.Annotations, failed)
	}
	return s.Client.Patch(ctx, service, patch, client.FieldOwner(Manager))
}

// IssueInto creates a Secret with a certificate for the names, unless the Secret exists.
func (s *Standin) IssueInto(ctx context.Context, name string, names ...string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), &corev1.Secret{}); !apierrors.IsNotFound(err) {
		return err
	}
	return s.create(ctx, secret, names...)
}

func (s *Standin) create(ctx context.Context, secret *corev1.Secret, names ...string) error {
	certificate, key := []byte("certificate"), []byte("key")
	if s.Issue != nil {
		var err error
		if certificate, key, err = s.Issue(names...); err != nil {
			return err
		}
	}
	secret.Type = corev1.SecretTypeTLS
	secret.Data = map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}
	return s.Client.Create(ctx, secret)
}

// Manager is the field manager of the service CA.
const Manager = "service-ca"

func (s *Standin) bundles(ctx context.Context) error {
	const admission = "admissionregistration.k8s.io"
	var errs []error
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: admission, Version: "v1", Kind: "MutatingWebhookConfiguration"}, {Group: admission, Version: "v1", Kind: "ValidatingWebhookConfiguration"},
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		errs = append(errs, s.Client.List(ctx, list))
		for i := range list.Items {
			if m := &list.Items[i]; m.Annotations[inject] == "true" && s.seen[m.UID] != m.ResourceVersion {
				errs = append(errs, s.inject(ctx, kind, m))
			}
		}
	}
	return errors.Join(errs...)
}

// inject writes the CAs that are missing. CRDs have megabytes together, so each is read only when it has changed, and not at each beat.
func (s *Standin) inject(ctx context.Context, kind schema.GroupVersionKind, m *metav1.PartialObjectMetadata) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(m), o); err != nil {
		return client.IgnoreNotFound(err)
	}
	var patch []any
	set := func(path string, client map[string]any) {
		if client != nil && client["caBundle"] == nil {
			patch = append(patch, map[string]any{"op": "add", "path": path + "/clientConfig/caBundle", "value": s.CA})
		}
	}
	hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	for i := range hooks {
		hook, _ := hooks[i].(map[string]any)
		client, _ := hook["clientConfig"].(map[string]any)
		set("/webhooks/"+strconv.Itoa(i), client)
	}
	if client, found, _ := unstructured.NestedMap(o.Object, "spec", "conversion", "webhook", "clientConfig"); found {
		set("/spec/conversion/webhook", client)
	}
	if len(patch) > 0 {
		return s.patch(ctx, o, patch)
	}
	if s.seen == nil {
		s.seen = map[types.UID]string{}
	}
	s.seen[o.GetUID()] = o.GetResourceVersion()
	return nil
}

func (s *Standin) patch(ctx context.Context, o *unstructured.Unstructured, patch []any) error {
	raw, err := json.Marshal(append(patch, map[string]any{"op": "test", "path": "/metadata/resourceVersion", "value": o.GetResourceVersion()}))
	if err != nil {
		return err
	}
	return s.Client.Patch(ctx, o, client.RawPatch(types.JSONPatchType, raw), client.FieldOwner(Manager))
}
