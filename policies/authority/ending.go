// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// AllowsControlPlane is the value of AllowDeletionAnnotation that allows even a deletion with which etcd loses its quorum.
const AllowsControlPlane = "with-control-plane"

// Ends returns the API whose Machines are deleted together with the part of the surroundings (a namespace, CRD or Cluster) under review. It returns Unset if
// that deletes no Machines.
func Ends(c policies.Change) API {
	kind, _ := KindNamed("Machine")
	switch {
	case c.Kind == Namespace && c.Name == c.TwinNamespace, c.Kind == Definition && c.Name == kind.Resource+"."+kind.MachineAPI.Group:
		return MachineAPI
	case c.Kind == Namespace, c.Kind == Cluster:
		return ClusterAPI
	case c.Kind == Definition && slices.Contains([]string{kind.Resource + "." + kind.ClusterAPI.Group, "clusters." + kind.ClusterAPI.Group}, c.Name),
		ofProvidersMachines(c):
		return ClusterAPI
	}
	return Unset
}

// EndsMoves returns the API whose Machines are deleted together with the object under review if they have not moved away from it, and which Machines these
// are. They are more than those of Ends. If a CRD of MachineSets or of MachineDeployments is deleted, the Machines of its objects are deleted with them, except
// those for which the other API is authoritative.
func EndsMoves(c policies.Change) (from API, goes func(machine *policies.Object) bool) {
	set, _ := KindNamed("MachineSet")
	ofSet := func(m *policies.Object) bool {
		ref := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: m.Metadata.OwnerReferences})
		return ref != nil && ref.Kind == set.Name
	}
	switch name := c.Name; {
	case c.Kind != Definition:
	case name == set.DefinitionIn(MachineAPI):
		return MachineAPI, ofSet
	case name == set.DefinitionIn(ClusterAPI):
		return ClusterAPI, ofSet
	case name == DeploymentsDefinition:
		return ClusterAPI, func(m *policies.Object) bool {
			_, made := m.Metadata.Labels[clusterv1.MachineDeploymentNameLabel]
			return made
		}
	}
	return Ends(c), func(*policies.Object) bool { return true }
}

// Ending returns, sorted by name, those Machines for which the API is authoritative. They are deleted together with the surroundings of that API (a namespace,
// CRD or Cluster). machines are Machine API objects.
func Ending(of API, machines []*policies.Object) []string {
	var out []string
	for _, m := range machines {
		if Authoritative(Read(m)) == of {
			out = append(out, m.Metadata.Name)
		}
	}
	slices.Sort(out)
	return out
}

// MovingFrom returns, sorted by name, those Machines that were asked to move away from the API and have not moved yet. machines are Machine API objects.
func MovingFrom(from API, machines []*policies.Object) []string {
	var out []string
	for _, m := range machines {
		if s := Read(m); Authoritative(s) == from && s.Requested == from.Other() && !m.Deleting() {
			out = append(out, m.Metadata.Name)
		}
	}
	slices.Sort(out)
	return out
}

// MovesEnd refuses the deletion of surroundings (a namespace, CRD or Cluster) while Machines in them have not finished a move to the other API. Machines are
// deleted together with their surroundings, and a deletion cancels a move. So these Machines, which somebody has asked to move to the API that stays, would be
// deleted with their instances. A deletion that an annotation allows also has to wait until the Machines have moved. With AllowsControlPlane the rule only
// warns.
func MovesEnd(c policies.Change) policies.Verdict {
	marked := c.Old.Metadata.Annotations[HoldsMirrorsAnnotation] != "" && !allowed(c.Old) // SurroundingsKept refuses the deletion
	from, _ := EndsMoves(c)
	if !asksForControlPlane(c) || len(c.Facts.Moving) == 0 || from == Unset || marked {
		return policies.Verdict{}
	}
	what := fmt.Sprintf("these Machines have not moved to %s yet, and would be deleted with this %s together with their instances: %s",
		from.Other().Text(), kindOf(c), nameSome(c.Facts.Moving))
	if c.Old.Metadata.Annotations[AllowDeletionAnnotation] == AllowsControlPlane {
		return policies.Warn(what)
	}
	names := "NAME"
	if len(c.Facts.Moving) <= namedAtMost {
		names = strings.Join(c.Facts.Moving, " machine/")
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"%s. Wait until the Machines have moved: kubectl poundlock status. To delete these Machines too, cancel their moves first: kubectl poundlock migrate "+
			"machine/%s "+
			"--cancel", what, names)))
}

// Lost returns, sorted by name, the Machines whose instance is gone, as far as admission can know: the Machine has failed, and its condition InstanceExists is
// False. Machine API's controllers write both. For Machines that Cluster API runs, Poundlock writes both. A Machine that failed for another reason is not
// returned, because its instance may still serve.
func Lost(machines []*policies.Object) []string {
	var out []string
	for _, m := range machines {
		if s := Read(m); Failed(s.Phase, s.Current == ClusterAPI, s.ErrorReason) && s.Condition(conditionInstanceExists).Status == metav1.ConditionFalse {
			out = append(out, m.Metadata.Name)
		}
	}
	slices.Sort(out)
	return out
}

// Failed reports whether a Machine API Machine has failed, so that its controllers do nothing for it any more. A Machine has failed if its phase is Failed. If
// Cluster API runs the Machine, an error is enough, because newer releases of Cluster API have no phase for a failure and report only an error. If the Machine
// API runs the Machine, an error without the phase is no failure, because the controllers remove the error at their next pass.
func Failed(phase string, ofClusterAPI bool, errorReason string) bool {
	return phase == machinev1beta1.PhaseFailed || ofClusterAPI && errorReason != ""
}

// conditionInstanceExists is the condition of a Machine API Machine that reports whether the instance exists.
const conditionInstanceExists = "InstanceExists"

// asksForControlPlane reports whether somebody deletes surroundings (a namespace, CRD or Cluster). It is false for the actors of cleans, because what they
// delete follows from another deletion that was allowed.
func asksForControlPlane(c policies.Change) bool { return !cleans(c) && !c.Old.Deleting() }

// heldByEtcd reports whether etcd's hook still holds the control plane Machines that are deleted together with the namespace, CRD or Cluster under review. The
// hook does not hold them if a Cluster is being deleted, even as a consequence of the deletion of the Cluster's namespace, because Cluster API then ignores
// hooks. The hook holds nothing if the CRD of a provider's machines is deleted, because a provider's machines have no hooks.
func heldByEtcd(c policies.Change) bool {
	kind, _ := KindNamed("Machine")
	return Ends(c) == MachineAPI || c.Kind == Definition && c.Name == kind.Resource+"."+kind.ClusterAPI.Group
}

// ControlPlaneEnds refuses a deletion of surroundings (a namespace, CRD or Cluster) by which etcd would lose its quorum, because too many control plane
// Machines are deleted with them. If fewer are deleted, it warns. A person who allows the deletion of a Cluster or a namespace may not know that all control
// plane Machines are deleted at the same time. With AllowsControlPlane the rule only warns.
func ControlPlaneEnds(c policies.Change) policies.Verdict {
	ending, all := c.Facts.Ending, c.Facts.ControlPlaneSize
	if !asksForControlPlane(c) || len(ending) == 0 {
		return policies.Verdict{}
	}
	what, lost := ", and do not wait for etcd", ": etcd loses its quorum, and the API server stops"
	if heldByEtcd(c) {
		what, lost = " once etcd's hook no longer holds them", ", and a deletion cannot be taken back"
	}
	what = fmt.Sprintf("together with this %s, %d of %d control plane Machines (%s) are deleted with their "+
		"instances%s", kindOf(c), len(ending), all, nameSome(ending), what)
	without := slices.DeleteFunc(slices.Clone(c.Facts.ControlPlaneLost), func(name string) bool { return slices.Contains(ending, name) })
	var others []string
	if len(without) > 0 {
		others = []string{fmt.Sprintf("some Machines that stay are Failed and have no instance, so they have no vote in etcd: %s", nameSome(without))}
	}
	if all-len(ending)-len(without) > all/2 {
		return policies.Warn(append([]string{what}, others...)...)
	}
	what += lost
	if c.Old.Metadata.Annotations[AllowDeletionAnnotation] == AllowsControlPlane {
		return policies.Warn(append([]string{what}, others...)...)
	}
	for _, why := range others {
		what += "; " + why
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"%s. First migrate the Machines that would be deleted to the API that stays: kubectl poundlock migrate %s --to %s. To delete the control plane, too: %s",
		what, "machine/"+strings.Join(ending, " machine/"), strings.ToLower(string(Ends(c).Other())), allowAs(c, AllowsControlPlane))))
}

// mayEndMaster reports whether somebody deletes a Machine, of either API, that Cluster API may count among the control plane. A Machine API mirror may have
// lost its label. So mayEndMaster is true for every mirror in the Machine API, and the rule looks up the label of the twin. Deletions by Cluster API's own
// controllers and by the actors of cleans do not count, because they follow from another deletion.
func mayEndMaster(c policies.Change) bool {
	mirror := c.Side == policies.SideMachineAPI && Authoritative(Read(c.Old)) == ClusterAPI
	return (mirror || IsMaster(c.Old)) && !cleans(c) && c.Actor != policies.ClusterAPIController && !c.Old.Deleting()
}

// IsMaster reports whether a Machine of either API belongs to the control plane, by its labels.
func IsMaster(o *policies.Object) bool {
	if o == nil {
		return false
	}
	_, there := o.Metadata.Labels[clusterv1.MachineControlPlaneLabel]
	return there || OfControlPlane(o.Metadata.Labels)
}

// ControlPlaneLast refuses the deletion of a control plane Machine if every other one that Cluster API finds is already being deleted. While every control
// plane Machine that Cluster API's controller finds is being deleted, the controller skips the preDrain hooks and the drain of all Machines. Etcd's hook would
// then hold none of them. If Poundlock will recreate the deleted mirror, the rule only warns.
func ControlPlaneLast(c policies.Change) policies.Verdict {
	if len(c.Facts.Ending) == 0 || c.Facts.ControlPlaneSize > 1 || !mayEndMaster(c) || !IsMaster(c.Old) && !IsMaster(c.Facts.Twin) {
		return policies.Verdict{}
	}
	if d, asks := deleted(c); asks && d.Outcome().Object == MadeAgain {
		return policies.Warn(fmt.Sprintf("until Poundlock has recreated this mirror, Cluster API finds no control plane Machine in %s: "+
			"when a Machine is deleted in that namespace, Cluster API drains no Node and waits for no preDrain hook",
			c.Namespace))
	}
	if c.Facts.Twin != nil && stand(c).authoritative() != ClusterAPI ||
		c.Side == policies.SideMachineAPI && (c.Facts.Twin == nil || !owned(c.Old)) { // if a mirror has no owner, its deletion does not delete its Machine
		return policies.Verdict{}
	}
	kind, _ := KindNamed("Machine")
	core, namespace := c.Old, c.Namespace
	if c.Side == policies.SideMachineAPI {
		core, namespace = c.Facts.Twin, c.TwinNamespace
	}
	if core.Metadata.Annotations[AllowDeletionAnnotation] == AllowsControlPlane {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"no other control plane Machine would stay. Cluster API would then drain no Node and wait for no preDrain hook, not even etcd's, also for the Machines "+
			"that "+
			"are already being deleted. Wait until these are replaced. To delete this Machine anyway: kubectl -n %s annotate --overwrite %s.%s %s %s=%s",
		namespace, kind.Resource, kind.ClusterAPI.Group, c.Name,
		AllowDeletionAnnotation, AllowsControlPlane)))
}

// namedAtMost is the maximum number of names that nameSome returns.
const namedAtMost = 3

// nameSome returns the first names, joined, and says how many more there are.
func nameSome(names []string) string {
	out := strings.Join(names[:min(len(names), namedAtMost)], ", ")
	if more := len(names) - namedAtMost; more > 0 {
		return fmt.Sprintf("%s and %d more", out, more)
	}
	return out
}
