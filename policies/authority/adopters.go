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

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
)

// adopterWarnings returns warnings that name the MachineSets which will adopt the Machine after the move that a request asks for. A set of the target API
// adopts each Machine that has no controller and that the set's selector matches. If the set then has too many Machines, it deletes one, with its instance.
// Until the move, the lock refuses the adoption.
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
			"spec.replicas, the set may delete this Machine with its instance. To prevent that, first change the Machine's labels or the set's selector",
		to.Text(), strings.Join(names, " or "))}
}

// comesUnowned reports whether a user or GitOps creates a Machine without a controller. It is false for other actors, because they are controllers, which do
// not read warnings.
func comesUnowned(c policies.Change) bool {
	return c.Actor == policies.Anyone && c.Kind == "Machine" && c.Operation == admissionv1.Create && !owned(c.New)
}

// SetAdopts warns, when a Machine without a controller is created, which Machine API sets will adopt the Machine later. A set of the Machine API adopts each
// Machine that has no controller and that the set's selector matches. While different APIs are authoritative for the set and the Machine, the lock refuses the
// adoption. The person who creates or restores the Machine does not see that refusal. If the Machine is created for a Cluster API Machine that the set's mirror
// owns, Poundlock gives it to the set at once.
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
		if c.Facts.Twin != nil && OwningSet(c.Facts.Twin, policies.SideClusterAPI) == set.Metadata.Name {
			out = append(out, fmt.Sprintf("MachineSet %s of Cluster API owns the Machine there, so Poundlock makes the Machine API MachineSet the owner of this "+
				"Machine. If that set then has more Machines than spec.replicas, it deletes one with its instance. To choose which, first annotate that Machine with "+
				"%s=true",
				set.Metadata.Name, machineapi.DeleteAnnotation))
			continue
		}
		out = append(out, fmt.Sprintf("metadata.labels: MachineSet %s, for which %s is authoritative, selects this Machine. Once that API is authoritative for "+
			"this Machine too, the set adopts the Machine, and deletes it with its instance if the set has more Machines than spec.replicas. To prevent that, use "+
			"other labels", set.Metadata.Name, of.Text()))
	}
	slices.Sort(out)
	return policies.Warn(out...)
}

// deploymentWarnings returns, for a request to move a MachineSet to Cluster API, a warning that names the MachineDeployments which may adopt the set after the
// move. A MachineDeployment adopts each set that has no controller and that the MachineDeployment's selector matches. If the template of the MachineDeployment
// differs from that of the set, the MachineDeployment scales the set down to zero, or fails (onceAdopted). Until the move, the lock refuses the adoption.
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

// onceAdopted is the part of a warning that says what a MachineDeployment does to a set that it has adopted. This was seen with v1.13.6 of Cluster API, which
// needs the label machine-template-hash on each set of a MachineDeployment.
const onceAdopted = ". The MachineDeployment may then replace the set's Machines and their instances with new ones from its own template. If the set lacks " +
	"the label machine-template-hash, Cluster API may fail on the whole MachineDeployment instead: Cluster API then neither scales the MachineDeployment nor " +
	"replaces " +
	"its Machines. In both cases the set cannot move to Machine API while the MachineDeployment owns it"

// MachineDeployment is Cluster API's kind that owns MachineSets. Poundlock does not mirror this kind.
const MachineDeployment = "MachineDeployment"

// DeploymentsDefinition is the name of the CRD of MachineDeployments.
var DeploymentsDefinition = "machinedeployments." + clusterAPI.Group

// selectsAnew reports whether, after a person's change of a MachineDeployment or of a MachineSet, a MachineDeployment may select a set that it did not select
// before.
func selectsAnew(c policies.Change) bool {
	switch {
	case !reads(c):
		return false
	case c.Kind == MachineDeployment:
		return c.Operation == admissionv1.Create || SelectorOf(c.Old).String() != SelectorOf(c.New).String()
	case owned(c.New) || c.Side == policies.SideClusterAPI && (!isMirrored(c.New) || c.New.HasAnnotation(PausedAnnotation)):
		return false // the labels of a mirror come from the authoritative set, and the review of that set warns
	}
	return c.Operation == admissionv1.Create || !maps.Equal(c.Old.Metadata.Labels, c.New.Metadata.Labels)
}

func isMirrored(o *policies.Object) bool {
	return o.HasFinalizer(SyncFinalizer) || o.HasAnnotation(MirrorAnnotation)
}

// labelledFor warns which MachineDeployments select a set by the labels that the request gives it.
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

// DeploymentAdopts warns which MachineSets a MachineDeployment will adopt because of the request. The request creates the MachineDeployment, or changes its
// selector or a set's labels, so that the MachineDeployment selects the set anew. A paused set is adopted only after its move to Cluster API, because until
// then the lock refuses the adoption. For the request to move, deploymentWarnings has the warning.
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

// DeploymentDeletes warns which mirrored MachineSets are deleted with a MachineDeployment. Cluster API's controller deletes the sets that the MachineDeployment
// owns, and only then removes its finalizer from the MachineDeployment. It does so whatever propagation policy the deletion has.
func DeploymentDeletes(c policies.Change) policies.Verdict {
	var names []string
	moving := false
	for _, set := range c.Facts.Sets {
		if !isMirrored(set) || !controlledBy(set, c.Old) || set.Deleting() {
			continue
		}
		at := shapeBeside(c, set)
		if set.HasAnnotation(PausedAnnotation) && (at.Current == Unset || Authoritative(at) != ClusterAPI) {
			continue // this set is a mirror of Machine API's set: it is recreated, and its Machines stay
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

// shapeBeside returns the Shape of the Machine API set that has the name of a Cluster API set. It returns the zero Shape if there is none. The Shape matters
// for a set that is moving, because the deletion of that set cancels the move (State.move). If the move is one away from Cluster API, the paused set is then
// released, and Cluster API completes the deletion.
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
