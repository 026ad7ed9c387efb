// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// Effect is what the set does about a difference between a Machine and its template.
type Effect string

const (
	// Rollout: the set replaces the Machine.
	Rollout Effect = "Rollout"
	// InPlace: the set patches the Machine, and its Machine controller carries the change to the Node.
	InPlace Effect = "InPlace"
	// Ignored: the set does nothing. New Machines have the template's value.
	Ignored Effect = "Ignored"
)

// Difference is one field in which a Machine differs from what its set would create.
type Difference struct {
	// Path is the field's path below the Machine.
	Path   string
	Effect Effect
	// Have and Want are the Machine's and the template's values as a person reads them. "none" is an absent value without a default.
	Have, Want string
}

// String returns the difference for a sentence: path, value of the Machine → value of the template.
func (d Difference) String() string { return fmt.Sprintf("%s %s → %s", d.short(), d.Have, d.Want) }

// short returns the path without the prefix that every path in a providerSpec has.
func (d Difference) short() string {
	if s, ok := strings.CutPrefix(d.Path, "spec.providerSpec.value."); ok {
		return s
	}
	return d.Path
}

// comparing is one part of a Machine that is compared with the template, and the effect that a difference in this part has.
type comparing struct {
	effect Effect
	// differs returns the differences in this part, each with its path and both values.
	differs func(w *wanted, m *machinev1beta1.Machine) []Difference
}

// wanted is a Machine as the set would create it at some index.
type wanted struct {
	platform platform.Row
	template machinev1.OpenShiftMachineV1Beta1MachineTemplate
	// spec is the providerSpec with the failure domain's values.
	spec map[string]any
	// authority is the API that is to be authoritative for the Machine.
	authority machinev1beta1.MachineAuthority
}

// comparisons returns every part of a Machine that a template determines, each with the effect of a difference in it.
func comparisons() []comparing {
	return []comparing{
		{Rollout, func(w *wanted, m *machinev1beta1.Machine) []Difference {
			have, want := w.platform.Meaning(platform.ProviderSpec(m.Spec)), w.platform.Meaning(w.spec)
			return w.assumed(have, want, Different(field.NewPath("spec", "providerSpec", "value"), have, want, "spec.providerSpec.value.metadata"))
		}},
		{InPlace, func(w *wanted, m *machinev1beta1.Machine) []Difference {
			return lacking(field.NewPath("metadata", "labels"), m.Labels, ours(w.template.ObjectMeta.Labels))
		}},
		{InPlace, func(w *wanted, m *machinev1beta1.Machine) []Difference {
			return lacking(field.NewPath("metadata", "annotations"), m.Annotations, ours(w.template.ObjectMeta.Annotations))
		}},
		{InPlace, func(w *wanted, m *machinev1beta1.Machine) []Difference {
			return append(lacking(field.NewPath("spec", "metadata", "labels"), m.Spec.Labels, w.template.Spec.Labels),
				lacking(field.NewPath("spec", "metadata", "annotations"), m.Spec.Annotations, w.template.Spec.Annotations)...)
		}},
		{InPlace, func(w *wanted, m *machinev1beta1.Machine) []Difference {
			return Different(field.NewPath("spec", "taints"), byContent(m.Spec.Taints), byContent(w.template.Spec.Taints))
		}},
		// The hooks of an existing Machine belong to their owners, above all etcd's operator, so they are not changed.
		{Ignored, func(w *wanted, m *machinev1beta1.Machine) []Difference {
			have, want := m.Spec.LifecycleHooks, w.template.Spec.LifecycleHooks
			path := field.NewPath("spec", "lifecycleHooks")
			return append(Different(path.Child("preDrain"), nil, beside(want.PreDrain, have.PreDrain)),
				Different(path.Child("preTerminate"), nil, beside(want.PreTerminate, have.PreTerminate))...)
		}},
		// Which API is authoritative for an existing Machine is decided for each Machine by itself, and not by the set.
		{Ignored, func(w *wanted, m *machinev1beta1.Machine) []Difference {
			return Different(field.NewPath("spec", "authoritativeAPI"), values.Plain(cmp.Or(m.Spec.AuthoritativeAPI, machinev1beta1.MachineAuthorityMachineAPI)),
				values.Plain(w.authority))
		}},
	}
}

// differences returns all differences between a Machine and what the set would create. Those with a rollout come first.
func (w *wanted) differences(m *machinev1beta1.Machine) []Difference {
	var out []Difference
	for _, c := range comparisons() {
		effect := c.effect
		if effect == InPlace && elsewhere(m) {
			effect = Ignored
		}
		for _, d := range c.differs(w, m) {
			d.Effect = effect
			if effect == Rollout && (w.bootImage(d.Path) || w.ofCluster(d.Path, m)) {
				d.Effect = Ignored
			}
			out = append(out, d)
		}
	}
	return out
}

// byDefault is the suffix of a value that is a default, because the Machine or the template has no value of its own.
const byDefault = " (default)"

// assumed returns the differences with defaults in place of absent values. The default is what the instance has, or would have.
func (w *wanted) assumed(have, want map[string]any, all []Difference) []Difference {
	for i, d := range all {
		path := strings.TrimPrefix(d.Path, "spec.providerSpec.value.")
		all[i].Have, all[i].Want = w.orDefault(d.Have, path, have), w.orDefault(d.Want, path, want)
	}
	return all
}

// orDefault returns the text of a value of a providerSpec. If the value is absent, it returns the text of the default.
func (w *wanted) orDefault(text, path string, spec map[string]any) string {
	if text != values.Text(nil) {
		return text
	}
	if value := w.platform.Assumed(path, spec); value != nil {
		return values.Text(value) + byDefault
	}
	return text
}

// bootImage reports whether a path is the path of the image that an instance starts from. The Machine Config Operator writes the image into sets after an
// upgrade, and brings each Node to the cluster's version whatever image it started from. So a different image is no reason to replace a control plane.
func (w *wanted) bootImage(path string) bool {
	member, ok := strings.CutPrefix(path, "spec.providerSpec.value.")
	if !ok || w.platform.Boot == "" {
		return false
	}
	if list, name, isList := strings.Cut(w.platform.Boot, "[]."); isList {
		for i, item := range values.List(w.platform.Meaning(w.spec), list) {
			if disk, _ := item.(map[string]any); disk["boot"] == true && member == values.Item(list, i)+"."+name {
				return true
			}
		}
		return false
	}
	rest, ok := strings.CutPrefix(member, w.platform.Boot)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// ofCluster reports whether the value at a path comes from the infrastructure cluster object, and not from the Machine or its template. That is so for some
// members of the providerSpec if Cluster API runs the Machine or would run its replacement. An edit of the infrastructure cluster object, which nobody
// previews, is no request to replace a control plane.
func (w *wanted) ofCluster(path string, m *machinev1beta1.Machine) bool {
	member, ok := strings.CutPrefix(path, "spec.providerSpec.value.")
	return ok && (elsewhere(m) || w.authority == machinev1beta1.MachineAuthorityClusterAPI) && w.platform.OfCluster(member)
}

// elsewhere reports whether a Machine mirrors the Cluster API object of its name. The mirror would revert a change of such a Machine.
func elsewhere(m *machinev1beta1.Machine) bool {
	return m.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityClusterAPI || m.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityMigrating
}

// Different returns the differences between two JSON values, with their paths. It leaves out the paths in the list "except", and all paths below them.
func Different(path *field.Path, have, want any, except ...string) []Difference {
	var out []Difference
	found, err := policies.Differences(path, values.Raw(have), values.Raw(want), except...)
	if err != nil {
		return []Difference{{Path: path.String(), Have: values.Text(have), Want: values.Text(want)}}
	}
	for _, d := range found {
		out = append(out, Difference{Path: d.Path.String(), Have: values.Text(d.Old), Want: values.Text(d.New)})
	}
	return out
}

// lacking returns a difference for each member of "want" that "have" lacks or has with another value. Further members of "have" are no differences, because
// they belong to other writers.
func lacking(path *field.Path, have, want map[string]string) []Difference {
	kept := map[string]string{}
	for k := range want {
		if v, ok := have[k]; ok {
			kept[k] = v
		}
	}
	return Different(path, values.Plain(kept), values.Plain(want))
}

// OfMachineController lists the labels and annotations that a Machine controller writes to a Machine, from the cloud's answers or from the providerSpec.
func OfMachineController() []string {
	const api = "machine.openshift.io/"
	return []string{machineapi.RegionLabel, machineapi.ZoneLabel, machineapi.InstanceTypeLabel, api + "instance-state", api + "instance-power-state",
		"openstack-resourceId", "metal3.io/BareMetalHost"}
}

// ours returns the labels or annotations of a template that the set may write to an existing Machine. It leaves out those that a Machine controller writes,
// because the controller would write its own values back. It also leaves out the label of the cluster, by which a Machine controller finds the instance.
func ours(all map[string]string) map[string]string {
	out := maps.Clone(all)
	maps.DeleteFunc(out, func(key, _ string) bool { return key == ClusterLabel || slices.Contains(OfMachineController(), key) })
	return out
}

// beside returns those of the hooks that are not among others.
func beside(hooks, others []machinev1beta1.LifecycleHook) []machinev1beta1.LifecycleHook {
	return slices.DeleteFunc(slices.Clone(hooks), func(h machinev1beta1.LifecycleHook) bool { return slices.Contains(others, h) })
}

func byContent[T any](all []T) any {
	l, ok := values.Plain(all).([]any)
	if !ok {
		return nil
	}
	return values.Sorted(l)
}

// rollout reports whether the set replaces the Machine because of this difference.
func rollout(d Difference) bool { return d.Effect == Rollout }

func outdated(all []Difference) bool { return slices.ContainsFunc(all, rollout) }
