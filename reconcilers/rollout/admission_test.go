// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/stories"
)

// writes has the API server write a field into the providerSpec of each Machine that is created here, as a tagging policy does.
func (w *world) writes(field, expression string) {
	w.t.Helper()
	p := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.pair.MachineAPI}}
	p.Spec = admissionregistrationv1.MutatingAdmissionPolicySpec{
		FailurePolicy: ptr.To(admissionregistrationv1.Fail), ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
		MatchConstraints: w.machinesHere(),
		Mutations: []admissionregistrationv1.Mutation{{PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: &admissionregistrationv1.JSONPatch{
			Expression: fmt.Sprintf(`[JSONPatch{op: "add", path: "/spec/providerSpec/value/%s", value: %s}]`, field, expression),
		}}},
	}
	w.must(w.Create(w.t.Context(), p))
	b := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: p.ObjectMeta,
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: p.Name}}
	b.ResourceVersion = ""
	w.must(w.Create(w.t.Context(), b))
	w.t.Cleanup(func() {
		w.must(w.Delete(context.Background(), b))
		w.must(w.Delete(context.Background(), p))
	})
	w.tried("the policy writes", func(m map[string]any, err error) bool { return err == nil && m[field] != nil })
}

// refuses has the API server refuse Machines of a size here, and returns what ends that.
func (w *world) refuses(size, words string) (end func()) {
	w.t.Helper()
	p := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.pair.MachineAPI}}
	p.Spec = admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: ptr.To(admissionregistrationv1.Fail), MatchConstraints: w.machinesHere(),
		Validations: []admissionregistrationv1.Validation{{Expression: fmt.Sprintf(`object.spec.providerSpec.value.instanceType != %q`, size), Message: words}},
	}
	w.must(w.Create(w.t.Context(), p))
	b := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: p.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		}}
	w.must(w.Create(w.t.Context(), b))
	end = func() {
		w.must(client.IgnoreNotFound(w.Delete(context.Background(), b)))
		w.must(client.IgnoreNotFound(w.Delete(context.Background(), p)))
	}
	w.t.Cleanup(end)
	w.triedAs(size, "the policy refuses", func(_ map[string]any, err error) bool { return err != nil && strings.Contains(err.Error(), words) })
	return end
}

func (w *world) machinesHere() *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.pair.MachineAPI}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"machine.openshift.io"}, APIVersions: []string{"v1beta1"}, Resources: []string{"machines"}},
		}}},
	}
}

// tried waits until a dry run of a Machine is answered so: the API server reads its policies with a delay.
func (w *world) tried(text string, so func(providerSpec map[string]any, err error) bool) {
	w.triedAs("m6i.xlarge", text, so)
}

func (w *world) triedAs(size, text string, so func(providerSpec map[string]any, err error) bool) {
	w.t.Helper()
	if err := wait.PollUntilContextTimeout(w.t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		m := w.machine("try-0", "a", size)
		err := w.Create(ctx, m, client.DryRunAll)
		return so(contentOf(m), err), nil
	}); err != nil {
		w.t.Fatalf("waiting until %s: %v", text, err)
	}
}

func TestAFieldThatAdmissionFills(t *testing.T) {
	w := newWorld(t, 3)
	w.writes("keyName", `"ops"`)
	s := &script{}
	r := w.operator(s)
	w.found(larger)
	w.waitForRest(r)
	w.wantDone("m6i.2xlarge", 3)
	if n := s.count("create c-master"); n != 3 {
		t.Errorf("%d Machines were created for three", n)
	}
	for _, m := range w.machines() {
		if contentOf(&m)["keyName"] != "ops" {
			t.Errorf("%s has %s", m.Name, m.Spec.ProviderSpec.Value.Raw)
		}
	}
	before := s.tries.Load()
	for range 5 {
		pass(t, r)
	}
	if n := s.tries.Load() - before; n > 0 {
		t.Errorf("idle passes tried %d Machines", n)
	}
}

func TestAFieldThatAdmissionWritesOtherwiseEachTime(t *testing.T) {
	w := newWorld(t, 3)
	w.writes("keyName", "object.metadata.name")
	s := &script{}
	r := w.operator(s)
	w.found(larger, func(set *machinev1.ControlPlaneMachineSet) {
		p := &set.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.ProviderSpec
		p.Value.Raw = []byte(strings.Replace(string(p.Value.Raw), `{`, `{"keyName":"mine",`, 1))
	})
	w.waitForRest(r)
	w.wantCondition("Degraded", "True AlteredMachines", "keyName", "-0")
	if n := s.count("create c-master"); n != 1 || s.count("delete") != 0 {
		t.Errorf("it wrote %v", s.log)
	}
}

func TestAMachineThatTheAPIServerRefuses(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, 3)
	end := w.refuses("m6i.2xlarge", "no m6i.2xlarge here")
	s := &script{}
	r := w.operator(s)
	w.found(larger)
	w.waitForRest(r)
	w.wantCondition("Degraded", "True MachineRefused", "no m6i.2xlarge here", "index 0 in a")
	w.wantCondition("Progressing", "False Stopped", "no m6i.2xlarge here")
	if n := s.count("create c-master"); n != 0 {
		t.Errorf("it wrote %v", s.log)
	}
	result, _ := pass(t, r)
	if result.RequeueAfter != unwatched {
		t.Errorf("it comes back after %s", result.RequeueAfter)
	}
	end()
	w.triedAs("m6i.2xlarge", "nothing refuses", func(_ map[string]any, err error) bool { return err == nil })
	w.waitForRest(r)
	w.wantDone("m6i.2xlarge", 3)
}

// TestARefusalThatNoDryRunShows: a webhook with side effects is not asked in a dry run, so that the API server takes none.
func TestARefusalThatNoDryRunShows(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, 3)
	s := &script{undry: apierrors.NewBadRequest(`admission webhook "x" does not support dry run`), refusal: apierrors.NewForbidden(machinev1.Resource("machines"),
		"x", fmt.Errorf("no Machines on a Sunday"))}
	r := w.operator(s)
	w.found(larger)
	for range 6 {
		_, _ = r.Reconcile(t.Context(), r.request())
	}
	w.wantCondition("Degraded", "True MachineRefused", "no Machines on a Sunday")
	n := s.count("create c-master")
	for range 3 {
		_, _ = r.Reconcile(t.Context(), r.request())
	}
	if s.count("create c-master") != n {
		t.Errorf("it tries again at once: %v", s.log)
	}
	w.now = w.now.Add(unwatched)
	_, _ = r.Reconcile(t.Context(), r.request())
	if s.count("create c-master") != n+1 {
		t.Errorf("it does not try again: %v", s.log)
	}
	w.wantCondition("Degraded", "True MachineRefused", "no Machines on a Sunday")
	s.refusal = nil
	w.now = w.now.Add(unwatched)
	w.waitForRest(r)
	w.wantDone("m6i.2xlarge", 3)
}
