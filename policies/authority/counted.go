// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
)

// Roster is a pair of MachineSets and the Machines of both APIs that the sets may count.
type Roster struct {
	Sets     map[API]*policies.Object
	Machines map[API][]*policies.Object
	// Definitions is the Presence of an API's CRD of Machines. It is looked up only for an API in which a Machine of the sets has no object.
	Definitions map[API]Presence
}

// Uncounted returns, sorted by name, the Machines that only one set of the pair counts. After a move, the authoritative set would create a new Machine for each
// Machine that only the other set counts. And it would delete a Machine for each Machine that only the authoritative set counts. So both sets must count the
// same Machines before authority moves. Explain fills in the reason for each Machine.
//
// A set counts a Machine that it controls and that its selector matches. Neither set counts a Machine that is being deleted, because the Machine's twin is
// deleted too. Uncounted also returns a Machine that a set would adopt, unless the other set counts the Machine's twin. A set would adopt a Machine that has no
// controller, if the set's API is authoritative for the Machine.
func (r Roster) Uncounted() []policies.Uncounted {
	if r.Sets[MachineAPI] == nil || r.Sets[ClusterAPI] == nil {
		return nil // without the twin there is nothing to compare, and the handoff waits for the twin itself
	}
	var out []policies.Uncounted
	for _, by := range []API{MachineAPI, ClusterAPI} {
		names, others := r.counted(by, controlledBy), r.counted(by.Other(), controlledBy)
		maps.Copy(names, r.counted(by, func(m, _ *policies.Object) bool { return adoptable(m, by) }))
		for name := range names {
			if !others[name] {
				out = append(out, policies.Uncounted{Name: name, By: policies.Side(by)})
			}
		}
	}
	slices.SortFunc(out, func(a, b policies.Uncounted) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// RunByMachineAPI returns, sorted, the names of the Machines that Machine API runs and Machine API's set counts. A Machine that Poundlock has detached from its
// set is not among them, because neither set gets it back.
func (r Roster) RunByMachineAPI() []string {
	return slices.Sorted(maps.Keys(r.counted(MachineAPI, func(m, set *policies.Object) bool {
		return controlledBy(m, set) && Authoritative(Read(m)) == MachineAPI && !m.HasAnnotation(DetachedAnnotation)
	})))
}

// Unmirrored returns those of RunByMachineAPI that Cluster API's set does not count. Their mirrors are gone, or have no owner reference yet, and Poundlock is
// about to restore them. A Machine whose mirror is being deleted is not among them, because the deletion is propagated to the Machine.
func (r Roster) Unmirrored() []string {
	known := r.counted(ClusterAPI, controlledBy)
	for _, m := range r.Machines[ClusterAPI] {
		if m.Deleting() && controlledBy(m, r.Sets[ClusterAPI]) {
			known[m.Metadata.Name] = true
		}
	}
	return slices.DeleteFunc(r.RunByMachineAPI(), func(name string) bool { return known[name] })
}

// Count returns what Cluster API's set was asked for, and what it has. It returns nil if Machine API runs none of the set's Machines, or if the Machine that is
// to be created is the mirror of one of these.
func (r Roster) Count(created string) *policies.OwnerCount {
	var spec struct {
		Replicas *int `json:"replicas"`
	}
	_ = json.Unmarshal(orNull(r.Sets[ClusterAPI].Spec), &spec)
	if run := r.RunByMachineAPI(); len(run) == 0 || slices.Contains(run, created) || spec.Replicas == nil {
		return nil
	}
	return &policies.OwnerCount{Replicas: *spec.Replicas, Counted: len(r.counted(ClusterAPI, controlledBy)), Unmirrored: r.Unmirrored()}
}

// Full returns a sentence if the mirror of a Machine that Machine API runs may not join Cluster API's set, which acts: with the mirror, the set would have more
// Machines than spec.replicas asks for, and would delete one of them, whichever. It returns "" if there is room. If several mirrors are missing, room is given
// in the order of their names, so that no two of them take the same place.
func (r Roster) Full(machine string) string {
	set, _ := KindNamed("MachineSet")
	have, ahead := len(r.counted(ClusterAPI, controlledBy)), 0
	for _, name := range r.Unmirrored() {
		if name < machine {
			ahead++
		}
	}
	want, core := wantedReplicas(r.Sets[ClusterAPI]), r.Sets[ClusterAPI]
	if int64(have+ahead) < want {
		return ""
	}
	return fmt.Sprintf("MachineSet %s of Cluster API has %s, and spec.replicas asks for %d. If Poundlock created the mirror, the set would delete one of its "+
		"Machines with its instance, and nobody could say which. Delete the Machine that you do not need. Or scale the set: kubectl -n %s scale %s %s --replicas=%d",
		core.Metadata.Name, amount.Of(int64(have+ahead), "other Machine"), want, core.Metadata.Namespace, set.DefinitionIn(ClusterAPI), core.Metadata.Name,
		have+ahead+1)
}

func (r Roster) counted(api API, owns func(machine, set *policies.Object) bool) map[string]bool {
	set, selector := r.Sets[api], SelectorOf(r.Sets[api])
	out := map[string]bool{}
	for _, m := range r.Machines[api] {
		if !m.Deleting() && owns(m, set) && selector.Matches(labels.Set(m.Metadata.Labels)) {
			out[m.Metadata.Name] = true
		}
	}
	return out
}

// adoptable reports whether a set of an API would adopt a Machine that the set's selector matches. It is false for a mirror, because the lock refuses that
// adoption.
func adoptable(m *policies.Object, api API) bool {
	if owned(m) {
		return false
	}
	if api == MachineAPI {
		return Source(Read(m)) == MachineAPI
	}
	_, paused := m.Metadata.Annotations[PausedAnnotation]
	return !paused
}

// SelectorOf returns the selector of a MachineSet of either API. If the selector cannot be read, it returns one that matches nothing, because the controller of
// such a set does nothing.
func SelectorOf(set *policies.Object) labels.Selector {
	var spec struct {
		Selector metav1.LabelSelector `json:"selector"`
	}
	_ = json.Unmarshal(orNull(set.Spec), &spec)
	selector, err := metav1.LabelSelectorAsSelector(&spec.Selector)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// Explain fills in why only one set counts a Machine. machine has the Machine's object in each API, or nil for an API in which there is none.
func (r Roster) Explain(u *policies.Uncounted, machine map[API]*policies.Object) {
	other := API(u.By).Other()
	missing := r.undefined(other)
	u.Undefined = machine[other] == nil && missing != ""
	u.Unreflected = !u.Undefined && r.unreflected(*u, machine)
	if u.Why = r.why(*u, machine); u.Undefined {
		u.Why = fmt.Sprintf("it has no %s object: %s", other.Text(), missing)
	}
}

// undefined returns a phrase that says what happened to an API's CRD of Machines, and how to restore it. It returns "" if the CRD exists or was not looked up.
func (r Roster) undefined(api API) string {
	kind, _ := KindNamed("Machine")
	definition := kind.DefinitionIn(api)
	remedy := "install Cluster API again, which creates the CRD. Poundlock then recreates the mirror"
	if api == MachineAPI {
		remedy = "OpenShift's cluster-version-operator creates the CRD again: kubectl get clusterversion version"
	}
	switch r.Definitions[api] {
	case Absent:
		return fmt.Sprintf("%s %s does not exist. %s", Definition, definition, strings.ToUpper(remedy[:1])+remedy[1:])
	case Deleting:
		return fmt.Sprintf("%s %s is being deleted. When it is gone, %s", Definition, definition, remedy)
	case Present:
	}
	return ""
}

// unreflected reports whether a Machine of Cluster API's set will get no Machine API object, because Cluster API created the Machine although Machine API is
// authoritative for the set. Poundlock creates no Machine API object for such a Machine, because nobody has decided which of the two sets is to have it.
func (r Roster) unreflected(u policies.Uncounted, machine map[API]*policies.Object) bool {
	own := machine[ClusterAPI]
	return API(u.By) == ClusterAPI && machine[MachineAPI] == nil && own != nil && !own.HasAnnotation(PausedAnnotation) && owned(own) &&
		Source(Read(r.Sets[MachineAPI])) == MachineAPI
}

func (r Roster) why(u policies.Uncounted, machine map[API]*policies.Object) string {
	other := API(u.By).Other()
	switch twin := machine[other]; {
	case machine[API(u.By)] != nil && !owned(machine[API(u.By)]) && Read(r.Sets[MachineAPI]).Current == Migrating:
		return fmt.Sprintf("no MachineSet owns the Machine, and the MachineSet of %s selects it. While authority over the sets moves, neither of them adopts a "+
			"Machine: change the Machine's labels, or cancel the move and let the set adopt the Machine first", API(u.By).Text())
	case machine[API(u.By)] != nil && !owned(machine[API(u.By)]) && Source(Read(r.Sets[MachineAPI])) == API(u.By):
		return fmt.Sprintf("no MachineSet owns the Machine yet. The MachineSet of %s adopts the Machine, because of the Machine's labels, once the set is "+
			"unpaused", API(u.By).Text())
	case machine[API(u.By)] != nil && !owned(machine[API(u.By)]):
		return fmt.Sprintf("no MachineSet owns the Machine, but the MachineSet of %s would adopt the Machine because of its labels. To prevent that, "+
			"change the Machine's labels. Or migrate the Machine to %[2]s first: the set then adopts it at once, and if it has more Machines than "+
			"spec.replicas, deletes one with its instance",
			API(u.By).Text(), other.Text())
	case u.Unreflected:
		kind, _ := KindNamed("Machine")
		return fmt.Sprintf("it has no Machine API object, and Poundlock creates none while Machine API is authoritative for its MachineSet. To delete the "+
			"Machine with its instance: kubectl -n %s delete machines.%s %s. To keep it, choose another Machine of the set that is deleted for it, with its instance: "+
			"kubectl -n %s annotate %s OTHER %s=true. Then create the Machine in Machine API with spec.authoritativeAPI: ClusterAPI (kubectl poundlock "+
			"convert writes the manifest). The set adopts it, has one Machine more than spec.replicas, and deletes the annotated one",
			machine[ClusterAPI].Metadata.Namespace, clusterv1.GroupVersion.Group, u.Name,
			r.Sets[MachineAPI].Metadata.Namespace, kind.DefinitionIn(MachineAPI), machineapi.DeleteAnnotation)
	case twin == nil && other == MachineAPI && notReflected(machine[ClusterAPI]) != "":
		return "it has no Machine API object" + notReflected(machine[ClusterAPI])
	case twin == nil:
		return fmt.Sprintf("it has no %s object%s", other.Text(), notMirrored(machine[MachineAPI]))
	case twin.Deleting():
		return fmt.Sprintf("its %s object is being deleted", other.Text())
	case !owned(twin) && SelectorOf(r.Sets[other]).Matches(labels.Set(twin.Metadata.Labels)):
		return fmt.Sprintf("its %s object has no owner reference to its MachineSet yet. Poundlock adds the owner reference", other.Text())
	case owned(twin) && !controlledBy(twin, r.Sets[other]):
		return fmt.Sprintf("another object owns its %s object", other.Text())
	}
	return fmt.Sprintf("its %s object does not have the labels of its MachineSet's spec.selector", other.Text())
}

// NotReflected returns the reason why a Machine that only Cluster API has gets no Machine API object, and what a person can do: the Machine is a former mirror,
// or a set's Machine that is paused. It returns "" for any other object, and if the Machine itself does not show a reason.
func NotReflected(k Kind, o *policies.Object) string {
	if !k.InfraActs() || o == nil {
		return ""
	}
	if formerMirror(o) && !o.HasAnnotation(MirrorAnnotation) { // Poundlock deletes a mirror that has the annotation
		return fmt.Sprintf("It was the mirror of a Machine that Machine API does not have any more. It is paused, so nothing acts on it. To delete it: kubectl "+
			"-n %s delete --wait=false %s %s. The answer has the commands that terminate its instance, if that still runs, or keep it", o.Metadata.Namespace,
			k.DefinitionIn(ClusterAPI), o.Metadata.Name)
	}
	ref := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: o.Metadata.OwnerReferences})
	if why := notReflected(o); ref != nil && ref.Kind == k.Parent && why != "" {
		return "It has no Machine API object" + why
	}
	return ""
}

func notReflected(machine *policies.Object) string {
	if machine == nil || !machine.HasAnnotation(PausedAnnotation) {
		return ""
	}
	return fmt.Sprintf(", and Poundlock creates none while the Cluster API Machine is paused. To let Cluster API act on it: kubectl -n %s annotate "+
		"machines.%s %s %s-",
		machine.Metadata.Namespace, clusterv1.GroupVersion.Group, machine.Metadata.Name, PausedAnnotation)
}

// notMirrored returns what the condition Synchronized of a Machine API object says about the mirror. It returns "" if the mirror is up to date, or if the
// condition says nothing.
func notMirrored(machine *policies.Object) string {
	c := Read(machine).Condition(ConditionSynchronized)
	if c.Reason == "" || c.Status == metav1.ConditionTrue {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", c.Reason, eventnote.Cut(c.Message, 200))
}

// controlledBy reports whether the set is the controller of a Machine. It compares UIDs, so a set of the same name with another UID is not the controller.
func controlledBy(machine, set *policies.Object) bool {
	ref := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: machine.Metadata.OwnerReferences})
	return ref != nil && ref.UID == set.Metadata.UID
}

// UncountedNamed is the maximum number of Machines that NameUncounted names.
const UncountedNamed = 5

// NameUncounted returns a phrase for each of the first Machines of the list, with the reason, and a last phrase for how many more there are.
func NameUncounted(list []policies.Uncounted) []string {
	var out []string
	for _, u := range list[:min(len(list), UncountedNamed)] {
		out = append(out, fmt.Sprintf("Machine %s: %s", u.Name, u.Why))
	}
	if more := len(list) - UncountedNamed; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return out
}
