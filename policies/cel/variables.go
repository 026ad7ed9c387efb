// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// shared returns the variables that twins use. An API server evaluates a variable only if an expression uses it.
func shared(o Options) []admissionregistrationv1.Variable {
	pause := quoteAll([]string{authority.PausedAnnotation})
	stored := `(request.operation == "CREATE" ? dyn({}) : variables.was)`
	return []admissionregistrationv1.Variable{
		// dyn turns off type checks, so that the expressions do not depend on which fields the installed CRD declares.
		variable("was", "dyn(oldObject)"),
		variable("is", "dyn(object)"),
		variable("oldSpec", object(stored, "spec")),
		variable("newSpec", object("variables.is", "spec")),
		variable("oldStatus", object(stored, "status")),
		variable("newStatus", object("variables.is", "status")),
		variable("current", text("variables.oldStatus", "authoritativeAPI")),
		variable("origin", text("variables.oldStatus", "synchronizedAPI")),
		variable("requested", fmt.Sprintf(`request.operation == "CREATE" ? %s : %s`,
			text("variables.newSpec", "authoritativeAPI"), text("variables.oldSpec", "authoritativeAPI"))),
		variable("standing", "variables.current == '' ? variables.requested : variables.current"),
		variable("asked", orMachineAPI(text("variables.oldSpec", "authoritativeAPI"))),
		variable("asks", orMachineAPI(text("variables.newSpec", "authoritativeAPI"))),
		variable("unmirrored", fmt.Sprintf(`variables.current == "MachineAPI" && variables.asked == "MachineAPI" && !(%q in %s)`,
			authority.SyncFinalizer, list("variables.was.metadata", "finalizers"))),
		variable("oldTemplate", orMachineAPI(templateAuthority("variables.oldSpec"))),
		variable("template", orMachineAPI(templateAuthority("variables.newSpec"))),
		variable("moving", `variables.current == "Migrating"`),
		variable("byMachineAPI", fmt.Sprintf(`request.userInfo.username in %s`, quoteAll(o.Identities[policies.MachineAPIController]))),
		variable("phase", phase()),
		variable("oldID", text("variables.oldSpec", "providerID")),
		variable("newID", text("variables.newSpec", "providerID")),
		variable("sharesInstance", list("variables.oldStatus", "conditions")+fmt.Sprintf(`.exists(c, c.?type.orValue('') == %q && c.?reason.orValue('') == %q)`,
			authority.ConditionSettled, authority.ReasonInstanceShared)),
		// The requested object has no name if the API server is to generate one (generateName).
		variable("name", "variables.is.metadata.?name.orValue('')"),
		variable("there", fmt.Sprintf(`request.resource.resource + ".cluster.x-k8s.io " + %s[request.namespace] + "/" + variables.name`, twins(o.Pairs))),
		variable("move", `"kubectl -n " + request.namespace + " patch " + request.resource.resource + ".machine.openshift.io " + variables.name + `+
			`" --type merge -p '{\"spec\":{\"authoritativeAPI\":\""`),
		variable("toMachineAPI", `variables.move + "MachineAPI\"}}'"`),
		variable("transit", transit()),
		variable("scaleInstead", fmt.Sprintf(`request.kind.kind == "MachineSet" && %s != %s ? " (to change replicas: " + %s + ")" : ''`,
			replicasOf("object"), replicasOf("oldObject"), scaleCommand(clusterv1.GroupVersion.Group, twins(o.Pairs)))),
		variable("hookWords", hookWords()),
		variable("hookInstead", hookInstead(twins(o.Pairs))),
		variable("labels", granted(o, "metadata.labels", authority.Adds|authority.Changes)),
		variable("unlabels", granted(o, "metadata.labels", authority.Removes)),
		variable("annotates", granted(o, "metadata.annotations", authority.Adds|authority.Changes)),
		variable("unannotates", granted(o, "metadata.annotations", authority.Removes)),
		variable("specifies", `["authoritativeAPI"] + `+granted(o, "spec", authority.Writes)),
		variable("pausesCheck", fmt.Sprintf(`%s[?%q].orValue('') == %q`, object("variables.was.metadata", "annotations"), authority.PausedAnnotation,
			authority.PausedByPoundlock)),
		variable("reservedLabels", reservedNames("labels", nil, "variables.labels", "variables.unlabels")),
		variable("reservedAnnotations", reservedNames("annotations", authority.FreeAnnotations(),
			"(variables.annotates + (variables.pausesCheck ? "+pause+" : []))", "(variables.unannotates + "+pause+")")),
		variable("settableLabels", withoutLeftAlone("reservedLabels", "labels")),
		variable("settableAnnotations", withoutLeftAlone("reservedAnnotations", "annotations")),
		variable("setThere", setThere(twins(o.Pairs))),
		variable("holdsForEtcd", holdsForEtcd(o)),
		variable("judgedOld", judgedSpec("variables.oldSpec")),
		variable("judgedNew", judgedSpec("variables.newSpec")),
		variable("specChanges", differences("spec", "variables.judgedOld", "variables.judgedNew", exactFields(), "variables.specifies")),
	}
}

// exactFields returns the paths of the fields that a provider reads (authority.ProviderSpecFields). Each path is given beneath spec, as a list of names.
func exactFields() [][]string {
	var out [][]string
	for _, path := range authority.ProviderSpecFields() {
		out = append(out, strings.Split(path, ".")[1:])
	}
	return out
}

// granted returns an expression for the list of names that authority.Grants lets the request's user write with this effect. of says where the names are: spec,
// metadata.labels or metadata.annotations.
func granted(o Options, of string, effect authority.Effect) string {
	var rows []string
	for _, g := range authority.Grants() {
		if names := g.Names(of); g.Side == policies.SideMachineAPI && g.Only == nil && g.Effects&effect == effect && len(names) > 0 {
			rows = append(rows, fmt.Sprintf(`(request.userInfo.username in %s && request.kind.kind in %s && variables.phase in %s ? %s : [])`,
				quoteAll(o.Identities[g.Actor]), quoteAll(g.Kinds), quoteAll(phases(g.While)), quoteAll(names)))
		}
	}
	return strings.Join(append(rows, "[]"), " + ")
}

// phases returns the values that the policy's variable phase can have in the phases of a row of authority.Grants. There is none for the phase Uninitialized,
// because on the Machine API's side nothing is locked in that phase.
func phases(of authority.Phase) []string {
	var out []string
	for _, p := range []struct {
		phase authority.Phase
		name  string
	}{
		{authority.ByMachineAPI, "MachineAPI"}, {authority.ByClusterAPI, "ClusterAPI"},
		{authority.LeavingMachineAPI, "leaving MachineAPI"}, {authority.LeavingClusterAPI, "leaving ClusterAPI"},
		{authority.LeftMachineAPI, "left MachineAPI"}, {authority.LeftClusterAPI, "left ClusterAPI"}, {authority.LeavingUnknown, "leaving "},
	} {
		if of&p.phase != 0 {
			out = append(out, p.name)
		}
	}
	return out
}

// phase returns an expression for the phase of a Machine API object, as a string. It is authority.Phase in CEL.
func phase() string {
	acknowledged := list("variables.oldStatus", "conditions") + fmt.Sprintf(`.exists(c, c.?type.orValue('') == %q && c.?status.orValue('') == "True")`,
		authority.ConditionPaused)
	return fmt.Sprintf(`!variables.moving ? variables.current : (variables.origin != '' && %s ? "left " : "leaving ") + variables.origin`, acknowledged)
}

func variable(name, expression string) admissionregistrationv1.Variable {
	return admissionregistrationv1.Variable{Name: name, Expression: expression}
}

func orMachineAPI(asked string) string {
	return fmt.Sprintf(`%[1]s == '' ? "MachineAPI" : %[1]s`, asked)
}

func templateAuthority(spec string) string {
	return text(object(object(spec, "template"), "spec"), "authoritativeAPI")
}

func transit() string {
	return `variables.origin == '' ` +
		`? "authority over this " + request.kind.kind + " is moving: try again in a moment, ` +
		`or set spec.authoritativeAPI of the Machine API object back to cancel the move" ` +
		`: "authority over this " + request.kind.kind + " is moving from " + ` +
		`(variables.origin == "MachineAPI" ? "Machine API to Cluster API" : "Cluster API to Machine API") + ": try again in a moment" + ` +
		`(variables.requested == variables.origin ? '' : ", or cancel the move: " + variables.move + variables.origin + "\"}}'")`
}

// twins returns a CEL map from each namespace of the Machine API to the namespace of Cluster API in the same pair.
func twins(pairs authority.Pairs) string {
	var entries []string
	for _, p := range pairs {
		entries = append(entries, quote(p.MachineAPI)+": "+quote(p.ClusterAPI))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// reservedNames returns an expression for the list of labels or annotations with a reserved name that a request adds, changes or removes although it may not. A
// request may do everything with the names in free. It may add or change the names in the expression set, and remove the names in the expression removed.
func reservedNames(of string, free []string, set, removed string) string {
	before, after := object("variables.was.metadata", of), object("variables.is.metadata", of)
	names := reserved("k")
	if of == "annotations" {
		names = fmt.Sprintf("(%s || k in %s && k in %s)", names, quoteAll(authority.NamelessHooks()), after)
	}
	return fmt.Sprintf(`(%[2]s.filter(k, %[1]s[?k] != %[2]s[?k] && !(k in %[5]s)) + %[1]s.filter(k, !(k in %[2]s) && !(k in %[6]s)))`+
		`.filter(k, !(k in %[3]s) && %[4]s)`,
		before, after, quoteAll(free), names, set, removed)
}

// reserved returns an expression that is true if a key is reserved. It decides as authority.Reserved does: by whole DNS labels of the key's domain. Labels and
// annotations by which other tools recognize their objects (authority.TheirNames) are not reserved.
func reserved(key string) string {
	var theirs []string
	for _, name := range authority.TheirNames() {
		end := "$"
		if strings.HasSuffix(name, "/") {
			end = ""
		}
		theirs = append(theirs, strings.ReplaceAll(name, ".", "[.]")+end)
	}
	return fmt.Sprintf(`(%[1]s == "machine-template-hash" || %[1]s.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|x-k8s[.]io|openshift[.]io)/') && `+
		`!%[1]s.matches('^(%[2]s)'))`,
		key, strings.Join(theirs, "|"))
}

// withoutLeftAlone returns an expression for the reserved names in the variable called names, without those that the mirror leaves to a controller of the
// Machine API (authority.LeftAlone).
func withoutLeftAlone(names, of string) string {
	var kinds []string
	for _, kind := range authority.Kinds() {
		if left := authority.LeftAlone(kind.Name, "metadata."+of); len(left) > 0 {
			kinds = append(kinds, quote(kind.Name)+": "+quoteAll(left))
		}
	}
	if len(kinds) == 0 {
		return "variables." + names
	}
	return fmt.Sprintf(`variables.%s.filter(k, !(k in {%s}[?request.kind.kind].orValue([])))`, names, strings.Join(kinds, ", "))
}

// hookWords returns an expression for the list of a request's changes of hooks. For a Machine they are arguments of kubectl annotate for the twin. For the
// template of a MachineSet they are members of a merge patch. The expression is hookWords of package authority in CEL.
func hookWords() string {
	return fmt.Sprintf(`request.operation != "UPDATE" ? [] : request.kind.kind == "Machine" ? %s : request.kind.kind == "MachineSet" ? %s : []`,
		changedHooks(func(spec string) string { return spec }, "", "=", "", "-"),
		changedHooks(func(spec string) string { return object(object(spec, "template"), "spec") }, `"`, `":"`, `"`, `":null`))
}

// changedHooks returns an expression for the list of changed hooks, each as a string. For a hook that is set, the string is open, the annotation's name, is,
// the hook's owner and end, joined. For a hook that is removed, it is open, the annotation's name and none.
func changedHooks(of func(spec string) string, open, is, end, none string) string {
	var lists []string
	for _, l := range authority.HookLists() {
		hooks := func(spec string) string { return list(object(of(spec), "lifecycleHooks"), l.Field) }
		before, after, name := hooks("variables.oldSpec"), hooks("variables.newSpec"), quote(open+l.Prefix)+" + string(h.?name.orValue(''))"
		owner := "string(h.?owner.orValue(''))"
		lists = append(lists,
			fmt.Sprintf(`%s.filter(h, !(h in %s)).map(h, %s + %s + (%s.matches(%s) ? %[5]s : "VALUE") + %[7]s)`,
				after, before, name, quote(is), owner, quote(authority.PlainValue), quote(end)),
			fmt.Sprintf(`%s.filter(h, !%s.exists(n, n.?name == h.?name)).map(h, %s + %s)`, before, after, name, quote(none)))
	}
	return strings.Join(lists, " + ")
}

func hookInstead(namespaces string) string {
	const patch, patched = `{"spec":{"template":{"metadata":{"annotations":{`, `}}}}}`
	return fmt.Sprintf(`size(variables.hookWords) == 0 ? '' : " (in Cluster API a hook is an annotation: kubectl -n " + %[1]s[request.namespace] + `+
		`(request.kind.kind == "Machine" ? " annotate machines.%[2]s " + variables.name + " " + variables.hookWords.join(' ') + " --overwrite)" : `+
		`" patch machinesets.%[2]s " + variables.name + %[3]s + variables.hookWords.join(',') + %[4]s)`,
		namespaces, clusterv1.GroupVersion.Group, quote(" --type merge -p '"+patch), quote(patched+"')"))
}

// setThere returns an expression for the kubectl commands that make a request's changes of reserved names on the twin.
func setThere(namespaces string) string {
	return fmt.Sprintf(`[%s, %s].filter(c, c != '').join(' && ')`,
		setNames(namespaces, "label", "variables.settableLabels", "labels"), setNames(namespaces, "annotate", "variables.settableAnnotations", "annotations"))
}

func setNames(namespaces, verb, names, of string) string {
	var renamed []string
	for _, names := range []map[string]string{authority.Renamed(), authority.Older()} {
		for machineAPI, clusterAPI := range names {
			renamed = append(renamed, quote(machineAPI)+": "+quote(clusterAPI))
		}
	}
	for _, hook := range authority.NamelessHooks() {
		if of == "annotations" {
			renamed = append(renamed, quote(hook)+": "+quote(hook+"/NAME"))
		}
	}
	slices.Sort(renamed)
	after, name := object("variables.is.metadata", of), fmt.Sprintf("{%s}[?string(k)].orValue(string(k))", strings.Join(renamed, ", "))
	word := fmt.Sprintf(`%[1]s + (!(k in %[2]s) || k in %[4]s && string(%[2]s[k]) == "false" ? "-" : `+
		`string(%[2]s[k]).matches(%[3]s) ? "=" + string(%[2]s[k]) : "=VALUE")`,
		name, after, quote(authority.PlainValue), quoteAll(authority.DeletionMarks()))
	return fmt.Sprintf(`(%[1]s.size() == 0 ? '' `+
		`: "kubectl -n " + %[2]s[request.namespace] + " %[3]s " + request.resource.resource + ".cluster.x-k8s.io " + variables.name + " " + `+
		`%[1]s.map(k, %[4]s).join(' ') + " --overwrite")`,
		names, namespaces, verb, word)
}
