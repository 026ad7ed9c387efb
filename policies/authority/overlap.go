// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies"
)

// selectsMachinesAnew reports whether a person creates a MachineSet, or changes its selector or the labels of its new Machines.
func selectsMachinesAnew(c policies.Change) bool {
	if c.Actor != policies.Anyone || c.Kind != "MachineSet" || c.New == nil {
		return false
	}
	return c.Operation == admissionv1.Create || SelectorOf(c.Old).String() != SelectorOf(c.New).String() ||
		labels.Set(madeWith(c.Old)).String() != labels.Set(madeWith(c.New)).String()
}

// SelectorsOverlap warns if a MachineSet and another one select each other's new Machines, and if the set adopts Machines that no set owns. The other set is
// one of the same API, or, when the set is created, one that exists only in the other API: the Machines of both may come to that API. A set counts only the
// Machines that it owns, so nothing happens to a Machine as long as it has an owner. A set that selects a Machine without an owner adopts the Machine, and
// deletes Machines beyond its spec.replicas.
func SelectorsOverlap(c policies.Change) policies.Verdict {
	if !selectsMachinesAnew(c) {
		return policies.Verdict{}
	}
	anew := func(does func(own *policies.Object) bool) bool { return does(c.New) && (c.Old == nil || !does(c.Old)) }
	var others, by, free []string
	for _, set := range c.Facts.Siblings {
		switch {
		case set.Metadata.Name == c.Name || set.Deleting() || apiOf(set) != apiOf(c.New) && mirroredIn(c.Facts.Siblings, apiOf(c.New), set):
		case anew(func(own *policies.Object) bool { return takes(own, madeWith(set)) }):
			others = append(others, set.Metadata.Name)
		case anew(func(own *policies.Object) bool { return takes(set, madeWith(own)) }):
			by = append(by, set.Metadata.Name)
		}
	}
	for _, m := range c.Facts.Adoptable {
		if own := apiOf(m); !m.Deleting() && adoptable(m, own) && acts(c.New, own) &&
			anew(func(set *policies.Object) bool { return takes(set, m.Metadata.Labels) }) {
			free = append(free, m.Metadata.Name)
		}
	}
	const then = ": if one of these sets is deleted but its Machines stay (--cascade=orphan, or a set of the API that is not authoritative), another set " +
		"adopts the Machines. It then deletes Machines beyond its own spec.replicas with their instances. To prevent that, give each set a label of its own in " +
		"spec.selector and spec.template.metadata.labels"
	var out []string
	for _, found := range []struct {
		names      []string
		text, then string
	}{
		{free, "spec.selector matches Machine %s without a MachineSet", ": this set adopts them, and deletes Machines beyond its spec.replicas with their " +
			"instances. To prevent that, use other labels"},
		{others, "spec.selector also matches new Machines of MachineSet %s", then},
		{by, "spec.template.metadata.labels: MachineSet %s selects new Machines of this set, too", then},
	} {
		if len(found.names) > 0 {
			out = append(out, fmt.Sprintf(found.text, nameSome(slices.Sorted(slices.Values(found.names))))+found.then)
		}
	}
	return policies.Warn(out...)
}

// relabels reports whether a person changes the labels of a Machine that is not being deleted, in the API whose controllers act on it.
func relabels(c policies.Change) bool {
	return c.Actor == policies.Anyone && !c.Old.Deleting() && acts(c.Old, apiOf(c.Old)) && !maps.Equal(c.Old.Metadata.Labels, c.New.Metadata.Labels)
}

// goesTo returns the API to which a Machine moves, or is asked to move; Unset if it stays in the API of the object under review.
func goesTo(c policies.Change) API {
	if s := stand(c); s.mapi != nil && s.Requested != Unset && s.Requested != apiOf(c.Old) {
		return s.Requested
	}
	return Unset
}

// labelsThere returns the labels that the twin of a Machine has, and will have once the change of its labels is mirrored. The twin has labels of its own API,
// such as the name of the cluster, by which that API's sets select.
func labelsThere(c policies.Change) (before, after map[string]string) {
	if c.Facts.Twin == nil {
		return c.Old.Metadata.Labels, c.New.Metadata.Labels
	}
	before = c.Facts.Twin.Metadata.Labels
	after = maps.Clone(before)
	maps.DeleteFunc(after, func(name, _ string) bool {
		_, had := c.Old.Metadata.Labels[name]
		_, has := c.New.Metadata.Labels[name]
		return had && !has
	})
	return before, labels.Merge(after, c.New.Metadata.Labels)
}

// Relabelled warns if a MachineSet counts another number of Machines because of a Machine's new labels. A set keeps a Machine that it owns and no longer
// selects, and does not count it. A set adopts a Machine that it selects and that no set owns. After a move, the sets of the other API do.
func Relabelled(c policies.Change) policies.Verdict {
	if !relabels(c) {
		return policies.Verdict{}
	}
	var out []string
	beforeThere, afterThere := labelsThere(c)
	for _, set := range c.Facts.Siblings {
		before, after := takes(set, c.Old.Metadata.Labels), takes(set, c.New.Metadata.Labels)
		if apiOf(set) != apiOf(c.Old) {
			before, after = takes(set, beforeThere), takes(set, afterThere)
		}
		switch name := set.Metadata.Name; {
		case set.Deleting() || before == after:
		case before && controlledBy(c.Old, set):
			out = append(out, fmt.Sprintf("metadata.labels: MachineSet %s no longer selects this Machine, and creates another one in its place. This Machine keeps "+
				"running, and is deleted with the set. To keep the Machine in the set, keep the labels of the set's spec.selector. To replace the Machine, delete "+
				"it", name))
		case after && !owned(c.Old) && apiOf(set) == apiOf(c.Old) && acts(set, apiOf(c.Old)):
			out = append(out, fmt.Sprintf("metadata.labels: MachineSet %s selects this Machine, which no set owns. The set adopts the Machine, and deletes Machines "+
				"beyond its spec.replicas with their instances. To prevent that, use other labels", name))
		case after && !owned(c.Old) && apiOf(set) == goesTo(c) && actsSoon(set, c.Facts.Siblings):
			out = append(out, fmt.Sprintf("metadata.labels: MachineSet %s of %s selects this Machine, which no set owns. Once this Machine has moved to %[2]s, the "+
				"set adopts it, and deletes Machines beyond its spec.replicas with their instances. To prevent that, use other labels", name, goesTo(c).Text()))
		}
	}
	slices.Sort(out)
	return policies.Warn(out...)
}

// leavesOrphans reports whether a person deletes a MachineSet and its Machines stay, because the deletion orphans them or because the set is not authoritative.
// If the set is not authoritative, Poundlock detaches the Machines from it, so that the garbage collector does not delete them.
func leavesOrphans(c policies.Change) bool {
	if c.Actor != policies.Anyone || c.Old == nil || c.Old.Deleting() {
		return false
	}
	how := propagation(c)
	return how == metav1.DeletePropagationOrphan || how != metav1.DeletePropagationForeground && !acts(c.Old, apiOf(c.Old))
}

// Adopter returns the name of the MachineSet that adopts a Machine once the Machine has lost its owner, the MachineSet named lost; "" if none of sets does.
func Adopter(machine *policies.Object, lost string, sets []*policies.Object) string {
	api := apiOf(machine)
	if machine.Deleting() || !acts(machine, api) {
		return ""
	}
	for _, set := range sets {
		if set.Metadata.Name != lost && !set.Deleting() && acts(set, api) && takes(set, machine.Metadata.Labels) {
			return set.Metadata.Name
		}
	}
	return ""
}

// OrphansAdopted refuses the deletion of a MachineSet that leaves its Machines (leavesOrphans) if another set would adopt these and delete Machines beyond its
// spec.replicas: a user who keeps the Machines wants their instances to keep running, and a terminated instance cannot be restored. If the other set has room
// for the Machines, OrphansAdopted warns.
//
// If the deleted set is authoritative, the Machines lose their set in both APIs, so OrphansAdopted checks the sets of both. If it is not authoritative, its
// twin still counts the Machines. Then only sets of the deleted set's own API could adopt them, and OrphansAdopted refuses that even if these sets have room.
func OrphansAdopted(c policies.Change) policies.Verdict {
	if !leavesOrphans(c) {
		return policies.Verdict{}
	}
	d, _ := deleted(c)
	var v policies.Verdict
	soon, later := map[string]bool{}, map[string][]string{}
	for _, set := range c.Facts.Siblings {
		api := apiOf(set)
		if set.Metadata.Name == c.Name || set.Deleting() || api != d.On && d.On != d.Authority {
			continue
		}
		var names []string
		for _, m := range c.Facts.Adoptable {
			switch {
			case apiOf(m) != api || m.Deleting() || !takes(set, m.Metadata.Labels):
			case actsSoon(set, c.Facts.Siblings) && actsSoon(m, c.Facts.Adoptable):
				names = append(names, m.Metadata.Name)
			case d.On == d.Authority:
				later[set.Metadata.Name] = append(later[set.Metadata.Name], m.Metadata.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		soon[set.Metadata.Name] = true
		slices.Sort(names)
		what := fmt.Sprintf("%s's MachineSet %s selects Machine %s of this set, and adopts the Machines that this deletion leaves without a set",
			api.Text(), set.Metadata.Name, nameSome(names))
		keep := fmt.Sprintf("delete MachineSet %s if nobody needs it", set.Metadata.Name)
		if !takes(set, selected(c.Old)) {
			keep += ", or remove from these Machines a label that only the selector of that set has"
		}
		if d.On != d.Authority {
			v.Denials = append(v.Denials, field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
				"%s. That set would then delete Machines beyond its spec.replicas with their instances, and %s's MachineSet %s would still count them. First %s",
				what, d.Authority.Text(), c.Name, keep)))
			continue
		}
		if surplus := int64(len(names)) + setReplicas(set) - wantedReplicas(set); surplus > 0 {
			v.Denials = append(v.Denials, field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
				"%s. That set would then delete %s beyond its spec.replicas, with the instances. To keep them, first %s%s",
				what, amount.Of(int(surplus), "Machine"), keep, endThem(d))))
			continue
		}
		v.Warnings = append(v.Warnings, fmt.Sprintf(
			"%s: from then on these Machines count as replicas of that set, and are deleted with that set. To prevent that, first %s", what, keep))
	}
	for _, name := range slices.Sorted(maps.Keys(later)) {
		if !soon[name] {
			v.Warnings = append(v.Warnings, fmt.Sprintf(
				"MachineSet %s also selects Machine %s of this set. Once the same API is authoritative for that set and for the Machine, the set adopts the Machines "+
					"that this deletion leaves without a set, and deletes Machines beyond its spec.replicas with their instances. To prevent that, remove from these "+
					"Machines a label that only the selector of that set has",
				name, nameSome(slices.Compact(slices.Sorted(slices.Values(later[name]))))))
		}
	}
	return v
}

// endThem returns the end of a refusal, with what a person does who wants the Machines deleted; "" if the deleted set is not authoritative.
func endThem(d DeletionRequest) string {
	if d.On != d.Authority {
		return ""
	}
	return ". To delete the Machines too, delete this set without --cascade=orphan"
}

// selected returns the labels that the selector of a MachineSet names with one value each: what its Machines have at least.
func selected(set *policies.Object) map[string]string {
	var spec struct {
		Selector metav1.LabelSelector `json:"selector"`
	}
	_ = json.Unmarshal(orNull(set.Spec), &spec)
	return spec.Selector.MatchLabels
}

// takes reports whether the selector of a MachineSet or MachineDeployment matches the given labels. It is false for an empty selector: such a selector would
// match everything, but a set adopts nothing by it.
func takes(set *policies.Object, of map[string]string) bool {
	selector := SelectorOf(set)
	return !selector.Empty() && selector.Matches(labels.Set(of))
}

// madeWith returns the labels of a MachineSet's new Machines: those of its template and, in Cluster API, the name of the cluster, which the controller adds.
func madeWith(set *policies.Object) map[string]string {
	var spec struct {
		ClusterName string `json:"clusterName"`
	}
	_ = json.Unmarshal(orNull(set.Spec), &spec) // what cannot be read is another rule's business
	out := maps.Clone(specOfSet(set).Template.Metadata.Labels)
	if spec.ClusterName != "" {
		out = labels.Merge(out, labels.Set{clusterv1.ClusterNameLabel: spec.ClusterName})
	}
	return out
}

// acts reports whether the controllers of an API act on o, an object of that API. Cluster API's controllers act unless o is paused. Machine API's act if
// Machine API is authoritative for o.
func acts(o *policies.Object, api API) bool {
	if api == ClusterAPI {
		return !o.HasAnnotation(PausedAnnotation)
	}
	return Authoritative(Read(o)) == MachineAPI
}

// actsSoon reports whether the controllers of o's API act on o, or will because somebody has asked for that: o's Machine API object, which is among all, asks
// for that API, and authority has not moved yet.
func actsSoon(o *policies.Object, all []*policies.Object) bool {
	api := apiOf(o)
	return acts(o, api) || slices.ContainsFunc(all, func(twin *policies.Object) bool {
		s := Read(twin)
		return apiOf(twin) == MachineAPI && twin.Metadata.Name == o.Metadata.Name && s.Requested == api && s.Current != api
	})
}

// mirroredIn reports whether a MachineSet of the given API that is among sets has the name of set.
func mirroredIn(sets []*policies.Object, api API, set *policies.Object) bool {
	return slices.ContainsFunc(sets, func(twin *policies.Object) bool { return apiOf(twin) == api && twin.Metadata.Name == set.Metadata.Name })
}

// apiOf returns the API to which a MachineSet or a Machine belongs, by its apiVersion.
func apiOf(o *policies.Object) API {
	if strings.HasPrefix(o.APIVersion, clusterv1.GroupVersion.Group+"/") {
		return ClusterAPI
	}
	return MachineAPI
}

// wantedReplicas returns a MachineSet's spec.replicas; 1 if the field is absent.
func wantedReplicas(set *policies.Object) int64 {
	spec := struct {
		Replicas int64 `json:"replicas"`
	}{1}
	_ = json.Unmarshal(orNull(set.Spec), &spec)
	return spec.Replicas
}
