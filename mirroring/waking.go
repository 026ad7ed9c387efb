// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies/authority"
)

// MadeFor returns the name of the pair of a kind for which the mirror made an object, according to the object's mark (MirrorAnnotation); "" if the mirror made
// it for no such pair.
func MadeFor(kind authority.Kind, o metav1.Object) string {
	name, made := strings.CutPrefix(o.GetAnnotations()[authority.MirrorAnnotation], kind.Name+"/")
	if !made {
		return ""
	}
	return name
}

// OfInfra returns the names of the pairs to which an infrastructure object belongs or belonged, according to the mirror's mark and to its owner. A machine may
// also belong to the pair of its own name. template is the name of the template that the object is, or that it was made from, "" if there is none. The pairs
// that refer to that template are requeued as well.
func OfInfra(kind authority.Kind, isMachine bool, o metav1.Object) (names []string, template string) {
	if name := MadeFor(kind, o); name != "" {
		names = append(names, name)
	}
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == kind.Name {
			names = append(names, ref.Name)
		}
	}
	template = o.GetName()
	if isMachine {
		if kind.Infra == authority.InfraMachine { // while nobody owns this machine, it prevents the mirror of that name
			names = append(names, o.GetName())
		}
		template = o.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation]
	}
	if kind.Infra != authority.InfraMachineTemplate {
		template = ""
	}
	return names, template
}

// OfInfraInstance returns the names that the pair of an object may have that a provider keeps for an instance: the object's own name, and the name of the
// provider's machine that owns the object.
func OfInfraInstance(kind string, o metav1.Object) []string {
	names := []string{o.GetName()}
	for _, ref := range o.GetOwnerReferences() {
		if ref.Name != o.GetName() && authority.OwnsInfraInstance(kind, ref) {
			names = append(names, ref.Name)
		}
	}
	return names
}

// InfraClusterChanged reports whether anything outside the spec of an infrastructure cluster object has changed that conversions read.
func InfraClusterChanged(was, now *unstructured.Unstructured) bool {
	if !maps.Equal(personsAnnotations(was), personsAnnotations(now)) {
		return true
	}
	return slices.ContainsFunc([]string{"failureDomains", "network", "serviceInstance", "loadBalancers"}, func(field string) bool {
		old, _, _ := unstructured.NestedFieldNoCopy(was.Object, "status", field)
		current, _, _ := unstructured.NestedFieldNoCopy(now.Object, "status", field)
		return !equality.Semantic.DeepEqual(old, current)
	})
}

// personsAnnotations returns all annotations except the mark of package surroundings (HoldsMirrorsAnnotation), which Poundlock itself changes while a fleet is
// scaled.
func personsAnnotations(o metav1.Object) map[string]string {
	all := maps.Clone(o.GetAnnotations())
	delete(all, authority.HoldsMirrorsAnnotation)
	return all
}
