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

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/policies"
)

// Roster is a pair of MachineSets and those Machines of either API that they may count.
type Roster struct {
	Sets     map[API]*policies.Object
	Machines map[API][]*policies.Object
	// Definitions are those of the Machines' kind, as far as they were looked for: where a Machine has no object in an API.
	Definitions map[API]Presence
}

// Uncounted lists, by name, the Machines that one set of the pair counts and the other does not. An authoritative set creates a Machine for each that it
// does not count, and deletes one for each that only it counts. So both must count the same before authority moves. Explain has the reason.
//
// A set counts a Machine that it controls and that matches its selector. One that is being deleted counts for neither: its twin is deleted too. One that a set
// would adopt, since no controller owns it and its API is authoritative for it, is listed as well, unless the other set counts its twin.
func (r Roster) Uncounted() []policies.Uncounted {
	if r.Sets[MachineAPI] == nil || r.Sets[ClusterAPI] == nil {
		return nil // the handoff waits for the twin itself
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

// adoptable reports whether a set of an API would make a Machine its own that matches its selector. A mirror it would not: the lock keeps it from that.
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

// SelectorOf is the selector of a MachineSet of either API. One that cannot be read matches nothing, and its controller does nothing.
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

// Explain fills in the reason for which only one set counts a Machine, by its two objects; nil is absent.
func (r Roster) Explain(u *policies.Uncounted, machine map[API]*policies.Object) {
	other := API(u.By).Other()
	missing := r.undefined(other)
	u.Undefined = machine[other] == nil && missing != ""
	u.Unreflected = !u.Undefined && r.unreflected(*u, machine)
	if u.Why = r.why(*u, machine); u.Undefined {
		u.Why = fmt.Sprintf("it has no %s object: %s", other.Text(), missing)
	}
}

// undefined is what happened to the definition of an API's Machines, and how to get it back; "" where it exists, or nobody has looked.
func (r Roster) undefined(api API) string {
	kind, _ := KindNamed("Machine")
	definition := kind.DefinitionIn(api)
	remedy := "install Cluster API again, which creates it. Poundlock then recreates the mirror"
	if api == MachineAPI {
		remedy = "OpenShift's cluster-version-operator creates it again: kubectl get clusterversion version"
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

// unreflected reports whether Cluster API's set has a Machine of its own although Machine API is authoritative for the set: the mirror makes no Machine API
// object for it, as nobody has said which of the two sets is to have it.
func (r Roster) unreflected(u policies.Uncounted, machine map[API]*policies.Object) bool {
	own := machine[ClusterAPI]
	return API(u.By) == ClusterAPI && machine[MachineAPI] == nil && own != nil && !own.HasAnnotation(PausedAnnotation) && owned(own) &&
		Source(Read(r.Sets[MachineAPI])) == MachineAPI
}

func (r Roster) why(u policies.Uncounted, machine map[API]*policies.Object) string {
	other := API(u.By).Other()
	switch twin := machine[other]; {
	case machine[API(u.By)] != nil && !owned(machine[API(u.By)]) && Source(Read(r.Sets[MachineAPI])) == API(u.By):
		return fmt.Sprintf("no MachineSet owns it yet. The MachineSet of %s adopts the Machine, because of its labels, once that set is unpaused", API(u.By).Text())
	case machine[API(u.By)] != nil && !owned(machine[API(u.By)]):
		return fmt.Sprintf("no MachineSet owns it, but the MachineSet of %s would adopt it because of its labels. Change the Machine's labels, or migrate the "+
			"Machine to %s first",
			API(u.By).Text(), other.Text())
	case u.Unreflected:
		return fmt.Sprintf("it has no Machine API object, and Poundlock creates none while Machine API is authoritative for its MachineSet. To delete the "+
			"Machine with its instance: kubectl -n %s delete machines.%s %s. To keep it, increase spec.replicas of Machine API's MachineSet by one, then create the "+
			"Machine in Machine API with spec.authoritativeAPI: ClusterAPI (kubectl poundlock convert writes the manifest)",
			machine[ClusterAPI].Metadata.Namespace, clusterv1.GroupVersion.Group, u.Name)
	case twin == nil && other == MachineAPI && notReflected(machine[ClusterAPI]) != "":
		return "it has no Machine API object" + notReflected(machine[ClusterAPI])
	case twin == nil:
		return fmt.Sprintf("it has no %s object%s", other.Text(), notMirrored(machine[MachineAPI]))
	case twin.Deleting():
		return fmt.Sprintf("its %s object is being deleted", other.Text())
	case !owned(twin) && SelectorOf(r.Sets[other]).Matches(labels.Set(twin.Metadata.Labels)):
		return fmt.Sprintf("its %s object has no owner reference to its MachineSet yet. Poundlock adds it", other.Text())
	case owned(twin) && !controlledBy(twin, r.Sets[other]):
		return fmt.Sprintf("another object owns its %s object", other.Text())
	}
	return fmt.Sprintf("its %s object does not have the labels of its MachineSet's spec.selector", other.Text())
}

// NotReflected is why a Machine of a Cluster API set has no Machine API object, as far as the Machine shows it, and what a person can do; "" for any other
// object, and where nothing is known.
func NotReflected(k Kind, o *policies.Object) string {
	ref := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: o.Metadata.OwnerReferences})
	if why := notReflected(o); k.InfraActs() && ref != nil && ref.Kind == k.Parent && why != "" {
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

// notMirrored is what the Machine API object reports of its mirror.
func notMirrored(machine *policies.Object) string {
	c := Read(machine).Condition(ConditionSynchronized)
	if c.Reason == "" || c.Status == metav1.ConditionTrue {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", c.Reason, eventnote.Cut(c.Message, 200))
}

// controlledBy reports whether a Machine's controller is the set. One of the same name and another UID is not.
func controlledBy(machine, set *policies.Object) bool {
	ref := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: machine.Metadata.OwnerReferences})
	return ref != nil && ref.UID == set.Metadata.UID
}

// UncountedNamed is how many Machines NameUncounted names.
const UncountedNamed = 5

// NameUncounted names the first of the Machines, each with the reason, and how many more there are.
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
