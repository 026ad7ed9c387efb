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

// instanceFields are the fields below spec by which controllers find an instance. A provider's controller may have two, and vSphere's finds a virtual machine
// by the object that it keeps for it.
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

// ProviderIDKept: controllers act on the instance that an ID names, and delete it. So only they may change a stored ID, also on authoritative objects.
func ProviderIDKept(c policies.Change) policies.Verdict {
	s := stand(c)
	// On the other side, and during a move, the whole spec is locked.
	if c.Actor == policies.Poundlock || findsInstances(c) || !hasMirror(c) || !sideOf(s.Current, c.Side) || shares(s.Shape) {
		return policies.Verdict{}
	}
	var errs field.ErrorList
	for _, name := range changedInstance(c) {
		errs = append(errs, field.Forbidden(specPath.Child(name), fmt.Sprintf(
			"only controllers may change it, as it names the instance that is terminated when this %[1]s is deleted: leave it as it is; "+
				"for another instance create another %[1]s",
			kindOf(c))))
	}
	return policies.Deny(errs...)
}

// shares reports whether a move waits because another Machine has the same ID. Somebody has to correct one of the two.
func shares(shape Shape) bool {
	return shape.Condition(ConditionSettled).Reason == ReasonInstanceShared
}

// hasMirror reports whether the object has a twin. Poundlock's finalizer on a Machine API object shows it, so that this needs no lookup.
func hasMirror(c policies.Change) bool {
	if c.Side == policies.SideMachineAPI {
		return c.Old.HasFinalizer(SyncFinalizer)
	}
	return c.Facts.Twin != nil
}

// findsInstances reports whether the actor writes the IDs of instances: the controllers of the object's own API, and first Cluster API's core, which
// copies the ID from its provider's objects.
func findsInstances(c policies.Change) bool {
	return controls(c.Actor, c.Side) || c.Actor == policies.ClusterAPIController && c.Side == policies.SideInfrastructure
}

// changedInstance are the fields of a stored ID that an update changes.
func changedInstance(c policies.Change) []string {
	before, after := specTexts(c.Old), specTexts(c.New)
	return slices.DeleteFunc(instanceFields(c), func(name string) bool { return before[name] == "" || before[name] == after[name] })
}

func changesInstance(c policies.Change) bool { return len(changedInstance(c)) > 0 }

// ProviderIDUnique: with two Machines of one instance, two controllers act on it, and deleting either Machine deletes it.
func ProviderIDUnique(c policies.Change) policies.Verdict {
	named := namedAnew(c)
	if other := ofAnotherCloud(c, named); other != nil {
		return policies.Deny(other)
	}
	if len(named) == 0 || len(c.Facts.Holders) == 0 {
		return policies.Verdict{}
	}
	return policies.Deny(field.Invalid(specPath.Child(named[0]), specTexts(c.New)[named[0]], fmt.Sprintf(
		"it is the instance of Machine %s, and two controllers would act on it: leave spec.%s out, or wait until that Machine is gone",
		strings.Join(c.Facts.Holders, ", "), named[0])))
}

// ofAnotherCloud refuses an ID of another cloud than the machine's, or of none. Most providers look for an instance by the last part of its ID, and do not look
// at the part before ://. As the ID of another Machine such an ID would not be recognized.
func ofAnotherCloud(c policies.Change, named []string) *field.Error {
	const name = "providerID" // spec.instanceID and spec.biosUUID have no scheme
	provider, id := providerIn(c), specTexts(c.New)[name]
	if !slices.Contains(named, name) || provider.InstanceID == "" {
		return nil
	}
	if instanceid.Key(id) == "" { // it would end the wait for an instance
		if c.Side == policies.SideInfrastructure && makesUnnamed(c) { // ProviderIDGiven refuses it
			return nil
		}
		return field.Invalid(specPath.Child(name), id, fmt.Sprintf(
			"it names no instance: leave spec.%s out, or write an ID of the form %s", name, provider.InstanceID))
	}
	if instanceid.Scheme(id) == instanceid.Scheme(provider.InstanceID) {
		return nil
	}
	return field.Invalid(specPath.Child(name), id, fmt.Sprintf(
		"it is no ID of an instance on %s, and controllers would act on the instance that its last part names: leave spec.%s out, or write an ID of the form %s",
		provider.Platform, name, provider.InstanceID))
}

// namesInstance reports whether a person's request gives an object an ID that it did not have.
func namesInstance(c policies.Change) bool { return len(namedAnew(c)) > 0 }

// namedAnew are the fields in which it does.
func namedAnew(c policies.Change) []string {
	if c.Actor == policies.Poundlock || findsInstances(c) {
		return nil
	}
	before, after := specTexts(c.Old), specTexts(c.New)
	return slices.DeleteFunc(instanceFields(c), func(name string) bool { return after[name] == "" || before[name] == after[name] })
}

// ProviderIDGiven: a provider's controller creates an instance for each of its machines that names none. A person who recreates the infrastructure machine
// of a Machine with an instance wants that instance, not a second one.
func ProviderIDGiven(c policies.Change) policies.Verdict {
	if !makesUnnamed(c) {
		return policies.Verdict{}
	}
	id := providerID(c.Facts.Twin)
	if id == "" || c.Facts.Twin.Deleting() || c.New.HasAnnotation(PausedAnnotation) && stand(c).authoritative() != ClusterAPI {
		return policies.Verdict{}
	}
	return policies.Deny(field.Required(specPath.Child("providerID"), fmt.Sprintf(
		"Machine %s has the instance %s, and without spec.providerID here its provider's controller would create a second one: set spec.providerID: %s",
		twinName(c), id, id)))
}

// makesUnnamed reports whether somebody makes a provider's machine without an instance. Cluster API's MachineSets do that for new Machines.
func makesUnnamed(c policies.Change) bool {
	return c.Actor != policies.Poundlock && c.Actor != policies.ClusterAPIController && InstanceKeyOf(c.New) == ""
}

// Holders are the names of those Machines of either API, all of one instance, that are not the pair of this name, nor the Machine to which an infrastructure
// machine of that name belongs.
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

// HoldersOf are the Holders beside the object under review, of those Machines that have its ID.
func HoldersOf(c policies.Change, machines []*policies.Object) []string {
	if c.Subresource == "status" {
		machines = slices.DeleteFunc(slices.Clone(machines), func(m *policies.Object) bool {
			return !slices.ContainsFunc(statusIDsAnew(c), func(id string) bool { return instanceid.Names(id, providerID(m)) })
		})
	}
	if c.Side != policies.SideInfrastructure {
		return Holders(machines, c.Name, InfraReferenceOf(c.New).Name)
	}
	if c.Kind == InfraInstance { // it is its provider's machine's, whose name it has as a rule
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

// InstanceKeyOf is the key of an object's ID, as controllers on its platform read that.
func InstanceKeyOf(o *policies.Object) string {
	if o != nil && KeepsInstances(o.Kind) {
		return instanceKeyKept(o)
	}
	return providerBehind(o).instanceKey(providerID(o))
}

// KeptKindFor is the kind of what the provider of a Machine keeps for its instance, "" for none or where the Machine names no provider.
func KeptKindFor(machine *policies.Object) string { return providerBehind(machine).Instance }

// SameInstance reports whether two objects of a cluster have the ID of one instance, as controllers on its platform read it.
func SameInstance(a, b *policies.Object) bool {
	p := providerBehind(a, b)
	key := p.instanceKey(providerID(a))
	return key != "" && key == p.instanceKey(providerID(b))
}

// InstanceKeysOf are the keys of each ID that the object under review has. Those without a provider's prefix are AWS's and vSphere's.
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
