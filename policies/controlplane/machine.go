// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// Machine returns the Machine that the set creates at an index, with its name.
//
// The five letters of the name follow from the state of the set. So two processes that decide from the same state use the same name, and the API server accepts
// only one of the two Machines. Afterwards the set's status counts that Machine, so the next letters differ, even if the Machine is gone.
func (p *Plan) Machine(i Index) *machinev1beta1.Machine {
	t := TemplateOf(p.set)
	m := &machinev1beta1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.set.Namespace, Name: p.name(i),
			Labels: maps.Clone(t.ObjectMeta.Labels), Annotations: maps.Clone(t.ObjectMeta.Annotations),
			OwnerReferences: []metav1.OwnerReference{p.Owner()},
		},
		Spec: *t.Spec.DeepCopy(),
	}
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, MadeFromAnnotation, madeFrom(i))
	m.Spec.AuthoritativeAPI = p.MakesFor()
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: values.Raw(i.Spec)}
	return m
}

// MakesFor returns the API that is to be authoritative for created Machines: Cluster API if it is authoritative for the set, else the API that the template
// names.
func (p *Plan) MakesFor() machinev1beta1.MachineAuthority {
	if p.authority == authority.ClusterAPI {
		return machinev1beta1.MachineAuthorityClusterAPI
	}
	return cmp.Or(TemplateOf(p.set).Spec.AuthoritativeAPI, machinev1beta1.MachineAuthorityMachineAPI)
}

// Owner returns the reference by which the set is a Machine's controller.
func (p *Plan) Owner() metav1.OwnerReference {
	return *metav1.NewControllerRef(p.set, machinev1.GroupVersion.WithKind(Kind))
}

// Owners returns a Machine's owner references with the set as its controller, and without references to a former set of the same name. A reference to a former
// set has to go because that set does not exist any more: the garbage collector would delete the Machine.
func (p *Plan) Owners(m *machinev1beta1.Machine) []metav1.OwnerReference {
	kept := slices.DeleteFunc(slices.Clone(m.OwnerReferences), func(o metav1.OwnerReference) bool { return former(o, p.set) || o.UID == p.set.UID })
	return append(kept, p.Owner())
}

// former reports whether a reference is to a set of this name that does not exist any more. A control plane has one set at a time, so a set with another UID is
// a former one.
func former(o metav1.OwnerReference, set *machinev1.ControlPlaneMachineSet) bool {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return group == machinev1.GroupName && o.Kind == Kind && o.Name == set.Name && o.UID != set.UID
}

// name returns a Machine's name: "the provided prefix, followed by a randomly generated string of 5 characters, and the machine index"; without a prefix "using
// cluster ID, machine role, random characters, and index".
func (p *Plan) name(i Index) string {
	labels := TemplateOf(p.set).ObjectMeta.Labels
	prefix := cmp.Or(p.set.Spec.MachineNamePrefix, cmp.Or(p.cluster, labels[ClusterLabel], p.set.Name)+"-"+cmp.Or(labels[RoleLabel], "master"))
	return fmt.Sprintf("%s-%s-%d", prefix, p.letters(i), i.Number)
}

func (p *Plan) letters(i Index) string {
	parts := []string{string(p.set.UID), p.set.ResourceVersion, fmt.Sprint(i.Number)}
	for _, m := range p.Machines() {
		parts = append(parts, string(m.machine.UID))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:5])
}

// Amendment returns the merge patch for the differences that can be changed in place; nil if there are none.
func (p *Plan) Amendment(m MachineState) map[string]any {
	if len(m.In(InPlace)) == 0 {
		return nil
	}
	t := TemplateOf(p.set)
	out := map[string]any{
		"metadata": map[string]any{"labels": ours(t.ObjectMeta.Labels), "annotations": ours(t.ObjectMeta.Annotations)},
		"spec":     map[string]any{"metadata": map[string]any{"labels": t.Spec.Labels, "annotations": t.Spec.Annotations}},
	}
	if len(Different(nil, byContent(m.machine.Spec.Taints), byContent(t.Spec.Taints))) > 0 {
		out = values.Put(out, values.Path("spec.taints"), values.Plain(t.Spec.Taints)).(map[string]any) //nolint:forcetypeassert // it is made above
	}
	return lean(values.Plain(out))
}

// lean returns an object without its empty members, because a null in a merge patch removes the member from the object. Only taints may be null.
func lean(v any) map[string]any {
	m, _ := v.(map[string]any)
	for key, member := range m {
		inner, isMap := member.(map[string]any)
		if isMap {
			inner = lean(inner)
		}
		if member == nil && key != "taints" || isMap && len(inner) == 0 {
			delete(m, key)
		}
	}
	return m
}
