// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// scaled describes, for one API, the policy for the rule authority/scale-locked. A Scale object has neither the labels, the annotations nor the status of its
// MachineSet. So the policy has each MachineSet of the namespace as a parameter, and decides by the MachineSet that has the name in the request.
type scaled struct {
	name    string
	version schema.GroupVersion
	// actors are the actors that may scale a set that is locked.
	actors []policies.Actor
	// locked is an expression that is true if the parameter is a set that is not authoritative, or whose authority is moving.
	locked string
	// reason is the expression for the sentence with the reason and the remedy.
	reason string
	// namespaces are the namespaces of this API.
	namespaces []string
}

func scaledSides(o Options) []scaled {
	pairs := o.Pairs
	set, _ := authority.KindNamed("MachineSet")
	here := scaled{
		name: "poundlock-scale-machine-api", version: set.MachineAPI, actors: []policies.Actor{policies.Poundlock},
		locked: fmt.Sprintf(`%[1]s == "Migrating" || %[1]s == "ClusterAPI" && !(request.userInfo.username in %[2]s)`,
			text(object("dyn(params)", "status"), "authoritativeAPI"), quoteAll(o.Identities[policies.Autoscaler])),
		reason: fmt.Sprintf(`variables.moving ? variables.transit : "Cluster API is authoritative for this MachineSet, so scale it in that API: " + %s`,
			scaleCommand(clusterv1.GroupVersion.Group, twins(pairs))),
	}
	annotations := object("dyn(params).metadata", "annotations")
	there := scaled{
		name: "poundlock-scale-cluster-api", version: set.ClusterAPI, actors: []policies.Actor{policies.Poundlock, policies.Autoscaler},
		// MirrorAnnotation is compared with the name, because a person's copy of a mirror has the annotation too, but another name.
		locked: fmt.Sprintf(`%[3]s[?%[1]q].orValue('') == "%[4]s/" + dyn(params).metadata.name && %[2]q in %[3]s`,
			authority.MirrorAnnotation, authority.PausedAnnotation, annotations, set.Name),
		reason: fmt.Sprintf(`"Machine API is authoritative for this MachineSet, or authority over it is moving, so scale it in that API: " + %s`,
			scaleCommand(machinev1beta1.GroupName, origins(pairs))),
	}
	for _, p := range pairs {
		here.namespaces, there.namespaces = append(here.namespaces, p.MachineAPI), append(there.namespaces, p.ClusterAPI)
	}
	return []scaled{here, there}
}

// scaleCommand returns an expression for the kubectl command that scales the twin.
func scaleCommand(group, namespaces string) string {
	return fmt.Sprintf(`"kubectl -n " + %s[request.namespace] + " scale machinesets.%s " + request.name + " --replicas=" + string(%s)`,
		namespaces, group, replicasOf("object"))
}

func replicasOf(scale string) string { return fmt.Sprintf("dyn(%s).?spec.?replicas.orValue(0)", scale) }

// origins returns a CEL map from each namespace of Cluster API to the namespace of the Machine API in the same pair.
func origins(pairs authority.Pairs) string {
	var turned authority.Pairs
	for _, p := range pairs {
		turned = append(turned, authority.Pair{MachineAPI: p.ClusterAPI, ClusterAPI: p.MachineAPI})
	}
	return twins(turned)
}

// ScalePolicies returns the policies that refuse, while no webhook answers, changes of a mirror's replicas through /scale (authority/scale-locked). They are
// not twins of the rule: they see the MachineSets in the API server's cache, and refuse nothing for a set that is not in the cache.
func ScalePolicies(o Options) []Policy {
	var out []Policy
	for _, s := range scaledSides(o) {
		out = append(out, Policy{Policy: s.policy(o), Binding: s.binding(o)})
	}
	return out
}

// otherSet is an expression that is true if the parameter is not the set whose /scale is under review. The message has to check it as well, because for each
// parameter an API server evaluates both the validation and the message.
const otherSet = "dyn(params).metadata.name != request.name"

func (s scaled) policy(o Options) *admissionregistrationv1.ValidatingAdmissionPolicy {
	var exempt []string
	for _, a := range s.actors {
		exempt = append(exempt, o.Identities[a]...)
	}
	message := fmt.Sprintf(`%s ? '' : "spec.replicas: Forbidden: " + (%s) + " [authority/scale-locked]"`, otherSet, s.reason)
	p := policyOfEach(o, s.name, s.version.WithKind("MachineSet"), exempt, s.namespaces, admissionregistrationv1.Validation{
		Expression:        fmt.Sprintf("%s || !(%s)", otherSet, s.locked),
		MessageExpression: message,
		Message: "The set that is not authoritative may not be scaled through its scale subresource. Remedy: scale the set of the authoritative API. " +
			"[authority/scale-locked]",
	})
	p.Spec.MatchConstraints.ResourceRules = []admissionregistrationv1.NamedRuleWithOperations{
		resourceRule(kind{name: "MachineSet", resource: "machinesets", version: s.version}, "scale",
			[]admissionregistrationv1.OperationType{admissionregistrationv1.Update}),
	}
	p.Spec.MatchConditions = append(p.Spec.MatchConditions, admissionregistrationv1.MatchCondition{Name: "changes-replicas", Expression: replicasOf("object") +
		" != " + replicasOf("oldObject")})
	// The shared variables expect a MachineSet in the request, but the request has a Scale. So they are changed to read the parameter and its kind.
	variables := shared(o)
	for i, v := range variables {
		if v.Name == "was" || v.Name == "is" {
			variables[i].Expression = "dyn(params)"
		}
		variables[i].Expression = strings.ReplaceAll(variables[i].Expression, "request.kind.kind", `"MachineSet"`)
	}
	p.Spec.Variables = usedBy(variables, message)
	return p
}

// policyOfEach returns a policy that has each object of the kind called of as a parameter. The caller adds the resource rules and the variables. The policy
// fails open: if the API server has no such objects, or has not read them yet, nothing is refused.
func policyOfEach(o Options, name string, of schema.GroupVersionKind, exempt, namespaces []string,
	v admissionregistrationv1.Validation) *admissionregistrationv1.ValidatingAdmissionPolicy {
	ignore, equivalent := admissionregistrationv1.Ignore, admissionregistrationv1.Equivalent
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: o.Labels},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &ignore,
			ParamKind:     &admissionregistrationv1.ParamKind{APIVersion: of.GroupVersion().String(), Kind: of.Kind},
			MatchConstraints: &admissionregistrationv1.MatchResources{
				MatchPolicy: &equivalent,
				NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
					Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: namespaces,
				}}},
			},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "not-by-who-may",
				Expression: fmt.Sprintf("!(request.userInfo.username in %s)", quoteAll(exempt))}},
			Validations: []admissionregistrationv1.Validation{v},
		},
	}
}

// usedBy returns those variables that an expression needs, directly or through other variables.
func usedBy(all []admissionregistrationv1.Variable, expression string) []admissionregistrationv1.Variable {
	kept := used(append(all, variable("", expression)))
	return kept[:len(kept)-1]
}

// binding returns the binding by which the policy has each MachineSet of the request's namespace as a parameter.
func (s scaled) binding(o Options) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return bindingToEach(o, s.name, "")
}

// ofEachPair returns one policy for each pair of namespaces. Its parameters are the objects in the pair's Machine API namespace. The first policy is called
// name. The others are called name with the Machine API namespace as a suffix.
func ofEachPair(o Options, name string, of func(Options, string, authority.Pair) *admissionregistrationv1.ValidatingAdmissionPolicy) []Policy {
	var out []Policy
	for i, pair := range o.Pairs {
		its := name
		if i > 0 {
			its += "-" + pair.MachineAPI
		}
		out = append(out, Policy{Policy: of(o, its, pair), Binding: bindingToEach(o, its, pair.MachineAPI)})
	}
	return out
}

// bindingToEach returns the binding by which a policy has each object of its parameters' kind in a namespace as a parameter. If namespace is empty, it is the
// request's namespace.
func bindingToEach(o Options, name, namespace string) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	allow := admissionregistrationv1.AllowAction
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: o.Labels},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			ParamRef: &admissionregistrationv1.ParamRef{Namespace: namespace, Selector: &metav1.LabelSelector{}, ParameterNotFoundAction: &allow},
		},
	}
}
