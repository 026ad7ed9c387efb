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

// adopterWarnings warns, for a request to move a Machine, which MachineSets will adopt the Machine after the move. A set of the target API adopts each
// Machine without a controller that the set's selector matches. If the set then has too many Machines, it deletes one, with its instance. Until the move, the
// lock refuses the adoption.
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
		"after the move, %s's MachineSet %s makes this Machine its own, by its labels, and deletes it with its instance where it has more than its replicas. "+
			"To prevent that, first change its labels or the set's selector", to.Text(), strings.Join(names, " or "))}
}

// comesUnowned reports whether a user or GitOps creates a Machine without a controller. Other actors do not count, because controllers do not read warnings.
func comesUnowned(c policies.Change) bool {
	return c.Actor == policies.Anyone && c.Kind == "Machine" && c.Operation == admissionv1.Create && !owned(c.New)
}

// SetAdopts warns, when a Machine without a controller is created, which Machine API sets will adopt it later. A set of the Machine API adopts each Machine
// without a controller that the set's selector matches. While different APIs are authoritative for the set and the Machine, the lock refuses the adoption,
// and a person who creates or restores the Machine does not see that refusal.
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
		out = append(out, fmt.Sprintf("metadata.labels: MachineSet %s, for which %s is authoritative, selects this Machine. "+
			"It may not adopt it before the Machine moves there: "+
			"then it does, and deletes it with its instance if it has too many. To prevent that, use other labels", set.Metadata.Name, of.Text()))
	}
	slices.Sort(out)
	return policies.Warn(out...)
}

// deploymentWarnings warns, for a request to move a MachineSet to Cluster API, which MachineDeployments will adopt the set after the move. A
// MachineDeployment adopts each set without a controller that the MachineDeployment's selector matches. If the MachineDeployment's own template differs from
// the set's, it scales the set down to none, or fails (onceAdopted). Until the move, the lock refuses the adoption.
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

// onceAdopted says what a MachineDeployment does to a set that it has adopted. Seen with v1.13.6 of Cluster API, which needs the label machine-template-hash
// on each set of a MachineDeployment.
const onceAdopted = ". It may then replace the set's Machines and their instances by those of the MachineDeployment's template. If the set lacks the label " +
	"machine-template-hash, Cluster API may fail on the whole MachineDeployment instead, and neither scale it nor replace any of its Machines. " +
	"Either way the set cannot move to Machine API while the MachineDeployment owns it"

// MachineDeployment is Cluster API's kind that owns MachineSets. Poundlock does not mirror it.
const MachineDeployment = "MachineDeployment"

// selectsAnew reports whether, because of a person's change of a MachineDeployment or of a MachineSet, a MachineDeployment may select a set that it did not
// select before.
func selectsAnew(c policies.Change) bool {
	switch {
	case !reads(c):
		return false
	case c.Kind == MachineDeployment:
		return c.Operation == admissionv1.Create || SelectorOf(c.Old).String() != SelectorOf(c.New).String()
	case owned(c.New) || c.Side == policies.SideClusterAPI && (!isMirrored(c.New) || c.New.HasAnnotation(PausedAnnotation)):
		return false // the labels of a mirror come from the authoritative set, whose own review warns
	}
	return c.Operation == admissionv1.Create || !maps.Equal(c.Old.Metadata.Labels, c.New.Metadata.Labels)
}

func isMirrored(o *policies.Object) bool {
	return o.HasFinalizer(SyncFinalizer) || o.HasAnnotation(MirrorAnnotation)
}

// labelledFor warns which MachineDeployments select a set because of the labels that the request gives the set.
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
		when = "after its move to Cluster API "
	}
	return policies.Warn(fmt.Sprintf("metadata.labels: Cluster API's MachineDeployment %s selects a MachineSet with these labels: "+
		"%sit adopts the set%s. To prevent that, use other labels",
		nameSome(names), when, onceAdopted))
}

// DeploymentAdopts warns as deploymentWarnings does, for the case that the MachineDeployment, or the labels by which it selects, come after the MachineSets.
// A paused set has yet to move to Cluster API, and until that move the lock refuses the adoption.
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
	const warning = "spec.selector matches MachineSet %s: %sthis MachineDeployment adopts it" + onceAdopted +
		". To prevent that, narrow the selector or change the set's labels first"
	v := policies.Verdict{}
	if len(now) > 0 {
		v.Warnings = append(v.Warnings, fmt.Sprintf(warning, nameSome(slices.Sorted(slices.Values(now))), ""))
	}
	if len(later) > 0 {
		v.Warnings = append(v.Warnings, fmt.Sprintf(warning, nameSome(slices.Sorted(slices.Values(later))), "after its move to Cluster API "))
	}
	return v
}

// DeploymentDeletes warns which mirrored MachineSets are deleted with a MachineDeployment. Cluster API's controller deletes the sets that a MachineDeployment
// owns before it removes its finalizer from the MachineDeployment, whatever propagation the deletion asks for.
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
		back = "A move to Machine API that has not ended is taken back by that. "
	}
	slices.Sort(names)
	at := fmt.Sprintf("kubectl -n %s %%s %%s.%s %%s", c.Namespace, clusterv1.GroupVersion.Group)
	v := policies.Warn(fmt.Sprintf("Cluster API's controller deletes MachineSet %s with this MachineDeployment, with --cascade=orphan too, and all of "+
		"its Machines with their instances, those that Machine API runs included. %s"+
		"To keep them, pause the MachineDeployment instead: "+at+" %s=", nameSome(names), back, "annotate", "machinedeployments", c.Name, PausedAnnotation))
	if c.Propagation == metav1.DeletePropagationOrphan {
		v.Warnings = append(v.Warnings, fmt.Sprintf("with --cascade=orphan the deleted MachineSet waits for its MachineDeployment, which is gone, until "+
			"its label is removed: "+at+" %s-",
			"label", "machinesets", names[0], clusterv1.MachineDeploymentNameLabel))
	}
	return v
}

// shapeBeside returns the Shape of the Machine API set with the name of a Cluster API set. It returns the zero Shape if there is none. The Shape matters for
// a set that moves, because the deletion of that set cancels the move (State.move): if the move came from Cluster API, the paused set is released and Cluster
// API completes its deletion.
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
