// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/policies"
)

// instanceFields returns the names of the fields below spec by which the controllers of the object under review find an instance. A provider's controller may
// read two such fields. vSphere's controller finds a virtual machine by spec.biosUUID of the VSphereVM, the object that the provider keeps for the instance.
func instanceFields(c policies.Change) []string {
	switch {
	case c.Kind == InfraInstance:
		return []string{biosField}
	case c.Side == policies.SideInfrastructure:
		return []string{"providerID", "instanceID"}
	}
	return []string{"providerID"}
}

const biosField = "biosUUID"

var allInstanceFields = []string{"providerID", "instanceID", biosField}

// ProviderIDKept refuses that anybody but the controllers and Poundlock changes a stored ID of an instance, also on the authoritative object: controllers act
// on the instance that the ID names, and terminate it. The exception is an ID that a person has to correct (shares).
func ProviderIDKept(c policies.Change) policies.Verdict {
	s := stand(c)
	// Nothing is to be checked on the side that is not authoritative, and during a move: in both cases the whole spec is locked (SpecLocked).
	if c.Actor == policies.Poundlock || findsInstances(c) || !hasMirror(c) || !sideOf(s.Current, c.Side) || shares(s.Shape) {
		return policies.Verdict{}
	}
	var errs field.ErrorList
	for _, name := range changedInstance(c) {
		errs = append(errs, field.Forbidden(specPath.Child(name), fmt.Sprintf(
			"this field names the instance that is terminated when this %[1]s is deleted, so only controllers may change it. Leave the field as it is. For another "+
				"instance, create another %[1]s",
			kindOf(c))))
	}
	return policies.Deny(errs...)
}

// shares reports whether a move waits because another Machine has the ID of the same instance. Then a person has to correct the ID of one of the two Machines.
func shares(shape Shape) bool {
	return shape.Condition(ConditionSettled).Reason == ReasonInstanceShared
}

// hasMirror reports whether the object has a twin. On a Machine API object, Poundlock's sync finalizer shows that, so that no lookup is needed.
func hasMirror(c policies.Change) bool {
	if c.Side == policies.SideMachineAPI {
		return c.Old.HasFinalizer(SyncFinalizer)
	}
	return c.Facts.Twin != nil
}

// findsInstances reports whether the actor is a controller that writes the ID of an instance: a controller of the object's own side, or, on a provider's
// object, Cluster API's core controllers.
func findsInstances(c policies.Change) bool {
	return controls(c.Actor, c.Side) || c.Actor == policies.ClusterAPIController && c.Side == policies.SideInfrastructure
}

// changedInstance returns the names of the fields whose stored ID an update changes or removes.
func changedInstance(c policies.Change) []string {
	before, after := specTexts(c.Old), specTexts(c.New)
	return slices.DeleteFunc(instanceFields(c), func(name string) bool { return before[name] == "" || before[name] == after[name] })
}

func changesInstance(c policies.Change) bool { return len(changedInstance(c)) > 0 }

// ProviderIDUnique refuses that anybody but the controllers and Poundlock gives an object the ID of an instance that another Machine has, or of another cloud
// (ofAnotherCloud). Two controllers would act on the instance, and the deletion of either Machine would terminate it.
func ProviderIDUnique(c policies.Change) policies.Verdict {
	named := namedAnew(c)
	if other := ofAnotherCloud(c, named); other != nil {
		return policies.Deny(other)
	}
	if len(named) == 0 || len(c.Facts.Holders) == 0 {
		return policies.Verdict{}
	}
	return policies.Deny(field.Invalid(specPath.Child(named[0]), specTexts(c.New)[named[0]], fmt.Sprintf(
		"this ID is that of the instance of Machine %s, and two controllers would act on the instance. Leave spec.%s out, or wait until that Machine is gone",
		strings.Join(c.Facts.Holders, ", "), named[0])))
}

// ofAnotherCloud returns the error for an ID that names no instance, or an instance in another cloud than the machine's; nil if nothing is wrong with the ID.
// Most providers look for an instance by the last part of the ID, and ignore the part before "://". Poundlock would not recognize such an ID as that of another
// Machine.
func ofAnotherCloud(c policies.Change, named []string) *field.Error {
	const name = "providerID" // spec.instanceID and spec.biosUUID have no scheme
	provider, id := providerIn(c), specTexts(c.New)[name]
	if !slices.Contains(named, name) || provider.InstanceID == "" {
		return nil
	}
	if instanceid.Key(id) == "" { // a wait for the ID of the instance would end, and no instance would be known
		if c.Side == policies.SideInfrastructure && makesUnnamed(c) { // ProviderIDGiven refuses the request
			return nil
		}
		return field.Invalid(specPath.Child(name), id, fmt.Sprintf(
			"this value names no instance: leave spec.%s out, or write an ID of the form %s", name, provider.InstanceID))
	}
	if instanceid.Scheme(id) == instanceid.Scheme(provider.InstanceID) {
		return nil
	}
	return field.Invalid(specPath.Child(name), id, fmt.Sprintf(
		"this value is not an ID of an instance on %s, and controllers would act on the instance that the last part of the value names: leave spec.%s out, or "+
			"write an ID of the form %s",
		provider.Platform, name, provider.InstanceID))
}

// namesInstance reports whether a request of anybody but the controllers and Poundlock gives an object the ID of an instance, and the object did not have this
// ID before.
func namesInstance(c policies.Change) bool { return len(namedAnew(c)) > 0 }

// namedAnew returns the names of the fields in which a request of anybody but the controllers and Poundlock gives an object an ID that the object did not have
// before.
func namedAnew(c policies.Change) []string {
	if c.Actor == policies.Poundlock || findsInstances(c) {
		return nil
	}
	before, after := specTexts(c.Old), specTexts(c.New)
	return slices.DeleteFunc(instanceFields(c), func(name string) bool { return after[name] == "" || before[name] == after[name] })
}

// ProviderIDGiven refuses that a provider's machine is created without an ID if its Machine has an instance. It allows a machine that is paused while Cluster
// API is not authoritative. A provider's controller creates an instance for each of its machines that has no ID, and a person who recreates the provider's
// machine of a Machine with an instance wants that instance, not a second one.
func ProviderIDGiven(c policies.Change) policies.Verdict {
	if !makesUnnamed(c) {
		return policies.Verdict{}
	}
	id := providerID(c.Facts.Twin)
	if id == "" || c.Facts.Twin.Deleting() || c.New.HasAnnotation(PausedAnnotation) && stand(c).authoritative() != ClusterAPI {
		return policies.Verdict{}
	}
	return policies.Deny(field.Required(specPath.Child("providerID"), fmt.Sprintf(
		"Machine %s has the instance %s, and without spec.providerID on this object the provider's controller would create a second instance: set "+
			"spec.providerID: %s",
		twinName(c), id, id)))
}

// makesUnnamed reports whether a request creates a provider's machine without the ID of an instance. It is false for Cluster API's core controllers, whose
// MachineSets create such machines for new Machines.
func makesUnnamed(c policies.Change) bool {
	return c.Actor != policies.Poundlock && c.Actor != policies.ClusterAPIController && InstanceKeyOf(c.New) == ""
}

// Holders returns the names of the other Machines that have an instance. The list machines has all Machines of both APIs with the ID of this instance. Holders
// leaves out the Machines that are called name, the Machines that refer to the infrastructure machine that is called infra, and all Machines of the same names.
func Holders(machines []*policies.Object, name, infra string) []string {
	own := map[string]bool{name: true}
	for _, m := range machines {
		if infra != "" && InfraReferenceOf(m).Name == infra {
			own[m.Metadata.Name] = true
		}
	}
	var out []string
	for _, m := range machines {
		if !own[m.Metadata.Name] {
			out = append(out, m.Metadata.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// HoldersOf returns the Holders for the object under review: the names of the other Machines that have its instance. The list machines has all Machines with an
// ID that the object has, or that the reviewed status names.
func HoldersOf(c policies.Change, machines []*policies.Object) []string {
	if c.Subresource == "status" {
		machines = slices.DeleteFunc(slices.Clone(machines), func(m *policies.Object) bool {
			return !slices.ContainsFunc(statusIDsAnew(c), func(id string) bool { return instanceid.Names(id, providerID(m)) })
		})
	}
	if c.Side != policies.SideInfrastructure {
		return Holders(machines, c.Name, InfraReferenceOf(c.New).Name)
	}
	if c.Kind == InfraInstance { // What is kept for an instance belongs to a provider's machine, its owner, and usually has that machine's name.
		o, infra := c.New, c.Name
		if o == nil {
			o = c.Old
		}
		for _, ref := range o.Metadata.OwnerReferences {
			if OwnsInfraInstance(o.Kind, ref) {
				infra = ref.Name
			}
		}
		return Holders(machines, infra, infra)
	}
	return Holders(machines, append(MachineOwners(c.New), c.Name)[0], c.Name)
}

// InstanceKeyOf returns the key of an object's instance ID, as the controllers on its platform read the ID; "" for none. Two IDs with one key name one
// instance.
func InstanceKeyOf(o *policies.Object) string {
	if o != nil && KeepsInstances(o.Kind) {
		return instanceKeyKept(o)
	}
	return providerBehind(o).instanceKey(providerID(o))
}

// KeptKindFor returns the kind of object that a Machine's provider keeps for each instance; "" if the provider keeps none, or if the Machine names no provider.
func KeptKindFor(machine *policies.Object) string { return providerBehind(machine).Instance }

// SameInstance reports whether two objects of a cluster have the ID of the same instance, as the controllers on the cluster's platform read IDs.
func SameInstance(a, b *policies.Object) bool {
	p := providerBehind(a, b)
	key := p.instanceKey(providerID(a))
	return key != "" && key == p.instanceKey(providerID(b))
}

// InstanceKeysOf returns the keys of all instance IDs that the object under review has, or that its reviewed status names anew. spec.instanceID and
// spec.biosUUID have no scheme, so they are read as IDs of AWS and of vSphere.
func InstanceKeysOf(c policies.Change) []string {
	if c.New == nil || c.Kind == InfraInstance && endsOrFreesKept(c) {
		return []string{instanceKeyKept(c.Old)}
	}
	var out []string
	for _, id := range statusIDsAnew(c) {
		out = append(out, instanceid.Tail(id))
	}
	if c.Subresource == "status" {
		return out
	}
	texts := specTexts(c.New)
	for _, name := range instanceFields(c) {
		id := texts[name]
		switch {
		case id == "":
		case name == "instanceID":
			id = "aws:///" + id
		case name == biosField:
			id = "vsphere://" + id
		}
		if key := providerIn(c).instanceKey(id); key != "" && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

func specTexts(o *policies.Object) map[string]string {
	fields := map[string]json.RawMessage{}
	if o != nil {
		_ = json.Unmarshal(orNull(o.Spec), &fields)
	}
	out := map[string]string{}
	for _, name := range allInstanceFields {
		var text string
		if json.Unmarshal(orNull(fields[name]), &text) == nil {
			out[name] = text
		}
	}
	return out
}
