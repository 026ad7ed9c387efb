// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"slices"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Twin is the row of a rule, written in CEL. The expressions in Fields and Reason may use the variables of the policy (shared).
type Twin struct {
	// Rule is the ID of the row.
	Rule string
	// Variable is the name of the policy's variable that has the value of Fields.
	Variable string
	// Fields is the expression for the fields that the rule denies, as one string, joined with commas. If the string is empty, the rule denies nothing.
	Fields string
	// Reason is the expression for the sentence with the reason and the remedy.
	Reason string
	// Warns reports that the rule refuses nothing, and that Reason is its warning.
	Warns bool
}

// Twins returns the twins of all rules that need no lookup: those of policies/authority and of policies/controlplane.
func Twins() []Twin { return slices.Concat(authorityTwins(), controlPlaneTwins()) }

// authorityTwins returns the twins of those rows of policies/authority that need no lookup.
func authorityTwins() []Twin {
	return []Twin{
		{
			Rule: "authority/spec-locked", Variable: "specLocked",
			Fields: `variables.current == "ClusterAPI" ? variables.specChanges : ''`,
			Reason: `"Cluster API is authoritative for this " + request.kind.kind + ": change " + variables.there + " instead" ` +
				`+ (variables.specChanges.matches('(^|, )` + authority.OfProviderSpec + `') ? ` + quote(authority.InfraInstead) + ` : '') + ` +
				`variables.scaleInstead + variables.hookInstead + ` +
				`(variables.oldTemplate != variables.template ? ` + quote(authority.TemplateInstead) + ` : '') + (has(variables.was.metadata.deletionTimestamp) ` +
				`? ". The object is being deleted, so its authority can no longer move" : ", or move it first: " + variables.toMachineAPI)`,
		},
		{
			Rule: "authority/in-transit", Variable: "inTransit",
			Fields: `variables.moving ? variables.specChanges : ''`,
			Reason: `variables.transit`,
		},
		{
			Rule: "authority/metadata-reserved", Variable: "metadataReserved",
			Fields: `variables.current == "ClusterAPI" || variables.moving ? ` +
				`(variables.reservedLabels.map(k, "metadata.labels[" + string(k) + "]") + ` +
				`variables.reservedAnnotations.map(k, "metadata.annotations[" + string(k) + "]")).join(', ') : ''`,
			Reason: `variables.moving ` +
				`? "labels and annotations with names of Kubernetes, OpenShift and Poundlock cannot change during a move: " + variables.transit ` +
				fmt.Sprintf(`: (size(variables.reservedLabels) + size(variables.reservedAnnotations) > 1 || variables.pausesCheck && !(%q in %s) || `,
					authority.PausedAnnotation, object("variables.is.metadata", "annotations")) +
				`(variables.reservedLabels + variables.reservedAnnotations).exists(k, string(k).startsWith("` + authority.Domain + `/"))) && ` +
				none("reservedLabels", "labels") + ` && ` + none("reservedAnnotations", "annotations") + ` ? ` + quote(authority.LeftOutReason) + ` + variables.there ` +
				`: size(variables.settableLabels) + size(variables.settableAnnotations) == 0 ? ` + quote(authority.LeftAloneReason) +
				` : "names of Kubernetes, OpenShift and Poundlock are reserved on the object that is not authoritative: set the label or annotation on " + ` +
				`variables.there + ", which is authoritative: " + variables.setThere`,
		},
		{
			Rule: "authority/check-paused", Variable: "checkPaused",
			Fields: fmt.Sprintf(
				`(variables.current == "ClusterAPI" || variables.moving) && variables.pausesCheck && %s[?%q].orValue('') != %q ? "metadata.annotations[%s]" : ''`,
				object("variables.is.metadata", "annotations"), authority.PausedAnnotation, authority.PausedByPoundlock, authority.PausedAnnotation),
			Reason: `variables.moving ? "Poundlock pauses and unpauses this object while its authority moves: " + variables.transit : ` +
				quote(authority.CheckPausedReason) + ` + variables.toMachineAPI`,
		},
		{
			Rule: "authority/finalizer-fence", Variable: "finalizerFence",
			Fields: fmt.Sprintf(
				`%[1]s in %[2]s && !(request.operation == "UPDATE" && %[1]s in %[3]s) && !(variables.standing in ["", "MachineAPI"]) ? "metadata.finalizers" : ''`,
				quote(authority.MachineAPIMachineFinalizer), list("variables.is.metadata", "finalizers"), list("variables.was.metadata", "finalizers")),
			Reason: quote(authority.MachineAPIMachineFinalizer) +
				` + " is added by the Machine API's controllers before they create an instance, ` +
				`but Machine API is not authoritative for this Machine (authoritativeAPI is " + variables.standing + "): leave the finalizer out, " + (oldObject == null ` +
				`? "and create the Machine again" : "or move the Machine first: " + variables.toMachineAPI)`,
		},
		{
			Rule: "authority/status-owned", Variable: "statusOwned",
			Fields: `(["authoritativeAPI", "synchronizedAPI", "synchronizedGeneration"].filter(f, ` +
				`variables.oldStatus[?f].orValue(null) != variables.newStatus[?f].orValue(null) && ` +
				`!(variables.unmirrored && variables.newStatus[?f].orValue(null) in [dyn(null), dyn('')]) && ` +
				`!(f == "authoritativeAPI" && variables.current == '' && variables.newStatus[?f].orValue(null) == dyn(variables.asked)) && ` +
				`!(f == "synchronizedGeneration" && variables.current == '' && variables.asked == "ClusterAPI" && ` +
				`variables.oldStatus[?f].orValue(null) == null && variables.newStatus[?f].orValue(null) == dyn(0))` +
				`).map(f, "status." + f) + (` + synchronized("variables.oldStatus") + ` == ` + synchronized("variables.newStatus") +
				` || variables.unmirrored && size(` + synchronized("variables.newStatus") + `) == 0 ? [] : ["status.conditions[Synchronized]"]) + ` + reported() +
				`).join(', ')`,
			Reason: `"only Poundlock writes this part of status. Only the Machine API's controllers write the condition Paused: they keep it True until ` +
				`status.authoritativeAPI is MachineAPI, and do not set it to True after that. Read the object again, and patch only the other parts of status"`,
		},
		{
			Rule: "authority/uninitialised", Variable: "uninitialised",
			Fields: `variables.current == '' && variables.asked != variables.asks ? "spec.authoritativeAPI" : ''`,
			Reason: `"status.authoritativeAPI of this " + request.kind.kind + " is not set yet: ` +
				`try again in a moment. If it stays empty, Poundlock's manager is not running, or the feature gate MachineAPIMigration is off"`,
		},
		{
			Rule: "authority/template-authority", Variable: "templateAuthority", Warns: true,
			Fields: `variables.template != variables.asks && !(request.operation == "UPDATE" && variables.oldTemplate == variables.template && ` +
				`(variables.asks == "ClusterAPI" || variables.asked == variables.asks)) ? "spec.template.spec.authoritativeAPI" : ''`,
			Reason: `variables.asks == "ClusterAPI" ` +
				`? "spec.template.spec.authoritativeAPI is " + variables.template + ", but while Cluster API is authoritative for this set, ` +
				`it is authoritative for the set's new Machines too" ` +
				`: "new Machines of this set will be Cluster API's, because of spec.template.spec.authoritativeAPI, although Machine API scales the set"`,
		},
		{
			Rule: "authority/provider-id", Variable: "providerID",
			Fields: fmt.Sprintf(
				`variables.current == "MachineAPI" && %s in %s && !variables.byMachineAPI && !variables.sharesInstance && variables.oldID != '' && `+
					`variables.oldID != variables.newID ? "spec.providerID" : ''`,
				quote(authority.SyncFinalizer), list("variables.was.metadata", "finalizers")),
			Reason: `"this field names the instance that is terminated when this " + request.kind.kind + " is deleted, so only controllers may change it. Leave the ` +
				`field as it is. For another instance, create another " + request.kind.kind`,
		},
		{
			Rule: "authority/provider-status", Variable: "providerStatus",
			Fields: `!variables.byMachineAPI && variables.oldStatus[?'providerStatus'].orValue(null) != variables.newStatus[?'providerStatus'].orValue(null) ` +
				`? "status.providerStatus" : ''`,
			Reason: `"this field names the instance that is terminated when this Machine is deleted, so only controllers may write it. Leave the field as it is. For ` +
				`another instance, create another Machine"`,
		},
		{
			Rule: "authority/surroundings", Variable: "surroundings",
			Fields: fmt.Sprintf(`variables.mark == '' || has(variables.was.metadata.deletionTimestamp) || %[1]s in %[2]s ? '' : request.operation == "DELETE" ? `+
				`(variables.follows ? '' : "metadata.name") : `+
				`(%[3]s == variables.mark || %[4]s in %[2]s ? '' : "metadata.annotations[%[5]s]")`,
				annotation("variables.was", authority.AllowDeletionAnnotation), quoteAll(authority.Allows()),
				annotation("variables.is", authority.HoldsMirrorsAnnotation), annotation("variables.is", authority.AllowDeletionAnnotation),
				authority.HoldsMirrorsAnnotation),
			Reason: `(request.operation == "DELETE" ` +
				`? "Poundlock mirrors " + variables.mark + ", which need this " + request.kind.kind + variables.notAllowed + ". ` +
				`First migrate them to the API that stays, then stop Poundlock and run: kubectl poundlock cleanup. ` +
				`To delete this object at once, together with the instances of Machines for which the deleted API is authoritative ` +
				`(if control plane Machines are among them, use the value with-control-plane): " ` +
				`: "Poundlock keeps this mark while it mirrors " + variables.mark + ", which need this " + request.kind.kind + variables.notAllowed + ". ` +
				`Leave the mark as it is, also in a manifest that replaces the object. To allow its deletion: ") + variables.allow`,
		},
	}
}

// none returns an expression that is true if the requested object has none of the labels or annotations in the variable called names. of is "labels" or
// "annotations".
func none(names, of string) string {
	return fmt.Sprintf(`variables.%s.all(k, !(k in %s))`, names, object("variables.is.metadata", of))
}

func synchronized(status string) string {
	return ofType(status, quote(authority.ConditionSynchronized))
}

func ofType(status, name string) string {
	return list(status, "conditions") + fmt.Sprintf(`.filter(c, c.?type.orValue('') == %s)`, name)
}

// reported returns an expression for the list of those of the conditions AuthoritySettled and Paused that the request writes but may not write that way. Only
// the Machine API's controllers may add or change these conditions, and they may not write a Paused that contradicts the stored authority.
func reported() string {
	before, after := ofType("variables.oldStatus", "t"), ofType("variables.newStatus", "t")
	others := fmt.Sprintf(`(t != %q || request.kind.kind != %q) && size(%[4]s) > 0 && %[3]s != %[4]s`, authority.ConditionPaused, controlplane.Kind, before, after)
	has := func(of, is string) string {
		return fmt.Sprintf(`%s.exists(c, c.?status.orValue('') %s "True")`, of, is)
	}
	// An acknowledgement is of an earlier pause if its time is before that of the stored condition.
	earlier := fmt.Sprintf(`%[2]s.exists(c, c.?status.orValue('') == "True" && string(c.?lastTransitionTime.orValue('')) != '' && `+
		`%[1]s.exists(b, string(c.?lastTransitionTime.orValue('')) < string(b.?lastTransitionTime.orValue(''))))`, before, after)
	outdated := fmt.Sprintf(`t == %[1]q && request.kind.kind != %[2]q && (variables.current == "ClusterAPI" || variables.moving ? `+
		`%[3]s && %[4]s || variables.moving && !%[3]s && %[6]s : variables.current == "MachineAPI" && !%[3]s && %[5]s)`,
		authority.ConditionPaused, controlplane.Kind, has(before, "=="), has(after, "!="), has(after, "=="), earlier)
	return fmt.Sprintf(`([%q, %q].filter(t, variables.byMachineAPI ? %s : %s).map(t, "status.conditions[" + t + "]"))`,
		authority.ConditionSettled, authority.ConditionPaused, outdated, others)
}
