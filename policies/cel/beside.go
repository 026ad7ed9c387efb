// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// BesidePolicies returns policies that refuse, while no webhook answers, what the rule authority/create-machineapi refuses. That is the creation of a Machine
// or a MachineSet of Machine API, if Cluster API has an object of the same name. The policies allow the creation if the Cluster API object is the mirror of the
// new object, is paused, and has no other instance. They have each object of the kind in Cluster API's namespace as a parameter, and decide by the object that
// has the name in the request. They are not twins of the rule, because they see only what the API server's cache has, and no infrastructure objects.
func BesidePolicies(o Options) []Policy {
	var out []Policy
	for _, name := range []string{"Machine", "MachineSet"} {
		k, _ := authority.KindNamed(name)
		for i, pair := range o.Pairs {
			policy := "poundlock-create-" + k.Resource
			if i > 0 {
				policy += "-" + pair.MachineAPI
			}
			out = append(out, Policy{Policy: beside(o, policy, k, pair), Binding: bindingToEach(o, policy, pair.ClusterAPI)})
		}
	}
	return out
}

func beside(o Options, name string, k authority.Kind, pair authority.Pair) *admissionregistrationv1.ValidatingAdmissionPolicy {
	// Machine API's controllers are exempt, because they create Machines for their sets under names that no other object has.
	exempt := slices.Concat(o.Identities[policies.Poundlock], o.Identities[policies.MachineAPIController])
	annotations := object("dyn(params).metadata", "annotations")
	stopped := fmt.Sprintf(`%q in %s && !%s.exists(c, c.?type.orValue('') == %q && c.?status.orValue('') == "False")`, authority.PausedAnnotation, annotations,
		list(object("dyn(params)", "status"), "conditions"), authority.ConditionPaused)
	mirror, restore := fmt.Sprintf(`%s[?%q].orValue('') == "%s/" + dyn(params).metadata.name`, annotations, authority.MirrorAnnotation, k.Name), ""
	if k.InfraActs() {
		id := text(object("dyn(params)", "spec"), "providerID")
		mirror += fmt.Sprintf(` && %[1]s == '' || %[1]s != '' && %[1]s == %[2]s`, id, text(object("dyn(object)", "spec"), "providerID"))
		restore = fmt.Sprintf(
			` : %[1]s != '' && %[2]s ? "spec.providerID: Invalid value: " + variables.there + `+
				`" is paused and has the instance " + %[1]s + ". Without this ID Machine API could create a second instance: `+
				`set spec.providerID: " + %[1]s + ", and create the Machine again [authority/create-machineapi]"`, id, stopped)
	}
	other := fmt.Sprintf(`dyn(params).metadata.name != dyn(object).metadata.?name.orValue('') || %s == %q`,
		text(object("dyn(object)", "spec"), "authoritativeAPI"), authority.ClusterAPI)
	message := other + // an API server evaluates the message for each parameter (otherSet)
		` ? '' : has(params.metadata.deletionTimestamp) ? "metadata.name: Forbidden: " + variables.there + " is being deleted, and this " + request.kind.kind + ` +
		`" could be deleted with it. Wait until that object is gone before you create this one, or use another name [authority/create-machineapi]"` +
		restore + ` : "spec.authoritativeAPI: Invalid value: " + variables.there + " exists already, so a Machine API " + request.kind.kind + ` +
		`" of this name can only mirror it: set spec.authoritativeAPI: ClusterAPI and create it again. ` +
		`To move it to Machine API later, once Synchronized is True: " + variables.toMachineAPI + " [authority/create-machineapi]"`
	p := policyOfEach(o, name, k.ClusterAPIGVK(), exempt, []string{pair.MachineAPI}, admissionregistrationv1.Validation{
		Expression:        other + " || " + stopped + " && (" + mirror + ")",
		MessageExpression: message,
		Message: "A Cluster API object of this name exists already. Remedy: set spec.authoritativeAPI: ClusterAPI and create it again. " +
			"[authority/create-machineapi]",
	})
	p.Spec.MatchConstraints.ResourceRules = []admissionregistrationv1.NamedRuleWithOperations{
		resourceRule(kind{name: k.Name, resource: k.Resource, version: k.MachineAPI}, "", []admissionregistrationv1.OperationType{admissionregistrationv1.Create}),
	}
	p.Spec.Variables = usedBy(shared(o), message)
	return p
}
