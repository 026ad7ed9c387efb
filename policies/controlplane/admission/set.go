// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// Named refuses a set with another name than cluster: "The ControlPlaneMachineSet CRD will be limited to a singleton … the only allowed name will be cluster".
func Named(c policies.Change) policies.Verdict {
	if c.Name == controlplane.Name {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), "a control plane has only one ControlPlaneMachineSet, which must be named cluster"))
}

// DuplicateDomains refuses a failure domain that is listed twice. It compares the text, because only the cloud could say whether two spellings name one place.
func DuplicateDomains(c policies.Change) policies.Verdict {
	if !changesSpec(c) {
		return policies.Verdict{}
	}
	v := duplicates(c.New)
	if c.Old != nil && !begins(c) {
		return beyond(v, duplicates(c.Old))
	}
	return v
}

func duplicates(o *policies.Object) policies.Verdict {
	var errs field.ErrorList
	all := domainLists(o)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path := field.NewPath("spec", "template", string(memberOf(o)), "failureDomains", name)
		list, _ := all[name].([]any)
		for i, d := range list {
			if slices.ContainsFunc(list[:i], func(before any) bool { return reflect.DeepEqual(before, d) }) {
				errs = append(errs, &field.Error{
					Type: field.ErrorTypeDuplicate, Field: path.Index(i).String(), BadValue: values.Text(d), Detail: "the set lists this failure domain already: " +
						"remove one of the two entries",
				})
			}
		}
	}
	return policies.Verdict{Denials: errs}
}

// domainLists returns the lists of failure domains in the set, as a person has written them. The keys are the lists' names.
func domainLists(o *policies.Object) map[string]any {
	var spec struct {
		Template map[machinev1.ControlPlaneMachineSetMachineType]json.RawMessage `json:"template"`
	}
	var member struct {
		FailureDomains map[string]any `json:"failureDomains"`
	}
	if json.Unmarshal(o.Spec, &spec) != nil || json.Unmarshal(spec.Template[memberOf(o)], &member) != nil {
		return nil
	}
	return member.FailureDomains
}

// memberOf returns the member of the union that a set's template must have, by its discriminator.
func memberOf(o *policies.Object) machinev1.ControlPlaneMachineSetMachineType {
	var spec struct {
		Template struct {
			MachineType machinev1.ControlPlaneMachineSetMachineType `json:"machineType"`
		} `json:"template"`
	}
	if o != nil && json.Unmarshal(o.Spec, &spec) == nil && spec.Template.MachineType == controlplane.ClusterAPIMember {
		return controlplane.ClusterAPIMember
	}
	return controlplane.MachineAPIMember
}

// selects refuses a selector that does not match the template's labels, or that also matches a worker with these labels: "Label selector for Machines … It must
// match the template's labels"; "This set should be the complete control plane".
func selects(p *proposal) policies.Verdict {
	path := controlplane.SpecPath.Child("selector")
	selector, err := controlplane.Selector(p.set)
	if err != nil {
		return policies.Deny(field.Invalid(path, values.Text(values.Plain(p.set.Spec.Selector)), "cannot be read: "+err.Error()))
	}
	var v policies.Verdict
	own := controlplane.TemplateOf(p.set).ObjectMeta.Labels
	if !selector.Matches(labels.Set(own)) {
		v.Denials = append(v.Denials, field.Invalid(platform.TemplatePath().Child("metadata", "labels"), values.Text(values.Plain(own)),
			fmt.Sprintf("the set's selector (%s) does not match these labels, so the set would not find the Machines that it creates. Add the labels that the "+
				"selector needs", selector)))
	}
	worker := maps.Clone(labels.Set(own))
	for _, l := range []string{controlplane.RoleLabel, controlplane.TypeLabel} {
		if worker[l] != "" {
			worker[l] = "worker"
		}
	}
	if len(own) > 0 && worker[controlplane.RoleLabel] != own[controlplane.RoleLabel] && selector.Matches(worker) {
		v.Denials = append(v.Denials,
			field.Invalid(path, selector.String(),
				fmt.Sprintf("this selector would also match workers, but the set treats each selected Machine as part of the control plane. Select by %s=master "+
					"and %s=master",
					controlplane.RoleLabel, controlplane.TypeLabel)))
	}
	if name := p.clusterName(); name != "" && own[controlplane.ClusterLabel] != "" && own[controlplane.ClusterLabel] != name {
		v.Warnings = append(v.Warnings, fmt.Sprintf("%s is %s, but the name of the cluster is %s. Machine API finds a Machine's cloud resources by this label",
			platform.TemplatePath().Child("metadata", "labels").Key(controlplane.ClusterLabel), own[controlplane.ClusterLabel], name))
	}
	return v
}

// Labelled checks the template's labels and annotations that a Machine controller writes or reads.
func Labelled(c policies.Change) policies.Verdict {
	v := ratchet(machineControllers)(c)
	if !changesSpec(c) || c.Old == nil {
		return v
	}
	now, before := propose(c, c.New), propose(c, c.Old)
	if now == nil || before == nil {
		return v
	}
	was, is := controlplane.TemplateOf(before.set).ObjectMeta.Labels[controlplane.ClusterLabel],
		controlplane.TemplateOf(now.set).ObjectMeta.Labels[controlplane.ClusterLabel]
	if was == "" || was == is || is != "" && is == now.clusterName() {
		return v
	}
	own := now.written(policies.Deny(field.Invalid(platform.TemplatePath().Child("metadata", "labels").Key(controlplane.ClusterLabel), is,
		fmt.Sprintf("a Machine controller finds the instance of a Machine by this label, so the label cannot be changed: set it back to %s", was))))
	v.Denials = append(v.Denials, own.Denials...)
	return v
}

// machineControllers warns about values that a Machine controller overwrites.
func machineControllers(p *proposal) policies.Verdict {
	var v policies.Verdict
	t := controlplane.TemplateOf(p.set)
	for _, of := range []struct {
		name string
		all  map[string]string
	}{{"labels", t.ObjectMeta.Labels}, {"annotations", t.ObjectMeta.Annotations}} {
		for _, key := range controlplane.OfMachineController() {
			if _, has := of.all[key]; has {
				v.Warnings = append(v.Warnings, fmt.Sprintf("%s: the Machine controller writes this value to each Machine, so the value in the template has no "+
					"effect. Remove it",
					platform.TemplatePath().Child("metadata", of.name).Key(key)))
			}
		}
	}
	return v
}

func (p *proposal) clusterName() string {
	if p.Infrastructure == nil {
		return ""
	}
	return p.Infrastructure.Status.InfrastructureName
}

// namesMachines refuses a name prefix if the platform would not accept the Machine names that begin with it: "The generated machine name will consist of the
// provided prefix, followed by a randomly generated string of 5 characters, and the machine index".
func namesMachines(p *proposal) policies.Verdict {
	prefix := p.set.Spec.MachineNamePrefix
	if prefix == "" {
		return policies.Verdict{}
	}
	name := fmt.Sprintf("%s-abcde-%d", prefix, p.greatestIndex())
	var v policies.Verdict
	for _, l := range platform.Named(platform.Of(p.Infrastructure)).NameLimits() {
		switch over := len(name) - l.Max; {
		case over > 0:
			v.Denials = append(v.Denials, field.Invalid(controlplane.SpecPath.Child("machineNamePrefix"), prefix,
				fmt.Sprintf("a Machine would be named %s, which has %d characters, but the name of %s may have only %d: shorten the prefix to %d characters",
					name, len(name), l.Of, l.Max, len(prefix)-over)))
		case l.Pattern != nil && !l.Pattern.MatchString(name):
			v.Denials = append(v.Denials, field.Invalid(controlplane.SpecPath.Child("machineNamePrefix"), prefix,
				fmt.Sprintf("a Machine would be named %s, which cannot be the name of %s: %s", name, l.Of, l.Shape)))
		default:
			continue
		}
		return v // the narrowest limit comes first, and one error is enough
	}
	return v
}

// greatestIndex returns the greatest number at the end of the name of a Machine of the set.
func (p *proposal) greatestIndex() int {
	plan := p.plan()
	if n := len(plan.Indexes); n > 0 {
		return plan.Indexes[n-1].Number
	}
	return 0
}

// onPlatform refuses failure domains and a providerSpec of a platform that is not the cluster's: "FailureDomains … only supported on certain platforms".
// Failure domains of another platform would have no effect.
func onPlatform(p *proposal) policies.Verdict {
	row := p.platform()
	var v policies.Verdict
	if e := platform.Misplaced(p.failureDomains(), row.Name); e != nil {
		v.Denials = append(v.Denials, e)
	}
	switch {
	case row.Name == "" && v.Denials != nil:
		return v
	case row.Name == "":
		return policies.Warn("the Infrastructure named cluster has no platform: the providerSpec was not checked")
	}
	spec := p.providerSpec()
	if spec == nil {
		return v
	}
	kind, _ := spec["kind"].(string)
	foreign := slices.ContainsFunc(platform.All(), func(other platform.Row) bool { return other.Kind == kind && other.Name != row.Name })
	path := platform.ProviderSpecPath().Child("kind")
	switch {
	case row.Kind != "" && kind == "":
		v.Denials = append(v.Denials, field.Required(path, fmt.Sprintf("on %s the kind must be %s", row.Name, row.Kind)))
	case row.Kind != "" && kind != row.Kind, foreign:
		v.Denials = append(v.Denials, field.Invalid(path, kind, strings.TrimSuffix(fmt.Sprintf("the platform of this cluster is %s, whose providerSpec has the "+
			"kind %s",
			row.Name, row.Kind), ", whose providerSpec has the kind ")))
	}
	return v
}
