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

// FinalizersOwned: the sync finalizer lets Poundlock see a deletion in time, and the owner references of a
// mirrored object say what the collector does to it (converting › Deletion of Machines).
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
			"with the finalizer %s, each later deletion of this %s would be a foreground deletion, also one by a controller. The garbage collector would then "+
				"delete providers' machines without waiting for hooks, and before Nodes are drained. Leave the finalizer out. To delete in the foreground once: %s "+
				"--cascade=foreground",
			metav1.FinalizerDeleteDependents, c.Kind, deleteCommand(c))))
	}
	if !mayOwn(c, s) && !sameOwners(c) {
		errs = append(errs, field.Forbidden(ownersPath, fmt.Sprintf(
			"owner references decide what is deleted together, on %s too. Only Poundlock and the controllers of the authoritative API may change them", there(c))))
	}
	return policies.Deny(errs...)
}

// asksForForeground reports whether a request adds to a Cluster API object the finalizer that turns a later deletion into one in the foreground. The API server
// adds it itself, in such a deletion. Without one, nobody would see it before the garbage collector or a controller deletes the object, and of those nobody
// is refused a deletion.
func asksForForeground(c policies.Change) bool {
	return c.Side == policies.SideClusterAPI && slices.Contains([]string{"Machine", "MachineSet"}, c.Kind) &&
		c.New.HasFinalizer(metav1.FinalizerDeleteDependents) && !c.Old.HasFinalizer(metav1.FinalizerDeleteDependents)
}

// mirrored reports whether the object has a twin. A Machine API object without a status stays editable, unless it is to become a mirror: a MachineSet's
// controller adopts what it selects at once, and could delete another MachineSet's Machine with it.
func mirrored(c policies.Change, s standing) bool {
	return c.Facts.Twin != nil && (c.Side != policies.SideMachineAPI || s.Current != Unset || s.Requested == ClusterAPI)
}

// mayOwn reports whether the actor may change the owner references. A MachineSet's controller on the authoritative side adopts and releases its Machines;
// so do Cluster API's controllers with objects that Poundlock did not make. Rows of Grants allow others. The ClusterVersion may own the release's check,
// which never moves: if that were refused, so would be all that the release wants of the check. The owner of ACM's work is
// allowed, too, and a person may take a MachineDeployment's away.
func mayOwn(c policies.Change, s standing) bool {
	return Granted(c, ownersPath.String(), Writes) || controls(c.Actor, c.Side) && (sideOf(s.authoritative(), c.Side) || strange(c) && s.seenTo(c)) ||
		c.Side == policies.SideMachineAPI && ofRelease(c.Kind, c.Old) && changesOwners(c, configv1.GroupName, "ClusterVersion") || ownedByWork(c) ||
		leavesDeployment(c, s)
}

// leavesDeployment reports whether a person takes a MachineSet for which Cluster API is authoritative, or that is moving from it, off its MachineDeployment
// and changes no other owner. Such a set cannot move to the Machine API, and nobody else takes the owner away. No controller acts on a Machine by it: the
// set keeps its Machines, and a MachineDeployment that still selects it adopts it again.
func leavesDeployment(c policies.Change, s standing) bool {
	return c.Actor == policies.Anyone && c.Side == policies.SideClusterAPI && c.Kind == "MachineSet" && s.authoritative() == ClusterAPI &&
		changesOwners(c, clusterv1.GroupVersion.Group, MachineDeployment) &&
		!slices.ContainsFunc(c.New.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool {
			return !slices.ContainsFunc(c.Old.Metadata.OwnerReferences, func(o metav1.OwnerReference) bool { return sameJSON(o, r) })
		})
}

// The owner that ACM adds, beside others, to each object that a ManifestWork of its hub contains, and removes when the work no longer contains it. Without
// that owner, the work keeps reporting that it could not be applied.
const workGroup, appliedWork = "work.open-cluster-management.io", "AppliedManifestWork"

// ownedByWork reports whether a request changes only owners of that kind, and none that controls. Deleting them deletes the object, as a person's deletion
// would: the set that controls a Machine stays its owner.
func ownedByWork(c policies.Change) bool {
	return changesOwners(c, workGroup, appliedWork) && !slices.ContainsFunc(c.New.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.Kind == appliedWork && r.Controller != nil && *r.Controller
	})
}

// FinalizerFence: the Machine API's machine controllers add their finalizer before they call a cloud. Those whose feature gate is off act whatever the
// status is, but without the finalizer they never call a cloud (DESIGN §3.3).
func FinalizerFence(c policies.Change) policies.Verdict {
	s := stand(c)
	added := c.New.HasFinalizer(MachineAPIMachineFinalizer) && !c.Old.HasFinalizer(MachineAPIMachineFinalizer)
	if c.Actor == policies.Poundlock || !added || fenceOpen(s) {
		return policies.Verdict{}
	}
	remedy := "and create the Machine again" // not for Machine API: beside a Cluster API Machine that is refused, too
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

// ownStatus are the fields of status that say which API is authoritative, and since which generation that is mirrored.
var ownStatus = []string{"authoritativeAPI", "synchronizedAPI", "synchronizedGeneration"}

// StatusOwned: status is where the two APIs' controllers read who may act, so only one writer may write it (converting › API Extensions).
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

// outdated reports whether the Machine API's controllers turn Paused against the authority that is stored: they withdraw the acknowledgement of a pause that
// still holds, or acknowledge one that is over. They write what they have read that authority is, so this is an older list of conditions, from a stale cache
// or a former leader, without a resourceVersion. Sent again, it has the stored value.
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

// earlier reports whether Paused is True since a time before the stored one, which is not True: it is from a pause before this one. Only times that the
// controllers have written are compared, so that no clock of Poundlock's counts. If one of two leaders has a slow clock, its acknowledgement is refused until
// that has reached the time stored: it writes the time anew at each attempt.
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

// unmirrored reports whether Machine API runs an object that has no twin, and nobody asks for another authority. A controller whose types lack Poundlock's
// fields omits them from each status, and DefaultStatus restores them. If no replica does that, nothing is lost: Poundlock writes the fields again, as for
// a new object. If such statuses were refused, the controller could write none while Poundlock is away, even in a cluster in which nothing was ever moved.
func unmirrored(o *policies.Object) bool {
	return Read(o).Current == MachineAPI && askedFor(o) == MachineAPI && !o.HasFinalizer(SyncFinalizer)
}

const ownStatusReason = "only Poundlock writes this. Only the Machine API's controllers write the condition Paused: they keep it True until " +
	"status.authoritativeAPI is MachineAPI, and do not set it to True after that. Read the object again, and patch only the other parts of status"

// reportedConditions are the conditions beside Synchronized that nobody else may add or change: a handoff continues when Paused acknowledges the pause, and
// the wait in AuthoritySettled decides what a person may write. The Machine API's controllers write Paused (outdated), and send the others as they read them,
// maybe some time ago. Omitting one does no harm: a handoff then waits.
func reportedConditions(c policies.Change) []string {
	switch {
	case controls(c.Actor, c.Side):
		return nil
	case c.Kind == ControlPlane: // its operator acknowledges nothing
		return []string{ConditionSettled}
	}
	return []string{ConditionSettled, ConditionPaused}
}

// adopts allows what the defaulter status-default itself would write: the stored spec's value, where there was none, and that Cluster API's object exists. The
// Machine API's own controllers write the authority of a new object.
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

// synchronized is the Synchronized condition whole, fields that this build does not know included. Where no schema forbids a second one, that is included
// too, because it could contradict the first.
func synchronized(status map[string]json.RawMessage) []map[string]any {
	return ofType(status, ConditionSynchronized)
}

func ofType(status map[string]json.RawMessage, name string) []map[string]any {
	var conditions []map[string]any
	_ = json.Unmarshal(orNull(status["conditions"]), &conditions)
	return slices.DeleteFunc(conditions, func(c map[string]any) bool { return c["type"] != name })
}

// PausedOwned: "Admission control will ensure that the value cannot be changed by users"
// (converting › Pausing of Cluster API controllers).
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

// stops reports whether somebody pauses an object that Poundlock did not make and Cluster API acts on, while Machine API is authoritative for its twin:
// that makes it the mirror (ForeignTo).
func stops(c policies.Change, m metadataChange) bool {
	return stand(c).mirror() && !m.removed && !c.Old.HasAnnotation(PausedAnnotation) && !c.Old.HasAnnotation(MirrorAnnotation)
}

// lets reports whether somebody unpauses an object that Poundlock did not make and that is being deleted: its own controllers have to complete the
// deletion.
func lets(c policies.Change, m metadataChange) bool {
	return m.removed && c.Old.Deleting() && (strange(c) || keepsStrangersInstance(c))
}

// keepsStrangersInstance reports whether the object under review is kept for an instance that is known not to be the Machine API Machine's. Where that has none
// in its spec.providerID, it may not have asked for one either.
func keepsStrangersInstance(c policies.Change) bool {
	id := providerID(c.Facts.Twin)
	return c.Kind == InfraInstance && (Objects{InfraInstance: c.Old}).keptForOtherInstance(id) &&
		(id != "" || !c.Facts.Twin.HasFinalizer(MachineAPIMachineFinalizer))
}

// CheckPaused keeps the pause of a Machine API check that is not authoritative.
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

// CheckPausedReason is why nobody unpauses it, but for the command that follows.
const CheckPausedReason = "Cluster API's check is authoritative. The Machine API's controller does not read authoritativeAPI, and only this annotation " +
	"keeps it from remediating Machines too: keep the annotation, also in a manifest that replaces the object. " +
	"To stop remediations for a while, " + checkAtRest + ". To let this check act, move authority: "

// checkAtRest stops a check of Cluster API as a pause does, which is Poundlock's.
const checkAtRest = "set spec.remediation.triggerIf.unhealthyLessThanOrEqualTo of Cluster API's check to 0"

// pausedWithMachines warns of what becomes of the Machines of a MachineSet that becomes the mirror.
func pausedWithMachines(c policies.Change) string {
	return fmt.Sprintf("this MachineSet becomes the mirror of %s, and then nobody can unpause it. Poundlock creates no Machine API object for those of its "+
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
	return fmt.Sprintf("Poundlock pauses and unpauses an object that %s mirrors. %sTo stop Cluster API from acting on it, move authority: %s",
		there(c), rest, moveTo(c, MachineAPI))
}
