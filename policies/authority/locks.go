// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies"
)

var (
	specPath       = field.NewPath("spec")
	authorityField = "spec.authoritativeAPI"
)

// SpecLocked refuses changes of the spec of the object that is not authoritative: "any update to a non-authoritative resource is only performed by the sync
// controller itself" (converting › Admission of non-authoritative resources).
func SpecLocked(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || !s.mirror() || s.seenTo(c) {
		return policies.Verdict{}
	}
	reason := lockedReason(c, s, "")
	v := denySpec(c, reason, mayChange(c)...)
	if c.Side == policies.SideMachineAPI && slices.ContainsFunc(v.Denials, func(e *field.Error) bool { return ofProviderSpec.MatchString(e.Field) }) {
		for _, e := range v.Denials {
			if e.Detail == reason {
				e.Detail = lockedReason(c, s, InfraInstead)
			}
		}
	}
	return v
}

// OfProviderSpec is a regular expression for the beginning of a field's path inside a providerSpec, either of a Machine or of a set's template.
const OfProviderSpec = `spec[.](template[.]spec[.])?providerSpec[.]`

var ofProviderSpec = regexp.MustCompile("^" + OfProviderSpec)

// mayChange returns the paths that the lock of a spec lets a request change: the request for another API, and the fields in rows of Grants.
func mayChange(c policies.Change) []string {
	granted := grantedFields(c, "spec")
	if c.Side == policies.SideMachineAPI {
		return append(granted, authorityField)
	}
	return granted
}

// lockedReason returns the message of a lock, including the remedies. infra is InfraInstead or "".
func lockedReason(c policies.Change, s standing, infra string) string {
	if s.Current == Unset {
		return fmt.Sprintf("status.authoritativeAPI of %s is not set yet. Poundlock sets it within moments of the object's creation: try again then",
			there(c))
	}
	return fmt.Sprintf("%s is authoritative for this %s: change %s instead%s%s%s%s%s",
		s.authoritative().Text(), c.Kind, there(c), infra, scaleInstead(c), hookInstead(c), templateInstead(c), orMove(c, s.authoritative().Other()))
}

// InfraInstead is the part of a lock's message that says where Cluster API has the fields that the Machine API has in a providerSpec.
const InfraInstead = " (the fields of providerSpec are in the object that its infrastructureRef names)"

// TemplateInstead is the part of a lock's message about spec.template.spec.authoritativeAPI. It is the only field of a set's template that has an effect while
// Machine API scales the set, but has no counterpart in Cluster API.
const TemplateInstead = " (except spec.template.spec.authoritativeAPI: Cluster API has no such field, and the field only has an effect while Machine API " +
	"scales " +
	"the set)"

func templateInstead(c policies.Change) string {
	if c.Side != policies.SideMachineAPI || c.Kind != "MachineSet" || c.Old == nil || c.New == nil || templateAuthority(c.Old) == templateAuthority(c.New) {
		return ""
	}
	return TemplateInstead
}

// orMove returns the end of a lock's message, with the other remedy: to move the object. An object that is being deleted cannot be moved (RequestBlocked), and
// orMove then says so.
func orMove(c policies.Change, to API) string {
	if c.Old.Deleting() || c.Side != policies.SideMachineAPI && c.Facts.Twin.Deleting() {
		return ". The object is being deleted, so its authority can no longer move"
	}
	return ", or move it first: " + moveTo(c, to)
}

// scaleInstead returns the part of a lock's message with the command that scales the twin (the command of ScaleLocked), if the request changes replicas in the
// object itself. The console, an apply or an editor does that. It returns "" for any other request.
func scaleInstead(c policies.Change) string {
	if c.Kind != "MachineSet" || c.Subresource != "" || c.Operation != admissionv1.Update || sameReplicas(c) {
		return ""
	}
	return " (to change replicas: " + scaleThere(c) + ")"
}

// InTransit refuses changes of the specs of both objects while authority moves, so that the target gets exactly the spec that the source had.
func InTransit(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || !s.moving() {
		return policies.Verdict{}
	}
	return denySpec(c, transitReason(c, s), mayChange(c)...)
}

func transitReason(c policies.Change, s standing) string {
	if s.SynchronizedAPI == Unset {
		return fmt.Sprintf("authority over this %s is moving: try again in a moment, or set spec.authoritativeAPI of the Machine API object back to cancel the move",
			kindOf(c))
	}
	why := fmt.Sprintf("authority over this %s is moving from %s to %s: try again in a moment", kindOf(c),
		s.SynchronizedAPI.Text(), s.SynchronizedAPI.Other().Text())
	if s.Requested == s.SynchronizedAPI {
		return why
	}
	return fmt.Sprintf("%s, or cancel the move: %s", why, moveTo(c, s.SynchronizedAPI))
}

// InfraLocked refuses changes and deletions of a provider's object while Machine API is authoritative. Cluster API will act on that object after a move.
func InfraLocked(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || !s.locked() || s.seenTo(c) {
		return policies.Verdict{}
	}
	mirrors := "mirrors"
	if c.Kind == InfraInstance {
		mirrors = "belongs to the mirror of"
	}
	reason := fmt.Sprintf("this %s %s %s, for which Machine API is authoritative: change that object instead%s",
		kindOf(c), mirrors, there(c), orMove(c, ClusterAPI))
	if s.moving() {
		reason = transitReason(c, s)
	}
	if c.Operation == admissionv1.Delete {
		return denyInfraDelete(c, reason)
	}
	return merge(denySpec(c, reason, grantedFields(c, "spec")...), denyInfraMetadata(c, reason))
}

// kindOf returns the object's own kind, such as AWSMachine. It returns the rules' name for the kind instead if a manifest has no kind, and in a review of
// /scale, which has a Scale in place of the object.
func kindOf(c policies.Change) string {
	o := c.Old
	if o == nil {
		o = c.New
	}
	if (c.Side == policies.SideInfrastructure || c.Kind == InfraCluster) && o != nil && o.Kind != "" {
		return o.Kind
	}
	return c.Kind
}

// denyInfraDelete refuses the deletion of a provider's object. It allows deletions by the garbage collector and the namespace controller, because these follow
// another deletion. It also allows anybody to delete an object that keeps a Machine from moving (keepsOther, keptInTheWay).
func denyInfraDelete(c policies.Change, reason string) policies.Verdict {
	path := field.NewPath("metadata", "name")
	if Granted(c, path.String(), Deletes) || strange(c) || keepsOther(c) || keptInTheWay(c) {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(path, "you cannot delete this object: "+reason))
}

// keepsOther reports whether the object under review is kept for another instance than that of the Machine, which Machine API runs. While such an object
// exists, the Machine cannot move. The object is paused, so its deletion terminates nothing.
func keepsOther(c policies.Change) bool {
	id := providerID(c.Facts.Twin)
	return c.Kind == InfraInstance && id != "" && Read(c.Facts.Twin).Current == MachineAPI && c.Old.HasAnnotation(PausedAnnotation) &&
		(Objects{InfraInstance: c.Old}).keptForOtherInstance(id)
}

// keptInTheWay reports whether the object under review was made by a person, has the name of what a provider keeps for the Machine's instance (ForeignKept),
// and can be deleted without terminating that instance. Machine API runs the Machine. The deletion terminates nothing of the Machine if the object is paused,
// or if it is kept for another instance.
func keptInTheWay(c policies.Change) bool {
	return c.Kind == InfraInstance && Read(c.Facts.Twin).Current == MachineAPI && ForeignKept(c.Old, c.Facts.Twin) &&
		(c.Old.HasAnnotation(PausedAnnotation) || keepsStrangersInstance(c))
}

// denyInfraMetadata refuses changes of the metadata of a provider's object. It allows the changes about which other rules decide. These are changes of the
// pause annotation, of labels and annotations that Cluster API propagates, and of owner references and finalizers that the garbage collector and the provider's
// controllers write.
func denyInfraMetadata(c policies.Change, reason string) policies.Verdict {
	var errs field.ErrorList
	for _, m := range metadataChanges(c) {
		switch {
		case m.key == PausedAnnotation || free(m) || m.granted(c):
		case m.marks(stand(c)):
			errs = append(errs, field.Forbidden(m.path(), markReason(c)))
		default:
			errs = append(errs, field.Forbidden(m.path(), reason))
		}
	}
	if !sameOwners(c) && !Granted(c, ownersPath.String(), Writes) {
		errs = append(errs, field.Forbidden(ownersPath, reason))
	}
	if !sameSet(c.Old.Metadata.Finalizers, c.New.Metadata.Finalizers) && !Granted(c, finalizersPath.String(), Writes) && !holdsAsItsProvider(c) &&
		!endsItsDeletion(c) {
		errs = append(errs, field.Forbidden(finalizersPath, reason))
	}
	return policies.Deny(errs...)
}

// holdsAsItsProvider reports whether a request only adds the provider's own finalizer to an object of the provider, in one of the two cases in which anybody
// may add it. Nobody acts because of a finalizer. The first case is a provider whose controllers have no account of their own (Provider.Account). vSphere's
// controllers add the finalizer before they check for a pause, so if they were refused, they would never acknowledge a pause. The second case is a machine that
// Poundlock did not make and that may have lost the finalizer, for example in a restore. Without the finalizer, Cluster API would take the machine for
// terminated, and its instance would be left behind.
func holdsAsItsProvider(c policies.Change) bool {
	return (hasNoAccount(c.Old.Kind) || strange(c) || keepsStrangersInstance(c)) &&
		sameSet(append(slices.Clone(c.Old.Metadata.Finalizers), InfraFinalizer(c.Resource.Group, c.Old.Kind)), c.New.Metadata.Finalizers)
}

// endsItsDeletion reports whether a request only removes finalizers from an object that is being deleted, and no cleanup is lost by that. No cleanup is lost if
// the finalizers are neither the provider's nor Poundlock's, or if Machine API runs the instance and the provider does nothing for the object. The provider
// does nothing for an object that is paused, and for an infrastructure machine that no Machine owns.
func endsItsDeletion(c policies.Change) bool {
	if !c.Old.Deleting() {
		return false
	}
	idle := c.Old.HasAnnotation(PausedAnnotation) || c.Kind == InfraMachine && len(MachineOwners(c.Old)) == 0
	stands := idle && Read(c.Facts.Twin).Current == MachineAPI
	own := []string{InfraFinalizer(c.Resource.Group, c.Old.Kind), SyncFinalizer}
	for _, f := range c.Old.Metadata.Finalizers {
		if !c.New.HasFinalizer(f) && slices.Contains(own, f) && !stands {
			return false
		}
	}
	return !slices.ContainsFunc(c.New.Metadata.Finalizers, func(f string) bool { return !c.Old.HasFinalizer(f) })
}

// ScaleLocked refuses changes of replicas through the /scale subresource of a locked object. `kubectl scale` writes there. SpecLocked refuses changes of
// replicas in the object itself.
func ScaleLocked(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || !s.locked() || sameReplicas(c) {
		return policies.Verdict{}
	}
	path := specPath.Child("replicas")
	if s.moving() {
		return policies.Deny(field.Forbidden(path, transitReason(c, s)))
	}
	if Granted(c, path.String(), Writes) {
		return policies.Verdict{}
	}
	if s.Current == Unset {
		return policies.Deny(field.Forbidden(path, lockedReason(c, s, "")))
	}
	return policies.Deny(field.Forbidden(path, fmt.Sprintf("%s is authoritative for this %s, so scale it in that API: %s",
		s.authoritative().Text(), c.Kind, scaleThere(c))))
}

func scaleThere(c policies.Change) string {
	group := machinev1beta1.GroupName
	if c.Side == policies.SideMachineAPI {
		group = clusterv1.GroupVersion.Group
	}
	return fmt.Sprintf("kubectl -n %s scale %s.%s %s --replicas=%d", c.TwinNamespace, c.Resource.Resource, group, c.Name, replicas(c.New))
}

func sameReplicas(c policies.Change) bool { return replicas(c.Old) == replicas(c.New) }

func replicas(o *policies.Object) int64 {
	var spec struct {
		Replicas int64 `json:"replicas"`
	}
	if o != nil {
		_ = json.Unmarshal(orNull(o.Spec), &spec)
	}
	return spec.Replicas
}

// maxNamed is the maximum number of differences that the message of a lock names. If, for example, the whole spec was rewritten, nobody would read more of
// them.
const maxNamed = 10

// denySpec refuses a change of the spec, with one error for each field that differs. reason is the message of each error. The paths in except may differ.
func denySpec(c policies.Change, reason string, except ...string) policies.Verdict {
	compare := contentOf(c)
	compare.Except, compare.Most = except, maxNamed
	diffs, more, err := compare.Differences(specPath, c.Old.Spec, c.New.Spec)
	if err != nil {
		return policies.Deny(field.Invalid(specPath, field.OmitValueType{}, err.Error()))
	}
	if more == 0 {
		diffs = slices.DeleteFunc(diffs, func(d policies.Difference) bool { return filledIn(c, d) })
	}
	var errs field.ErrorList
	for _, d := range diffs {
		errs = append(errs, field.Forbidden(d.Path, reason))
	}
	if more > 0 {
		errs = append(errs, field.Forbidden(specPath, "and "+amount.Of(more, "more field")))
	}
	return policies.Deny(errs...)
}

// contentOf returns how the spec of an object is compared. The fields that a provider reads are compared exactly, because in them an empty object has a
// meaning, for example a request for spot instances. In the fields that the APIs themselves define, empty and absent mean the same.
func contentOf(c policies.Change) policies.Comparison {
	if c.Side == policies.SideInfrastructure {
		return policies.Comparison{Exact: []string{specPath.String()}}
	}
	return policies.Comparison{Exact: ProviderSpecFields()}
}

// ProviderSpecFields returns the paths of those fields of the Machine API's objects that a provider reads.
func ProviderSpecFields() []string {
	return []string{"spec.providerSpec", "spec.template.spec.providerSpec"}
}

// changesSpec reports whether an update changes the meaning of the spec.
func changesSpec(c policies.Change) bool {
	compare := contentOf(c)
	compare.Most = 1
	diffs, _, err := compare.Differences(specPath, c.Old.Spec, c.New.Spec)
	return err != nil || len(diffs) > 0
}

func merge(vs ...policies.Verdict) policies.Verdict {
	var out policies.Verdict
	for _, v := range vs {
		out.Denials = append(out.Denials, v.Denials...)
		out.Warnings = append(out.Warnings, v.Warnings...)
	}
	return out
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// sameOwners reports whether an update leaves the owner references as they are. It treats an absent list and an empty one as equal.
func sameOwners(c policies.Change) bool {
	before, after := c.Old.Metadata.OwnerReferences, c.New.Metadata.OwnerReferences
	return len(before)+len(after) == 0 || sameJSON(before, after)
}

func sameSet(a, b []string) bool {
	x, y := slices.Clone(a), slices.Clone(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
