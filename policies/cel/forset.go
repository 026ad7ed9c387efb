// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// ForSetPolicies refuse, while no webhook answers, what authority/create-for-set refuses: a Machine that Machine API's controllers create for a set which
// Cluster API scales. Each MachineSet of the namespace is a parameter; the one that controls the Machine decides. They are no twins of the rule, because the
// API server reads parameters from its cache, which may lag.
func ForSetPolicies(o Options) []Policy {
	const name = "poundlock-create-for-set"
	set, _ := authority.KindNamed("MachineSet")
	machine, _ := authority.KindNamed("Machine")
	var namespaces []string
	for _, p := range o.Pairs {
		namespaces = append(namespaces, p.MachineAPI)
	}
	status := object("dyn(params)", "status")
	current := text(status, "authoritativeAPI")
	other := fmt.Sprintf(`!%s.exists(r, r.?controller.orValue(false) == true && r.?kind.orValue('') == "MachineSet" && `+
		`string(r.?apiVersion.orValue('')).startsWith("machine.openshift.io/") && r.?name.orValue('') == dyn(params).metadata.name)`,
		list("dyn(object).metadata", "ownerReferences"))
	left := fmt.Sprintf(`%[1]s == "ClusterAPI" || %[1]s == "Migrating" && (%[2]s == "ClusterAPI" || `+
		`%[3]s.exists(c, c.?type.orValue('') == %[4]q && c.?status.orValue('') == "True"))`,
		current, text(status, "synchronizedAPI"), list(status, "conditions"), authority.ConditionPaused)
	p := policyOfEach(o, name, set.MachineAPIGVK(), nil, namespaces, admissionregistrationv1.Validation{
		Expression: fmt.Sprintf("%s || !(%s)", other, left),
		MessageExpression: other + // evaluated for each parameter (otherSet)
			` ? '' : "metadata.ownerReferences: Forbidden: Cluster API creates the Machines of MachineSet ` +
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
	return []Policy{{Policy: p, Binding: bindingToEach(o, name, "")}}
}
