// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
)

// Plan is what a ControlPlaneMachineSet does with a control plane.
type Plan struct {
	// Replicas is the wanted number of Machines.
	Replicas int
	// Platform is the cluster's platform.
	Platform configv1.PlatformType
	Strategy machinev1.ControlPlaneMachineSetStrategyType
	Active   bool
	// Indexes are sorted by number. There are as many as replicas, or more if the Machines have more.
	Indexes []Index
	// Domains are the set's failure domains, without duplicates.
	Domains []platform.Domain
	// Problems keep the set from acting: while there is one, the set is degraded and does nothing.
	Problems []Problem
	// Invalid are the errors about fields of the set without which no plan can be made, such as a failure domain that the Infrastructure does not have.
	Invalid field.ErrorList
	// Waits is the clause that says what the set is waiting for; "" if it waits for nothing.
	Waits string
	// Next is the time at which to plan again even if nothing has changed, because a Node's Grace or NotReadyGrace ends then. It is zero if no grace is running.
	Next time.Time

	set       *machinev1.ControlPlaneMachineSet
	authority authority.API
	cluster   string // the cluster's name in the Infrastructure
	Row       platform.Row
	view      View
	Spec      map[string]any
	trials    []policies.Trial
}

// Index is one numbered position in the control plane. The names of its Machines end with its number.
type Index struct {
	Number int
	// Domain is the failure domain of the index; nil if the set has none.
	Domain *platform.Domain
	// Machines are the Machines of the index, the oldest first: usually one, and two during a replacement.
	Machines []MachineState
	// Spec is the providerSpec of a Machine that the set creates at this index.
	Spec map[string]any
}

// MachineState is a Machine as the set sees it.
type MachineState struct {
	Name string
	// Ready: the Machine runs, its Node is ready, and the Machine is not being deleted.
	Ready bool
	// Deleting: somebody has deleted the Machine, and it still exists.
	Deleting bool
	// Failed: the Machine's phase is Failed, which never changes, or its instance is gone, which Cluster API reports without that phase.
	Failed bool
	// Adopted: the set is the Machine's controller.
	Adopted bool
	// Differences are all differences between the Machine and what the set would create at its index. Those that require a replacement come first.
	Differences []Difference

	machine *machinev1beta1.Machine
	born    time.Time
	// serves: the Machine's Node is ready. The Machine itself may be being deleted.
	serves bool
	// available: the Machine's Node is ready, or has been not ready for less than NotReadyGrace.
	available bool
}

// moving reports whether the Machine's authority is moving, or has moved and the mirror has not followed yet. Until the mirror has followed, nobody may touch
// the Machine: a Machine that is deleted before the mirror has seen etcd's hook on it may wait for that hook forever. For a Machine that is being deleted, the
// state of its mirror does not matter: etcd's operator releases such a Machine when a replacement has joined, and the mirror may no longer report on it.
func (m MachineState) moving() bool { return m.moves() != "" }

// moves returns a clause that names the field of the Machine that shows the move; "" if the Machine is not moving.
func (m MachineState) moves() string {
	if m.machine.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityMigrating {
		return "its status.authoritativeAPI is Migrating"
	}
	for _, c := range m.machine.Status.Conditions {
		if !m.Deleting && c.Type == authority.ConditionSynchronized && c.Status == corev1.ConditionUnknown && c.Reason == authority.ReasonAuthorityChanged {
			return "its condition Synchronized is Unknown, because Poundlock has not mirrored in the new direction yet"
		}
	}
	return ""
}

// Machine returns the object itself. Callers do not change it.
func (m MachineState) Machine() *machinev1beta1.Machine { return m.machine }

// Updated reports whether the Machine need not be replaced.
func (m MachineState) Updated() bool { return !outdated(m.Differences) }

// In lists the differences with an effect e.
func (m MachineState) In(e Effect) []Difference {
	var out []Difference
	for _, d := range m.Differences {
		if d.Effect == e {
			out = append(out, d)
		}
	}
	return out
}

// Make returns the plan for a view. It never panics, whatever a person writes: it reports fields that cannot be read in Invalid.
func Make(v View) Plan {
	t := TemplateOf(v.Set)
	p := Plan{
		Replicas: ReplicasOf(v.Set), Platform: platform.Of(v.Infrastructure), Strategy: v.Set.Spec.Strategy.Type,
		Active: v.Set.Spec.State == machinev1.ControlPlaneMachineSetStateActive, Spec: platform.ProviderSpec(t.Spec),
		set: v.Set, authority: v.Authority, Row: platform.RowOf(t, v.Infrastructure), trials: v.Trials, view: v,
	}
	if v.Infrastructure != nil {
		p.cluster = v.Infrastructure.Status.InfrastructureName
	}
	if p.Strategy == "" {
		p.Strategy = machinev1.RollingUpdate
	}
	p.Invalid = slices.Clone(v.Unresolved)
	p.domains(t, v.Infrastructure)
	if p.Spec == nil && len(v.Unresolved) == 0 {
		p.Invalid = append(p.Invalid, field.Required(platform.ProviderSpecPath(), "control plane Machines are created from this providerSpec: copy it from a "+
			"running Machine"))
	}
	if _, err := Selector(v.Set); err != nil {
		p.Invalid = append(p.Invalid, field.Invalid(SpecPath.Child("selector"), metav1.FormatLabelSelector(&v.Set.Spec.Selector), err.Error()))
	}
	p.place(v)
	p.assignDomains(t)
	p.compare(t)
	p.judge(v)
	p.Waits, p.Next = p.waits(), graceEnds(v)
	return p
}

// domains reads the set's failure domains into the plan, each once. Admission refuses duplicates.
func (p *Plan) domains(t machinev1.OpenShiftMachineV1Beta1MachineTemplate, i *configv1.Infrastructure) {
	if t.FailureDomains == nil {
		return
	}
	if e := platform.Misplaced(*t.FailureDomains, p.Platform); e != nil {
		p.Invalid = append(p.Invalid, e)
	}
	if p.Row.Domains == nil {
		return
	}
	all, errs := p.Row.Domains(*t.FailureDomains, i)
	p.Invalid = append(p.Invalid, errs...)
	for _, d := range all {
		if !slices.ContainsFunc(p.Domains, d.Same) {
			p.Domains = append(p.Domains, d)
		}
	}
}

// place assigns each Machine to its index, by the number at the end of the Machine's name. Machines whose names have no number get the free numbers, the oldest
// Machine the lowest. If there are more such Machines than free numbers, a Machine shares the number of the Machine that was created to replace it
// (unnumbered).
func (p *Plan) place(v View) {
	at := map[int][]MachineState{}
	var unnumbered []MachineState
	nodes := map[string]standing{}
	for i := range v.Nodes {
		nodes[v.Nodes[i].Name] = v.standingOf(&v.Nodes[i])
	}
	for i := range v.Machines {
		m := stateOf(&v.Machines[i], v.Set, nodes)
		if n, ok := numberOf(m.Name); ok {
			at[n] = append(at[n], m)
		} else {
			unnumbered = append(unnumbered, m)
		}
	}
	oldest(unnumbered)
	for i, n := range p.unnumbered(at, unnumbered) {
		at[n] = append(at[n], unnumbered[i])
	}
	for n := 0; len(at) < p.Replicas; n++ {
		if _, taken := at[n]; !taken {
			at[n] = nil
		}
	}
	for _, n := range slices.Sorted(maps.Keys(at)) {
		oldest(at[n])
		p.Indexes = append(p.Indexes, Index{Number: n, Machines: at[n]})
	}
}

// numberOf returns the index at the end of a Machine's name, for example 2 for lock-7x2k9-master-2; false if the name does not end with one.
func numberOf(name string) (int, bool) {
	_, last, found := cutLast(name, "-")
	if !found || len(last) > 4 {
		return 0, false
	}
	n, err := strconv.Atoi(last)
	return n, err == nil && n >= 0
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// oldest sorts Machines by age, then by name.
func oldest(all []MachineState) {
	slices.SortStableFunc(all, func(a, b MachineState) int {
		return cmp.Or(a.born.Compare(b.born), cmp.Compare(a.Name, b.Name))
	})
}

// unnumbered returns a number for each Machine in the list "all", which has the Machines without a number in their names, the oldest first. It uses the free
// numbers, and then the numbers of indexes with one numbered Machine, beginning with the youngest such Machine. The numbers are sorted, so that older Machines
// get lower ones: a Machine that is being replaced had its number before the numbered Machine was created in its place. If the numbered Machine of an index was
// not created to replace the Machine without a number, the latter gets a number beyond all others instead.
func (p *Plan) unnumbered(at map[int][]MachineState, all []MachineState) []int {
	var free, made []int
	for n := 0; len(at)+len(free) < p.Replicas && len(free) < len(all); n++ {
		if _, taken := at[n]; !taken {
			free = append(free, n)
		}
	}
	for n, machines := range at {
		if len(machines) == 1 {
			made = append(made, n)
		}
	}
	slices.SortFunc(made, func(a, b int) int { return cmp.Or(at[b][0].born.Compare(at[a][0].born), cmp.Compare(a, b)) })
	out := append(free, made[:min(len(made), len(all)-len(free))]...)
	slices.Sort(out)
	next := slices.Max(append(slices.Collect(maps.Keys(at)), append(out, -1)...)) + 1
	for i, m := range all {
		switch {
		case i >= len(out):
			out = append(out, next)
			next++
		case len(at[out[i]]) > 0 && (!at[out[i]][0].born.After(m.born) || !m.Adopted && !p.wasOurs(m)): // the numbered Machine was not made to replace this one
			out[i] = next
			next++
		}
	}
	return out
}

// wasOurs reports whether a Machine belonged to a former set. A Machine that never belonged to a set has no replacement, because only a set replaces Machines.
func (p *Plan) wasOurs(m MachineState) bool {
	c := controller(m.machine)
	return c != nil && former(*c, p.set)
}

func stateOf(m *machinev1beta1.Machine, set *machinev1.ControlPlaneMachineSet, nodes map[string]standing) MachineState {
	owner := controller(m)
	var node standing
	if ref := m.Status.NodeRef; ref != nil {
		node = nodes[ref.Name]
	}
	deleting := m.DeletionTimestamp != nil
	return MachineState{
		Name: m.Name, Deleting: deleting, Failed: Phase(m) == machinev1beta1.PhaseFailed || instanceGone(m),
		Ready:   !deleting && Phase(m) == machinev1beta1.PhaseRunning && node.ready,
		Adopted: owner != nil && owner.UID == set.UID && set.UID != "",
		machine: m, born: m.CreationTimestamp.Time, serves: node.ready, available: node.serves,
	}
}

// instanceGone reports whether Cluster API is authoritative for a Machine and has given it up because its instance is terminated.
func instanceGone(m *machinev1beta1.Machine) bool {
	reason := ""
	if r := m.Status.ErrorReason; r != nil {
		reason = string(*r)
	}
	return authority.Failed("", m.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityClusterAPI, reason) &&
		slices.ContainsFunc(m.Status.Conditions, func(c machinev1beta1.Condition) bool {
			return c.Type == machinev1beta1.InstanceExistsCondition && c.Status == corev1.ConditionFalse
		})
}

// assignDomains assigns a failure domain to each index: if possible the domain of the index's youngest Machine. If a domain has too many indexes, some have to
// leave it: first the indexes whose Machine is replaced anyway, then the indexes whose Machine would stay.
func (p *Plan) assignDomains(t machinev1.OpenShiftMachineV1Beta1MachineTemplate) {
	have, moves := make([]int, len(p.Indexes)), make([]int, len(p.Indexes))
	for i := range p.Indexes {
		have[i] = p.domainOf(p.Row, p.Indexes[i])
		moves[i] = p.leaves(t, p.Indexes[i], have[i])
	}
	for i, d := range spread(have, moves, len(p.Domains)) {
		p.Indexes[i].Domain = &p.Domains[d]
	}
	for i := range p.Indexes {
		if at := &p.Indexes[i]; at.Domain != nil {
			at.Spec = at.Domain.In(p.Spec)
		} else {
			at.Spec = p.Spec
		}
	}
}

// leaves returns, as a number for spread, how much of an index is replaced even if the index keeps its domain: 0 for nothing, 1 for its outdated Machines, 2
// for all of it, because none of its Machines stays.
func (p *Plan) leaves(t machinev1.OpenShiftMachineV1Beta1MachineTemplate, i Index, domain int) int {
	switch {
	case !i.stays():
		return 2
	case domain < 0:
		return 1
	}
	i.Domain, i.Spec = &p.Domains[domain], p.Domains[domain].In(p.Spec)
	if slices.ContainsFunc(i.Machines, func(m MachineState) bool { return !m.Deleting && !outdated(p.differences(t, i, m.machine)) }) {
		return 0
	}
	return 1
}

// domainOf returns the set's domain of the index's youngest Machine that is in a domain, as an index into p.Domains; -1 for none. It looks at Machines that are
// being deleted only after all others. If no Machine is in a domain, it returns the domain of a Machine's zone if that zone has only one. The reason: when a
// domain gets another subnet, its Machines are to be replaced in that domain, and not to move to another one.
func (p *Plan) domainOf(row platform.Row, i Index) int {
	all := slices.Clone(i.Machines)
	slices.SortStableFunc(all, func(a, b MachineState) int {
		return cmp.Or(compareBool(a.Deleting, b.Deleting), b.born.Compare(a.born))
	})
	for _, m := range all {
		spec := platform.ProviderSpec(m.machine.Spec)
		if d := slices.IndexFunc(p.Domains, func(d platform.Domain) bool { return d.Holds(row, spec) }); d >= 0 {
			return d
		}
	}
	for _, m := range all {
		if d := p.ofZone(platform.ProviderSpec(m.machine.Spec)); d >= 0 {
			return d
		}
	}
	return -1
}

// ofZone returns the set's domain in the zone of a providerSpec, as an index into p.Domains; -1 if that zone has none of the domains, or several.
func (p *Plan) ofZone(spec map[string]any) int {
	zone, found := p.Row.ZoneOf(spec), -1
	if zone == "" {
		return -1
	}
	for i, d := range p.Domains {
		if p.Row.ZoneOf(d.In(spec)) != zone {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// compareBool sorts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (p *Plan) compare(t machinev1.OpenShiftMachineV1Beta1MachineTemplate) {
	for i := range p.Indexes {
		for j := range p.Indexes[i].Machines {
			m := &p.Indexes[i].Machines[j]
			m.Differences = p.differences(t, p.Indexes[i], m.machine)
		}
	}
}

// Machines returns all Machines, index by index.
func (p *Plan) Machines() []MachineState {
	var out []MachineState
	for _, i := range p.Indexes {
		out = append(out, i.Machines...)
	}
	return out
}

// Numbers are the counts of Machines in a set's status.
type Numbers struct{ Replicas, Ready, Updated, Unavailable int }

// Numbers returns the counts for the set's status. Replicas are all Machines, also those that are being deleted. Ready are the Machines whose Node is ready or
// has been not ready for less than NotReadyGrace, also Machines that are being deleted. Updated are the Machines that need no replacement, are ready now and
// are not being deleted. Unavailable is the number of wanted replicas, minus the number of indexes that have a Machine counted in Ready; 0 if that is negative.
func (p *Plan) Numbers() Numbers {
	n := Numbers{}
	for _, i := range p.Indexes {
		available := false
		for _, m := range i.Machines {
			n.Replicas++
			if m.available {
				n.Ready++
				available = true
			}
			if m.Updated() && m.Ready {
				n.Updated++
			}
		}
		if available {
			n.Unavailable--
		}
	}
	n.Unavailable = max(0, p.Replicas+n.Unavailable)
	return n
}

// unselected returns a text about the Machine of a Node, if that Machine exists and the selector does not match it: the Machine's name, what it lacks and the
// remedy. It returns "" if there is no such Machine.
func unselected(v View, n *corev1.Node) string {
	for i := range v.Unselected {
		if m := &v.Unselected[i]; refers(m, n) && m.DeletionTimestamp == nil {
			return m.Name + " " + v.lacks(m)
		}
	}
	return ""
}

// machinesOf returns the name by which kubectl addresses the Machines of an API (RESOURCE.GROUP).
func machinesOf(api authority.API) string {
	kind, _ := authority.KindNamed("Machine")
	return kind.DefinitionIn(api)
}

// lacks returns a clause about a Machine that the selector does not match: the labels that it lacks, and the command that restores them. The command is for the
// authoritative object, because on the mirror Poundlock would revert the labels.
func (v View) lacks(m *machinev1beta1.Machine) string {
	selector, err := Selector(v.Set)
	if err != nil {
		return "does not match the set's selector"
	}
	var unmet, args []string
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		if !r.Matches(labels.Set(m.Labels)) {
			unmet, args = append(unmet, r.String()), append(args, meets(r))
		}
	}
	api, namespace := authority.MachineAPI, v.Set.Namespace
	if of := m.Status; of.AuthoritativeAPI == machinev1beta1.MachineAuthorityClusterAPI ||
		of.AuthoritativeAPI == machinev1beta1.MachineAuthorityMigrating && of.SynchronizedAPI == machinev1beta1.ClusterAPISynchronized {
		api, namespace = authority.ClusterAPI, v.ClusterAPINamespace
	}
	return fmt.Sprintf("lacks a label that the set selects by (%s): kubectl -n %s label --overwrite %s %s %s",
		strings.Join(unmet, ", "), namespace, machinesOf(api), m.Name, strings.Join(args, " "))
}

// meets returns the argument of kubectl label that makes a Machine match a requirement of a selector.
func meets(r labels.Requirement) string {
	switch r.Operator() {
	case selection.DoesNotExist, selection.NotIn, selection.NotEquals:
		return r.Key() + "-"
	}
	return fmt.Sprintf("%s=%s", r.Key(), strings.Join(slices.Sorted(maps.Keys(r.Values()))[:min(1, len(r.Values()))], "")) // without values, any will do
}

// graceEnds returns the earliest time at which a grace ends: Grace of a Node without a Machine, or NotReadyGrace of a Node that is not ready. It returns zero
// if no grace is running.
func graceEnds(v View) time.Time {
	var next time.Time
	ends := func(at time.Time) {
		if at.After(v.Now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, n := range strays(v) {
		ends(v.alone(&n).Add(Grace))
	}
	for i := range v.Nodes {
		if n := v.standingOf(&v.Nodes[i]); n.serves && !n.ready {
			ends(n.since.Add(v.NotReadyGrace))
		}
	}
	return next
}

// strays returns the control plane's Nodes to which no Machine of the set refers.
func strays(v View) []corev1.Node {
	return slices.DeleteFunc(slices.Clone(v.Nodes), func(n corev1.Node) bool {
		return slices.ContainsFunc(v.Machines, func(m machinev1beta1.Machine) bool { return refers(&m, &n) })
	})
}

// left returns a clause about a Node whose Machine may only have lost a label; "" if there is no such Node. The Machine exists and the selector does not match
// it, or the Node had a Machine and is still ready, so its instance still runs. (A Node whose instance was terminated stays ready for a moment at most.)
func (p *Plan) left() string {
	for _, n := range strays(p.view) {
		if m := unselected(p.view, &n); m != "" {
			return fmt.Sprintf("the Machine of Node %s exists: %s", n.Name, m)
		}
		if _, had := p.view.Unlinked[n.UID]; had && p.view.standingOf(&n).ready {
			return fmt.Sprintf("Node %s has just lost its Machine and is still ready. The set creates a Machine once the Node is no longer ready. If the Machine "+
				"still exists, and only lacks a label that the set selects by (%s), restore the label: on %s if Cluster API is authoritative for the Machine, "+
				"else on %s", n.Name, metav1.FormatLabelSelector(&p.set.Spec.Selector), machinesOf(authority.ClusterAPI), machinesOf(authority.MachineAPI))
		}
	}
	return ""
}

func refers(m *machinev1beta1.Machine, n *corev1.Node) bool {
	return m.Status.NodeRef != nil && m.Status.NodeRef.Name == n.Name
}
