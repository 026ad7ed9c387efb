// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

var requestPath = specPath.Child("authoritativeAPI")

// CreateMachineAPI refuses a new Machine API object beside an existing Cluster API object, unless the new object asks for Cluster API as authority: "If a
// Cluster API resource already exists and a Machine API resource is created, the admission will succeed only if the spec authoritative field is set to
// ClusterAPI" (converting › Admission of non-authoritative resources). The new object need not ask for Cluster API if the existing object is Poundlock's own
// mirror of it, for example after a restore. No controller acts on such a mirror. If the new object had to ask for ClusterAPI, Cluster API would take over an
// instance without a handoff.
func CreateMachineAPI(c policies.Change) policies.Verdict {
	asked := Read(c.New).Requested
	switch {
	case c.Actor == policies.Poundlock || c.Facts.Twin == nil:
		return policies.Verdict{}
	case c.Facts.Twin.Deleting():
		return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
			"%s is being deleted, and this %s could be deleted with it. Wait until that object is gone before you create this one, or use another name",
			there(c), c.Kind)))
	case asked == ClusterAPI:
		return otherSelector(c)
	case besideMirror(c) && stopped(c.Facts.Infra) && stopped(keptBeside(c)):
		return sameInstance(c)
	case stopped(c.Facts.Twin) && stopped(c.Facts.Infra) && stopped(keptBeside(c)):
		if v := sameInstance(c); len(v.Denials) > 0 {
			return v
		}
	}
	return policies.Deny(field.Invalid(requestPath, string(asked), fmt.Sprintf(
		"%s exists already, so a Machine API %s of this name can only mirror it: set spec.authoritativeAPI: ClusterAPI and create it again. To move it to "+
			"Machine API later, once Synchronized is True: %s",
		there(c), c.Kind, moveTo(c, MachineAPI))))
}

// besideMirror reports whether the twin is the mirror of the object under review, and Cluster API does not act on it. If the Machine API object was lost,
// Poundlock has removed MirrorAnnotation from the Cluster API Machine. So the mirror of a Machine is also recognized by its instance.
func besideMirror(c policies.Change) bool {
	twin := c.Facts.Twin
	if twin == nil || !stopped(twin) {
		return false
	}
	return twin.Metadata.Annotations[MirrorAnnotation] == c.Kind+"/"+c.Name || c.Kind == "Machine" && SameInstance(twin, c.New)
}

// keptBeside returns the object that the provider keeps for the twin's instance. It returns nil if there is none. Through that object the provider's controller
// acts on the instance, whatever the state of the provider's machine is.
func keptBeside(c policies.Change) *policies.Object {
	kept := c.Facts.InfraInstance
	if kept == nil || KeptForAnother(kept.Kind, kept.Metadata.OwnerReferences, InfraReferenceOf(c.Facts.Twin).Name) {
		return nil
	}
	return kept
}

// stopped reports whether a Cluster API object is paused and its controllers do not report that they still act. It is true for nil. It is also true for a
// paused object that was restored, because the controllers have reported nothing on it yet.
func stopped(o *policies.Object) bool {
	return o == nil || o.HasAnnotation(PausedAnnotation) && answer(Paused(o).Status) != AcknowledgedUnpaused
}

// sameInstance refuses a new Machine that does not have the ID of the mirror's instance. Without this ID, the Machine API's controllers may create a second
// instance. If neither the twin nor the provider's machine has the ID yet, the ID comes from the object that the provider keeps for the instance. sameInstance
// also refuses the Machine if that object is kept for another instance.
func sameInstance(c policies.Change) policies.Verdict {
	kept, p, path := keptBeside(c), providerBehind(c.Facts.Infra, c.Facts.Twin, c.New), specPath.Child("providerID")
	has := cmp.Or(providerID(c.Facts.Twin), providerID(c.Facts.Infra), KeptInstance(kept))
	switch {
	case c.Kind != "Machine" || has == "":
		return policies.Verdict{}
	case p.instanceKey(has) != p.instanceKey(providerID(c.New)):
		return policies.Deny(field.Invalid(path, providerID(c.New), fmt.Sprintf(
			"%s is paused and has the instance %s. Without this ID Machine API could create a second instance: set spec.providerID: %s, and create the Machine "+
				"again",
			there(c), has, has)))
	case KeptForOther(kept, c.New) != "":
		return policies.Deny(field.Invalid(path, providerID(c.New), fmt.Sprintf(
			"%[1]s %[2]s/%[3]s names another instance (%[4]s: %[5]s), and after a move Cluster API would act on that instance. Find out in the cloud which of the "+
				"two instances belongs to this Machine. Then correct the ID of the %[1]s, and of each object that has the same ID. Or delete the %[1]s and remove its "+
				"finalizers: the instance that it names keeps running. Then create the Machine again",
			kept.Kind, c.TwinNamespace, kept.Metadata.Name, keptInstanceField(kept), KeptInstance(kept))))
	}
	return policies.Verdict{}
}

// otherSelector refuses a new MachineSet whose selector differs from that of the existing Cluster API set. Machine API's own webhook refuses each change of a
// selector, so the new set could never become equal to the existing one.
func otherSelector(c policies.Change) policies.Verdict {
	if c.Kind != "MachineSet" {
		return policies.Verdict{}
	}
	have, want := selects(c.New), selects(c.Facts.Twin)
	if equality.Semantic.DeepEqual(have, want) {
		return policies.Verdict{}
	}
	text, err := json.Marshal(want)
	if err != nil {
		return policies.Verdict{}
	}
	return policies.Deny(field.Invalid(specPath.Child("selector"), have, fmt.Sprintf(
		"%s has another selector. The selector of a Machine API MachineSet cannot change, so this set could never be a mirror. Create the set with spec.selector: "+
			"%s, and with the labels of that selector in spec.template.metadata.labels",
		there(c), text)))
}

// selects returns a set's selector without the label of the cluster, so that the selectors of both APIs can be compared. Each API adds that label to the
// selector under its own name.
func selects(set *policies.Object) metav1.LabelSelector {
	var spec struct {
		Selector metav1.LabelSelector `json:"selector"`
	}
	_ = json.Unmarshal(orNull(set.Spec), &spec)
	delete(spec.Selector.MatchLabels, clusterv1.ClusterNameLabel)
	delete(spec.Selector.MatchLabels, machinev1beta1.MachineClusterIDLabel)
	return spec.Selector
}

// CreateForSet refuses a Machine that a Machine API controller creates for a MachineSet whose Machines Cluster API creates. If the sets of both APIs scaled,
// there would be two Machines for each replica. The refusal is needed because the Machine API's MachineSet controller reads status.authoritativeAPI only while
// its feature gate is on.
func CreateForSet(c policies.Change) policies.Verdict {
	if !createsForSet(c) || len(c.Facts.Owners) == 0 {
		return policies.Verdict{}
	}
	set := c.Facts.Owners[0] // ReadableOwners puts the owner first that is the controller
	shape := Read(set)
	if shape.Current != ClusterAPI && !shape.leftMachineAPI() {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(ownersPath, fmt.Sprintf(
		"MachineSet %s has the authoritativeAPI %s, so only Cluster API may create the set's Machines. Turn on the feature gate MachineAPIMigration of the "+
			"Machine API controller that tried this, or migrate the set: %s",
		set.Metadata.Name, shape.Current, migrateCommand(c.Namespace, "machinesets.machine.openshift.io", set.Metadata.Name, MachineAPI))))
}

// leftMachineAPI reports whether a move leaves Machine API's controllers nothing to create. That is so if they have acknowledged the pause of a move to Cluster
// API, or if a move to Machine API is not complete.
func (s Shape) leftMachineAPI() bool {
	return s.Current == Migrating && (s.SynchronizedAPI == ClusterAPI || s.Condition(ConditionPaused).Status == "True")
}

// createsForSet reports whether Machine API's controllers create a Machine for a MachineSet.
func createsForSet(c policies.Change) bool {
	return c.Actor == policies.MachineAPIController && OwningSet(c.New, policies.SideMachineAPI) != ""
}

// OwningSet returns the name of the MachineSet that is the controller of a Machine, in the API of a side. It returns "" if there is none.
func OwningSet(machine *policies.Object, side policies.Side) string {
	group := "machine.openshift.io/"
	if side == policies.SideClusterAPI {
		group = clusterAPI.Group + "/"
	}
	ref := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: machine.Metadata.OwnerReferences})
	if ref == nil || ref.Kind != "MachineSet" || !strings.HasPrefix(ref.APIVersion, group) {
		return ""
	}
	return ref.Name
}

// CreateOwned refuses a new object with owners if none of the owners exists. If Poundlock may not read one of the owners, CreateOwned only warns. Such an
// object is created if a backup is applied exactly as it was stored. The garbage collector deletes an object if all its owners are gone. For an owned mirror,
// that deletes its Machine (converting › Deletion of Machines). For an authoritative object, that terminates the instances. An object without a twin would be
// deleted without any message, and if it is not paused, its instance with it.
func CreateOwned(c policies.Change) policies.Verdict {
	if !createsOwned(c) {
		return policies.Verdict{}
	}
	remedy := "leave the owner references out. The API's own controllers restore them"
	if c.Facts.Twin != nil {
		remedy = "leave the owner references out. Poundlock and the API's own controllers restore them"
	}
	return unowned(c, endsWith(c), remedy)
}

// unowned refuses an object if none of its owners exists. It only warns if the object has an owner that Poundlock may not read. follows says what the deletion
// would end, and remedy says what a person can do.
func unowned(c policies.Change, follows, remedy string) policies.Verdict {
	refs := c.New.Metadata.OwnerReferences
	for _, ref := range refs {
		if slices.ContainsFunc(c.Facts.Owners, func(o *policies.Object) bool { return o.Metadata.UID == ref.UID }) {
			return policies.Verdict{}
		}
	}
	if i := slices.IndexFunc(refs, func(ref metav1.OwnerReference) bool { return !mayBeRead(ref, c.Side) }); i >= 0 {
		return policies.Warn(fmt.Sprintf("%s: if %s %s with the UID %s does not exist, the garbage collector deletes this %s, and %s. To create it from a stored "+
			"manifest, %s",
			ownersPath.Index(i), refs[i].Kind, refs[i].Name, refs[i].UID, kindOf(c), follows, remedy))
	}
	return policies.Deny(field.Forbidden(ownersPath, fmt.Sprintf(
		"%s %s with the UID %s does not exist, so the garbage collector would delete this %s, and %s: %s",
		refs[0].Kind, refs[0].Name, refs[0].UID, kindOf(c), follows, remedy)))
}

// createsOwned reports whether somebody creates an object with an owner. It is false for the controllers of the object's own API, because these name an owner
// that exists.
func createsOwned(c policies.Change) bool {
	return c.Actor != policies.Poundlock && !controls(c.Actor, c.Side) && len(c.New.Metadata.OwnerReferences) > 0
}

// ReadableOwners returns those owner references of an object that Poundlock may read: references to the sets of the side's API, and to the Clusters. The owner
// that is the controller comes first.
func ReadableOwners(o *policies.Object, side policies.Side) []metav1.OwnerReference {
	var out []metav1.OwnerReference
	for _, ref := range o.Metadata.OwnerReferences {
		switch {
		case !mayBeRead(ref, side):
		case ref.Controller != nil && *ref.Controller:
			out = append([]metav1.OwnerReference{ref}, out...)
		default:
			out = append(out, ref)
		}
	}
	return out
}

func mayBeRead(ref metav1.OwnerReference, side policies.Side) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	if side == policies.SideMachineAPI {
		return group == machineAPI.Group && (ref.Kind == "MachineSet" || ref.Kind == ControlPlane)
	}
	return group == clusterAPI.Group && (ref.Kind == "MachineSet" || ref.Kind == MachineDeployment || ref.Kind == Cluster)
}

// CreateClusterAPI refuses a new Cluster API object that is not paused, if a Machine API object of its name exists for which Cluster API is not authoritative.
// Cluster API resources that have a Machine API equivalent are "created as paused, to prevent any unintended reconciliation in the first instance" (converting
// › Authority of resources and controller reconciliations). If Cluster API is authoritative, the new object is refused until the Machine API's controllers have
// acknowledged their pause.
func CreateClusterAPI(c policies.Change) policies.Verdict {
	if c.Actor == policies.Poundlock || c.Facts.Twin == nil {
		return policies.Verdict{}
	}
	s := stand(c)
	if s.Current == ClusterAPI {
		return createUnderClusterAPI(c, s)
	}
	if c.New.HasAnnotation(PausedAnnotation) {
		return policies.Verdict{}
	}
	path := field.NewPath("metadata", "annotations").Key(PausedAnnotation)
	return policies.Deny(field.Required(path, fmt.Sprintf(
		"%s exists and Cluster API is not authoritative for it, so two controllers would act on one %s. Create it with the annotation %s, or under another name",
		there(c), c.Kind, PausedAnnotation)))
}

func createUnderClusterAPI(c policies.Change, s standing) policies.Verdict {
	if s.Condition(ConditionPaused).Status == "True" {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"%s moved to Cluster API, but the Machine API's controllers have not acknowledged their pause yet (condition Paused is not True). Try again once it is "+
			"True",
		there(c))))
}
