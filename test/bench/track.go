// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"golang.org/x/sync/errgroup"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/cel"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/webhooks"
)

// The ways in which a PATCH is admitted. Each is the name of its namespace; the twins are in the namespace WAY-twins.
const (
	none      = "none"
	noop      = "noop"
	poundlock = "poundlock"
	params    = "cel-params"
)

func ways() []string { return []string{none, noop, poundlock, params} }

const identity = "system:serviceaccount:" + poundlock + "-twins:poundlock"

// track has what the ways are measured with: the client, the servers and the fleet's size.
type track struct {
	admin client.Client
	noop  *httptest.Server
	size  int
	// again starts Poundlock after it was stopped.
	again func() error
}

// lay creates the namespaces, the webhooks and the policy, and starts Poundlock.
func lay(ctx context.Context, plane *embedded.Plane, out io.Writer) (*track, error) {
	admin, err := client.New(unlimited(plane.Admin()), client.Options{})
	if err != nil {
		return nil, err
	}
	t := &track{admin: admin}
	for _, way := range ways() {
		for _, ns := range []string{way, way + "-twins"} {
			if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
				return nil, err
			}
		}
	}
	if err := t.createAll(ctx, surroundings(poundlock)); err != nil {
		return nil, err
	}
	t.noop = httptest.NewTLSServer(http.HandlerFunc(admit))
	if err := t.createAll(ctx, []client.Object{noopWebhook(t.noop), celPolicy(), celBinding()}); err != nil {
		return nil, err
	}
	for _, p := range cel.BesidePolicies(cel.Options{
		Identities: policies.Identities{policies.Poundlock: {identity}}, Pairs: authority.Pairs{{MachineAPI: poundlock, ClusterAPI: poundlock + "-twins"}},
	}) {
		if err := t.createAll(ctx, []client.Object{p.Policy, p.Binding}); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(out, "building and starting Poundlock")
	if err := t.startPoundlock(ctx, plane, "--reconcilers=false"); err != nil {
		return nil, err
	}
	return t, t.await(ctx, plane.Log("poundlock"))
}

func noopWebhook(server *httptest.Server) client.Object {
	rule, selector := machinesIn(noop, admissionregistrationv1.Update)
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-noop"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "noop.example.com", Rules: []admissionregistrationv1.RuleWithOperations{rule}, NamespaceSelector: selector,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: ptr.To(server.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			FailurePolicy: ptr.To(admissionregistrationv1.Fail), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

// celPolicy returns a policy that finds the twin among all twins: with params, the API server evaluates the policy for each object of the param kind.
func celPolicy() client.Object {
	rule, selector := machinesIn(params, admissionregistrationv1.Update)
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-params"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			ParamKind:     &admissionregistrationv1.ParamKind{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine"},
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: selector,
				ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: `params.metadata.name != object.metadata.name || !has(params.metadata.annotations) || "` + authority.PausedAnnotation +
					`" in params.metadata.annotations`,
				Message: "the twin is not paused",
			}},
		},
	}
}

func celBinding() client.Object {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-params"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        "bench-params",
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			ParamRef: &admissionregistrationv1.ParamRef{
				Namespace: params + "-twins", Selector: &metav1.LabelSelector{}, ParameterNotFoundAction: ptr.To(admissionregistrationv1.DenyAction),
			},
		},
	}
}

func (t *track) close() { t.noop.Close() }

// startPoundlock runs the product's own binary with the product's own configuration.
func (t *track) startPoundlock(ctx context.Context, plane *embedded.Plane, args ...string) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	binary := filepath.Join(plane.Dir(), "poundlock")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/poundlock")
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building Poundlock: %w:\n%s", err, output)
	}
	cfg, err := plane.As(identity)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(plane.Dir(), "poundlock.kubeconfig")
	if err := plane.Kubeconfig(cfg, kubeconfig); err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	validating, mutating := webhooks.Configurations(webhooks.ConfigOptions{
		Platforms: platforms.List(), Own: []string{identity}, URL: "https://" + address,
		Pairs: authority.Pairs{{MachineAPI: poundlock, ClusterAPI: poundlock + "-twins"}},
	})
	if err := t.createAll(ctx, []client.Object{clusterAdmin(), validating, mutating}); err != nil {
		return err
	}
	t.again = func() error {
		return plane.Attach("poundlock", binary, append([]string{"manager", "--kubeconfig=" + kubeconfig,
			"--namespaces=" + poundlock + "=" + poundlock + "-twins", "--identity-poundlock=" + identity,
			"--webhook-bind-address=" + address, "--cert-hosts=127.0.0.1",
			"--metrics-bind-address=0", "--health-bind-address=0"}, args...)...)
	}
	return t.again()
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// await waits until Poundlock answers. Its webhooks fail closed, so until then a dry run of a creation is refused.
func (t *track) await(ctx context.Context, log string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = t.admin.Create(ctx, machine(poundlock, 0), client.DryRunAll)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for Poundlock (its log is %s): %w", log, last)
	}
	return nil
}

// grow brings each way's fleet to a size.
func (t *track) grow(ctx context.Context, size int) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, way := range ways() {
		for i := t.size; i < size; i++ {
			g.Go(func() error { return t.pair(gctx, way, i) })
		}
	}
	t.size = size
	if err := g.Wait(); err != nil {
		return err
	}
	return t.waitForPolicy(ctx)
}

// pair creates a Machine for which Machine API is authoritative, and its paused mirror.
func (t *track) pair(ctx context.Context, way string, i int) error {
	m := machine(way, i)
	if err := t.admin.Create(ctx, m); err != nil {
		return fmt.Errorf("creating Machine %s/%s: %w", way, m.GetName(), err)
	}
	status := []byte(`{"status":{"authoritativeAPI":"MachineAPI","phase":"Running"}}`)
	if err := t.admin.Status().Patch(ctx, m, client.RawPatch(types.MergePatchType, status)); err != nil && way != poundlock {
		return fmt.Errorf("settling Machine %s/%s: %w", way, m.GetName(), err)
	}
	twin := mirror(way+"-twins", i)
	if err := t.admin.Create(ctx, twin); err != nil {
		return fmt.Errorf("creating the mirror %s/%s: %w", way, twin.GetName(), err)
	}
	return nil
}

// waitForPolicy waits until the CEL policy judges a change to the newest Machine by params that include the Machine's twin. The policy's informer lags behind a
// fleet that has just grown.
func (t *track) waitForPolicy(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := t.patch(ctx, params, t.size-1, patch{body: func(int) string { return `{"metadata":{"annotations":{"example.com/settled":"no"}}}` }}, 0)
		return err == nil, nil
	})
}

// patch is one kind of request. Without a body it is the creation of a Machine, as a dry run.
type patch struct {
	name string
	body func(round int) string
}

// patches returns the requests to compare: what a controller writes most, and what costs Poundlock most, which is a spec whose conversion is tried.
func patches() []patch {
	types := []string{"m6i.large", "m6i.xlarge"}
	return []patch{
		{"annotation", func(round int) string {
			return fmt.Sprintf(`{"metadata":{"annotations":{"example.com/round":"%d"}}}`, round)
		}},
		{"spec", func(round int) string {
			return fmt.Sprintf(`{"spec":{"providerSpec":{"value":{"instanceType":%q}}}}`, types[round%2])
		}},
		{name: "creation"},
	}
}

func (t *track) patch(ctx context.Context, way string, i int, p patch, round int) (time.Duration, error) {
	m := machine(way, i)
	began := time.Now()
	if p.body == nil {
		m.SetName(fmt.Sprintf("new-%d", round))
		unstructured.RemoveNestedField(m.Object, "spec", "providerID")
		err := t.admin.Create(ctx, m, client.DryRunAll)
		return time.Since(began), err
	}
	err := t.admin.Patch(ctx, m, client.RawPatch(types.MergePatchType, []byte(p.body(round))))
	return time.Since(began), err
}

// race measures one request in every way in each round. The order of the ways changes with each round.
func (t *track) race(ctx context.Context, size int, p patch, rounds int) (table, error) {
	out := table{size: size, patch: p.name, took: map[string][]time.Duration{}}
	const warmUp = 20
	if p.body == nil { // the CEL policy then tries every Machine of Cluster API's
		rounds = max(1, rounds/4)
	}
	for round := range rounds + warmUp {
		order := ways()
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		i := rand.IntN(size)
		for _, way := range order {
			took, err := t.patch(ctx, way, i, p, round)
			if err != nil {
				return out, fmt.Errorf("%s of a Machine of %s: %w", p.name, way, err)
			}
			if round >= warmUp {
				out.took[way] = append(out.took[way], took)
			}
		}
	}
	return out, nil
}

func (t *track) createAll(ctx context.Context, all []client.Object) error {
	for _, o := range all {
		status, hasStatus := statusOf(o)
		if err := t.admin.Create(ctx, o); err != nil {
			return fmt.Errorf("creating %T %s: %w", o, o.GetName(), err)
		}
		if hasStatus {
			raw, err := json.Marshal(map[string]any{"status": status})
			if err != nil {
				return err
			}
			if err := t.admin.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, raw)); err != nil {
				return err
			}
		}
	}
	return nil
}

func statusOf(o client.Object) (any, bool) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil, false
	}
	status, ok := u.Object["status"]
	return status, ok
}

// admit is the webhook that does nothing.
func admit(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}

func clusterAdmin() client.Object {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-poundlock"},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: identity}},
	}
}

func machinesIn(namespace string, ops ...admissionregistrationv1.OperationType) (admissionregistrationv1.RuleWithOperations, *metav1.LabelSelector) {
	return admissionregistrationv1.RuleWithOperations{
		Operations: ops,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"machine.openshift.io"}, APIVersions: []string{"v1beta1"}, Resources: []string{"machines"},
			Scope: ptr.To(admissionregistrationv1.NamespacedScope),
		},
	}, &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
}
