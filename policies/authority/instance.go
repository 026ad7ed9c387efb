// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/poundlock/poundlock/policies"
)

// Instance is what a move knows about the instance of a Machine. The move must know it: if the source has asked a cloud for an instance and has not stored the
// answer yet, a move would leave that instance behind, and the target would create a second one.
type Instance uint8

// The values of Instance.
const (
	// InstanceUnknown: the source may have asked for an instance whose ID is not in both objects yet.
	InstanceUnknown Instance = iota
	// InstanceStarting: the ID is in both objects, and the source is still provisioning the Machine.
	InstanceStarting
	// InstanceKnown: the ID is in both objects, or the kind has no instance.
	InstanceKnown
	// InstanceNotRequested: nobody has asked for an instance.
	InstanceNotRequested
	// InstanceShared: another Machine has the same ID.
	InstanceShared
	// InstanceAlsoKept: for the same ID the provider keeps another object, which does not belong to the pair. The controller of that object acts on the instance
	// too.
	InstanceAlsoKept
	// InstanceOfAnother: Cluster API is authoritative, and the provider's machine to which the Cluster API Machine refers belongs to another Machine.
	InstanceOfAnother
)

const (
	// UntouchedAnnotation records that Poundlock adopted a Machine API Machine before the Machine API's controllers had added their finalizer. They add it before
	// they call a cloud, so they cannot have asked for an instance. The annotation's value is the UID of the Machine, so that the annotation proves nothing about
	// a copy of the Machine.
	UntouchedAnnotation = Domain + "/untouched"
	// NoInstanceAnnotation, on a Machine API Machine, is a person's decision that no instance exists. The annotation's value is the NoInstanceToken of the wait
	// that the person decides about, so that the decision counts only for that wait.
	NoInstanceAnnotation = Domain + "/no-instance"
)

// NoInstanceToken returns the value of NoInstanceAnnotation that answers a wait for ReasonInstanceUnknown. since is the time at which the wait began. The waits
// before and after the pause of the source have different values, because what a person saw before the pause may have changed by then.
func NoInstanceToken(current API, since time.Time) string {
	return string(current) + "-" + since.UTC().Format("20060102T150405Z")
}

// instance returns what the objects prove about the instance in a move away from source. It decides by the source's objects, because the target is paused now
// and was paused before.
func (o Objects) instance(source API, shape Shape) Instance {
	machine, core, infra := providerID(o.MachineAPI), providerID(o.ClusterAPI), providerID(o.Infra)
	switch known := machine != "" && agrees(core, machine) && agrees(infra, machine) && !o.keptForOtherInstance(machine); {
	case !o.Kind.InfraActs():
		return InstanceKnown
	case source == ClusterAPI && o.ClusterAPI != nil && InfraOfAnother(o.Infra, o.ClusterAPI.Metadata.Name) != "":
		return InstanceOfAnother
	case len(o.Holders) > 0:
		return InstanceShared
	case len(o.AlsoKept) > 0:
		return InstanceAlsoKept
	case source == MachineAPI && known && infra != "": // the provider's controller finds the instance by the ID in the provider's machine
		return o.started(shape)
	case source == ClusterAPI && known && (infra != "" || core != ""):
		return o.seen()
	case machine+core+infra != "":
		return InstanceUnknown
	case source == MachineAPI && o.Untouched() && o.MachineAPI.Metadata.Annotations[UntouchedAnnotation] == string(o.MachineAPI.Metadata.UID), o.decided(shape):
		return InstanceNotRequested
	}
	return InstanceUnknown
}

// MayBeCreating reports whether Cluster API's controllers, which are being paused, may be creating an instance at this moment. They may if no object has an
// instance ID, and no person has decided since the pause that there is no instance.
func (o Objects) MayBeCreating() bool {
	o = o.own()
	shape := Read(o.MachineAPI)
	return shape.Current == Migrating && shape.SynchronizedAPI == ClusterAPI &&
		providerID(o.MachineAPI)+providerID(o.ClusterAPI)+providerID(o.Infra) == "" && o.instance(ClusterAPI, shape) == InstanceUnknown
}

// agrees reports whether has, the ID in an object, is this ID or empty.
func agrees(has, id string) bool { return has == "" || has == id }

// started returns InstanceKnown if the Machine of a move to Cluster API is provisioned, and InstanceStarting otherwise. The condition "The Machine API Machine
// must be … provisioned" applies only to moves to Cluster API.
func (o Objects) started(shape Shape) Instance {
	if shape.Phase == "" || shape.Phase == "Provisioning" || !provisioned(o.Infra) {
		return InstanceStarting
	}
	return InstanceKnown
}

// seen returns InstanceKnown if Cluster API's controllers have found the instance at least once, or if there is no provider's machine. It returns
// InstanceStarting otherwise, because for some time after a cloud has created an instance, the cloud may answer that the instance does not exist. If the
// Machine API's controllers do not find the instance of an ID, they mark the Machine as failed for good, and later delete the Machine without its instance.
// Cluster API's core controller records in status that the instance was found. An instance that was stopped later has been found too.
func (o Objects) seen() Instance {
	if o.Infra == nil || provisioned(o.Infra) || found(o.ClusterAPI) {
		return InstanceKnown
	}
	return InstanceStarting
}

// found reports whether Cluster API's Machine was provisioned at some time, or has failed for good. It reads the status of either API version.
func found(core *policies.Object) bool {
	var status struct {
		Phase               string `json:"phase"`
		InfrastructureReady bool   `json:"infrastructureReady"`
		Initialization      struct {
			InfrastructureProvisioned bool `json:"infrastructureProvisioned"`
		} `json:"initialization"`
	}
	if core == nil {
		return false
	}
	_ = json.Unmarshal(orNull(core.Status), &status)
	return status.InfrastructureReady || status.Initialization.InfrastructureProvisioned || status.Phase == "Failed"
}

// Untouched reports whether the Machine API's controllers cannot have asked for an instance yet. They cannot if the Machine has neither their finalizer, nor an
// ID, nor a phase.
func (o Objects) Untouched() bool {
	return o.Kind.InfraActs() && o.MachineAPI != nil && !o.MachineAPI.HasFinalizer(o.Kind.MachineAPIFinalizer) &&
		providerID(o.MachineAPI) == "" && Read(o.MachineAPI).Phase == ""
}

// decided reports whether a person has answered the wait that the condition AuthoritySettled reports, by NoInstanceAnnotation.
func (o Objects) decided(shape Shape) bool {
	c := shape.Condition(ConditionSettled)
	return c.Reason == ReasonInstanceUnknown && o.MachineAPI.HasAnnotation(NoInstanceAnnotation) &&
		o.MachineAPI.Metadata.Annotations[NoInstanceAnnotation] == NoInstanceToken(shape.Current, c.LastTransitionTime.Time)
}

// withoutInfra reports whether the Machine API can take over the Machine although somebody has deleted the provider's object. It can if both Machines have the
// instance's ID. By that ID the Machine API's controllers find the instance, or find that it is gone. In both cases they create none.
func (o Objects) withoutInfra(s State) bool {
	return o.Kind.InfraActs() && o.Infra == nil && s.source() == ClusterAPI && s.Requested == MachineAPI && s.Instance == InstanceKnown &&
		!o.MachineAPI.Deleting() && !o.ClusterAPI.Deleting()
}

// instanceWarnings returns, for a request to move, sentences that say what the move will wait for, as far as that concerns the instance.
func instanceWarnings(c policies.Change, s standing) []string {
	kind, _ := KindNamed(c.Kind)
	from, infra := s.authoritative(), c.Facts.Infra
	var out []string
	o := Objects{Kind: kind, MachineAPI: c.Old, ClusterAPI: c.Facts.Twin, Infra: infra, InfraInstance: c.Facts.InfraInstance, Holders: c.Facts.Holders,
		AlsoKept: c.Facts.AlsoKept}
	switch o.instance(from, s.Shape) {
	case InstanceUnknown:
		if why := OtherInstance(c); why != "" {
			return []string{why}
		}
		if infra == nil && providerID(c.Old) != "" {
			return nil // the review has not looked up the other side
		}
		return []string{fmt.Sprintf(
			"the move will wait until spec.providerID of both Machines is the same instance (on this object it is %q, and the phase is %q). %s may have requested an "+
				"instance, and %s would create a second one",
			providerID(c.Old), s.Phase, from.Text(), from.Other().Text())}
	case InstanceStarting:
		if from == MachineAPI && (s.Phase == "" || s.Phase == "Provisioning") {
			out = append(out, fmt.Sprintf("the move will wait until the Machine is provisioned (its phase is %q)", s.Phase))
		}
		switch {
		case provisioned(infra):
		case from == MachineAPI && s.Phase == "Failed":
			return []string{`the move will not start: the phase of this Machine is "Failed", which never changes. ` +
				`Delete the Machine with its instance, and create another`}
		default:
			out = append(out, fmt.Sprintf("the move will wait until %s %s is provisioned", infra.Kind, infra.Metadata.Name))
		}
	case InstanceOfAnother:
		if s.Condition(ConditionSynchronized).Reason == ReasonForeignTwin {
			return nil // the message of that condition is already among the warnings
		}
		return []string{fmt.Sprintf("the move will not start: %[1]s %[2]s, to which the Cluster API Machine refers, belongs to Machine %[3]s, and Machine API "+
			"would act on the instance of that other Machine. Leave both Machines as they are, or delete Machine %[3]s with its instance",
			infra.Kind, infra.Metadata.Name, InfraOfAnother(infra, c.Facts.Twin.Metadata.Name))}
	case InstanceShared:
		out = append(out, fmt.Sprintf("the move will wait while Machine %s has the same spec.providerID: two APIs would act on one instance",
			strings.Join(c.Facts.Holders, ", ")))
	case InstanceAlsoKept:
		out = append(out, fmt.Sprintf("the move will wait while %s also names the instance of this Machine: the controller of that object acts on the instance, "+
			"and terminates it when the object is deleted. %s", strings.Join(c.Facts.AlsoKept, ", "), LetGoOfKept(c.TwinNamespace, c.Facts.AlsoKept)))
	case InstanceKnown, InstanceNotRequested:
	}
	return out
}

// OtherInstance returns a sentence about the object that the provider keeps for the instance, if that object is kept for another instance and so keeps the
// Machine from moving. The sentence has the command that deletes the object. OtherInstance returns "" if there is no such object. While Machine API is
// authoritative, the object is paused, so its deletion terminates nothing.
func OtherInstance(c policies.Change) string {
	kept, id, from := c.Facts.InfraInstance, providerID(c.Old), Authoritative(Read(c.Old))
	if id == "" || !(Objects{InfraInstance: kept}).keptForOtherInstance(id) {
		return ""
	}
	return "the move will not start: " + otherInstance(kept, from, c.TwinNamespace)
}

func otherInstance(kept *policies.Object, from API, namespace string) string {
	why := fmt.Sprintf("%s %s names another instance (%s) than spec.providerID of this Machine", kept.Kind, kept.Metadata.Name, keptInstanceField(kept))
	if from != MachineAPI {
		return why + ". Correct spec.providerID of the Machine, or restore the other object"
	}
	return fmt.Sprintf("%s, and Cluster API would act on that other instance, %s. It keeps running: if nothing needs it, terminate it in the cloud. Delete the "+
		"object, and Poundlock recreates it: kubectl -n %s delete %s.%s %s",
		why, KeptInstance(kept), namespace, strings.ToLower(kept.Kind), infraGroupOf(kept), kept.Metadata.Name)
}

// KeptForOtherInstance returns the sentence of OtherInstance for a Machine whose move waits only because of that object. No ID that a person writes into the
// Machine ends that wait. It returns "" if the object does not exist, names no instance or names the Machine's instance, or if one of the Machine's other
// objects has another ID.
func (o Objects) KeptForOtherInstance() string {
	id := providerID(o.MachineAPI)
	if id == "" || !o.keptForOtherInstance(id) || !agrees(providerID(o.ClusterAPI), id) || !agrees(providerID(o.Infra), id) {
		return ""
	}
	shape := Read(o.MachineAPI)
	why := otherInstance(o.InfraInstance, Authoritative(shape), o.InfraInstance.Metadata.Namespace)
	if shape.Current == Migrating {
		return "Cancel the move first. " + why
	}
	return why
}

func infraGroupOf(o *policies.Object) string {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return group
}

// decisionWarning returns a warning that says what a person decides by NoInstanceAnnotation, if the request sets or changes the annotation.
func decisionWarning(c policies.Change, s standing) []string {
	decision, set := c.New.Metadata.Annotations[NoInstanceAnnotation]
	if before, had := c.Old.Metadata.Annotations[NoInstanceAnnotation]; c.Kind != "Machine" || !set || had && before == decision {
		return nil
	}
	at, from := fmt.Sprintf("metadata.annotations[%s]: ", NoInstanceAnnotation), s.authoritative().Text()
	switch asked := (Objects{MachineAPI: c.New}).decided(s.Shape); {
	case !asked:
		return []string{at + "no move waits for this value, so the annotation has no effect. The message of the condition AuthoritySettled has the right command"}
	case s.Current == Migrating:
		return []string{at +
			fmt.Sprintf("you declare that no instance exists, and %s will create one. If an instance does exist, it keeps running and nothing will delete it. "+
				"Remove the annotation if you are not sure",
				s.authoritative().Other().Text())}
	}
	return []string{at +
		fmt.Sprintf("you declare that no instance exists, so Poundlock will pause %s and then ask you to confirm it once more. Remove the annotation if an "+
			"instance may exist", from)}
}
