// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// exclusion finds the documents to leave out: first those that the maintainer excludes, and then those that depend on them, until nothing more follows.
type exclusion struct {
	*Draft
	// why has the reason for each excluded document, by the document's index.
	why map[int]string
}

// Exclusions leaves out what the maintainer excludes (Options.Exclude), and what depends on it. Custom resources, webhooks, policies and rules depend on a
// definition. Services, accounts, budgets and monitors depend on a workload. Webhooks and monitors depend on a Service, and bindings on a role or an account.
func Exclusions(d *Draft) {
	if len(d.Exclude) == 0 {
		return
	}
	e := &exclusion{Draft: d, why: map[int]string{}}
	for _, pattern := range d.Exclude {
		e.match(pattern)
	}
	for before := -1; before < len(e.why); {
		before = len(e.why)
		for i := range d.Documents {
			if why := e.follows(i); why != "" && e.why[i] == "" {
				e.why[i] = why
			}
		}
	}
	e.prune()
	e.dangling()
	var kept []Document
	for i, doc := range d.Documents {
		if why, gone := e.why[i]; gone {
			d.record(Removed, doc, why)
			continue
		}
		kept = append(kept, doc)
	}
	d.Documents = kept
}

func (e *exclusion) match(pattern string) {
	kind, name := splitOnce(pattern)
	found := false
	for i, doc := range e.Documents {
		sameKind := strings.EqualFold(kind, doc.Kind()) || strings.EqualFold(kind, doc.Kind()+"."+doc.Group())
		if matches, err := path.Match(name, doc.Name()); sameKind && matches && err == nil {
			e.why[i] = "excluded by " + pattern
			found = true
		}
	}
	if !found {
		e.problems = append(e.problems, fmt.Errorf(
			"--exclude %s: no object matches: use KIND/NAME with the name in the rendered manifests, such as CustomResourceDefinition/*.example.com", pattern))
	}
}

// gone reports whether there is a document with this group, kind and name, and it is excluded.
func (e *exclusion) gone(group, kind, name string) bool {
	return slices.ContainsFunc(e.Documents, func(doc Document) bool { return doc.is(group, kind) && doc.Name() == name }) &&
		!e.some(true, func(doc Document) bool { return doc.is(group, kind) && doc.Name() == name })
}

// some reports whether a document has a property. It looks only at documents that are kept or, if kept is false, at excluded ones.
func (e *exclusion) some(kept bool, has func(Document) bool) bool {
	for i, doc := range e.Documents {
		if _, gone := e.why[i]; gone != kept && has(doc) {
			return true
		}
	}
	return false
}

// only reports whether an excluded document has a property, and no kept one has it.
func (e *exclusion) only(has func(Document) bool) bool {
	return e.some(false, has) && !e.some(true, has)
}

// follows returns why a document must be excluded because others are excluded already; "" if it need not be.
func (e *exclusion) follows(i int) string {
	doc := e.Documents[i]
	spec := at(doc.Object, "spec")
	switch {
	case doc.is("", "Service"), doc.is("networking.k8s.io", "NetworkPolicy"), doc.is(policyGroup, "PodDisruptionBudget"):
		if e.only(func(w Document) bool { return w.IsWorkload() && selects(selectorOf(doc), podLabels(w)) }) {
			return "it selects only pods of excluded workloads"
		}
	case doc.Group() == "monitoring.coreos.com":
		return e.monitorFollows(doc)
	case doc.is("autoscaling", "HorizontalPodAutoscaler"):
		if target := at(spec, "scaleTargetRef"); e.gone("apps", text(target, "kind"), text(target, "name")) {
			return "it scales only an excluded workload"
		}
	case doc.is("", "ServiceAccount"):
		if e.only(func(w Document) bool { return w.IsWorkload() && account(w) == doc.Name() }) {
			return "only excluded workloads use this ServiceAccount"
		}
	case doc.is(rbacGroup, "RoleBinding"), doc.is(rbacGroup, "ClusterRoleBinding"):
		return e.bindingFollows(doc)
	case doc.is(rbacGroup, "Role"), doc.is(rbacGroup, "ClusterRole"):
		if e.only(func(b Document) bool {
			ref := at(b.Object, "roleRef")
			return strings.HasSuffix(b.Kind(), "RoleBinding") && text(ref, "kind") == doc.Kind() && text(ref, "name") == doc.Name()
		}) {
			return "only excluded bindings refer to this role"
		}
	case doc.is(admissionGroup, "ValidatingAdmissionPolicy"), doc.is(admissionGroup, "MutatingAdmissionPolicy"):
		return e.policyFollows(spec)
	case doc.is(admissionGroup, "ValidatingAdmissionPolicyBinding"), doc.is(admissionGroup, "MutatingAdmissionPolicyBinding"):
		if e.gone(admissionGroup, strings.TrimSuffix(doc.Kind(), "Binding"), text(spec, "policyName")) {
			return "the policy that it binds is excluded"
		}
	case len(webhooks(doc)) > 0:
		if len(e.keptWebhooks(doc)) == 0 {
			return "all its webhooks are for excluded objects"
		}
	case e.defined(doc.GroupKind()):
		return "the CustomResourceDefinition of this kind is excluded"
	}
	return ""
}

func (e *exclusion) monitorFollows(doc Document) string {
	selector := at(doc.Object, "spec", "selector", "matchLabels")
	switch {
	case doc.Kind() == "ServiceMonitor" && e.only(func(s Document) bool {
		return s.is("", "Service") && selects(selector, at(s.Object, "metadata", "labels"))
	}):
		return "it monitors only excluded Services"
	case doc.Kind() == "PodMonitor" && e.only(func(w Document) bool { return w.IsWorkload() && selects(selector, podLabels(w)) }):
		return "it monitors only pods of excluded workloads"
	}
	return ""
}

// policyFollows returns why an admission policy must be excluded: all its kinds are excluded, or the definition of its parameters is. Without its parameters, a
// policy would deny everything that it matches.
func (e *exclusion) policyFollows(spec map[string]any) string {
	params := Document{at(spec, "paramKind")}
	if e.defined(params.GroupKind()) {
		return "the CustomResourceDefinition of its paramKind is excluded"
	}
	if rules, changed := e.keptRules(objects(at(spec, "matchConstraints"), "resourceRules")); changed && len(rules) == 0 {
		return "it matches only excluded kinds"
	}
	return ""
}

func (e *exclusion) bindingFollows(doc Document) string {
	ref := at(doc.Object, "roleRef")
	if e.gone(rbacGroup, text(ref, "kind"), text(ref, "name")) {
		return "its role is excluded"
	}
	subjects := objects(doc.Object, "subjects")
	if len(subjects) > 0 && !slices.ContainsFunc(subjects, func(s map[string]any) bool { return !e.goneAccount(s) }) {
		return "its subjects are excluded"
	}
	return ""
}

func (e *exclusion) goneAccount(subject map[string]any) bool {
	return text(subject, "kind") == "ServiceAccount" && e.gone("", "ServiceAccount", text(subject, "name"))
}

func (e *exclusion) defined(kind schema.GroupKind) bool {
	return e.some(false, func(doc Document) bool { return doc.isDefinition() && definedKind(doc) == kind })
}

func podLabels(w Document) map[string]any {
	return at(w.Object, "spec", "template", "metadata", "labels")
}

func account(w Document) string {
	return text(at(w.Object, "spec", "template", "spec"), "serviceAccountName")
}

// goneResource reports whether the definition of a resource is excluded. The resource may have a subresource, such as things/status.
func (e *exclusion) goneResource(group, resource string) bool {
	plural, _ := splitOnce(resource)
	return e.some(false, func(doc Document) bool {
		spec := at(doc.Object, "spec")
		return doc.isDefinition() && text(spec, "group") == group && text(at(spec, "names"), "plural") == plural
	})
}

// keptRules returns the rules of a webhook or a role without the resources whose definitions are excluded.
func (e *exclusion) keptRules(rules []map[string]any) (kept []any, changed bool) {
	for _, rule := range rules {
		groups, resources := texts(rule, "apiGroups"), texts(rule, "resources")
		left := slices.DeleteFunc(slices.Clone(resources), func(resource string) bool { return len(groups) == 1 && e.goneResource(groups[0], resource) })
		if len(left) == len(resources) {
			kept = append(kept, rule)
			continue
		}
		changed = true
		if len(left) > 0 {
			copied, _ := deepCopy(rule).(map[string]any)
			list := make([]any, len(left))
			for i := range left {
				list[i] = left[i]
			}
			copied["resources"] = list
			kept = append(kept, copied)
		}
	}
	return kept, changed
}

func (e *exclusion) keptWebhooks(doc Document) []any {
	var kept []any
	for _, webhook := range webhooks(doc) {
		service := text(at(webhook, "clientConfig", "service"), "name")
		if service != "" && e.gone("", "Service", service) {
			continue
		}
		rules, changed := e.keptRules(objects(webhook, "rules"))
		if changed && len(rules) == 0 {
			continue
		}
		if changed {
			copied, _ := deepCopy(webhook).(map[string]any)
			copied["rules"] = rules
			webhook = copied
		}
		kept = append(kept, webhook)
	}
	return kept
}

// prune removes from kept documents the parts about excluded ones: webhooks, subjects and rules.
func (e *exclusion) prune() {
	for i, doc := range e.Documents {
		if _, gone := e.why[i]; gone {
			continue
		}
		switch {
		case len(webhooks(doc)) > 0:
			kept := e.keptWebhooks(doc)
			if n := len(webhooks(doc)) - len(kept); n > 0 {
				e.changed(doc, "%d webhooks for excluded objects removed", n)
			}
			doc.Object["webhooks"] = kept
		case strings.HasSuffix(doc.Kind(), "RoleBinding"):
			e.pruneSubjects(doc)
		case doc.is(rbacGroup, "Role"), doc.is(rbacGroup, "ClusterRole"):
			if kept, changed := e.keptRules(objects(doc.Object, "rules")); changed {
				doc.Object["rules"] = append([]any{}, kept...)
				e.changed(doc, "rules for excluded CustomResourceDefinitions removed")
			}
		}
	}
}

func (e *exclusion) pruneSubjects(doc Document) {
	subjects, _ := doc.Object["subjects"].([]any)
	kept := slices.DeleteFunc(slices.Clone(subjects), func(s any) bool {
		subject, _ := s.(map[string]any)
		return e.goneAccount(subject)
	})
	if len(kept) < len(subjects) {
		doc.Object["subjects"] = kept
		e.changed(doc, "excluded subjects removed")
	}
}

// dangling refuses a kept document that needs an excluded one.
func (e *exclusion) dangling() {
	for i, doc := range e.Documents {
		if _, gone := e.why[i]; gone {
			continue
		}
		if service := text(at(conversion(doc), "service"), "name"); service != "" && e.gone("", "Service", service) {
			e.refuse(doc, "the conversion webhook of this CustomResourceDefinition calls Service %s, which is excluded: exclude the "+
				"CustomResourceDefinition too, or keep the Service", service)
		}
		if name := account(doc); doc.IsWorkload() && name != "" && e.gone("", "ServiceAccount", name) {
			e.refuse(doc, "this workload runs as ServiceAccount %s, which is excluded: exclude the workload too, or keep the ServiceAccount", name)
		}
	}
}
