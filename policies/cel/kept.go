// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// KeptPolicies returns policies that refuse, while no webhook answers, what the rule authority/provider-id refuses: the deletion of an object that a provider
// keeps for the instance of a Machine API Machine. The object's controller would terminate that instance, whether or not the object has an owner. The policies
// have each Machine of the Machine API as a parameter, and decide by the Machines for which Machine API is authoritative and that have no request to move. They
// are not twins of the rule: they see only what the API server's cache has, and they do not see which Machines of Cluster API have the instance.
func KeptPolicies(o Options) []Policy {
	return ofEachPair(o, "poundlock-delete-kept", kept)
}

func kept(o Options, name string, pair authority.Pair) *admissionregistrationv1.ValidatingAdmissionPolicy {
	machine, _ := authority.KindNamed("Machine")
	exempt := slices.Concat(o.Identities[policies.Poundlock], o.Identities[policies.GarbageCollector], o.Identities[policies.NamespaceController])
	theirs := text(object("dyn(params)", "spec"), "providerID")
	runs := fmt.Sprintf(`%s in ["", %q] && %s != %q`, text(object("dyn(params)", "status"), "authoritativeAPI"), authority.MachineAPI,
		text(object("dyn(params)", "spec"), "authoritativeAPI"), authority.ClusterAPI)
	ends := fmt.Sprintf(`variables.id != '' && %s.lowerAscii().endsWith("/" + variables.id) && %s`, theirs, runs)
	message := fmt.Sprintf(`!(%s) ? '' : `, ends) + // an API server evaluates the message for each parameter (otherSet)
		`variables.at + ": Forbidden: this object is kept for the instance of Machine " + dyn(params).metadata.name + ", and the object's controller would ` +
		`terminate that instance. To delete this " + request.kind.kind + " and keep the instance, first annotate it ` +
		`with ` + authority.PausedAnnotation + `, and remove its finalizers last ` +
		`[authority/provider-id]"`
	p := policyOfEach(o, name, machine.MachineAPIGVK(), exempt, []string{pair.ClusterAPI}, admissionregistrationv1.Validation{
		Expression:        fmt.Sprintf("!(%s)", ends),
		MessageExpression: message,
		Message: "The object that a provider keeps for the instance of a Machine cannot be deleted while its controller acts. Remedy: annotate it with " +
			authority.PausedAnnotation + " first. [authority/provider-id]",
	})
	for _, r := range o.InfraInstances {
		p.Spec.MatchConstraints.ResourceRules = append(p.Spec.MatchConstraints.ResourceRules,
			resourceRule(kind{name: authority.InfraInstance, resource: r.Resource, version: schema.GroupVersion{Group: r.Group, Version: "*"}}, "",
				[]admissionregistrationv1.OperationType{admissionregistrationv1.Delete}))
	}
	p.Spec.MatchConditions = append(p.Spec.MatchConditions, admissionregistrationv1.MatchCondition{Name: "its-controller-acts",
		Expression: fmt.Sprintf(`!(%q in %s) && !has(dyn(oldObject).metadata.deletionTimestamp)`, authority.PausedAnnotation,
			object("dyn(oldObject).metadata", "annotations"))})
	id := func(part, member string) string { return text(object("dyn(oldObject)", part), member) }
	p.Spec.Variables = []admissionregistrationv1.Variable{
		variable("at", fmt.Sprintf(`%s != '' ? 'spec.biosUUID' : 'status.instanceID'`, id("spec", "biosUUID"))),
		variable("id", fmt.Sprintf(`(%[1]s != '' ? %[1]s : %[2]s).lowerAscii()`, id("spec", "biosUUID"), id("status", "instanceID"))),
	}
	return p
}
