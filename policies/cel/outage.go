// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// The functions in this file return CEL expressions. While no replica of Poundlock answers, a request is refused if one of these expressions is true of it,
// because two controllers could act. All other requests are let through (DESIGN §3.1). The expressions read only the request. They are written so that none of
// them fails, whatever the objects contain, because an expression that fails refuses the request too.

// either returns an expression that is true if a condition on `o` is true of the stored object or of the requested object.
func either(condition string) string {
	return fmt.Sprintf("[dyn(oldObject), dyn(object)].exists(o, o != null && %s)", condition)
}

// Moved returns an expression that is true if authoritativeAPI has a value other than MachineAPI in the spec or status of a Machine API object, stored or
// requested.
func Moved() string {
	return either(fmt.Sprintf(
		`["spec", "status"].exists(part, type(o[?part].orValue(null)) == map && !(o[part].?authoritativeAPI.orValue(null) in [dyn(null), dyn(""), dyn(%q)]))`,
		authority.MachineAPI))
}

// DropsRequest returns an expression that is true if an update changes a request for Cluster API to one for Machine API, or leaves the request out. It covers
// both, because they look the same after the API server has filled in the CRD's default.
func DropsRequest() string {
	drops := func(of string) string {
		asks := func(o string) string { return text(fmt.Sprintf(of, o), "authoritativeAPI") }
		return fmt.Sprintf(`%s == %q && %s in ["", %q]`, asks("dyn(oldObject)"), authority.ClusterAPI, asks("dyn(object)"), authority.MachineAPI)
	}
	return fmt.Sprintf("(%s) || (%s)", drops(object("%[1]s", "spec")), drops(object(object(object("%[1]s", "spec"), "template"), "spec")))
}

// LosesOwned returns an expression that is true if an update removes the sync finalizer, or all owners, from an object that is not being deleted.
func LosesOwned() string {
	return fmt.Sprintf(`!has(dyn(oldObject).metadata.deletionTimestamp) && (%[1]q in %[2]s && !(%[1]q in %[3]s) || size(%[4]s) > 0 && size(%[5]s) == 0)`,
		authority.SyncFinalizer,
		list("dyn(oldObject).metadata", "finalizers"), list("dyn(object).metadata", "finalizers"),
		list("dyn(oldObject).metadata", "ownerReferences"), list("dyn(object).metadata", "ownerReferences"))
}

// ChangesSyncFinalizer returns an expression that is true if an update adds or removes the sync finalizer.
func ChangesSyncFinalizer() string {
	return fmt.Sprintf(`request.operation == "UPDATE" && (%[1]q in %[2]s) != (%[1]q in %[3]s)`, authority.SyncFinalizer,
		list("dyn(oldObject).metadata", "finalizers"), list("dyn(object).metadata", "finalizers"))
}

// Mirrored returns an expression that is true if the stored or the requested object has MirrorAnnotation.
func Mirrored() string {
	return either(fmt.Sprintf(`%q in %s`, authority.MirrorAnnotation, object("o.metadata", "annotations")))
}

// DeletesAnnounced returns an expression that is true if an object is deleted to which it is announced that Cluster API becomes authoritative
// (authority.DeleteArriving). Without an answer, nobody knows whether the deletion ends instances.
func DeletesAnnounced() string {
	return fmt.Sprintf(`string(%[2]s[?%[1]q].orValue("")).startsWith(%[3]q)`,
		authority.PausedAnnotation, object("dyn(oldObject).metadata", "annotations"), authority.ArrivingPrefix)
}

// BeginsBesideForeign returns an expression that is true if a Machine gets the finalizer with which Machine API begins to create an instance, although Cluster
// API has a Machine of the same name that is not its mirror. The mirror has reported that Machine in the condition Synchronized, or by BesideForeignAnnotation
// on the Machine API Machine.
func BeginsBesideForeign() string {
	return fmt.Sprintf(`request.operation == "UPDATE" && %[1]q in %[2]s && !(%[1]q in %[3]s) && `+
		`(%[7]q in %[8]s || %[4]s.exists(c, c.?type.orValue("") == %[5]q && c.?reason.orValue("") == %[6]q))`,
		authority.MachineAPIMachineFinalizer, list("dyn(object).metadata", "finalizers"), list("dyn(oldObject).metadata", "finalizers"),
		list(object("dyn(oldObject)", "status"), "conditions"), authority.ConditionSynchronized, authority.ReasonForeignTwin,
		authority.BesideForeignAnnotation, object("dyn(oldObject).metadata", "annotations"))
}

// PausedInstance returns an expression that is true if the stored object is paused and is one that a provider keeps for an instance. kinds are the kinds of
// such objects. Such an object does not have MirrorAnnotation, and its controller obeys only the pause of this object.
func PausedInstance(kinds []string) string {
	return fmt.Sprintf(`request.kind.kind in %s && oldObject != null && %q in %s`,
		quoteAll(kinds), authority.PausedAnnotation, object("dyn(oldObject).metadata", "annotations"))
}

// NotByProvider returns an expression that is true unless a provider's controllers that have an account of their own make the request.
func NotByProvider(identities policies.Identities) string {
	return fmt.Sprintf("!(request.userInfo.username in %s)", quoteAll(identities[policies.InfrastructureController]))
}

// HeldOrPaused returns an expression that is true if the object that is to be deleted has a finalizer or is paused.
func HeldOrPaused() string {
	return fmt.Sprintf(`size(%s) > 0 || %q in %s`, list("dyn(oldObject).metadata", "finalizers"), authority.PausedAnnotation,
		object("dyn(oldObject).metadata", "annotations"))
}

// BeginsToAct returns an expression that is true if a Cluster API object is created without a pause, or if its pause is removed. It is false for a Machine that
// Cluster API's own controllers create for a MachineSet, so that sets can still scale.
func BeginsToAct(identities policies.Identities) string {
	return fmt.Sprintf(`(request.operation == "CREATE" || request.operation == "UPDATE" && %[1]q in %[5]s) && !(%[1]q in %[2]s) && `+
		`!(request.operation == "CREATE" && request.kind.kind == "Machine" && request.userInfo.username in %[3]s && `+
		`%[4]s.exists(r, r.?controller.orValue(false) == true && r.?kind.orValue("") == "MachineSet" && `+
		`string(r.?apiVersion.orValue("")).startsWith("cluster.x-k8s.io/")))`,
		authority.PausedAnnotation, object("dyn(object).metadata", "annotations"), quoteAll(identities[policies.ClusterAPIController]),
		list("dyn(object).metadata", "ownerReferences"), object("dyn(oldObject).metadata", "annotations"))
}

// Binds returns an expression that is true if somebody other than the controllers of Cluster API and of the provider connects an object with an instance or a
// Machine. The request does that if it gives the object the ID of an instance, gives the object a Machine as an owner, unpauses an object that has a Machine as
// an owner, or changes a Machine's infrastructureRef.
func Binds(identities policies.Identities) string {
	trade := slices.Concat(identities[policies.ClusterAPIController], identities[policies.InfrastructureController])
	const machine = `r.?kind.orValue("") == "Machine" && string(r.?apiVersion.orValue("")).startsWith("cluster.x-k8s.io/")`
	was, is := `(request.operation == "UPDATE" ? dyn(oldObject) : dyn({"metadata": {}}))`, "dyn(object)"
	field := func(o, name string) string {
		return fmt.Sprintf(`(type(%[1]s.?spec.orValue(null)) == map ? dyn(%[1]s.spec[?%[2]q].orValue(null)) : dyn(null))`, o, name)
	}
	paused := func(o string) string {
		return fmt.Sprintf("%q in %s", authority.PausedAnnotation, object(o+".metadata", "annotations"))
	}
	cases := []string{
		fmt.Sprintf(`!(%s in [dyn(null), dyn(""), %s])`, field(is, "providerID"), field(was, "providerID")),
		fmt.Sprintf(`!(%s in [dyn(null), dyn(""), %s])`, field(is, "instanceID"), field(was, "instanceID")),
		fmt.Sprintf(`!(%s in [dyn(null), dyn(""), %s])`, field(is, "biosUUID"), field(was, "biosUUID")),
		fmt.Sprintf(`%s.exists(r, %s && !(%s in %s))`, list(is+".metadata", "ownerReferences"), machine, "r", list(was+".metadata", "ownerReferences")),
		fmt.Sprintf(`%s && !(%s) && %s.exists(r, %s)`, paused(was), paused(is), list(is+".metadata", "ownerReferences"), machine),
		fmt.Sprintf(`request.operation == "UPDATE" && %s != %s`, field(is, "infrastructureRef"), field(was, "infrastructureRef")),
	}
	return fmt.Sprintf(`request.operation != "DELETE" && !(request.userInfo.username in %s) && ((%s))`, quoteAll(trade), strings.Join(cases, ") || ("))
}

// NamesInstance returns an expression that is true if an update changes which instance the status of a provider's machine names.
func NamesInstance() string {
	of := func(o, name string) string {
		return fmt.Sprintf(`(type(%[1]s.?status.orValue(null)) == map ? dyn(%[1]s.status[?%[2]q].orValue(null)) : dyn(null))`, o, name)
	}
	var changes []string
	for _, name := range []string{"instanceID", "vmUUID"} {
		changes = append(changes, fmt.Sprintf(`%s != %s`, of("dyn(object)", name), of("dyn(oldObject)", name)))
	}
	return strings.Join(changes, " || ")
}

// ChangesPaused returns an expression that is true if an update changes the condition Paused in the status of a Cluster API object, in either form of the
// conditions.
func ChangesPaused() string {
	of := func(o, under string) string {
		status := fmt.Sprintf(`(type(%[1]s.?status.orValue(null)) == map ? dyn(%[1]s.status) : dyn({}))`, o)
		if under != "" {
			status = fmt.Sprintf(`(type(%[1]s[?%[2]q].orValue(null)) == map ? dyn(%[1]s[%[2]q]) : dyn({}))`, status, under)
		}
		return fmt.Sprintf(`(type(%[1]s.?conditions.orValue(null)) == list ? dyn(%[1]s.conditions) : dyn([])).filter(c, c.?type.orValue("") == %[2]q)`,
			status, authority.ConditionPaused)
	}
	var changes []string
	for _, under := range []string{"", "v1beta2"} {
		changes = append(changes, fmt.Sprintf(`%s != %s`, of("dyn(object)", under), of("dyn(oldObject)", under)))
	}
	return strings.Join(changes, " || ")
}

// ByCleaners returns an expression that is true if the garbage collector or the namespace controller deletes an object.
func ByCleaners(identities policies.Identities) string {
	return fmt.Sprintf(`request.operation == "DELETE" && request.userInfo.username in %s`,
		quoteAll(slices.Concat(identities[policies.GarbageCollector], identities[policies.NamespaceController])))
}

// ByOthers returns an expression that is true unless Cluster API's controllers, including the providers', make the request.
func ByOthers(identities policies.Identities) string {
	return fmt.Sprintf("!(request.userInfo.username in %s)",
		quoteAll(slices.Concat(identities[policies.ClusterAPIController], identities[policies.InfrastructureController])))
}

// ByPersons returns an expression that is true unless a ServiceAccount or Cluster API's controllers make the request.
func ByPersons(identities policies.Identities) string {
	return fmt.Sprintf("%s && !request.userInfo.username.startsWith(%q)", ByOthers(identities), policies.ServiceAccounts)
}

// CreatesUnpaused returns an expression that is true if a person creates an object that is not paused. Providers create theirs as ServiceAccounts.
func CreatesUnpaused(identities policies.Identities) string {
	return fmt.Sprintf(`request.operation == "CREATE" && %s && !(%q in %s)`,
		ByPersons(identities), authority.PausedAnnotation, object("dyn(object).metadata", "annotations"))
}
