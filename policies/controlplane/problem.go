// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// Reason is why a set is degraded. It is the reason of the set's conditions.
type Reason string

// The reasons, the most severe first. The generator uses UnknownPlatform too.
const (
	UnknownPlatform   Reason = "UnknownPlatform"
	InvalidSet        Reason = "InvalidSet"
	NotSynchronized   Reason = authority.ReasonNotSynchronized
	RecreateDisabled  Reason = "RecreateDisabled"
	NoReadyMachines   Reason = "NoReadyMachines"
	UnmanagedNodes    Reason = "UnmanagedNodes"
	NotControlPlane   Reason = "NotControlPlane"
	MachinesOfAnother Reason = "MachinesOwnedByAnother"
	IndexTaken        Reason = "IndexTaken"
	ExcessIndexes     Reason = "ExcessIndexes"
	FailedMachines    Reason = "FailedMachines"
	AlteredMachines   Reason = "AlteredMachines"
	MachineRefused    Reason = "MachineRefused"
)

// Problem is what keeps a set from acting.
type Problem struct {
	Reason Reason
	// Message is the problem and its remedy, with the names of the objects.
	Message string
}

// judge adds to the plan the problems that keep the set from acting.
func (p *Plan) judge(v View) {
	add := func(r Reason, all []string, format string) {
		if len(all) > 0 {
			p.Problems = append(p.Problems, Problem{r, fmt.Sprintf(format, strings.Join(all, ", "))})
		}
	}
	unreadPlatform := func(e *field.Error) bool {
		return p.Platform == "" && e.Field == platform.DomainsPath("platform").String()
	}
	add(UnknownPlatform, values.Names(slices.DeleteFunc(slices.Clone(p.Invalid), not(unreadPlatform)), fieldError), "The set's failure domains cannot be "+
		"read: %s")
	add(UnknownPlatform, p.unsure(), "The Infrastructure named cluster does not exist or has no status.platformStatus.type. Perhaps only because of that, "+
		"these Machines differ from the template: %s. Restore the Infrastructure from a backup, status included. Or set spec.strategy.type to OnDelete, and "+
		"delete the Machines that are to be replaced")
	add(InvalidSet, values.Names(slices.DeleteFunc(slices.Clone(p.Invalid), unreadPlatform), fieldError), "Fields of the set are invalid: %s")
	if v.Unreflected != "" && len(p.Invalid) == 0 && p.MakesFor() == machinev1beta1.MachineAuthorityClusterAPI {
		p.Problems = append(p.Problems, Problem{NotSynchronized, "Cluster API is authoritative for the Machines that the set creates, and could not create " +
			"their instances: " +
			strings.TrimSuffix(v.Unreflected, ".") +
			". Correct the fields that are named here, in the set's template or in the cluster's infrastructure object"})
	}
	if !v.MayRecreate && p.Strategy == machinev1.Recreate {
		p.Problems = append(p.Problems, Problem{RecreateDisabled, "The strategy is Recreate, but Poundlock runs without --control-plane-recreate: " +
			"" + RecreateRisk(p.Replicas) +
			". Set spec.strategy.type to RollingUpdate or OnDelete. If there is no room for an additional Machine, run Poundlock with --control-plane-recreate"})
	}
	if all := p.Machines(); len(all) == 0 {
		add(NoReadyMachines, []string{""}, "The set's selector matches no control plane Machine, and a set does not create a control plane where there is none%s")
	} else {
		add(NoReadyMachines, unless(slices.ContainsFunc(all, func(m MachineState) bool { return m.Ready || m.Deleting && m.serves }), NamesOf(all, nil)),
			"No control plane Machine has a ready Node: %s")
	}
	add(UnmanagedNodes, unmanaged(v), "These control plane Nodes have no Machine that the set selects: %s. Run the command, where one is shown. Otherwise "+
		"delete the Node, or create its Machine by hand")
	add(NotControlPlane, NamesOf(p.Machines(), func(m MachineState) bool { return !m.Deleting && onOtherNode(v, m.machine) }),
		"The Nodes of these Machines do not have the role of the control plane: %s. If such a Machine belongs to the control plane, label its Node "+
			"node-role.kubernetes.io/control-plane again. Otherwise remove from the Machine the label by which the set selects it")
	add(MachinesOfAnother, NamesOf(p.Machines(), func(m MachineState) bool {
		c := controller(m.machine)
		return !m.Adopted && c != nil && !former(*c, p.set)
	}),
		"These Machines have another controller in metadata.ownerReferences: %s. Remove that owner reference, or the label by which the set selects the Machine")
	add(IndexTaken, p.taken(),
		"The set neither owns nor created these Machines, and each has the same index (the number at the end of the name) as another Machine: %s. At each of "+
			"these indexes "+
			"delete the Machine that is not needed, once etcd is healthy without it. Or remove from one of the two a label by which the set selects it ("+
			strings.ReplaceAll(metav1.FormatLabelSelector(&p.set.Spec.Selector), "%", "%%")+")")
	if len(p.Indexes) > p.Replicas {
		add(ExcessIndexes, p.excess(),
			fmt.Sprintf("The control plane's Machines have %d indexes (the number at the end of the name), but the set has %d replicas: %%s. Delete the Machines "+
				"of each index that is not needed, or remove "+
				"the label by which the set selects them",
				len(p.Indexes), p.Replicas))
	}
	add(FailedMachines, p.failed(true), "These replacements have failed: %s. "+afterFailure)
	add(AlteredMachines, p.altered(),
		"These Machines were created from the set's template, but differ from it: %s. An admission webhook, a policy or a person changed them, and would "+
			"change their replacements too. Write the changed values into the template, or stop what changes them. Then delete each of these Machines, and the "+
			"set replaces it")
	if refused := p.refusedNext(); refused != "" {
		p.Problems = append(p.Problems, Problem{MachineRefused, "The API server refuses the Machine that the set would create at " + refused +
			". Correct the template, or the policy or webhook that refuses the Machine"})
	}
}

// unmanaged lists the control plane's Nodes to which no Machine of the set has referred for at least the time Grace.
func unmanaged(v View) []string {
	var out []string
	for _, n := range strays(v) {
		if !v.alone(&n).Add(Grace).After(v.Now) {
			if m := unselected(v, &n); m != "" {
				out = append(out, fmt.Sprintf("%s (its Machine %s)", n.Name, m))
			} else {
				out = append(out, n.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// altered lists the Machines that the set created from its present providerSpec and that nevertheless differ from that providerSpec.
func (p *Plan) altered() []string {
	var out []string
	for _, i := range p.Indexes {
		from := madeFrom(i)
		for _, m := range i.Machines {
			if m.machine.Annotations[MadeFromAnnotation] == from && !m.Deleting && !m.Updated() {
				out = append(out, fmt.Sprintf("%s (%s)", m.Name, ListDifferences(m.In(Rollout))))
			}
		}
	}
	return out
}

// refusedNext returns the API server's refusal of the Machine of the next step. That is the Machine that the step creates or, if the step is a deletion under
// the strategy Recreate, the Machine for which the deletion makes room.
func (p *Plan) refusedNext() string {
	step, ok := p.change()
	if !ok || step.Verb != Create && !(p.Strategy == machinev1.Recreate && step.Cause == Outdated) {
		return ""
	}
	words := p.tried(step.Index).Refused
	if words == "" {
		return ""
	}
	return fmt.Sprintf("index %d%s: %s", step.Index.Number, step.Index.where(), words)
}

// unsure lists the Machines that would be replaced although the platform is unknown. Without the platform, a region, a resource group or a tag counts as a
// difference if only the Machine or only the template has it. With OnDelete the list is empty, because the set replaces only what a person deletes.
func (p *Plan) unsure() []string {
	if p.Platform != "" || p.Strategy == machinev1.OnDelete || len(p.Invalid) > 0 {
		return nil
	}
	var out []string
	for _, i := range p.Outdated() {
		out = append(out, fmt.Sprintf("%s (%s)", i.outdated().Name, ListDifferences(i.outdated().In(Rollout))))
	}
	return out
}

const afterFailure = "Fix what status.errorMessage of each Machine names. Then delete the Machine, and the set creates another one"

// failed returns the names of the failed Machines that nothing replaces. If "replacements" is true, these are Machines at an index with other Machines: without
// them, an outdated or deleted Machine cannot be removed. If it is false, they are Machines that are the only one at their index. An outdated Machine is
// replaced, so it is not among them, unless a hook holds another Machine: etcd may not release that Machine before the failed one is gone. Only failed
// replacements stop the set, because other failures do not concern a replacement.
func (p *Plan) failed(replacements bool) []string {
	var out []string
	for _, i := range p.Indexes {
		if (len(i.Machines) > 1) == replacements && !slices.ContainsFunc(i.Machines, func(m MachineState) bool { return m.Updated() && m.Ready }) {
			out = append(out, NamesOf(i.Machines, func(m MachineState) bool {
				return m.Failed && !m.Deleting && (m.Updated() || !replacements && len(p.Holds()) > 0)
			})...)
		}
	}
	return out
}

// taken lists the Machines without an owner that share their index with another Machine. Only a person can decide which of the two to delete. A Machine is not
// listed if a set created the other one as its replacement.
func (p *Plan) taken() []string {
	var out []string
	for _, i := range p.Indexes {
		for _, m := range i.Machines {
			if m.Deleting || m.Adopted || controller(m.machine) != nil || m.made() || onOtherNode(p.view, m.machine) {
				continue
			}
			beside := NamesOf(i.Machines, func(o MachineState) bool {
				return o.Name != m.Name && !o.Deleting && !(o.made() && o.born.After(m.born))
			})
			if len(beside) > 0 {
				out = append(out, fmt.Sprintf("%s (index %d, beside %s)", m.Name, i.Number, strings.Join(beside, ", ")))
			}
		}
	}
	return out
}

// madeName matches the end of a name that a set generated: five characters of base32 in small letters, and the index.
var madeName = regexp.MustCompile(`-[a-z2-7]{5}-[0-9]+$`)

// made reports whether this set or a former one created the Machine. A person's copy of such a Machine also has MadeFromAnnotation, but its name does not have
// the form of a generated one.
func (m MachineState) made() bool {
	_, from := m.machine.Annotations[MadeFromAnnotation]
	return from && madeName.MatchString(m.Name)
}

// onOtherNode reports whether a Machine's Node has existed for at least the time Grace without the role of the control plane. Such a Machine got the set's
// labels by mistake, and the set would delete an instance that was never its own.
func onOtherNode(v View, m *machinev1beta1.Machine) bool {
	return slices.ContainsFunc(v.OtherNodes, func(n corev1.Node) bool { return refers(m, &n) && !n.CreationTimestamp.Add(Grace).After(v.Now) })
}

func not[T any](is func(T) bool) func(T) bool { return func(v T) bool { return !is(v) } }

func fieldError(e *field.Error) string { return e.Error() }

func anyReady(all []MachineState) bool {
	for _, m := range all {
		if m.Ready {
			return true
		}
	}
	return false
}

func unless(fine bool, all []string) []string {
	if fine {
		return nil
	}
	return all
}

// NamesOf returns the names of the Machines for which the function "is" returns true; all names if that function is nil.
func NamesOf(all []MachineState, is func(MachineState) bool) []string {
	var out []string
	for _, m := range all {
		if is == nil || is(m) {
			out = append(out, m.Name)
		}
	}
	return out
}

func (p *Plan) excess() []string {
	var out []string
	for _, i := range p.Indexes {
		out = append(out, fmt.Sprintf("%d (%s)", i.Number, strings.Join(NamesOf(i.Machines, nil), ", ")))
	}
	return out
}

// RecreateRisk returns a clause that says how many failures etcd tolerates during a replacement under the strategy Recreate. etcd's quorum is more than half of
// its members.
func RecreateRisk(replicas int) string {
	return fmt.Sprintf("with the strategy Recreate each Machine is deleted before its replacement is created. Until the replacement has joined, etcd has %d "+
		"of %d members and tolerates the failure of %d more",
		replicas-1, replicas, replicas-1-(replicas/2+1))
}
