// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// PastHooksPolicies returns the policy for deletions that pass a Machine's hooks by, because an object other than the Machine is deleted. While no webhook
// answers, the policy refuses what the rule authority/delete-hooked refuses of these: the deletion of an object that a provider keeps for the Machine's
// instance, and the deletion in the foreground of the Machine's MachineSet or MachineDeployment. The policy has each Machine of Cluster API as a parameter.
// Like HookedPolicies, it decides by what is stored on the Machine itself. So its denial names one Machine, while the rule's denial counts all Machines.
func PastHooksPolicies(o Options) []Policy {
	const name = "poundlock-delete-past-hooks"
	machine, _ := authority.KindNamed("Machine")
	set, _ := authority.KindNamed("MachineSet")
	exempt := slices.Concat(o.Identities[policies.Poundlock], o.Identities[policies.GarbageCollector], o.Identities[policies.NamespaceController])
	controllers := slices.Concat(o.Identities[policies.ClusterAPIController], o.Identities[policies.InfrastructureController])
	const asked = `(request.kind.kind in ["MachineSet", "MachineDeployment"])`
	annotations, ref := object("dyn(params).metadata", "annotations"), object("dyn(params).spec", "infrastructureRef")
	hooks := hooksOf(annotations)
	past := fmt.Sprintf(`(has(dyn(params).metadata.deletionTimestamp) && %s.exists(c, c.?reason.orValue('') in %s))`,
		ofType(object("dyn(params)", "status"), fmt.Sprintf("%q", clusterv1.MachineDeletingCondition)), quoteAll(authority.PastHooks()))
	ends := fmt.Sprintf(`(%[1]q in %[2]s || %[3]q in %[4]s) && !(%[5]q in %[4]s) && `+
		`(request.kind.kind == "MachineSet" ? %[6]s.exists(r, r.uid == dyn(oldObject).metadata.uid) : `+
		`request.kind.kind == "MachineDeployment" ? %[7]s == dyn(oldObject).metadata.name : `+
		`%[8]s.exists(r, r.kind == %[9]s && r.name == %[10]s) && !%[12]s) && %[11]s.size() > 0`,
		authority.SyncFinalizer, list("dyn(params).metadata", "finalizers"), authority.MirrorAnnotation, annotations, authority.PausedAnnotation,
		list("dyn(params).metadata", "ownerReferences"),
		fmt.Sprintf(`string(%s[?%q].orValue(""))`, object("dyn(params).metadata", "labels"), clusterv1.MachineDeploymentNameLabel),
		list("dyn(oldObject).metadata", "ownerReferences"), text(ref, "kind"), text(ref, "name"), hooks, past)
	command := func(resource, object string) string {
		return fmt.Sprintf(`kubectl -n " + request.namespace + " delete " + %s + " " + %s + "`, resource, object)
	}
	theirs := fmt.Sprintf("%q", machine.Resource+"."+machine.ClusterAPI.Group)
	message := strings.Join([]string{
		fmt.Sprintf(`!(%s) ? ''`, ends), // an API server evaluates the message for each parameter (otherSet)
		fmt.Sprintf(`%s ? "metadata.name: Forbidden: in the foreground the garbage collector deletes the infrastructure machines, and with them the instances, `+
			`without waiting for the hooks of Machine " + dyn(params).metadata.name + `+
			`". Delete the " + request.kind.kind + " in the background, which waits: %s --cascade=background [authority/delete-hooked]"`,
			asked, command(`request.resource.resource + "." + request.resource.group`, `dyn(oldObject).metadata.name`)),
		fmt.Sprintf(`"metadata.name: Forbidden: the provider would terminate the instance of Machine " + dyn(params).metadata.name + " without waiting for " + `+
			`[%s].map(h, h.size() == 1 ? "the hook " + h[0] : "its " + string(h.size()) + " hooks (" + h.filter(a, h.all(b, string(a) <= string(b)))[0] + ")")[0] + `+
			`", and before its Node is drained. " + (has(dyn(params).metadata.deletionTimestamp) ? "%s" : "Delete the Machine, which waits: %s") + `+
			`" [authority/delete-hooked]"`, hooks, authority.WaitsForHook, command(theirs, `dyn(params).metadata.name`)),
	}, " : ")
	p := policyOfEach(o, name, machine.ClusterAPIGVK(), exempt, o.clusterAPINamespaces(), admissionregistrationv1.Validation{
		Expression: fmt.Sprintf("!(%s)", ends), MessageExpression: message,
		Message: "An object whose deletion terminates the instance of a Machine cannot be deleted while a hook holds the Machine. Remedy: delete the Machine " +
			"itself, or its set in the background, which waits. [authority/delete-hooked]",
	})
	deletes := []admissionregistrationv1.OperationType{admissionregistrationv1.Delete}
	p.Spec.MatchConstraints.ResourceRules = []admissionregistrationv1.NamedRuleWithOperations{
		resourceRule(kind{name: set.Name, resource: set.Resource, version: set.ClusterAPI}, "", deletes),
		resourceRule(kind{name: authority.MachineDeployment, resource: "machinedeployments", version: set.ClusterAPI}, "", deletes),
	}
	for _, r := range o.InfraInstances {
		p.Spec.MatchConstraints.ResourceRules = append(p.Spec.MatchConstraints.ResourceRules,
			resourceRule(kind{name: authority.InfraInstance, resource: r.Resource, version: schema.GroupVersion{Group: r.Group, Version: "*"}}, "", deletes))
	}
	p.Spec.MatchConditions = append(p.Spec.MatchConditions, admissionregistrationv1.MatchCondition{Name: "ends-instances-at-once",
		Expression: fmt.Sprintf(`%s ? %s && !(has(dyn(oldObject).metadata.deletionTimestamp) && %s) : !has(dyn(oldObject).metadata.deletionTimestamp) && `+
			`!(request.userInfo.username in %s)`, asked, InForeground(), Dependents("dyn(oldObject)"), quoteAll(controllers))})
	return []Policy{{Policy: p, Binding: bindingToEach(o, name, "")}}
}
