// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// ConfigOptions are the inputs of the webhook configurations besides the routes.
type ConfigOptions struct {
	Platforms []conversion.Platform
	Pairs     authority.Pairs
	// Own are the exact user names of Poundlock, whose requests are not sent to most webhooks.
	Own []string
	// Identities are the users whose requests fail open although the same requests of others fail closed.
	Identities policies.Identities
	// Name is the name of both configurations; "" means poundlock.
	Name                string
	Labels, Annotations map[string]string
	// Service is the Service through which the API server reaches the webhooks in the cluster. URL, if set, replaces the Service: it is the base of all paths,
	// https://host:port.
	Service  admissionregistrationv1.ServiceReference
	URL      string
	CABundle []byte
}

// Configurations returns the webhook configurations of Routes.
func Configurations(o ConfigOptions) (*admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration) {
	meta := o.meta()
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: meta,
	}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: *meta.DeepCopy(),
	}
	for _, r := range Routes(Catalog{Platforms: o.Platforms, Identities: o.Identities}) {
		if r.Mutating {
			mutating.Webhooks = append(mutating.Webhooks, o.mutating(r))
			continue
		}
		validating.Webhooks = append(validating.Webhooks, o.validating(r))
	}
	return validating, mutating
}

func (o ConfigOptions) meta() metav1.ObjectMeta {
	name := o.Name
	if name == "" {
		name = "poundlock"
	}
	return metav1.ObjectMeta{Name: name, Labels: o.Labels, Annotations: o.Annotations}
}

func (o ConfigOptions) validating(r Route) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: webhookName(r), ClientConfig: o.clientConfig(r), Rules: rules(r), MatchConditions: o.conditions(r),
		NamespaceSelector: o.namespaces(r), FailurePolicy: ptr.To(r.FailurePolicy), TimeoutSeconds: ptr.To(r.TimeoutSeconds),
		MatchPolicy: ptr.To(admissionregistrationv1.Equivalent), ObjectSelector: &metav1.LabelSelector{},
		SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
	}
}

func (o ConfigOptions) mutating(r Route) admissionregistrationv1.MutatingWebhook {
	v := o.validating(r)
	return admissionregistrationv1.MutatingWebhook{
		Name: v.Name, ClientConfig: v.ClientConfig, Rules: v.Rules, MatchConditions: v.MatchConditions,
		NamespaceSelector: v.NamespaceSelector, FailurePolicy: v.FailurePolicy, TimeoutSeconds: v.TimeoutSeconds,
		MatchPolicy: v.MatchPolicy, ObjectSelector: v.ObjectSelector,
		SideEffects: v.SideEffects, AdmissionReviewVersions: v.AdmissionReviewVersions,
		ReinvocationPolicy: ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
	}
}

func webhookName(r Route) string { return r.Name + "." + authority.Domain }

func (o ConfigOptions) clientConfig(r Route) admissionregistrationv1.WebhookClientConfig {
	if o.URL != "" {
		return admissionregistrationv1.WebhookClientConfig{URL: ptr.To(strings.TrimSuffix(o.URL, "/") + r.Path()), CABundle: o.CABundle}
	}
	service := o.Service
	service.Path = ptr.To(r.Path())
	return admissionregistrationv1.WebhookClientConfig{Service: &service, CABundle: o.CABundle}
}

// rules returns one rule for each group and version of the route's subjects.
func rules(r Route) []admissionregistrationv1.RuleWithOperations {
	var out []admissionregistrationv1.RuleWithOperations
	for _, s := range r.Subjects {
		resource := s.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		if n := len(out); n > 0 && out[n-1].APIGroups[0] == s.GroupVersion.Group && out[n-1].APIVersions[0] == s.versions() {
			out[n-1].Resources = append(out[n-1].Resources, resource)
			continue
		}
		row := admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
			APIGroups: []string{s.GroupVersion.Group}, APIVersions: []string{s.versions()},
			Resources: []string{resource}, Scope: ptr.To(s.scope()),
		}}
		for _, op := range r.Operations {
			row.Operations = append(row.Operations, admissionregistrationv1.OperationType(op))
		}
		out = append(out, row)
	}
	return out
}

// versions returns the versions of requests that a webhook matches. For a provider's objects it returns every version. An API server converts a request only to
// a version that the CRD serves. So a CRD that does not serve the version that Poundlock reads would leave the lock open. With every version, a request is
// judged in its own version: locks compare the whole spec, and each version has providerID in the same place.
func (s Subject) versions() string {
	if slices.Contains([]string{authority.InfraMachine, authority.InfraMachineTemplate, authority.InfraInstance, authority.InfraCluster}, s.Kind) {
		return "*"
	}
	return s.GroupVersion.Version
}

func (s Subject) scope() admissionregistrationv1.ScopeType {
	if s.Cluster {
		return admissionregistrationv1.ClusterScope
	}
	return admissionregistrationv1.NamespacedScope
}

// conditions returns the route's match conditions. Unless the route needs Poundlock's own requests, it puts a condition before them that excludes these
// requests.
func (o ConfigOptions) conditions(r Route) []admissionregistrationv1.MatchCondition {
	var out []admissionregistrationv1.MatchCondition
	if !r.Own && len(o.Own) > 0 {
		out = append(out, admissionregistrationv1.MatchCondition{
			Name:       "not-by-poundlock",
			Expression: fmt.Sprintf("!(request.userInfo.username in [%s])", celStrings(o.Own)),
		})
	}
	return append(out, r.Conditions...)
}

func celStrings(values []string) string {
	var out []string
	for _, v := range values {
		out = append(out, strconv.Quote(v))
	}
	return strings.Join(out, ", ")
}

// namespaces returns the selector for the namespaces of the route's side, because objects of the route's kinds have no meaning in those of the other side. For
// surroundings (namespaces, CRDs, Clusters) it selects both. A route that fails closed selects only namespaces with the label of enforcement, and an early
// route only those without it.
func (o ConfigOptions) namespaces(r Route) *metav1.LabelSelector {
	var values []string
	for _, p := range o.Pairs {
		if r.Side == policies.SideMachineAPI || r.Side == policies.Surroundings {
			values = append(values, p.MachineAPI)
		}
		if r.Side != policies.SideMachineAPI {
			values = append(values, p.ClusterAPI)
		}
	}
	out := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: values},
	}}
	switch {
	case r.FailurePolicy == admissionregistrationv1.Fail:
		out.MatchExpressions = append(out.MatchExpressions, enforced(metav1.LabelSelectorOpIn))
	case r.early:
		out.MatchExpressions = append(out.MatchExpressions, enforced(metav1.LabelSelectorOpNotIn))
	}
	return out
}

func enforced(operator metav1.LabelSelectorOperator) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: authority.AdmissionLabel, Operator: operator, Values: []string{authority.Enforced}}
}
