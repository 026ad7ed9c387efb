// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package feedback

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// stream is a pair, with the steps that copy from its mirror to its authoritative object those fields that other writers may write to the mirror.
type stream struct {
	*pairs.State
	mirror, source *unstructured.Unstructured
	// side is the side of the mirror.
	side policies.Side
}

// Followed returns the write that copies to the authoritative object what an external writer wrote to its mirror; nil if there is nothing to copy. These
// writers read and write only the mirror:
//   - the cluster autoscaler writes the replicas of a set, and the marks by which it chooses a Machine (converting › The Cluster Autoscaler in mixed
//     MachineSet clusters; the releases so far write only to the Machine API)
//   - the cluster-autoscaler-operator writes the limits of a set, in the Machine API
//
// authority.Grants lists all these writers and fields.
//
// Admission lets nobody else write these fields to a mirror (authority/scale-locked, spec-locked, metadata-reserved), and lets these writers write only under
// the field managers that wrote expects (authority/carried-manager). But admission may be absent, so wrote decides from the managed fields.
func Followed(s *pairs.State) *pairs.Write {
	f, back := streamOf(s)
	switch {
	case !back:
		return nil
	case s.Kind.Scales:
		return pairs.First(f.scaled, f.limited)
	case s.Kind.Infra == authority.InfraMachine:
		return f.chosen()
	}
	return nil
}

// streamOf returns the stream of a pair, and whether there is one. There is none if an object is missing or is being deleted. During a move nobody may write to
// a mirror, except that the autoscaler may remove a mark. So a write that is not copied yet either came before the move or is such a removal, and it counts.
func streamOf(s *pairs.State) (f stream, back bool) {
	if pairs.PresenceOf(s.Core) != authority.Present || pairs.PresenceOf(s.MachineAPI) != authority.Present {
		return stream{}, false
	}
	switch s.Source() {
	case authority.ClusterAPI:
		return stream{s, s.MachineAPI, s.Core, policies.SideMachineAPI}, true
	case authority.MachineAPI:
		return stream{s, s.Core, s.MachineAPI, policies.SideClusterAPI}, s.IsMirror(s.Core)
	}
	return stream{}, false
}

// there returns the name that an annotation of the mirror has on the authoritative object.
func (f stream) there(key string) string {
	if f.side == policies.SideMachineAPI {
		return core.ClusterAPIAnnotation(key)
	}
	return key
}

// limited returns the write that copies the annotations of a set from its mirror: those that their writer has set on the mirror get the same value, and those
// that the writer has removed are removed.
func (f stream) limited() *pairs.Write {
	for _, g := range authority.Annotated(f.side) {
		if g.Manager == "" || !slices.Contains(g.Kinds, f.Kind.Name) {
			continue
		}
		changes, fields := map[string]any{}, []string(nil)
		for _, key := range g.Fields {
			if value, changed := f.annotated(g, key); changed {
				changes[f.there(key)] = value
				fields = append(fields, "metadata.annotations."+f.there(key))
			}
		}
		if len(fields) > 0 {
			return f.annotate(changes, fields,
				fmt.Sprintf("copied %s to %s from its mirror, because %s has changed the mirror", pairs.Brief(fields), pairs.Describe(f.source), g.Writer))
		}
	}
	return nil
}

// annotated returns the value that a writer has given to an annotation of the mirror; nil if the writer has removed the annotation. changed reports whether the
// writer has changed it at all.
func (f stream) annotated(g authority.Grant, key string) (value any, changed bool) {
	asked, has := f.mirror.GetAnnotations()[key]
	now, known := f.source.GetAnnotations()[f.there(key)]
	switch {
	case has:
		return asked, (!known || now != asked) && f.wrote(g.Manager, annotationPath(key), annotationPath(f.there(key)))
	case known:
		return nil, g.Effects&authority.Removes != 0 && f.withdrawn(annotationPath(f.there(key)))
	}
	return nil, false
}

func annotationPath(key string) []string { return []string{"metadata", "annotations", key} }

// annotate returns the write of annotations to the authoritative object, under the field manager of everything that is copied from a mirror (CarriedManager).
func (f stream) annotate(changes map[string]any, fields []string, note string) *pairs.Write {
	return &pairs.Write{Verb: pairs.Patch, By: ownership.CarriedManager, Object: f.source, Reason: "AutoscalerFollowed", Fields: fields, Note: note,
		Patch: pairs.MetadataPatch(map[string]any{"annotations": changes})}
}

// wrote reports whether a manager wrote a field of the mirror later than the mirror's own last write. The managed fields must name that manager as an owner of
// the field, and must no longer name the mirror. Anything less proves nothing, because anybody may clear managed fields (DESIGN §5). there is the path of the
// field on the authoritative object.
func (f stream) wrote(manager string, path, there []string) bool {
	return !ownership.Owns(f.mirror, managedfields.Path(path...)) && slices.ContainsFunc(f.mirror.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && ownership.Holds(e, managedfields.Path(path...)) && f.since(e, there)
	})
}

// since reports whether an entry of managed fields is later than the mirror's last write. there is the path of the field on the authoritative object. Times are
// in seconds. Within the same second the owner decides, because each apply by the mirror would have taken the field.
//
// Before the mirror has been made equal in this direction for the first time, its last write was the switch of authority. Then an entry also counts as later if
// the authoritative object still has in this field what Poundlock copied from the object that is now the mirror, or if it lacks the field. In that case
// Poundlock may not have read the mirror again before the switch: a move waits for a generation, which no annotation changes.
//
// An entry of /scale has no time, because the API server leaves it out. Such an entry is later if the mirror has claimed the field. Before the first
// synchronization, it is later if the mirror from before the switch still owns the field on the authoritative object. Both sides were equal then, so the side
// of the mirror has changed since.
func (f stream) since(e metav1.ManagedFieldsEntry, there []string) bool {
	before, claimed := f.Shape().SynchronizedGeneration == 0, ownership.Claimed(f.mirror)
	switch {
	case e.Subresource == "scale":
		return !before && claimed || before && ownership.Owns(f.source, managedfields.Path(there...))
	case e.Subresource != "" || e.Time == nil:
		return false
	case before:
		switched := f.Shape().Condition(authority.ConditionSynchronized)
		if switched.Status == "" { // never synchronized: values from before Poundlock made this object the mirror do not count
			made := slices.ContainsFunc(f.mirror.GetManagedFields(), func(o metav1.ManagedFieldsEntry) bool {
				return o.Manager == ownership.Manager && !e.Time.Before(o.Time)
			})
			return made && !f.onAuthority(there)
		}
		return switched.Status == metav1.ConditionUnknown &&
			(!e.Time.Before(&switched.LastTransitionTime) || ownedByUs(f.source, there) || !f.onAuthority(there))
	}
	return claimed && !slices.ContainsFunc(f.mirror.GetManagedFields(),
		func(o metav1.ManagedFieldsEntry) bool { return ownership.Ours(o) && e.Time.Before(o.Time) })
}

// onAuthority reports whether the authoritative object has the field at a path.
func (f stream) onAuthority(path []string) bool {
	return pairs.ValueAt(f.source, path) != nil
}

// withdrawn reports whether a field that the mirror lacks was removed from the mirror. Nobody owns an absent field, so the field of the authoritative object is
// the proof. The proof holds if Poundlock wrote the field there, and nobody has written it since. Then its value came from the object that is now the mirror,
// either as the mirror or as the authoritative object of that time. Admission ensures who removed the field, because its lock exempts only that writer.
func (f stream) withdrawn(there []string) bool {
	if f.Shape().SynchronizedGeneration == 0 {
		return f.Shape().Condition(authority.ConditionSynchronized).Status == metav1.ConditionUnknown && ownedByUs(f.source, there)
	}
	return ownership.Claimed(f.mirror) && ownedByUs(f.source, there)
}

// ownedByUs reports whether Poundlock is the only owner of a field.
func ownedByUs(o *unstructured.Unstructured, path []string) bool {
	by := ownership.Managers(o, managedfields.Path(path...))
	return len(by) > 0 && !slices.ContainsFunc(by, func(manager string) bool { return manager != ownership.Manager && manager != ownership.CarriedManager })
}

// contested reports whether another writer may have changed the field on the authoritative object since both sides were last equal, as can happen while
// Poundlock is away. An entry of /scale has no time, so the order of the two writes is unknown. Then the value of the authoritative object counts, and the
// autoscaler scales again. If the object does not convert, no generation shows when both sides were equal.
func (f stream) contested(path []string) bool {
	equal := f.Shape().SynchronizedGeneration
	return equal != 0 && f.source.GetGeneration() > equal && f.Shape().Condition(authority.ConditionSynchronized).Status == metav1.ConditionTrue &&
		!ownedByUs(f.source, path)
}

var replicasPath = []string{"spec", "replicas"}

// scaled returns the write that copies the replicas of a set. If the set is to have fewer replicas, scaled first returns the writes that copy the marks of the
// set's Machines, because without the marks the set would delete other Machines.
func (f stream) scaled() *pairs.Write {
	asked, has := pairs.Replicas(f.mirror)
	now, _ := pairs.Replicas(f.source)
	if !has || asked == now || f.contested(replicasPath) || !f.wrote(authority.AutoscalerManager, replicasPath, replicasPath) && !f.emptied() {
		return nil
	}
	if asked < now {
		for _, m := range f.MarkedMachines {
			if w := markedFor(m, f.side); w != nil {
				return w
			}
		}
	}
	return &pairs.Write{Verb: pairs.Patch, By: ownership.CarriedManager, Object: f.source,
		Patch: map[string]any{"spec": map[string]any{"replicas": asked}}, Reason: "AutoscalerFollowed", Fields: []string{"spec.replicas"},
		Note: fmt.Sprintf("scaled %s from %d to %d, because the cluster autoscaler has scaled its mirror", pairs.Describe(f.source), now, asked)}
}

// Fewer returns the mirror of a set that the autoscaler wants to have fewer Machines, and the mirror's side; nil if there is none. The marked Machines of that
// set are then read.
func Fewer(s *pairs.State) (*unstructured.Unstructured, policies.Side) {
	f, back := streamOf(s)
	if !back || !s.Kind.Scales {
		return nil, ""
	}
	asked, has := pairs.Replicas(f.mirror)
	if now, _ := pairs.Replicas(f.source); !has || asked >= now {
		return nil, ""
	}
	return f.mirror, f.side
}

// emptied reports whether the mirror was scaled to 0 through /scale later than the mirror's last write. For such a request the API server records no owner of
// the replicas, and removes the mirror as the owner. Without admission, the same request by anybody looks like that. So it counts only for a set that the
// limits let the autoscaler scale to 0.
func (f stream) emptied() bool {
	asked, has := pairs.Replicas(f.mirror)
	if !has || asked != 0 || len(ownership.Managers(f.mirror, managedfields.Path(replicasPath...))) > 0 || f.source.GetAnnotations()[f.minSize()] != "0" {
		return false
	}
	if f.Shape().SynchronizedGeneration == 0 {
		return ownership.Owns(f.source, managedfields.Path(replicasPath...))
	}
	return ownership.Claimed(f.mirror)
}

// minSize returns the name of the annotation on the authoritative object that has the lowest number of replicas that the autoscaler may ask for.
func (f stream) minSize() string {
	if f.side == policies.SideMachineAPI {
		return clusterv1.AutoscalerMinSizeAnnotation
	}
	return machineapi.AutoscalerMinSizeAnnotation
}

// marks returns the annotations by which the controllers of a side choose the Machine to delete first.
func marks(side policies.Side) []string {
	if side == policies.SideMachineAPI {
		return []string{machineapi.DeleteAnnotation, machineapi.OldDeleteAnnotation}
	}
	return []string{clusterv1.DeleteMachineAnnotation}
}

// MarkOf returns the name and the value of the first mark (marks) that a Machine has, "" if it has none.
func MarkOf(o *unstructured.Unstructured, side policies.Side) (key, value string) {
	for _, key := range marks(side) {
		if value, has := o.GetAnnotations()[key]; has {
			return key, value
		}
	}
	return "", ""
}

// LastChosen returns the write that copies the mark of a Machine whose Machine API mirror is being deleted and will be recreated without the mark. Without the
// mark, the set would delete another Machine when it gets fewer replicas.
func LastChosen(s *pairs.State) *pairs.Write {
	f := stream{s, s.MachineAPI, s.Core, policies.SideMachineAPI}
	if s.Kind.Infra != authority.InfraMachine || s.Source() != authority.ClusterAPI ||
		pairs.PresenceOf(s.Core) != authority.Present || pairs.PresenceOf(s.MachineAPI) != authority.Deleting {
		return nil
	}
	if key, _ := MarkOf(s.MachineAPI, f.side); key == "" {
		return nil
	}
	return f.chosen()
}

func (f stream) sourceSide() policies.Side {
	if f.side == policies.SideMachineAPI {
		return policies.SideClusterAPI
	}
	return policies.SideMachineAPI
}

// chosen returns the write that marks the authoritative Machine because the autoscaler has marked its mirror, or that removes the mark because the autoscaler
// has removed it.
func (f stream) chosen() *pairs.Write {
	to := marks(f.sourceSide())
	key, value := MarkOf(f.mirror, f.side)
	known, _ := MarkOf(f.source, f.sourceSide())
	switch {
	case key != "" && known == "" && f.wrote(authority.AutoscalerManager, annotationPath(key), annotationPath(to[0])):
		return f.annotate(map[string]any{to[0]: value}, []string{"metadata.annotations." + to[0]},
			"marked "+pairs.Describe(f.source)+" for deletion, because the cluster autoscaler has marked its mirror")
	case key == "" && known != "":
		return f.unmark(to)
	}
	return nil
}

// unmark returns the write that removes every mark from the authoritative object. It returns nil if one of the marks did not come from the mirror.
func (f stream) unmark(names []string) *pairs.Write {
	gone, fields := map[string]any{}, []string(nil)
	for _, name := range names {
		if _, has := f.source.GetAnnotations()[name]; !has {
			continue
		}
		if !f.withdrawn(annotationPath(name)) {
			return nil
		}
		gone[name] = nil
		fields = append(fields, "metadata.annotations."+name)
	}
	return f.annotate(gone, fields, "removed the deletion mark from "+pairs.Describe(f.source)+", because the cluster autoscaler has removed it from the "+
		"mirror")
}

// markedFor returns the write that copies the mark of a Machine to the side that is authoritative for its set, before the set gets fewer replicas. side is the
// side to which the autoscaler writes. Another API may be authoritative for the Machine than for its set, and the Machine may not convert. In that case its
// mirror gets only the mark.
func markedFor(s *pairs.State, side policies.Side) *pairs.Write {
	from, to, origin := s.MachineAPI, s.Core, authority.MachineAPI
	other := policies.SideClusterAPI
	if side == policies.SideClusterAPI {
		from, to, origin, other = s.Core, s.MachineAPI, authority.ClusterAPI, policies.SideMachineAPI
	}
	switch {
	case pairs.PresenceOf(to) != authority.Present:
		return nil
	case s.Source() != origin:
		return pairs.First(func() *pairs.Write { return Followed(s) }, func() *pairs.Write { return LastChosen(s) })
	}
	key, value := MarkOf(from, side)
	if known, _ := MarkOf(to, other); key == "" || known != "" {
		return nil
	}
	name := marks(other)[0]
	return &pairs.Write{Verb: pairs.Patch, Object: to, Reason: "MirrorUpdated", Fields: []string{"metadata.annotations." + name},
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{name: value}}),
		Note:  "marked " + pairs.Describe(to) + " for deletion, because somebody has marked " + pairs.Describe(from)}
}
