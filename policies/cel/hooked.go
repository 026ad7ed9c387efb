// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// HookedPolicies returns the policy that refuses, while no webhook answers, what the rules authority/delete-hooked and authority/delete-unknown-instance refuse
// for a single Machine. That is the deletion in the foreground of a Cluster API Machine that has a hook. The policy reads the hooks from the Machine's own
// annotations. It leaves out paused Machines, because Cluster API does not run a Machine that Poundlock has paused.
//
// The policy is not a twin of the rules, because the rules look up the Machine API object. The policy allows the deletion of a Machine that is paused because
// its authority moves. It also does not see the Machines of a MachineSet or a MachineDeployment that is deleted. It fails open, like all reviews of deletions
// (DESIGN §3.1).
func HookedPolicies(o Options) []Policy {
	const name = "poundlock-delete-hooked"
	machine, _ := authority.KindNamed("Machine")
	cleaners := slices.Concat(o.Identities[policies.Poundlock], o.Identities[policies.GarbageCollector], o.Identities[policies.NamespaceController])
	annotations := object("dyn(oldObject).metadata", "annotations")
	deleting := `has(dyn(oldObject).metadata.deletionTimestamp)`
	ignore, equivalent := admissionregistrationv1.Ignore, admissionregistrationv1.Equivalent
	p := &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: o.Labels},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &ignore,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				MatchPolicy: &equivalent,
				NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
					Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: o.clusterAPINamespaces(),
				}}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
					resourceRule(kind{name: machine.Name, resource: machine.Resource, version: machine.ClusterAPI}, "",
						[]admissionregistrationv1.OperationType{admissionregistrationv1.Delete}),
				},
			},
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "not-by-cleaners", Expression: fmt.Sprintf("!(request.userInfo.username in %s)", quoteAll(cleaners))},
				{Name: "in-the-foreground", Expression: fmt.Sprintf("%s && !(%s && %s)", InForeground(), deleting, Dependents("dyn(oldObject)"))},
				{Name: "not-paused", Expression: fmt.Sprintf("!(%q in %s)", authority.PausedAnnotation, annotations)},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression:        `variables.unknown == '' && variables.hooked == ''`,
				MessageExpression: `[variables.unknown, variables.hooked].filter(s, s != '').join('; ')`,
				Message: "A Machine with a hook may not be deleted in the foreground: the garbage collector would delete the infrastructure machine without waiting for " +
					"the hook. Remedy: delete the Machine in the background. [authority/delete-hooked]",
			}},
			Variables: []admissionregistrationv1.Variable{
				variable("annotations", annotations),
				variable("hooks", fmt.Sprintf(`%q in %s || %q in variables.annotations ? %s : []`, authority.SyncFinalizer,
					list("dyn(oldObject).metadata", "finalizers"), authority.MirrorAnnotation, hooksOf("variables.annotations"))),
				variable("background", fmt.Sprintf(`"Delete the Machine in the background%%s: kubectl -n " + request.namespace + `+
					`" delete %s.%s " + dyn(oldObject).metadata.name + " --cascade=background"`, machine.Resource, machine.ClusterAPI.Group)),
				variable("unknown", fmt.Sprintf(`!(%[1]q in variables.annotations) ? '' : "metadata.annotations[%[1]s]: Forbidden: `+
					`the provider does not know this Machine's instance yet. `+
					`The instance would keep running if the garbage collector deleted the infrastructure machine now. " + `+
					`variables.background.replace("%%s", "") + " [authority/delete-unknown-instance]"`, authority.InstanceHookAnnotation)),
				variable("hooked", fmt.Sprintf(`variables.hooks.size() == 0 ? '' : "metadata.annotations[" + `+
					`string(variables.hooks.filter(h, variables.hooks.all(o, string(h) <= string(o)))[0]) + "]: Forbidden: `+
					`in the foreground the garbage collector deletes the infrastructure machine, and with it the instance, without waiting for " + `+
					`(variables.hooks.size() == 1 ? "this hook" : "this Machine's " + string(variables.hooks.size()) + " hooks") + ". " + `+
					`(%s ? "The Machine is already being deleted, and waits until the controller or person that set the hook removes the annotation" `+
					`: variables.background.replace("%%s", ", which waits")) + " [authority/delete-hooked]"`, deleting)),
			},
		},
	}
	return []Policy{{Policy: p, Binding: &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: o.Labels},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}}}
}

// hooksOf returns a CEL expression for the hooks among a Machine's annotations, without Poundlock's own hook. It is hooksOf of package authority in CEL.
func hooksOf(annotations string) string {
	return fmt.Sprintf(`%s.filter(k, k != %q && (string(k).startsWith(%q) || string(k).startsWith(%q)))`, annotations,
		authority.InstanceHookAnnotation, clusterv1.PreDrainDeleteHookAnnotationPrefix, clusterv1.PreTerminateDeleteHookAnnotationPrefix)
}

func (o Options) clusterAPINamespaces() []string {
	var out []string
	for _, p := range o.Pairs {
		out = append(out, p.ClusterAPI)
	}
	return out
}
