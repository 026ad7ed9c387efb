// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// ForSetPolicies returns policies that refuse, while no webhook answers, some Machines that a MachineSet's controllers create. They refuse what two rules
// refuse. The rule authority/create-for-set refuses a Machine for a set that Cluster API scales. The rule authority/created-twice refuses a Machine for a set
// if the set of the same name in the other API acts too. The policies know that only if the mirror has set BesideForeignAnnotation on the set (marked).
//
// Each MachineSet of the Machine API's namespace is a parameter. The decision is by the set that controls the new Machine or, if a Cluster API set controls the
// Machine, by the Machine API set of the same name. The policies are not twins of the rules, because the API server reads parameters from its cache, which may
// lag.
func ForSetPolicies(o Options) []Policy {
	return append([]Policy{forMachineAPISet(o)}, ofEachPair(o, "poundlock-create-for-cluster-api-set", forClusterAPISet)...)
}

// marked returns a CEL expression that is true if the set that is the parameter has BesideForeignAnnotation. The mirror sets that annotation on a set if the
// set of the same name in the other API acts too. The rules ask authority.SetsCreatedTwice instead.
func marked() string {
	return fmt.Sprintf("%q in %s", authority.BesideForeignAnnotation, object("dyn(params).metadata", "annotations"))
}

// hasMachines returns a CEL expression that is true if the status of the set that is the parameter reports at least one Machine (authority.HasMachines).
func hasMachines() string {
	return fmt.Sprintf("%s[?'replicas'].orValue(0) != 0", object("dyn(params)", "status"))
}

// ofAnotherSet returns a CEL expression that is true unless the parameter has the name of the MachineSet, of this API group, that controls the new Machine.
func ofAnotherSet(group string) string {
	return fmt.Sprintf(`!%s.exists(r, r.?controller.orValue(false) == true && r.?kind.orValue('') == "MachineSet" && `+
		`string(r.?apiVersion.orValue('')).startsWith("%s/") && r.?name.orValue('') == dyn(params).metadata.name)`,
		list("dyn(object).metadata", "ownerReferences"), group)
}

const twiceMessage = `"metadata.ownerReferences: Forbidden: MachineSet " + dyn(params).metadata.name + " was created in both APIs at the same moment, ` +
	`and this one has no Machines: delete one of the two MachineSets [authority/created-twice]"`

func forMachineAPISet(o Options) Policy {
	const name = "poundlock-create-for-set"
	set, _ := authority.KindNamed("MachineSet")
	machine, _ := authority.KindNamed("Machine")
	var namespaces []string
	for _, p := range o.Pairs {
		namespaces = append(namespaces, p.MachineAPI)
	}
	status := object("dyn(params)", "status")
	current := text(status, "authoritativeAPI")
	other := ofAnotherSet(set.MachineAPI.Group)
	left := fmt.Sprintf(`%[1]s == "ClusterAPI" || %[1]s == "Migrating" && (%[2]s == "ClusterAPI" || `+
		`%[3]s.exists(c, c.?type.orValue('') == %[4]q && c.?status.orValue('') == "True"))`,
		current, text(status, "synchronizedAPI"), list(status, "conditions"), authority.ConditionPaused)
	p := policyOfEach(o, name, set.MachineAPIGVK(), nil, namespaces, admissionregistrationv1.Validation{
		Expression: fmt.Sprintf("%s || !(%s || %s && !(%s))", other, left, marked(), hasMachines()),
		MessageExpression: other + // an API server evaluates the message for each parameter (otherSet)
			` ? '' : !(` + left + `) ? ` + twiceMessage + ` : "metadata.ownerReferences: Forbidden: Cluster API creates the Machines of MachineSet ` +
			`" + dyn(params).metadata.name + " (its authoritativeAPI is " + ` +
			current + ` + "): no Machine API controller may. Turn its feature gate MachineAPIMigration on, or migrate the set [authority/create-for-set]"`,
		Message: "Cluster API creates the Machines of this MachineSet. Remedy: turn the feature gate MachineAPIMigration of Machine API's controllers on, " +
			"or migrate the set. [authority/create-for-set]",
	})
	p.Spec.MatchConstraints.ResourceRules = []admissionregistrationv1.NamedRuleWithOperations{
		resourceRule(kind{name: machine.Name, resource: machine.Resource, version: machine.MachineAPI}, "",
			[]admissionregistrationv1.OperationType{admissionregistrationv1.Create}),
	}
	p.Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "by-machine-api",
		Expression: fmt.Sprintf("request.userInfo.username in %s", quoteAll(o.Identities[policies.MachineAPIController]))}}
	return Policy{Policy: p, Binding: bindingToEach(o, name, "")}
}

// forClusterAPISet returns the policy that refuses Machines for Cluster API's set if Machine API's set of the same name has Machines. If Machine API's set has
// none, Cluster API's set may create Machines. The policy of forMachineAPISet then refuses the first Machine of Machine API's set.
func forClusterAPISet(o Options, name string, pair authority.Pair) *admissionregistrationv1.ValidatingAdmissionPolicy {
	set, _ := authority.KindNamed("MachineSet")
	machine, _ := authority.KindNamed("Machine")
	other := ofAnotherSet(set.ClusterAPI.Group)
	p := policyOfEach(o, name, set.MachineAPIGVK(), o.Identities[policies.Poundlock], []string{pair.ClusterAPI}, admissionregistrationv1.Validation{
		Expression:        fmt.Sprintf("%s || !(%s && %s)", other, marked(), hasMachines()),
		MessageExpression: other + ` ? '' : ` + twiceMessage, // an API server evaluates the message for each parameter (otherSet)
		Message:           "Machine API has a MachineSet of this name with Machines. Remedy: delete one of the two MachineSets. [authority/created-twice]",
	})
	p.Spec.MatchConstraints.ResourceRules = []admissionregistrationv1.NamedRuleWithOperations{
		resourceRule(kind{name: machine.Name, resource: machine.Resource, version: machine.ClusterAPI}, "",
			[]admissionregistrationv1.OperationType{admissionregistrationv1.Create}),
	}
	return p
}
