// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// adopterWarnings name the MachineSets that will adopt a Machine once it has moved. A set of the target adopts each Machine without a controller that its
// selector matches. If it then has too many, it deletes one, with its instance. Until the move, the lock refuses the adoption.
func adopterWarnings(c policies.Change, s standing) []string {
	kind, _ := KindNamed(c.Kind)
	to, machine := s.authoritative().Other(), c.Old
	if to == ClusterAPI && c.Facts.Twin != nil {
		machine = c.Facts.Twin
	}
	if !kind.InfraActs() || owned(machine) {
		return nil
	}
	var names []string
	for _, set := range c.Facts.Sets {
		if selector := SelectorOf(set); !set.Deleting() && !selector.Empty() && selector.Matches(labels.Set(machine.Metadata.Labels)) {
			names = append(names, set.Metadata.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(
		"after the move, %s's MachineSet %s adopts this Machine, because its selector matches the Machine's labels. If the set then has more Machines than "+
			"spec.replicas, it may delete this Machine with its instance. To prevent that, first change the Machine's labels or the set's selector",
		to.Text(), strings.Join(names, " or "))}
}

// comesUnowned reports whether somebody who reads warnings creates a Machine without a controller.
func comesUnowned(c policies.Change) bool {
	return c.Actor == policies.Anyone && c.Kind == "Machine" && c.Operation == admissionv1.Create && !owned(c.New)
}

// SetAdopts: a set of the Machine API adopts each Machine without a controller that its selector matches. While the set and the Machine have different
// authoritative APIs, the lock refuses that, and a person who creates or restores the Machine does not see the refusal.
func SetAdopts(c policies.Change) policies.Verdict {
	if !comesUnowned(c) {
		return policies.Verdict{}
	}
	machine := askedFor(c.New)
	var out []string
	for _, set := range c.Facts.Sets {
		selector, of := SelectorOf(set), Authoritative(Read(set))
		if set.Deleting() || selector.Empty() || of == machine || !selector.Matches(labels.Set(c.New.Metadata.Labels)) {
			continue
		}
		out = append(out, fmt.Sprintf("metadata.labels: MachineSet %s, for which %s is authoritative, selects this Machine. Once that API is authoritative for "+
			"this Machine too, the set adopts the Machine, and deletes it with its instance if the set has more Machines than spec.replicas. To prevent that, use "+
			"other labels", set.Metadata.Name, of.Text()))
	}
	slices.Sort(out)
	return policies.Warn(out...)
}

// deploymentWarnings name the MachineDeployments that will adopt a MachineSet once it has moved to Cluster API. Each one adopts a set without a controller
// that its selector matches. If its own template differs, it scales the set down to none, or fails (onceAdopted). Until the move, the lock refuses the
// adoption.
func deploymentWarnings(c policies.Change, s standing) []string {
	if c.Kind != "MachineSet" || s.authoritative().Other() != ClusterAPI || c.Facts.Twin == nil || owned(c.Facts.Twin) {
		return nil
	}
	var names []string
	for _, d := range c.Facts.Deployments {
		if !d.Deleting() && wouldAdopt(d, c.Facts.Twin) {
			names = append(names, d.Metadata.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(
		"after the move, Cluster API's MachineDeployment %s adopts this MachineSet, because its selector matches the set's labels%s. "+
			"To prevent that, first change the set's labels, or narrow spec.selector of the MachineDeployment", strings.Join(names, " or "), onceAdopted)}
}

// onceAdopted is what a MachineDeployment does to a set that it has adopted (seen with v1.13.6, which needs that label of each of its sets).
const onceAdopted = ". The MachineDeployment may then replace the set's Machines and their instances with new ones from its own template. If the set lacks " +
	"the label machine-template-hash, Cluster API may fail on the whole MachineDeployment instead: it then neither scales the MachineDeployment nor replaces " +
	"its Machines. In both cases the set cannot move to Machine API while the MachineDeployment owns it"

// MachineDeployment is Cluster API's kind that owns MachineSets. Nothing mirrors it.
const MachineDeployment = "MachineDeployment"

// selectsAnew reports whether a MachineDeployment may select a MachineSet that it did not select before, since a person changes the one or the other.
func selectsAnew(c policies.Change) bool {
	switch {
	case !reads(c):
		return false
	case c.Kind == MachineDeployment:
		return c.Operation == admissionv1.Create || SelectorOf(c.Old).String() != SelectorOf(c.New).String()
	case owned(c.New) || c.Side == policies.SideClusterAPI && (!isMirrored(c.New) || c.New.HasAnnotation(PausedAnnotation)):
		return false // a mirror's labels are those of the authoritative set
	}
	return c.Operation == admissionv1.Create || !maps.Equal(c.Old.Metadata.Labels, c.New.Metadata.Labels)
}

func isMirrored(o *policies.Object) bool {
	return o.HasFinalizer(SyncFinalizer) || o.HasAnnotation(MirrorAnnotation)
}

// labelledFor warns of the MachineDeployments that select a set by the labels which this request gives it.
func labelledFor(c policies.Change) policies.Verdict {
	var names []string
	for _, d := range c.Facts.Deployments {
		if !d.Deleting() && wouldAdopt(d, c.New) && (c.Old == nil || !wouldAdopt(d, c.Old)) {
			names = append(names, d.Metadata.Name)
		}
	}
	if len(names) == 0 {
		return policies.Verdict{}
	}
	slices.Sort(names)
	when := ""
	if Authoritative(Read(c.New)) == MachineAPI && c.Side == policies.SideMachineAPI {
		when = "after the set's move to Cluster API "
	}
	return policies.Warn(fmt.Sprintf("metadata.labels: Cluster API's MachineDeployment %s selects a MachineSet with these labels: %sthe MachineDeployment "+
		"adopts the set%s. To prevent that, use other labels",
		nameSome(names), when, onceAdopted))
}

// DeploymentAdopts is deploymentWarnings for the other order: the MachineDeployment comes after the MachineSets. The move of a paused set to Cluster API is
// still to come; until then, the lock refuses the adoption.
func DeploymentAdopts(c policies.Change) policies.Verdict {
	if !selectsAnew(c) {
		return policies.Verdict{}
	}
	if c.Kind != MachineDeployment {
		return labelledFor(c)
	}
	var later, now []string
	for _, set := range c.Facts.Sets {
		switch {
		case !isMirrored(set) || owned(set) || set.Deleting() || !wouldAdopt(c.New, set) || c.Old != nil && wouldAdopt(c.Old, set):
		case set.HasAnnotation(PausedAnnotation):
			later = append(later, set.Metadata.Name)
		default:
			now = append(now, set.Metadata.Name)
		}
	}
	const warning = "spec.selector matches MachineSet %s: %sthis MachineDeployment adopts the set" + onceAdopted +
		". To prevent that, narrow the selector or change the set's labels first"
	v := policies.Verdict{}
	if len(now) > 0 {
		v.Warnings = append(v.Warnings, fmt.Sprintf(warning, nameSome(slices.Sorted(slices.Values(now))), ""))
	}
	if len(later) > 0 {
		v.Warnings = append(v.Warnings, fmt.Sprintf(warning, nameSome(slices.Sorted(slices.Values(later))), "after the set's move to Cluster API "))
	}
	return v
}

// DeploymentDeletes warns which mirrored MachineSets are deleted with a MachineDeployment. Cluster API's controller deletes the sets that it owns before it
// removes its finalizer, whatever propagation the deletion asks for.
func DeploymentDeletes(c policies.Change) policies.Verdict {
	var names []string
	moving := false
	for _, set := range c.Facts.Sets {
		if !isMirrored(set) || !controlledBy(set, c.Old) || set.Deleting() {
			continue
		}
		at := shapeBeside(c, set)
		if set.HasAnnotation(PausedAnnotation) && (at.Current == Unset || Authoritative(at) != ClusterAPI) {
			continue // the mirror of Machine API's set is recreated, and its Machines stay
		}
		moving = moving || at.Current == Migrating
		names = append(names, set.Metadata.Name)
	}
	if len(names) == 0 || !reads(c) {
		return policies.Verdict{}
	}
	back := ""
	if moving {
		back = "The deletion also cancels a move to Machine API that is not complete. "
	}
	slices.Sort(names)
	at := fmt.Sprintf("kubectl -n %s %%s %%s.%s %%s", c.Namespace, clusterv1.GroupVersion.Group)
	v := policies.Warn(fmt.Sprintf("Cluster API's controller deletes MachineSet %s together with this MachineDeployment, even with --cascade=orphan. All "+
		"Machines of the set are deleted with their instances, including those for which Machine API is authoritative. %sTo keep the Machines, pause the "+
		"MachineDeployment instead: "+at+" %s=", nameSome(names), back, "annotate", "machinedeployments", c.Name, PausedAnnotation))
	if c.Propagation == metav1.DeletePropagationOrphan {
		v.Warnings = append(v.Warnings, fmt.Sprintf("with --cascade=orphan the deletion of the MachineSet does not end, because it waits for the "+
			"MachineDeployment that no longer exists. To end it, remove the set's label: "+at+" %s-",
			"label", "machinesets", names[0], clusterv1.MachineDeploymentNameLabel))
	}
	return v
}

// shapeBeside is the authority over a set of Cluster API. The deletion of one that moves takes the move back (State.move): where that came from Cluster API,
// the paused set is released to its own end.
func shapeBeside(c policies.Change, set *policies.Object) Shape {
	for _, o := range c.Facts.MachineAPISets {
		if o.Metadata.Name == set.Metadata.Name {
			return Read(o)
		}
	}
	return Shape{}
}

// wouldAdopt reports whether a MachineDeployment's selector matches a set's labels.
func wouldAdopt(deployment, set *policies.Object) bool {
	return takes(deployment, set.Metadata.Labels)
}
