// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

var statusPath = field.NewPath("status")

// FinalizersOwned refuses three changes of a mirrored object: a change of the sync finalizer, the addition of the finalizer for a deletion in the foreground
// (asksForForeground), and a change of owner references by an actor who may not make it (mayOwn). The sync finalizer lets Poundlock see a deletion in time. The
// garbage collector decides by the owner references what to delete (converting › Deletion of Machines).
func FinalizersOwned(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || !mirrored(c, s) {
		return policies.Verdict{}
	}
	var errs field.ErrorList
	if c.Old.HasFinalizer(SyncFinalizer) != c.New.HasFinalizer(SyncFinalizer) {
		errs = append(errs, field.Forbidden(finalizersPath, fmt.Sprintf(
			"only Poundlock adds and removes %s while %s exists: leave the finalizer as it is", SyncFinalizer, there(c))))
	}
	if asksForForeground(c) {
		errs = append(errs, field.Forbidden(finalizersPath, fmt.Sprintf(
			"with the finalizer %s, each later deletion of this %s would be a foreground deletion, also one by a controller. The garbage collector would then delete "+
				"infrastructure machines without waiting for hooks, and before Nodes are drained. Leave the finalizer out. To delete in the foreground once: %s "+
				"--cascade=foreground",
			metav1.FinalizerDeleteDependents, c.Kind, deleteCommand(c))))
	}
	if !mayOwn(c, s) && !sameOwners(c) {
		errs = append(errs, field.Forbidden(ownersPath, fmt.Sprintf(
			"owner references decide which objects are deleted together, also on %s. Only Poundlock and the controllers of the authoritative API may change "+
				"them", there(c))))
	}
	return policies.Deny(errs...)
}

// asksForForeground reports whether a request adds to a Cluster API Machine or MachineSet the finalizer that turns a later deletion into one in the foreground.
// In a deletion in the foreground, the API server adds this finalizer itself. If somebody else adds it before a deletion, no rule sees that the deletion is in
// the foreground: it shows only when the garbage collector or a controller deletes the object, and no rule refuses their deletions.
func asksForForeground(c policies.Change) bool {
	return c.Side == policies.SideClusterAPI && slices.Contains([]string{"Machine", "MachineSet"}, c.Kind) &&
		c.New.HasFinalizer(metav1.FinalizerDeleteDependents) && !c.Old.HasFinalizer(metav1.FinalizerDeleteDependents)
}

// mirrored reports whether the object has a twin, so that its finalizers and owner references are locked. It is false for a Machine API object without
// status.authoritativeAPI, unless that object requests Cluster API and is therefore to become a mirror. Such an object is locked at once, because a
// MachineSet's controller adopts a Machine as soon as it selects the Machine: it could delete another MachineSet's Machine together with the mirror.
func mirrored(c policies.Change, s standing) bool {
	return c.Facts.Twin != nil && (c.Side != policies.SideMachineAPI || s.Current != Unset || s.Requested == ClusterAPI)
}

// mayOwn reports whether the actor may change the owner references. A MachineSet's controller on the authoritative side may, because it adopts and releases its
// Machines. Cluster API's controllers may on objects that Poundlock did not make. Rows of Grants allow others.
//
// The ClusterVersion may become an owner of the release's MachineHealthCheck, which never moves: a refusal would refuse the whole request by which the
// cluster-version-operator updates that check. The owner of ACM's work is allowed, too (ownedByWork), and a person may remove a MachineDeployment as the owner
// (leavesDeployment).
func mayOwn(c policies.Change, s standing) bool {
	return Granted(c, ownersPath.String(), Writes) || controls(c.Actor, c.Side) && (sideOf(s.authoritative(), c.Side) || strange(c) && s.seenTo(c)) ||
		c.Side == policies.SideMachineAPI && ofRelease(c.Kind, c.Old) && changesOwners(c, configv1.GroupName, "ClusterVersion") || ownedByWork(c) ||
		leavesDeployment(c, s)
}

// leavesDeployment reports whether a person removes the MachineDeployment from the owners of a MachineSet and changes no other owner, while Cluster API is
// authoritative for the set or authority moves away from it. A set with such an owner cannot move to the Machine API, and nobody else removes the owner. The
// removal makes no controller act on a Machine: the set keeps its Machines, and a MachineDeployment that still selects the set adopts the set again.
func leavesDeployment(c policies.Change, s standing) bool {
	return c.Actor == policies.Anyone && c.Side == policies.SideClusterAPI && c.Kind == "MachineSet" && s.authoritative() == ClusterAPI &&
		changesOwners(c, clusterv1.GroupVersion.Group, MachineDeployment) &&
		!slices.ContainsFunc(c.New.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool {
			return !slices.ContainsFunc(c.Old.Metadata.OwnerReferences, func(o metav1.OwnerReference) bool { return sameJSON(o, r) })
		})
}

// workGroup and appliedWork are the group and kind of the owner that ACM adds, beside other owners, to each object in a ManifestWork of its hub. ACM removes
// the owner when the ManifestWork no longer contains the object. Without the owner, the ManifestWork keeps reporting that it could not be applied.
const workGroup, appliedWork = "work.open-cluster-management.io", "AppliedManifestWork"

// ownedByWork reports whether a request changes only owners that are AppliedManifestWorks, and leaves none of these as the controlling owner. So the MachineSet
// that controls a Machine stays its owner. When the AppliedManifestWork is deleted, the object is deleted, with the same effect as a person's deletion of it.
func ownedByWork(c policies.Change) bool {
	return changesOwners(c, workGroup, appliedWork) && !slices.ContainsFunc(c.New.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.Kind == appliedWork && r.Controller != nil && *r.Controller
	})
}

// FinalizerFence refuses that the Machine API's machine finalizer is added to a Machine for which Machine API is not authoritative. The Machine API's machine
// controllers add this finalizer before they call a cloud. Controllers whose feature gate is off act whatever the status is, but without the finalizer they
// never call a cloud (DESIGN §3.3).
func FinalizerFence(c policies.Change) policies.Verdict {
	s := stand(c)
	added := c.New.HasFinalizer(MachineAPIMachineFinalizer) && !c.Old.HasFinalizer(MachineAPIMachineFinalizer)
	if c.Actor == policies.Poundlock || !added || fenceOpen(s) {
		return policies.Verdict{}
	}
	remedy := "and create the Machine again" // The message does not advise to request Machine API: beside a Cluster API Machine, that is refused, too.
	if c.Old != nil {
		remedy = "or move the Machine first: " + moveTo(c, MachineAPI)
	}
	return policies.Deny(field.Forbidden(finalizersPath, fmt.Sprintf(
		"%s is added by the Machine API's controllers before they create an instance, but Machine API is not authoritative for this Machine (authoritativeAPI is "+
			"%s): leave the finalizer out, %s",
		MachineAPIMachineFinalizer, authorityText(s), remedy)))
}

func fenceOpen(s standing) bool {
	if s.Current == Unset {
		return s.Requested == Unset || s.Requested == MachineAPI
	}
	return s.Current == MachineAPI
}

func authorityText(s standing) API {
	if s.Current == Unset {
		return s.Requested
	}
	return s.Current
}

// ownStatus are the fields of status that only Poundlock writes: which API is authoritative, which API the mirror is made from, and from which generation.
var ownStatus = []string{"authoritativeAPI", "synchronizedAPI", "synchronizedGeneration"}

// StatusOwned refuses changes of the fields and conditions of status that only Poundlock writes (ownStatus, reportedConditions). It also refuses a condition
// Paused by which controllers contradict the stored authority (outdated). The controllers of both APIs read in status which of them may act, so only one writer
// may write that (converting › API Extensions).
func StatusOwned(c policies.Change) policies.Verdict {
	if c.Actor == policies.Poundlock {
		return policies.Verdict{}
	}
	before, after, mayLeaveOut := statusFields(c.Old), statusFields(c.New), unmirrored(c.Old)
	var errs field.ErrorList
	for _, name := range ownStatus {
		if !sameJSON(before[name], after[name]) && !adopts(c, name, before[name], after[name]) && !(mayLeaveOut && nothing(after[name])) {
			errs = append(errs, field.Forbidden(statusPath.Child(name), ownStatusReason))
		}
	}
	was, is := synchronized(before), synchronized(after)
	if len(was)+len(is) > 0 && !sameJSON(was, is) && !(mayLeaveOut && len(is) == 0) {
		errs = append(errs, field.Forbidden(statusPath.Child("conditions").Key(ConditionSynchronized), ownStatusReason))
	}
	for _, name := range reportedConditions(c) {
		if is := ofType(after, name); len(is) > 0 && !sameJSON(ofType(before, name), is) {
			errs = append(errs, field.Forbidden(statusPath.Child("conditions").Key(name), ownStatusReason))
		}
	}
	if outdated(c, before, after) {
		errs = append(errs, field.Forbidden(statusPath.Child("conditions").Key(ConditionPaused), ownStatusReason))
	}
	return policies.Deny(errs...)
}

// outdated reports whether the Machine API's controllers write a Paused condition that contradicts the stored authority: they withdraw the acknowledgement of a
// pause that still holds, or acknowledge a pause that is over. The controllers write Paused by the authority that they have read. So the list of conditions in
// such a request is an older one, from a stale cache or a former leader, and was sent without a resourceVersion. The controller's next attempt has the stored
// value.
func outdated(c policies.Change, before, after map[string]json.RawMessage) bool {
	if !controls(c.Actor, c.Side) || c.Kind == ControlPlane {
		return false
	}
	paused := func(status map[string]json.RawMessage, is bool) bool {
		return slices.ContainsFunc(ofType(status, ConditionPaused), func(c map[string]any) bool { return (c["status"] == "True") == is })
	}
	switch Read(c.Old).Current {
	case Migrating:
		return paused(before, true) && paused(after, false) || !paused(before, true) && earlier(after, before)
	case ClusterAPI:
		return paused(before, true) && paused(after, false)
	case MachineAPI:
		return !paused(before, true) && paused(after, true)
	}
	return false
}

// earlier reports whether after has Paused=True with an earlier lastTransitionTime than the stored condition Paused, in before. If the stored condition is not
// True, such an acknowledgement is from an earlier pause. Both times were written by the controllers, so Poundlock's clock does not matter. If one of two
// leaders has a slow clock, its acknowledgement is refused until that clock has reached the stored time: the controller writes the time anew at each attempt.
func earlier(after, before map[string]json.RawMessage) bool {
	const at = "lastTransitionTime"
	return slices.ContainsFunc(ofType(after, ConditionPaused), func(is map[string]any) bool {
		return is["status"] == "True" && slices.ContainsFunc(ofType(before, ConditionPaused), func(was map[string]any) bool {
			now, _ := is[at].(string)
			then, _ := was[at].(string)
			return now != "" && now < then
		})
	})
}

// unmirrored reports whether Machine API is authoritative for an object that has no twin, and nobody requests a move. On such an object, a request may omit
// Poundlock's fields of status. A controller whose types lack these fields omits them from each status that it writes, and DefaultStatus restores them. If no
// replica of Poundlock runs to restore them, nothing is lost: Poundlock writes the fields again later, as for a new object. If such statuses were refused, the
// controller could write no status while Poundlock is away, even in a cluster in which nothing was ever moved.
func unmirrored(o *policies.Object) bool {
	return Read(o).Current == MachineAPI && askedFor(o) == MachineAPI && !o.HasFinalizer(SyncFinalizer)
}

const ownStatusReason = "only Poundlock writes this part of status. Only the Machine API's controllers write the condition Paused: they keep it True until " +
	"status.authoritativeAPI is MachineAPI, and do not set it to True after that. Read the object again, and patch only the other parts of status"

// reportedConditions returns the types of the conditions, beside Synchronized, that the actor may not add or change: a handoff continues when Paused
// acknowledges the pause, and the wait in AuthoritySettled decides what a person may write. There are none for the Machine API's controllers: they write Paused
// (outdated checks that), and send the other conditions as they read them, maybe some time ago. A request that omits one of the conditions does no harm: a
// handoff then waits.
func reportedConditions(c policies.Change) []string {
	switch {
	case controls(c.Actor, c.Side):
		return nil
	case c.Kind == ControlPlane: // its operator acknowledges nothing
		return []string{ConditionSettled}
	}
	return []string{ConditionSettled, ConditionPaused}
}

// adopts reports whether a request fills a field of status that had no value with the value that the defaulter status-default would write. That is the
// authority that the stored spec requests, or the synchronizedGeneration 0, which records that Cluster API's object exists. This is allowed because the Machine
// API's own controllers write the authority of a new object.
func adopts(c policies.Change, name string, before, after json.RawMessage) bool {
	s := Read(c.Old)
	if name == "synchronizedGeneration" {
		return s.Current == Unset && s.Requested == ClusterAPI && nothing(before) && string(after) == "0"
	}
	wanted := s.Requested
	if wanted == Unset {
		wanted = MachineAPI
	}
	return name == "authoritativeAPI" && s.Current == Unset && string(after) == fmt.Sprintf("%q", wanted)
}

func statusFields(o *policies.Object) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if o != nil {
		_ = json.Unmarshal(orNull(o.Status), &fields)
	}
	return fields
}

// synchronized returns the whole Synchronized condition, including fields that this build does not know. If the list has several such conditions, which is
// possible if no schema forbids it, synchronized returns all of them, because the second could contradict the first.
func synchronized(status map[string]json.RawMessage) []map[string]any {
	return ofType(status, ConditionSynchronized)
}

func ofType(status map[string]json.RawMessage, name string) []map[string]any {
	var conditions []map[string]any
	_ = json.Unmarshal(orNull(status["conditions"]), &conditions)
	return slices.DeleteFunc(conditions, func(c map[string]any) bool { return c["type"] != name })
}

// PausedOwned refuses that anybody but Poundlock adds or removes the pause annotation on an object with a twin. The exceptions are those of stops and lets. If
// somebody pauses a MachineSet that has Machines, the set becomes the mirror, and PausedOwned warns about that. "Admission control will ensure that the value
// cannot be changed by users" (converting › Pausing of Cluster API controllers).
func PausedOwned(c policies.Change) policies.Verdict {
	if c.Actor == policies.Poundlock || c.Facts.Twin == nil {
		return policies.Verdict{}
	}
	for _, m := range metadataChanges(c) {
		switch {
		case !pauses(c, m):
		case !stops(c, m) && !lets(c, m):
			return policies.Deny(field.Forbidden(m.path(), pausedReason(c)))
		case !m.removed && c.Kind == "MachineSet" && HasMachines(c.Old):
			return policies.Warn(pausedWithMachines(c))
		}
	}
	return policies.Verdict{}
}

// stops reports whether somebody pauses an object that Poundlock did not make and on which Cluster API acts, while Machine API is authoritative for its twin:
// the pause makes the object the mirror (ForeignTo).
func stops(c policies.Change, m metadataChange) bool {
	return stand(c).mirror() && !m.removed && !c.Old.HasAnnotation(PausedAnnotation) && !c.Old.HasAnnotation(MirrorAnnotation)
}

// lets reports whether somebody unpauses an object that Poundlock did not make and that is being deleted: its own controllers have to complete the
// deletion.
func lets(c policies.Change, m metadataChange) bool {
	return m.removed && c.Old.Deleting() && (strange(c) || keepsStrangersInstance(c))
}

// keepsStrangersInstance reports whether the object under review is what a provider keeps for an instance, and that instance is known not to belong to the
// Machine API Machine. If this Machine has no spec.providerID, that is known only while the Machine has no machine finalizer: without that finalizer the
// Machine API's controllers have not asked for an instance.
func keepsStrangersInstance(c policies.Change) bool {
	id := providerID(c.Facts.Twin)
	return c.Kind == InfraInstance && (Objects{InfraInstance: c.Old}).keptForOtherInstance(id) &&
		(id != "" || !c.Facts.Twin.HasFinalizer(MachineAPIMachineFinalizer))
}

// CheckPaused refuses that anybody but Poundlock changes or removes the pause annotation that Poundlock has set on a Machine API MachineHealthCheck, while the
// check is not authoritative or its authority moves.
func CheckPaused(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || !s.locked() {
		return policies.Verdict{}
	}
	for _, m := range metadataChanges(c) {
		if !pauses(c, m) {
			continue
		}
		if s.moving() {
			return policies.Deny(field.Forbidden(m.path(), pausedReason(c)))
		}
		return policies.Deny(field.Forbidden(m.path(), CheckPausedReason+moveTo(c, MachineAPI)))
	}
	return policies.Verdict{}
}

// CheckPausedReason says why nobody may unpause the Machine API's check. The command that moves authority follows this text.
const CheckPausedReason = "Cluster API's check is authoritative. The Machine API's controller does not read authoritativeAPI, and only this annotation " +
	"keeps that controller from remediating Machines too: keep the annotation, also in a manifest that replaces the object. " +
	"To stop remediations for a while, " + checkAtRest + ". To let this check act, move authority: "

// checkAtRest says how a person stops the remediations of a Cluster API check. It has the effect of a pause, but only Poundlock may pause that check.
const checkAtRest = "set spec.remediation.triggerIf.unhealthyLessThanOrEqualTo of Cluster API's check to 0"

// pausedWithMachines returns the warning about the Machines of a MachineSet that becomes the mirror.
func pausedWithMachines(c policies.Change) string {
	return fmt.Sprintf("this MachineSet becomes the mirror of %s, and then nobody can unpause the set. Poundlock creates no Machine API object for those of its "+
		"Machines (%d) that have none, and nothing replaces these Machines. Neither set can migrate until you have deleted each of them with its instance",
		there(c), setReplicas(c.Old))
}

func pausedReason(c policies.Change) string {
	s := stand(c)
	switch {
	case s.moving():
		return "Poundlock pauses and unpauses this object while its authority moves: " + transitReason(c, s)
	case s.mirror():
		return fmt.Sprintf("Machine API is authoritative, so Cluster API must stay paused for this object. To let Cluster API act, move authority: %s",
			moveTo(c, ClusterAPI))
	}
	rest := ""
	if c.Kind == "MachineHealthCheck" {
		rest = "To stop remediations for a while, " + checkAtRest + ". "
	}
	return fmt.Sprintf("Poundlock pauses and unpauses an object that %s mirrors. %sTo stop Cluster API from acting on the object, move authority: %s",
		there(c), rest, moveTo(c, MachineAPI))
}
