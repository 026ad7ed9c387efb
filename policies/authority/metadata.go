// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
)

var (
	finalizersPath = field.NewPath("metadata", "finalizers")
	ownersPath     = field.NewPath("metadata", "ownerReferences")
)

// reservedDomains are the domains of Kubernetes and OpenShift. A label or annotation is reserved if its domain is one of these or a subdomain of one of these.
// So example.kubernetes.io is reserved, and kubernetes.iofoo is not.
var reservedDomains = []string{"kubernetes.io", "k8s.io", "x-k8s.io", "openshift.io"}

// reservedNames are the reserved labels and annotations that have no domain.
var reservedNames = []string{"machine-template-hash"}

// theirs are the labels and annotations by which a tool recognizes an object as its own: GitOps, Helm, kubectl apply --prune, a fleet manager, a backup, the
// autoscaler of bare metal. Poundlock does not copy them to the twin, whichever API is authoritative, because with a copy the tool would prune or scale the
// twin too. There is one exception, see Theirs. An entry that ends with a / stands for a whole domain.
var theirs = []string{
	"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "applyset.kubernetes.io/part-of", "argocd.argoproj.io/", "helm.toolkit.fluxcd.io/",
	"hive.openshift.io/", "kustomize.toolkit.fluxcd.io/", "meta.helm.sh/", "metal3.io/autoscale-to-hosts", "velero.io/",
}

// Theirs reports whether a tool recognizes its objects by this label or annotation. Poundlock does not mirror such a name. The exception is a label by which a
// set selects its Machines.
func Theirs(key string) bool {
	return slices.ContainsFunc(theirs, func(t string) bool { return key == t || strings.HasSuffix(t, "/") && strings.HasPrefix(key, t) })
}

// TheirNames returns a copy of theirs, the names and domains of such labels and annotations, for the admission policies.
func TheirNames() []string { return slices.Clone(theirs) }

// Reserved reports whether a label or annotation belongs to Kubernetes, OpenShift, an API of machines or Poundlock.
func Reserved(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return slices.Contains(reservedNames, key)
	}
	if Theirs(key) {
		return false
	}
	return slices.ContainsFunc(reservedDomains, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d)
	})
}

// metadataChange is one label or annotation that a request adds, changes or removes.
type metadataChange struct {
	annotation bool
	key        string
	// value is the requested value. It is empty if removed is true.
	value   string
	removed bool
}

func (m metadataChange) path() *field.Path {
	if m.annotation {
		return field.NewPath("metadata", "annotations").Key(m.key)
	}
	return field.NewPath("metadata", "labels").Key(m.key)
}

// metadataChanges returns the labels and annotations that an update adds, changes or removes. Labels come before annotations, and both are sorted by name.
func metadataChanges(c policies.Change) []metadataChange {
	return append(
		mapChanges(false, c.Old.Metadata.Labels, c.New.Metadata.Labels),
		mapChanges(true, c.Old.Metadata.Annotations, c.New.Metadata.Annotations)...)
}

func mapChanges(annotation bool, before, after map[string]string) []metadataChange {
	var out []metadataChange
	for k, v := range after {
		if old, had := before[k]; !had || old != v {
			out = append(out, metadataChange{annotation: annotation, key: k, value: v})
		}
	}
	for k := range before {
		if _, kept := after[k]; !kept {
			out = append(out, metadataChange{annotation: annotation, key: k, removed: true})
		}
	}
	slices.SortFunc(out, func(a, b metadataChange) int { return strings.Compare(a.key, b.key) })
	return out
}

// FreeAnnotations returns the annotations that a user may write although their domains are reserved. LastAppliedAnnotation is one, because every `kubectl
// apply` writes it. NoInstanceAnnotation is one, because it is a person's decision.
func FreeAnnotations() []string { return []string{LastAppliedAnnotation, NoInstanceAnnotation} }

// free reports whether a user may make the change although the domain of the name is reserved.
func free(m metadataChange) bool { return m.annotation && slices.Contains(FreeAnnotations(), m.key) }

// stays reports whether the label or annotation is only for this object, so that the twin may have another value. A label of a Machine is never only for the
// Machine, because the Machine's set may select by it.
func (m metadataChange) stays(c policies.Change) bool {
	return Theirs(m.key) && (m.annotation || c.Kind != "Machine" && c.Kind != InfraMachine)
}

// MetadataReserved refuses changes of reserved labels and annotations on the object that is not authoritative. On that object a user may change only labels and
// annotations "that are not critical to Machine API or Cluster API functionality, and are not in reserved Kubernetes or OpenShift namespaces" (converting ›
// Admission of non-authoritative resources).
func MetadataReserved(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || !s.locked() {
		return policies.Verdict{}
	}
	refused := slices.DeleteFunc(metadataChanges(c), func(m metadataChange) bool {
		return !Reserved(m.key) && !m.addsNamelessHook() || free(m) || pauses(c, m) || unpauses(c, m) || m.granted(c)
	})
	if len(refused) == 0 {
		return policies.Verdict{}
	}
	var errs field.ErrorList
	reason := reservedReason(c, s, refused)
	for _, m := range refused {
		switch {
		case m.marks(s):
			errs = append(errs, field.Forbidden(m.path(), markReason(c)))
		case m.derivedFrom(c) != "" && !s.moving():
			errs = append(errs, field.Forbidden(m.path(),
				fmt.Sprintf("Poundlock derives this label from %s of %s, and would restore the label: change the source on that object "+
					"instead", m.derivedFrom(c), there(c))))
		default:
			errs = append(errs, field.Forbidden(m.path(), reason))
		}
	}
	return policies.Deny(errs...)
}

// addsNamelessHook reports whether a change adds a hook annotation that consists only of the hook prefix, without a name (NamelessHooks). MetadataReserved
// refuses that. Everybody may remove such an annotation, because the authoritative object has no such hook.
func (m metadataChange) addsNamelessHook() bool {
	return m.annotation && !m.removed && slices.Contains(NamelessHooks(), m.key)
}

// derivedFrom returns a phrase for the part of the Machine API Machine from which Poundlock makes a label of the mirror. It returns "" if the label is a copy
// of the same label of the Machine API Machine.
func (m metadataChange) derivedFrom(c policies.Change) string {
	if c.Side != policies.SideClusterAPI || c.Kind != "Machine" || m.annotation {
		return ""
	}
	domain, _, _ := strings.Cut(m.key, "/")
	switch {
	case m.key == clusterv1.MachineControlPlaneLabel || domain == clusterv1.NodeRoleLabelPrefix:
		return "the label " + machineapi.RoleLabel
	case m.key == clusterv1.MachineSetNameLabel:
		return "the owner reference to its MachineSet"
	case domain == clusterv1.NodeRestrictionLabelDomain || domain == clusterv1.ManagedNodeLabelDomain:
		return "spec.metadata.labels"
	}
	return ""
}

// Reasons of MetadataReserved. LeftAloneReason is for labels and annotations that a controller of the Machine API writes. LeftOutReason is for a request that
// leaves out labels and annotations.
const (
	LeftAloneReason = "a controller of the Machine API writes this label or annotation on the Machine API object, whichever API is authoritative, and " +
		"Poundlock does not mirror " +
		"it: leave it as it is"
	reservedWhere = "names of Kubernetes, OpenShift and Poundlock are reserved on the object that is not authoritative"
	LeftOutReason = reservedWhere + ", and this request removes some of them. Keep them, also in a manifest that replaces the whole object, or use kubectl " +
		"apply --server-side. To remove one, remove it from the authoritative object: "
)

// leftAlone reports whether the change is of a label or annotation that a controller of the Machine API writes and that Poundlock does not mirror. Poundlock
// does not compare it with the authoritative object either.
func (m metadataChange) leftAlone(c policies.Change) bool {
	of := "metadata.labels"
	if m.annotation {
		of = "metadata.annotations"
	}
	return c.Side == policies.SideMachineAPI && slices.Contains(LeftAlone(c.Kind, of), m.key)
}

// poundlocks reports whether a label or annotation is in Poundlock's own domain. The other object need not have it. A manifest that was written before
// Poundlock added it lacks it too.
func (m metadataChange) poundlocks() bool { return strings.HasPrefix(m.key, Domain+"/") }

// marks reports whether a change on a mirror is of one of Poundlock's own annotations: the one by which Poundlock recognizes the mirror, or Poundlock's hook
// (InstanceHookAnnotation).
func (m metadataChange) marks(s standing) bool {
	return m.annotation && (m.key == MirrorAnnotation || m.key == InstanceHookAnnotation) && s.side != policies.SideMachineAPI && s.Current == MachineAPI
}

// markReason returns the message for a refused change of one of the annotations of marks. The message says what a person can do so that the object is no mirror
// any more. The usual remedy, to change the authoritative object, would not help, because the authoritative object does not have these annotations.
func markReason(c policies.Change) string {
	return fmt.Sprintf("with this annotation Poundlock marks a mirror of %s, for which Machine API is authoritative. To let Cluster API act, migrate the "+
		"object: %s. "+
		"To stop all mirroring, stop Poundlock and run: kubectl poundlock cleanup", there(c), moveTo(c, ClusterAPI))
}

func reservedReason(c policies.Change, s standing, refused []metadataChange) string {
	refused = slices.DeleteFunc(slices.Clone(refused), func(m metadataChange) bool { return m.marks(s) || m.derivedFrom(c) != "" })
	if s.moving() {
		return "labels and annotations with names of Kubernetes, OpenShift and Poundlock cannot change during a move: " + transitReason(c, s)
	}
	if s.Current == Unset {
		return lockedReason(c, s, "")
	}
	withPause := slices.ContainsFunc(metadataChanges(c), func(m metadataChange) bool { return m.removed && pauses(c, m) })
	if (len(refused) > 1 || withPause || slices.ContainsFunc(refused, metadataChange.poundlocks)) &&
		!slices.ContainsFunc(refused, func(m metadataChange) bool { return !m.removed }) {
		return LeftOutReason + there(c)
	}
	if refused = slices.DeleteFunc(refused, func(m metadataChange) bool { return m.leftAlone(c) }); len(refused) == 0 {
		return LeftAloneReason
	}
	return fmt.Sprintf("%s: set the label or annotation on %s, which is authoritative: %s", reservedWhere, there(c), setThere(c, refused))
}

// Renamed returns the labels and annotations that have different names in the two APIs, as a map from the Machine API's name to Cluster API's.
func Renamed() map[string]string {
	return map[string]string{
		machinev1beta1.MachineClusterIDLabel:   clusterv1.ClusterNameLabel,
		machineapi.AutoscalerMaxSizeAnnotation: clusterv1.AutoscalerMaxSizeAnnotation,
		machineapi.AutoscalerMinSizeAnnotation: clusterv1.AutoscalerMinSizeAnnotation,
		machineapi.DeleteAnnotation:            clusterv1.DeleteMachineAnnotation,
		machineapi.ExcludeDrainAnnotation:      clusterv1.ExcludeNodeDrainingAnnotation,
	}
}

// Older returns older names of annotations that the Machine API still accepts, as a map from the older name to Cluster API's name of the annotation.
func Older() map[string]string {
	return map[string]string{machineapi.OldDeleteAnnotation: clusterv1.DeleteMachineAnnotation}
}

// nameThere returns the other API's name for a label or annotation.
func nameThere(c policies.Change, key string) string {
	if c.Side == policies.SideMachineAPI {
		key = namedHook(key)
	}
	if name, older := Older()[key]; older && c.Side == policies.SideMachineAPI {
		return name
	}
	for machineAPI, clusterAPI := range Renamed() {
		switch {
		case c.Side == policies.SideMachineAPI && key == machineAPI:
			return clusterAPI
		case c.Side == policies.SideClusterAPI && key == clusterAPI:
			return machineAPI
		}
	}
	return key
}

// PlainValue is a regular expression for the values that a command in a message shows unchanged. In place of any other value the command shows VALUE.
const PlainValue = `^[A-Za-z0-9._/:-]{0,63}$`

var plainValue = regexp.MustCompile(PlainValue)

// setThere returns the kubectl commands, joined with &&, that make the changes on the twin.
func setThere(c policies.Change, changes []metadataChange) string {
	resource, _, _ := strings.Cut(there(c), " ")
	var commands []string
	if hooks := hooksThere(c, changes); hooks != "" {
		commands = append(commands, hooks)
		changes = slices.DeleteFunc(slices.Clone(changes), func(m metadataChange) bool {
			return slices.ContainsFunc(HookLists(), m.ofHook)
		})
	}
	for _, verb := range []string{"label", "annotate"} {
		var words []string
		for _, m := range changes {
			if m.annotation == (verb == "annotate") && len(words) < maxNamed {
				words = append(words, m.word(nameThere(c, m.key)))
			}
		}
		if len(words) > 0 {
			commands = append(commands, fmt.Sprintf("kubectl -n %s %s %s %s %s --overwrite", c.TwinNamespace, verb, resource, c.Name, strings.Join(words, " ")))
		}
	}
	return strings.Join(commands, " && ")
}

// DeletionMarks returns the annotations that mark a Machine as the one to delete first when a set scales down. They count whatever their value is. So a user
// who sets one to false wants it removed.
func DeletionMarks() []string {
	return []string{clusterv1.DeleteMachineAnnotation, machineapi.DeleteAnnotation, machineapi.OldDeleteAnnotation}
}

// word returns the change as an argument of kubectl label or kubectl annotate, with name as the name of the label or annotation.
func (m metadataChange) word(name string) string {
	switch {
	case m.removed || m.value == "false" && slices.Contains(DeletionMarks(), m.key):
		return name + "-"
	}
	return name + "=" + plain(m.value)
}

// pauses reports whether a change is of the pause annotation. The rule PausedOwned decides about such a change, with its own message.
func pauses(c policies.Change, m metadataChange) bool {
	return m.annotation && m.key == PausedAnnotation && (c.Side != policies.SideMachineAPI || PausesCheck(c.Old))
}

// unpauses reports whether a change removes Cluster API's pause annotation from a Machine API object. On that object a person has set the annotation, because
// the Machine API's health checks and the autoscaler obey it, whichever API is authoritative.
func unpauses(c policies.Change, m metadataChange) bool {
	return c.Side == policies.SideMachineAPI && m.annotation && m.key == PausedAnnotation && m.removed
}

// granted reports whether a row of Grants allows the request's user to make the change.
func (m metadataChange) granted(c policies.Change) bool {
	return Granted(c, m.path().String(), m.effect(c))
}

func (m metadataChange) effect(c policies.Change) Effect {
	before := c.Old.Metadata.Labels
	if m.annotation {
		before = c.Old.Metadata.Annotations
	}
	_, had := before[m.key]
	switch {
	case m.removed:
		return Removes
	case had:
		return Changes
	}
	return Adds
}

// MetadataConflict refuses a label or annotation whose value differs from the authoritative object's. The labels and annotations that a user may change may
// "not conflict with the authoritative resource" (converting › Admission of non-authoritative resources).
//
// All names that differ between the two APIs are reserved. So MetadataReserved decides about them, whatever their value. A test checks that every name which
// the conversion renames is reserved.
func MetadataConflict(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || c.Facts.Twin == nil || !s.locked() || s.leaving() {
		return policies.Verdict{}
	}
	var errs field.ErrorList
	for _, m := range metadataChanges(c) {
		if want, carried := twinValue(c.Facts.Twin, m); carried && (m.removed || m.value != want) && !free(m) && !m.stays(c) && !pauses(c, m) &&
			!unpauses(c, m) && !m.granted(c) {
			errs = append(errs, field.Forbidden(m.path(),
				fmt.Sprintf("%s, which is authoritative, has the value %q, and the mirror has the same value: change the value on the authoritative "+
					"object", there(c), brief(want))))
		}
	}
	return policies.Deny(errs...)
}

// leaving reports whether a move away from the API of the object under review has begun. Until the move ends, the mirror still follows the labels and
// annotations of this object.
func (s standing) leaving() bool { return s.moving() && sideOf(s.SynchronizedAPI, s.side) }

// brief returns a value, shortened for a message. An annotation may have 256 KiB.
func brief(value string) string {
	const most = 64
	if all := []rune(value); len(all) > most {
		return string(all[:most]) + "…"
	}
	return value
}

func twinValue(twin *policies.Object, m metadataChange) (string, bool) {
	values := twin.Metadata.Labels
	if m.annotation {
		values = twin.Metadata.Annotations
	}
	v, ok := values[m.key]
	return v, ok
}

// MetadataFree refuses nothing. It is a row in the table of rules only so that the labels and annotations which MetadataReserved and MetadataConflict leave
// free are documented and can be explained.
func MetadataFree(policies.Change) policies.Verdict { return policies.Verdict{} }

// PropagatedFields returns the paths of the fields that Cluster API's MachineSet writes to its Machines in place, in addition to labels and annotations. If one
// of these writes is refused, the set gives up all its writes, and keeps reporting the refusal. So the lock on a paused Machine allows exactly these fields,
// and only to Cluster API. While the set is authoritative, Poundlock does not write these fields of the mirrored Machines.
func PropagatedFields() []string {
	return []string{"spec.bootstrap.dataSecretName", "spec.deletion", "spec.minReadySeconds", "spec.readinessGates", "spec.taints"}
}

// Propagation refuses changes by Cluster API to Poundlock's own labels and annotations. Cluster API's MachineSet writes labels and annotations to its Machines
// in place, even to paused Machines. It may write all other labels and annotations.
func Propagation(c policies.Change) policies.Verdict {
	if !propagates(c) || !stand(c).locked() {
		return policies.Verdict{}
	}
	var errs field.ErrorList
	for _, m := range metadataChanges(c) {
		if domain, _, _ := strings.Cut(m.key, "/"); domain == Domain {
			errs = append(errs, field.Forbidden(m.path(),
				"only Poundlock writes its own labels and annotations. Cluster API may only propagate labels and annotations of its own templates"))
		}
	}
	return policies.Deny(errs...)
}

// propagates reports whether Cluster API's controllers make the request, on an object to which a MachineSet propagates fields: a Machine or an infrastructure
// machine.
func propagates(c policies.Change) bool {
	return c.Actor == policies.ClusterAPIController &&
		(c.Side == policies.SideClusterAPI && c.Kind == "Machine" || c.Kind == InfraMachine)
}
