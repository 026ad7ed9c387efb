// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanemirror

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/jsontree"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane/handover"
	"github.com/poundlock/poundlock/policies/ownership"
)

// verb is the kind of request with which a write is sent.
type verb string

const (
	create      verb = "create"
	update      verb = "update"
	remove      verb = "delete"
	patchStatus verb = "patchStatus"
)

// write is one request to the API server.
type write struct {
	verb verb
	// object is the object to create, or the changed object of an update. For a patch or a deletion it is the object as it was read.
	object *unstructured.Unstructured
	// patch is a JSON merge patch of the status.
	patch map[string]any
	// otherwise is the patch in the other form of the field, which is tried if the API server finds patch invalid; nil if there is no other form.
	otherwise map[string]any
	// kept reports whether the API server has kept the patch, judging by the object that the API server returned; nil if it always keeps the patch.
	kept func(*unstructured.Unstructured) bool
	// reason is the reason of the event, and note is its sentence; note is "" if the log is enough.
	reason, note string
	warning      bool
}

// next returns the next write, nil if there is none. Cluster API's side is written first. Only then is it reported to be equal. For a set that is gone, next
// only deletes templates that nobody uses. For a set that is being deleted, it returns nil (handover.Next returns Rest).
func (r reporting) next(s *state) *write {
	if s.set == nil {
		return s.staleTemplate()
	}
	if step := handover.Next(s.handover(handover.Behind)); step.Action == authority.Rest {
		return nil
	}
	if s.refusal == (problem{}) {
		for _, candidate := range []func() *write{s.reflectTemplate, s.reflectDomains, s.staleTemplate} {
			if w := candidate(); w != nil {
				return w
			}
		}
	}
	return r.report(s)
}

func (s *state) handover(side handover.Side) handover.State {
	return handover.State{
		Requested: s.shape.Requested, Current: s.shape.Current, Origin: s.shape.SynchronizedAPI,
		Deleting: s.set.GetDeletionTimestamp() != nil, OfClusterAPI: s.member != nil, Side: side,
	}
}

// reflectTemplate returns the write that creates or updates the Cluster API template to which the set's template converts.
func (s *state) reflectTemplate() *write {
	if s.template == nil {
		return nil
	}
	i := slices.IndexFunc(s.templates, s.wants)
	if i < 0 {
		return &write{verb: create, object: s.template, reason: "TemplateReflected", note: fmt.Sprintf("created %s, the set's template in Cluster API's form",
			describe(s.template))}
	}
	live := s.templates[i]
	if hasFields(live, s.template) {
		return nil
	}
	if live.GetDeletionTimestamp() != nil {
		return nil // the event of its deletion starts a pass
	}
	// Somebody has edited the template. Or other content has led to the same name, which happens once in four thousand million times.
	amended := live.DeepCopy()
	amended.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) // so that nobody else owns a field, even one that equals the API server's default
	amended.Object["spec"] = s.template.DeepCopy().Object["spec"]
	return &write{verb: update, object: amended, reason: "TemplateReflected", note: fmt.Sprintf("updated %s to equal the set's template", describe(live))}
}

// hasFields reports whether a template has all wanted fields, and no field that somebody has added. Defaults that an API server has added do not count as added
// fields, even in items of lists. An empty object counts as a value.
func hasFields(live, want *unstructured.Unstructured) bool {
	return (jsontree.Comparison{Empty: true}).Has(want.Object["spec"], live.Object["spec"]) && len(ownership.Added(fieldManager, want, live)) == 0
}

// staleTemplate returns the write that deletes a template that was made for the set and that nothing refers to.
func (s *state) staleTemplate() *write {
	for _, t := range s.templates {
		if !mine(t) || s.wants(t) || s.used == nil || s.used.Has(t.GetName()) || t.GetDeletionTimestamp() != nil {
			continue
		}
		return &write{verb: remove, object: t, reason: "TemplateDeleted", note: "deleted " + describe(t) + ", because nothing refers to it any more"}
	}
	return nil
}

// domains returns Cluster API's names of the set's failure domains, each once, sorted.
func (s *state) domains() []string {
	var out []string
	for _, p := range s.places {
		if p.FailureDomain != "" {
			out = append(out, p.FailureDomain)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// managed reports whether the infrastructure cluster has the annotation managed-by. Then somebody other than the provider's controller manages it, and writes
// the status that the provider's controller would write.
func (s *state) managed() bool {
	_, managed := s.infraCluster.GetAnnotations()[clusterv1.ManagedByAnnotation]
	return managed
}

// unlisted returns the failure domains of the set that the infrastructure cluster does not list for the control plane.
func (s *state) unlisted() []string {
	var out []string
	for _, d := range s.domains() {
		if !lists(s.infraCluster, d) {
			out = append(out, d)
		}
	}
	return out
}

// lists reports whether an infrastructure cluster lists a failure domain for the control plane. It reads both forms of status.failureDomains: a map by name
// up to Cluster API's contract v1beta1, a list from v1beta2 on.
func lists(infraCluster *unstructured.Unstructured, domain string) bool {
	value, _, _ := unstructured.NestedFieldNoCopy(infraCluster.Object, "status", "failureDomains")
	switch value := value.(type) {
	case map[string]any:
		one, _ := value[domain].(map[string]any)
		return one["controlPlane"] == true
	case []any:
		return slices.ContainsFunc(value, func(d any) bool {
			one, _ := d.(map[string]any)
			return one["name"] == domain && one["controlPlane"] == true
		})
	}
	return false
}

// reflectDomains returns the write that adds the set's failure domains to those of the infrastructure cluster. It does not change other domains, and never
// removes a domain, because Machines may be in it.
func (s *state) reflectDomains() *write {
	missing := s.unlisted()
	if len(missing) == 0 || !s.managed() {
		return nil
	}
	patch := func(domains any) map[string]any {
		return map[string]any{"status": map[string]any{"failureDomains": domains}}
	}
	w := &write{
		verb: patchStatus, object: s.infraCluster, reason: "FailureDomainsReflected",
		note: fmt.Sprintf("%s now lists the set's failure domains %s for the control plane", describe(s.infraCluster), strings.Join(missing, ", ")),
		kept: func(o *unstructured.Unstructured) bool {
			return !slices.ContainsFunc(missing, func(d string) bool { return !lists(o, d) })
		},
	}
	value, _, _ := unstructured.NestedFieldCopy(s.infraCluster.Object, "status", "failureDomains")
	switch value := value.(type) {
	case []any:
		w.patch = patch(inList(value, missing))
	case map[string]any:
		w.patch = patch(inMap(missing))
	default: // the object has none yet, and its CRD has one form or the other
		w.patch, w.otherwise = patch(inMap(missing)), patch(inList(nil, missing))
	}
	return w
}

// inMap returns the merge patch that adds failure domains to a map.
func inMap(missing []string) map[string]any {
	out := map[string]any{}
	for _, d := range missing {
		out[d] = map[string]any{"controlPlane": true}
	}
	return out
}

// inList returns the whole list with the added failure domains, because a merge patch replaces a list.
func inList(list []any, missing []string) []any {
	for _, d := range missing {
		i := slices.IndexFunc(list, func(l any) bool { one, _ := l.(map[string]any); return one["name"] == d })
		if i < 0 {
			list = append(list, map[string]any{"name": d, "controlPlane": true})
			continue
		}
		one, _ := list[i].(map[string]any)
		one["controlPlane"] = true
	}
	return list
}

func describe(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
}
