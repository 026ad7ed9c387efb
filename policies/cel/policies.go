// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

// Options has what the policies need to know about a cluster: users, namespaces and kinds.
type Options struct {
	Identities policies.Identities
	Pairs      authority.Pairs
	// InfraClusters are the resources of the providers' cluster objects, such as AWSClusters.
	InfraClusters []schema.GroupVersionResource
	// InfraInstances are the resources of the objects that providers keep for instances, in any version.
	InfraInstances []schema.GroupResource
	// Labels are the labels of every policy and binding.
	Labels map[string]string
}

// Policy is a policy and its only binding, which has the same name.
type Policy struct {
	Policy  *admissionregistrationv1.ValidatingAdmissionPolicy
	Binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding
}

// admissionPolicy describes one policy that is made of twins: the requests that the policy sees, all of one subresource, and the action of the API server when
// the policy denies a request.
type admissionPolicy struct {
	name, subresource string
	// family is the part before the slash in the IDs of the policy's rules.
	family string
	warns  bool
	// side is the side whose objects the policy sees. "" stands for the Machine API's side.
	side policies.Side
	// skips is an expression that is true if no row of the policy can refuse the request. It is evaluated first, which saves the cost of the other expressions.
	// Most writes are to objects for which Machine API is authoritative, and so are skipped.
	skips  string
	action admissionregistrationv1.ValidationAction
}

func admissionPolicies() []admissionPolicy {
	return []admissionPolicy{
		{
			name: "poundlock-authority", family: "authority", action: admissionregistrationv1.Deny,
			skips: `request.operation == "UPDATE" && ` + text(object("dyn(oldObject)", "status"), "authoritativeAPI") + ` == "MachineAPI"` +
				` && ` + text(object("dyn(oldObject)", "spec"), "providerID") + ` in ["", ` + text(object("dyn(object)", "spec"), "providerID") + `]`,
		},
		{name: "poundlock-authority-status", family: "authority", subresource: "status", action: admissionregistrationv1.Deny},
		{name: "poundlock-authority-warnings", family: "authority", warns: true, action: admissionregistrationv1.Audit},
		{name: "poundlock-control-plane", family: "controlplane", action: admissionregistrationv1.Deny},
		{
			name: "poundlock-surroundings", family: "authority", side: policies.Surroundings, action: admissionregistrationv1.Deny,
			skips: annotation("dyn(oldObject)", authority.HoldsMirrorsAnnotation) + " == ''",
		},
	}
}

// Policies returns the policies made of all twins, in a fixed order. An error names a twin that cannot be written, because there is no row for it, or because
// its row sees objects for which no policy is written.
func Policies(o Options) ([]Policy, error) {
	var out []Policy
	for _, d := range admissionPolicies() {
		rows, err := d.rows()
		if err != nil {
			return nil, err
		}
		out = append(out, Policy{Policy: d.policy(o, rows), Binding: d.binding(o)})
	}
	return out, nil
}

// Rules returns the rules of all packages, with and without twins.
func Rules() policies.Set { return slices.Concat(authority.Rules(), admission.Rules()) }

// row is a twin together with its rule.
type row struct {
	Twin
	rule policies.Rule
}

// rows returns the twins that belong to the policy, each with its rule, in the order of Twins.
func (d admissionPolicy) rows() ([]row, error) {
	var out []row
	all := Rules()
	for _, t := range Twins() {
		i := slices.IndexFunc(all, func(r policies.Rule) bool { return r.ID == t.Rule && r.Needs == nil })
		if i < 0 {
			return nil, fmt.Errorf("twin %s: no rule of this id does without a lookup", t.Rule)
		}
		rule := all[i]
		for _, s := range rule.On {
			if s.Side != policies.SideMachineAPI && s.Side != policies.Surroundings {
				return nil, fmt.Errorf("twin %s: it sees %s objects, policies are written for the Machine API's and the surroundings", t.Rule, s.Side)
			}
		}
		if cmp.Or(d.side, policies.SideMachineAPI) == rule.On[0].Side && strings.HasPrefix(t.Rule, d.family+"/") && t.Warns == d.warns &&
			rule.On[0].Subresource == d.subresource {
			out = append(out, row{t, rule})
		}
	}
	return out, nil
}

func (d admissionPolicy) policy(o Options, rows []row) *admissionregistrationv1.ValidatingAdmissionPolicy {
	fail, equivalent := admissionregistrationv1.Fail, admissionregistrationv1.Equivalent
	p := &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: d.name, Labels: o.Labels},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				MatchPolicy:       &equivalent,
				NamespaceSelector: d.namespaces(o.Pairs),
				ResourceRules:     d.resourceRules(o, rows),
			},
			MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name:       "not-poundlock",
				Expression: fmt.Sprintf("!(request.userInfo.username in %s)", quoteAll(o.Identities[policies.Poundlock])),
			}},
		},
	}
	if d.skips != "" {
		p.Spec.MatchConditions = append(p.Spec.MatchConditions, admissionregistrationv1.MatchCondition{Name: d.skipped(), Expression: "!(" + d.skips + ")"})
	}
	p.Spec.Variables = slices.Concat(shared(o), controlPlaneVariables(), surroundingsVariables(o))
	for _, r := range rows {
		p.Spec.Variables = append(p.Spec.Variables, variable(r.Variable, fmt.Sprintf("%s ? (%s) : ''", r.sees(), r.Fields)))
		p.Spec.Validations = append(p.Spec.Validations, admissionregistrationv1.Validation{
			Expression:        fmt.Sprintf("variables.%s == ''", r.Variable),
			MessageExpression: "variables.says",
			Message:           fmt.Sprintf("%s Remedy: %s [%s]", r.rule.Description, r.rule.Remedy, r.Rule),
		})
	}
	p.Spec.Variables = used(append(p.Spec.Variables, variable("says", messageOf(rows))))
	return p
}

// used returns the variables that are needed, in order. The last variable, which is the message, is needed. So is each variable to which a needed variable
// after it refers.
func used(all []admissionregistrationv1.Variable) []admissionregistrationv1.Variable {
	out := []admissionregistrationv1.Variable{all[len(all)-1]}
	for _, v := range slices.Backward(all[:len(all)-1]) {
		refers := regexp.MustCompile(`\bvariables\.` + v.Name + `\b`)
		if slices.ContainsFunc(out, func(o admissionregistrationv1.Variable) bool { return refers.MatchString(o.Expression) }) {
			out = append(out, v)
		}
	}
	slices.Reverse(out)
	return out
}

// skipped returns the name of the match condition by which the policy leaves out the requests for which skips is true.
func (d admissionPolicy) skipped() string {
	if d.side == policies.Surroundings {
		return "holds-mirrors"
	}
	return "not-at-rest-with-machine-api"
}

// namespaces returns a selector of the Machine API namespace of each pair. For the side Surroundings it also selects the Cluster API namespaces.
func (d admissionPolicy) namespaces(pairs authority.Pairs) *metav1.LabelSelector {
	var names []string
	for _, p := range pairs {
		names = append(names, p.MachineAPI)
		if d.side == policies.Surroundings {
			names = append(names, p.ClusterAPI)
		}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: names,
	}}}
}

// resourceRules returns one resource rule for each kind. It has all operations for which a row of the policy applies to that kind.
func (d admissionPolicy) resourceRules(o Options, rows []row) []admissionregistrationv1.NamedRuleWithOperations {
	var out []admissionregistrationv1.NamedRuleWithOperations
	for _, k := range d.kinds(o) {
		operations := map[admissionregistrationv1.OperationType]bool{}
		for _, r := range rows {
			for _, s := range r.rule.On {
				for _, op := range s.Operations {
					if slices.Contains(s.Kinds, k.name) {
						operations[admissionregistrationv1.OperationType(op)] = true
					}
				}
			}
		}
		if len(operations) > 0 {
			out = append(out, resourceRule(k, d.subresource, slices.Sorted(maps.Keys(operations))))
		}
	}
	return out
}

// kind is a resource that a policy sees.
type kind struct {
	name, resource string
	version        schema.GroupVersion
	// cluster reports that the resource is cluster-scoped.
	cluster bool
}

func (d admissionPolicy) kinds(o Options) []kind {
	if d.side == policies.Surroundings {
		return surroundings(o)
	}
	var out []kind
	for _, k := range authority.Kinds() {
		out = append(out, kind{name: k.Name, resource: k.Resource, version: k.MachineAPI})
	}
	return append(out, kind{name: controlplane.Kind, resource: controlplane.Resource, version: machinev1.GroupVersion})
}

func resourceRule(k kind, subresource string, operations []admissionregistrationv1.OperationType) admissionregistrationv1.NamedRuleWithOperations {
	resource, scope, versions := k.resource, admissionregistrationv1.NamespacedScope, k.version.Version
	if k.name == authority.InfraCluster {
		versions = "*" // a CRD may not serve the version that Poundlock reads (webhooks.Subject)
	}
	if k.cluster {
		scope = admissionregistrationv1.ClusterScope
	}
	if subresource != "" {
		resource += "/" + subresource
	}
	return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{k.version.Group}, APIVersions: []string{versions}, Resources: []string{resource}, Scope: &scope,
		},
	}}
}

// sees returns an expression that is true if a request is in the scope of the row's rule. It is needed because a policy sees the requests of all its rows.
func (r row) sees() string {
	var scopes []string
	for _, s := range r.rule.On {
		var operations []string
		for _, op := range s.Operations {
			operations = append(operations, string(op))
		}
		ofKind := "request.kind.kind in " + quoteAll(s.Kinds)
		if slices.Contains(s.Kinds, authority.InfraCluster) {
			ofKind = "(" + ofKind + " || " + infraClusters + ")"
		}
		scopes = append(scopes, fmt.Sprintf("(%s && request.operation in %s)", ofKind, quoteAll(operations)))
	}
	return "(" + strings.Join(scopes, " || ") + ")"
}

// maxFields is the maximum length of the list of fields in a message. The limit is needed because an API server drops a message of more than 5 KiB as a whole.
const maxFields = 600

// messageOf returns the expression for the message of every validation of a policy. The message has the denials of all rows, in the webhook's words, because an
// API server shows only one message.
func messageOf(rows []row) string {
	var sentences []string
	for _, r := range rows {
		sentences = append(sentences, fmt.Sprintf(
			`(variables.%[1]s == '' ? '' : (size(variables.%[1]s) > %[2]d ? variables.%[1]s.substring(0, %[2]d) + " …" : variables.%[1]s) + %[3]s + (%[4]s) + %[5]s)`,
			r.Variable, maxFields, quote(verb(r.Warns)), r.Reason, quote(" ["+r.Rule+"]")))
	}
	return "[" + strings.Join(sentences, ", ") + "].filter(s, s != '').join('; ')"
}

func verb(warns bool) string {
	if warns {
		return ": "
	}
	return ": Forbidden: "
}

func (d admissionPolicy) binding(o Options) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: d.name, Labels: o.Labels},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: d.name, ValidationActions: []admissionregistrationv1.ValidationAction{d.action},
		},
	}
}
