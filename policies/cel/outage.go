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

// What these expressions are true of is refused while no replica answers, because two controllers could act; all else is let through (DESIGN §3.1). They see
// nothing but the request. None fails, whatever the objects hold: an expression that fails is a refusal too.

// either is true where a condition on `o` holds of the stored object or of the requested one.
func either(condition string) string {
	return fmt.Sprintf("[dyn(oldObject), dyn(object)].exists(o, o != null && %s)", condition)
}

// Moved reports whether a Machine API object's authority is, or is asked to be, anything but MachineAPI: stored or requested, in spec or status.
func Moved() string {
	return either(fmt.Sprintf(
		`["spec", "status"].exists(part, type(o[?part].orValue(null)) == map && !(o[part].?authoritativeAPI.orValue(null) in [dyn(null), dyn(""), dyn(%q)]))`,
		authority.MachineAPI))
}

// DropsRequest reports whether an update leaves out a request for Cluster API, or makes one for Machine API of it, which looks the same once
// the CRD's default is in.
func DropsRequest() string {
	drops := func(of string) string {
		asks := func(o string) string { return text(fmt.Sprintf(of, o), "authoritativeAPI") }
		return fmt.Sprintf(`%s == %q && %s in ["", %q]`, asks("dyn(oldObject)"), authority.ClusterAPI, asks("dyn(object)"), authority.MachineAPI)
	}
	return fmt.Sprintf("(%s) || (%s)", drops(object("%[1]s", "spec")), drops(object(object(object("%[1]s", "spec"), "template"), "spec")))
}

// LosesOwned reports whether an update leaves out the sync finalizer, or every owner, of an object that is not being deleted.
func LosesOwned() string {
	return fmt.Sprintf(`!has(dyn(oldObject).metadata.deletionTimestamp) && (%[1]q in %[2]s && !(%[1]q in %[3]s) || size(%[4]s) > 0 && size(%[5]s) == 0)`,
		authority.SyncFinalizer,
		list("dyn(oldObject).metadata", "finalizers"), list("dyn(object).metadata", "finalizers"),
		list("dyn(oldObject).metadata", "ownerReferences"), list("dyn(object).metadata", "ownerReferences"))
}

// ChangesSyncFinalizer reports whether an update adds the sync finalizer or removes it.
func ChangesSyncFinalizer() string {
	return fmt.Sprintf(`request.operation == "UPDATE" && (%[1]q in %[2]s) != (%[1]q in %[3]s)`, authority.SyncFinalizer,
		list("dyn(oldObject).metadata", "finalizers"), list("dyn(object).metadata", "finalizers"))
}

// Mirrored reports whether an object has the mirror's mark, before the request or after.
func Mirrored() string {
	return either(fmt.Sprintf(`%q in %s`, authority.MirrorAnnotation, object("o.metadata", "annotations")))
}

// BeginsBesideForeign reports whether a Machine gets the finalizer after which Machine API has an instance created, while the mirror reports (Synchronized)
// another Machine of its name in Cluster API, or has marked it for that.
func BeginsBesideForeign() string {
	return fmt.Sprintf(`request.operation == "UPDATE" && %[1]q in %[2]s && !(%[1]q in %[3]s) && `+
		`(%[7]q in %[8]s || %[4]s.exists(c, c.?type.orValue("") == %[5]q && c.?reason.orValue("") == %[6]q))`,
		authority.MachineAPIMachineFinalizer, list("dyn(object).metadata", "finalizers"), list("dyn(oldObject).metadata", "finalizers"),
		list(object("dyn(oldObject)", "status"), "conditions"), authority.ConditionSynchronized, authority.ReasonForeignTwin,
		authority.BesideForeignAnnotation, object("dyn(oldObject).metadata", "annotations"))
}

// PausedInstance reports whether an object is what a provider keeps for an instance, of these kinds, and is paused before the request: it has no mark of the
// mirror's, and its controller obeys its pause alone.
func PausedInstance(kinds []string) string {
	return fmt.Sprintf(`request.kind.kind in %s && oldObject != null && %q in %s`,
		quoteAll(kinds), authority.PausedAnnotation, object("dyn(oldObject).metadata", "annotations"))
}

// NotByProvider reports whether a request is not of a provider's controllers that have an account of their own.
func NotByProvider(identities policies.Identities) string {
	return fmt.Sprintf("!(request.userInfo.username in %s)", quoteAll(identities[policies.InfrastructureController]))
}

// HeldOrPaused reports whether an object that is to be deleted has a finalizer, or is paused.
func HeldOrPaused() string {
	return fmt.Sprintf(`size(%s) > 0 || %q in %s`, list("dyn(oldObject).metadata", "finalizers"), authority.PausedAnnotation,
		object("dyn(oldObject).metadata", "annotations"))
}

// BeginsToAct reports whether a Cluster API object is created that is not paused, or its pause ends, but for a Machine that Cluster API's own
// controllers make for a MachineSet: sets go on scaling.
func BeginsToAct(identities policies.Identities) string {
	return fmt.Sprintf(`(request.operation == "CREATE" || request.operation == "UPDATE" && %[1]q in %[5]s) && !(%[1]q in %[2]s) && `+
		`!(request.operation == "CREATE" && request.kind.kind == "Machine" && request.userInfo.username in %[3]s && `+
		`%[4]s.exists(r, r.?controller.orValue(false) == true && r.?kind.orValue("") == "MachineSet" && `+
		`string(r.?apiVersion.orValue("")).startsWith("cluster.x-k8s.io/")))`,
		authority.PausedAnnotation, object("dyn(object).metadata", "annotations"), quoteAll(identities[policies.ClusterAPIController]),
		list("dyn(object).metadata", "ownerReferences"), object("dyn(oldObject).metadata", "annotations"))
}

// Binds reports whether somebody but Cluster API's controllers gives an object the ID of an instance, has a Machine own it, or unpauses what a
// Machine owns, or has a Machine refer to another infrastructure machine than before.
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

// NamesInstance reports whether an update changes the instance that the status of a provider's machine names.
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

// ChangesPaused reports whether an update changes the condition Paused in the status of an object of Cluster API, in either form of its conditions.
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

// ByCleaners reports whether a request is a deletion by the garbage collector or the namespace controller.
func ByCleaners(identities policies.Identities) string {
	return fmt.Sprintf(`request.operation == "DELETE" && request.userInfo.username in %s`,
		quoteAll(slices.Concat(identities[policies.GarbageCollector], identities[policies.NamespaceController])))
}

// ByOthers reports whether a request is not of Cluster API's controllers.
func ByOthers(identities policies.Identities) string {
	return fmt.Sprintf("!(request.userInfo.username in %s)",
		quoteAll(slices.Concat(identities[policies.ClusterAPIController], identities[policies.InfrastructureController])))
}
