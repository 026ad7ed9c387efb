// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/cel"
	"github.com/poundlock/poundlock/policies/policiestest"
)

// users are who plays each part in these tests.
func users() policies.Identities {
	out := policies.Identities{}
	for _, a := range []policies.Actor{
		policies.Poundlock, policies.MachineAPIController, policies.ClusterAPIController, policies.InfrastructureController,
		policies.Autoscaler, policies.AutoscalerOperator, policies.ControlPlaneOperator, policies.EtcdOperator, policies.GarbageCollector,
		policies.NamespaceController,
	} {
		out[a] = []string{"system:serviceaccount:test:" + string(a)}
	}
	return out
}

func options() cel.Options {
	aws := schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Resource: "awsclusters"}
	return cel.Options{Identities: users(), InfraClusters: []schema.GroupVersionResource{aws},
		InfraInstances: []schema.GroupResource{{Group: aws.Group, Resource: "vspherevms"}}, Pairs: authority.Pairs{
			{MachineAPI: "elsewhere", ClusterAPI: "elsewhere-too"},
			{MachineAPI: policiestest.MachineAPINamespace, ClusterAPI: policiestest.ClusterAPINamespace},
		}}
}

// engine is the policies as an API server of this module's version evaluates them, with its limits of cost.
type engine []enginePolicy

type enginePolicy struct {
	*admissionregistrationv1.ValidatingAdmissionPolicy
	validator validating.Validator
}

// compile is done once: it is what takes time.
func compile(t testing.TB) engine {
	t.Helper()
	e, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var compiled = sync.OnceValues(func() (out engine, err error) {
	all, err := cel.Policies(options())
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		v, err := validator(p.Policy)
		if err != nil {
			return nil, err
		}
		out = append(out, enginePolicy{p.Policy, v})
	}
	return out, nil
})

func validator(p *admissionregistrationv1.ValidatingAdmissionPolicy) (validating.Validator, error) {
	compiler, err := admissioncel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	vars := admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, v := range p.Spec.Variables {
		// A new policy is compiled with what an API server of the version before knows too.
		if r := compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, vars, environment.NewExpressions); r.Error != nil {
			return nil, fmt.Errorf("%s: variable %s: %w", p.Name, v.Name, r.Error)
		}
	}
	var conditions, validations, messages []admissioncel.ExpressionAccessor
	for i := range p.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&p.Spec.MatchConditions[i]))
	}
	for _, v := range p.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
	}
	condition := func(of []admissioncel.ExpressionAccessor, vars admissioncel.OptionalVariableDeclarations) admissioncel.ConditionEvaluator {
		return compiler.CompileCondition(of, vars, environment.NewExpressions)
	}
	matcher := matchconditions.NewMatcher(condition(conditions, vars), p.Spec.FailurePolicy, "policy", "validate", p.Name)
	return validating.NewValidator(condition(validations, vars), matcher, condition(nil, vars),
		condition(messages, admissioncel.OptionalVariableDeclarations{}), p.Spec.FailurePolicy, nil), nil
}

// denial is what one rule says about one change, in either engine.
type denial struct {
	Fields []string
	Reason string
}

// judge is what each rule has to say, by its id. It fails the test where an expression fails.
func (e engine) judge(t testing.TB, c policies.Change) map[string]denial {
	t.Helper()
	value := map[string]denial{}
	for _, p := range e {
		for i, d := range p.decide(t.Context(), c) {
			if d.Evaluation == validating.EvalError {
				t.Fatalf("%s: %s: %s", p.Name, p.Spec.Validations[min(i, len(p.Spec.Validations)-1)].Expression, d.Message)
			}
			if d.Action == validating.ActionDeny {
				read(t, d.Message, value)
			}
		}
	}
	return value
}

// decide evaluates the policy where it matches the change.
func (p enginePolicy) decide(ctx context.Context, c policies.Change) []validating.PolicyDecision {
	if !p.matches(c) {
		return nil
	}
	return p.validator.Validate(ctx, resource(c), attributes(c), nil, namespace(c), celconfig.RuntimeCELCostBudget, nil).Decisions
}

// namespace is the request's, as the API server gives it to policies.
func namespace(c policies.Change) *corev1.Namespace {
	if c.Namespace == "" {
		return nil
	}
	out := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
	if c.NamespaceTerminating {
		out.Status.Phase = corev1.NamespaceTerminating
	}
	return out
}

func resource(c policies.Change) schema.GroupVersionResource {
	return c.Resource.WithVersion(apiVersion(c))
}

func apiVersion(c policies.Change) string {
	if c.Kind == "ControlPlaneMachineSet" {
		return "v1"
	}
	return "v1beta1"
}

// operationOptions are those of the operation, as far as any policy asks.
func operationOptions(c policies.Change) runtime.Object {
	if c.Operation != admissionv1.Delete {
		return nil
	}
	out := &metav1.DeleteOptions{}
	if c.Propagation != "" {
		out.PropagationPolicy = &c.Propagation
	}
	return out
}

// matches is matchConstraints, as far as these policies use them.
func (p enginePolicy) matches(c policies.Change) bool {
	want := c.Resource.Resource
	if c.Subresource != "" {
		want += "/" + c.Subresource
	}
	in := slices.ContainsFunc(p.Spec.MatchConstraints.NamespaceSelector.MatchExpressions[0].Values, func(ns string) bool { return ns == c.Namespace })
	return in && slices.ContainsFunc(p.Spec.MatchConstraints.ResourceRules, func(r admissionregistrationv1.NamedRuleWithOperations) bool {
		return slices.Contains(r.APIGroups, c.Resource.Group) && slices.Contains(r.Resources, want) &&
			slices.Contains(r.Operations, admissionregistrationv1.OperationType(c.Operation))
	})
}

// attributes are the request as an API server has it before its policies.
func attributes(c policies.Change) *admission.VersionedAttributes {
	before, after := content(c.Old), content(c.New)
	name := users()[c.Actor]
	if c.Actor == policies.Anyone {
		name = []string{"a person"}
	}
	kind := schema.GroupVersionKind{Group: c.Resource.Group, Version: apiVersion(c), Kind: c.Kind}
	if c.Kind == authority.InfraCluster {
		kind.Kind = c.Old.Kind // each provider's is another
	}
	a := admission.NewAttributesRecord(after, before, kind, c.Namespace, c.Name, resource(c), c.Subresource,
		admission.Operation(c.Operation), operationOptions(c), c.DryRun, &user.DefaultInfo{Name: name[0], Groups: []string{"system:masters"}})
	return &admission.VersionedAttributes{Attributes: a, VersionedKind: kind, VersionedObject: after, VersionedOldObject: before}
}

func content(o *policies.Object) runtime.Object {
	if o == nil {
		return nil
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(o.Raw()); err != nil {
		panic(err) // a case that is no object is a mistake in the test
	}
	return u
}

// read takes a message apart: fields, reason and rule of each sentence.
func read(t testing.TB, message string, into map[string]denial) {
	t.Helper()
	// A field may hold brackets too; the reason never does.
	at := 0
	for _, m := range ruleID.FindAllStringSubmatchIndex(message, -1) {
		into[message[m[2]:m[3]]] = sentenceOf(t, strings.TrimSpace(strings.TrimPrefix(message[at:m[0]], "; ")))
		at = m[1]
	}
	if at != len(message) {
		t.Fatalf("message %q: %q ends without the id of a rule", message, message[at:])
	}
}

var ruleID = regexp.MustCompile(`\[((?:authority|controlplane)/[a-z-]+)\]`)

func sentenceOf(t testing.TB, sentence string) denial {
	t.Helper()
	fields, reason, ok := strings.Cut(sentence, ": Forbidden: ")
	if !ok {
		if fields, reason, ok = strings.Cut(sentence, ": "); !ok {
			t.Fatalf("sentence %q names no field", sentence)
		}
	}
	return denial{Fields: slices.Sorted(slices.Values(strings.Split(fields, ", "))), Reason: ordered(reason)}
}

// pairs are the labels or annotations of a command.
var pairs = regexp.MustCompile(`(\S+(=\S+|-) )+--overwrite`)

// ordered sorts the pairs of a command: CEL walks a map in no order.
func ordered(reason string) string {
	return pairs.ReplaceAllStringFunc(reason, func(found string) string {
		return strings.Join(slices.Sorted(slices.Values(strings.Fields(strings.TrimSuffix(found, " --overwrite")))), " ") + " --overwrite"
	})
}
