// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine/health"
	"github.com/poundlock/poundlock/policies/authority"
)

// checkAnnotation on a remediation request names the check that made the request. Another check does not delete that request, even if it finds the Machine
// healthy.
const checkAnnotation = authority.Domain + "/health-check"

// afterExternal is the time until the next pass if no event reports the change: a template is created, or a remediator deletes its request.
const afterExternal = time.Minute

func validTemplate(namespace string, ref *corev1.ObjectReference) error {
	switch {
	case ref == nil:
		return nil
	case ref.Name == "" || !strings.HasSuffix(ref.Kind, "Template") || ref.Kind == "Template" || strings.Count(ref.APIVersion, "/") > 1 || ref.APIVersion == "":
		return errors.New("spec.remediationTemplate needs apiVersion, name, and a kind that ends in Template, because remediation requests get the " +
			"kind without that " +
			"suffix")
	case ref.Namespace != "" && ref.Namespace != namespace:
		return fmt.Errorf("spec.remediationTemplate.namespace is %q: the template must be in the check's own namespace %s", ref.Namespace, namespace)
	}
	return nil
}

func templateKind(ref *corev1.ObjectReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
}

func requestKind(ref *corev1.ObjectReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, strings.TrimSuffix(ref.Kind, "Template"))
}

// external asks a remediator to remediate, by a remediation request. Each unhealthy Machine gets one request, named after the Machine and made from the
// template. external deletes the request of a Machine that is healthy again, even if the template is gone. It reads the template and the requests live, with
// two reads however many Machines there are.
func (r *healthChecks) external(ctx context.Context, c *check, j health.Judgement) (remediated, error) {
	template, missing := r.template(ctx, c)
	requests, err := r.requests(ctx, c.stored.GetNamespace(), requestKind(c.spec.RemediationTemplate))
	if err == nil {
		err = r.withdraw(ctx, c, j, requests)
	}
	if missing != nil {
		done, failure := r.unavailable(machinev1beta1.ExternalRemediationTemplateAvailable, machinev1beta1.ExternalRemediationTemplateNotFound, missing)
		if meta.IsNoMatchError(err) {
			err = nil // without the kind there are no requests
		}
		return done, errors.Join(failure, err)
	}
	if err == nil {
		err = r.request(ctx, c, j, template, requests)
	}
	done := remediated{conditions: []machinev1beta1.Condition{{Type: machinev1beta1.ExternalRemediationTemplateAvailable, Status: corev1.ConditionTrue}}}
	if err != nil {
		more, err := r.unavailable(machinev1beta1.ExternalRemediationRequestAvailable, machinev1beta1.ExternalRemediationRequestCreationFailed, err)
		more.conditions = append(more.conditions, done.conditions...)
		return more, err
	}
	if len(j.Remediate) > 0 {
		done.again = afterExternal
	}
	done.conditions = append(done.conditions, machinev1beta1.Condition{Type: machinev1beta1.ExternalRemediationRequestAvailable, Status: corev1.ConditionTrue})
	return done, nil
}

// unavailable returns a condition with what is missing. A template or kind that does not exist may still be created, so that is no error. A conflict is no
// error either, and is tried again soon. Any other error is also returned, and retried.
func (r *healthChecks) unavailable(kind machinev1beta1.ConditionType, reason string, err error) (remediated, error) {
	done := remediated{again: afterExternal, conditions: []machinev1beta1.Condition{{
		Type: kind, Status: corev1.ConditionFalse, Severity: machinev1beta1.ConditionSeverityError, Reason: reason, Message: err.Error(),
	}}}
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return done, nil
	case apierrors.IsConflict(err):
		return remediated{again: soon}, nil
	}
	return done, err
}

func (r *healthChecks) template(ctx context.Context, c *check) (*unstructured.Unstructured, error) {
	ref := c.spec.RemediationTemplate
	t := &unstructured.Unstructured{}
	t.SetGroupVersionKind(templateKind(ref))
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: c.stored.GetNamespace(), Name: ref.Name}, t); err != nil {
		return nil, fmt.Errorf("reading the remediation template %s %s: %w", ref.Kind, ref.Name, err)
	}
	return t, nil
}

// requests returns the existing remediation requests of a kind, by name.
func (r *healthChecks) requests(ctx context.Context, namespace string, kind schema.GroupVersionKind) (map[string]*metav1.PartialObjectMetadata, error) {
	l := &metav1.PartialObjectMetadataList{}
	l.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.live.List(ctx, l, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the remediation requests of kind %s: %w", kind.Kind, err)
	}
	out := map[string]*metav1.PartialObjectMetadata{}
	for i := range l.Items {
		l.Items[i].SetGroupVersionKind(kind)
		out[l.Items[i].Name] = &l.Items[i]
	}
	return out, nil
}

// request creates the missing requests. A request for an earlier Machine of the same name blocks the new request until the garbage collector deletes the old
// one.
func (r *healthChecks) request(ctx context.Context, c *check, j health.Judgement, template *unstructured.Unstructured,
	requests map[string]*metav1.PartialObjectMetadata) error {
	missing := func(v health.Assessment) bool { return requests[v.Machine.Name] == nil }
	if !slices.ContainsFunc(j.Remediate, missing) {
		return nil
	}
	j, ok, err := r.confirm(ctx, c)
	if err != nil || !ok {
		return err
	}
	j.Remediate = slices.DeleteFunc(j.Remediate, func(v health.Assessment) bool { return !missing(v) })
	return r.each(ctx, c, j.Remediate, func(ctx context.Context, c *check, v health.Assessment) error {
		request, err := requestFor(c, v, template)
		if err != nil {
			return err
		}
		if err = r.Create(ctx, request); apierrors.IsAlreadyExists(err) {
			return nil
		}
		return r.remediated(ctx, c, v, "RemediationRequested", "request", err)
	})
}

func requestFor(c *check, v health.Assessment, template *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	content, ok, err := unstructured.NestedMap(template.Object, "spec", "template")
	if err != nil || !ok {
		return nil, fmt.Errorf("the remediation template %s has no spec.template, from which remediation requests are created: add "+
			"spec.template", template.GetName())
	}
	request := &unstructured.Unstructured{Object: map[string]any{}}
	if spec, ok := content["spec"]; ok {
		request.Object["spec"] = spec
	}
	request.SetGroupVersionKind(requestKind(c.spec.RemediationTemplate))
	request.SetName(v.Machine.Name)
	request.SetNamespace(v.Machine.Namespace)
	labels, _, _ := unstructured.NestedStringMap(content, "metadata", "labels")
	request.SetLabels(labels)
	annotations, _, _ := unstructured.NestedStringMap(content, "metadata", "annotations")
	request.SetAnnotations(withOrigin(annotations, c, template))
	request.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: machinev1beta1.GroupVersion.String(), Kind: "Machine", Name: v.Machine.Name, UID: v.Machine.UID,
	}})
	return request, nil
}

func withOrigin(annotations map[string]string, c *check, template *unstructured.Unstructured) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[checkAnnotation] = c.stored.GetName()
	annotations[string(machinev1beta1.TemplateClonedFromNameAnnotation)] = template.GetName()
	annotations[string(machinev1beta1.TemplateClonedFromGroupKindAnnotation)] = template.GroupVersionKind().GroupKind().String()
	return annotations
}
