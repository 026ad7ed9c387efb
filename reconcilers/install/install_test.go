// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/test/chaos/wire"
	"github.com/poundlock/poundlock/test/stories"
)

const (
	available   = configv1.OperatorAvailable
	progressing = configv1.OperatorProgressing
	degraded    = configv1.OperatorDegraded
	upgradeable = configv1.OperatorUpgradeable
)

type statuses = map[configv1.ClusterStatusConditionType]configv1.ConditionStatus

var well = statuses{available: "True", progressing: "False", degraded: "False", upgradeable: "True"}

func both(t *testing.T) []*corev1.ConfigMap {
	all := []*corev1.ConfigMap{provider(t, "cluster-api", "v1.0.0"), provider(t, "infrastructure-aws", "v1.0.0")}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func TestInstallsInOrderAndThenWritesNothing(t *testing.T) {
	c := newCluster(t)
	from := auditedSoFar(t)
	c.release(both(t)...)
	c.untilDone()
	for _, name := range []string{"clusterapi", "aws"} {
		want := []string{
			"priorityclasses/NAME-priority", "customresourcedefinitions/NAMEthings.infrastructure.cluster.x-k8s.io",
			"configmaps/NAME-settings", "serviceaccounts/NAME-manager",
			"clusterroles/NAME-manager", "clusterrolebindings/NAME-manager", "services/NAME-webhook", "validatingadmissionpolicies/NAME-keeps",
			"validatingadmissionpolicybindings/NAME-keeps", "deployments/NAME-manager", "validatingwebhookconfigurations/NAME-validating", "NAMEthings/NAME-default",
		}
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "NAME", name)
		}
		if diff := cmp.Diff(want, audited(t, from, name)); diff != "" {
			t.Errorf("%s, by the audit log (-want +got):\n%s", name, diff)
		}
	}
	core, aws := audited(t, from, "clusterapi"), audited(t, from, "aws")
	if len(core) == 0 || len(aws) == 0 {
		t.Fatal("nothing was audited")
	}
	c.expect(well)
	operator := &configv1.ClusterOperator{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: installation.OperatorName}, operator); err != nil {
		t.Fatal(err)
	}
	related := map[string]bool{}
	for _, o := range operator.Status.RelatedObjects {
		related[o.Resource+"/"+o.Name] = true
	}
	for _, o := range []string{"namespaces/openshift-cluster-api", "deployments/aws-manager",
		"customresourcedefinitions/clusterapithings.infrastructure.cluster.x-k8s.io"} {
		if !related[o] {
			t.Errorf("%s is not among the related objects", o)
		}
	}
	deployment := c.must("Deployment", "aws-manager")
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if image := containers[0].(map[string]any)["image"]; image != imageOf("2") {
		t.Errorf("the image is %s", image)
	}
	c.quiet()
	c.restart()
	c.quiet()
}

// No webhook that fails closed is in force while nobody answers it: neither before pods are ready nor before the service CA has written.
func TestNoWebhookWithoutServer(t *testing.T) {
	c := newCluster(t)
	c.standin.Crash("aws-manager", true)
	c.release(both(t)...)
	c.eventually("aws waits for its pods", func() error {
		_, err := c.once()
		if err == nil && !strings.Contains(c.condition(progressing).Message, "Deployment/aws-manager") {
			err = fmt.Errorf("%s", c.condition(progressing).Message)
		}
		if err == nil && c.find("ValidatingWebhookConfiguration", "clusterapi-validating") == nil {
			err = errors.New("the core's webhooks are not there yet")
		}
		return err
	})
	if c.find("ValidatingWebhookConfiguration", "aws-validating") != nil {
		t.Error("the webhooks are there before their server")
	}
	c.expect(statuses{available: "False", progressing: "True", degraded: "False"})
	c.now = c.now.Add(21 * time.Minute)
	if _, err := c.once(); err != nil {
		t.Fatal(err)
	}
	c.expect(statuses{degraded: "True"})
	c.standin.TakeAway(true)
	c.standin.Crash("aws-manager", false)
	c.eventually("the webhooks come", func() error {
		_, err := c.once()
		if err == nil && c.find("ValidatingWebhookConfiguration", "aws-validating") == nil {
			err = fmt.Errorf("not there")
		}
		return err
	})
	for _, hook := range hooksOf(c.must("ValidatingWebhookConfiguration", "aws-validating")) {
		if conditions, _ := hook["matchConditions"].([]any); len(conditions) != 1 {
			t.Errorf("%s is called, and the API server has no CA for it", hook["name"])
		}
	}
	c.standin.TakeAway(false)
	c.untilDone()
	for _, hook := range hooksOf(c.must("ValidatingWebhookConfiguration", "aws-validating")) {
		if hook["matchConditions"] != nil {
			t.Errorf("%s is never called", hook["name"])
		}
	}
	c.expect(well)
	c.quiet()
}

func hooksOf(o *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	var out []map[string]any
	for _, hook := range list {
		out = append(out, hook.(map[string]any))
	}
	return out
}

// The process dies after each of its writes, or its request gets lost; the next one goes on.
func TestDiesAtEachWrite(t *testing.T) {
	for name, effect := range drawn(t, map[string]wire.Effect{"after it": wire.LoseAnswer(), "instead of it": wire.LoseRequest()}) {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.release(both(t)...)
			every := 1
			if name == "instead of it" {
				every = 2 // each second one, or nothing would ever be written
			}
			lift := c.wire.Lay(wire.Rule{When: wire.Every(every, wire.Both(wire.Stores, func(r wire.Request) bool { return r.Verb != "delete" })), Do: effect})
			deaths := 0
			c.eventually("everything is installed", func() error {
				again, err := c.once()
				if err != nil {
					deaths++
					c.restart()
					return err
				}
				if again < c.r.Resync {
					return fmt.Errorf("it waits")
				}
				return nil
			})
			lift()
			if t.Logf("%d deaths", deaths); deaths < 10 {
				t.Errorf("it died %d times only", deaths)
			}
			c.untilDone()
			c.expect(well)
			c.quiet()
		})
	}
}

func TestFaults(t *testing.T) {
	for name, effect := range drawn(t, map[string]wire.Effect{
		"409": wire.Conflict(), "429": wire.TooManyRequests(time.Second), "500": wire.InternalError(), "503": wire.Unavailable(), "504": wire.TimedOut(),
	}) {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.release(both(t)...)
			share := 0.04
			if name == "429" {
				share = 0.02 // the client waits a second by itself at each
			}
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			chance := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a test's
			lift := c.wire.Lay(wire.Rule{When: func(r wire.Request) bool {
				return (wire.Stores(r) || wire.Reads(r) && r.Resource != "" && name != "409") && chance.Float64() < share
			}, Do: effect})
			c.eventually("everything is installed", func() error {
				again, err := c.once()
				if err == nil && again < c.r.Resync {
					err = fmt.Errorf("it waits")
				}
				if c.condition(degraded).Status == "True" {
					t.Fatalf("degraded because of passing faults: %s", c.condition(degraded).Message)
				}
				return err
			})
			lift()
			c.untilDone()
			c.expect(well)
			c.quiet()
		})
	}
}

func TestDriftIsRemoved(t *testing.T) {
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	for name, d := range map[string]struct {
		kind, object, patch string
		left                string // what must not be left
	}{
		"a sidecar":       {"Deployment", "aws-manager", `{"spec": {"template": {"spec": {"containers": [{"name": "spy", "image": "spy"}]}}}}`, "spy"},
		"an env var":      {"Deployment", "aws-manager", `{"spec": {"template": {"spec": {"containers": [{"name": "manager", "env": [{"name": "SPY", "value": "y"}]}]}}}}`, "SPY"},
		"a host network":  {"Deployment", "aws-manager", `{"spec": {"template": {"spec": {"hostNetwork": true}}}}`, "hostNetwork"},
		"a changed value": {"Deployment", "aws-manager", `{"spec": {"template": {"spec": {"containers": [{"name": "manager", "image": "spy"}]}}}}`, "image:spy"},
		"replicas":        {"Deployment", "aws-manager", `{"spec": {"replicas": 3}}`, "replicas:3"},
		"a webhook":       {"ValidatingWebhookConfiguration", "aws-validating", `{"webhooks": [{"name": "spy.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "spy", "namespace": "default"}}}]}`, "spy.example.com"},
		"a rule":          {"ClusterRole", "aws-manager", `{"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}`, "apiGroups:[*]"},
		"a key of data":   {"ConfigMap", "aws-settings", `{"data": {"spy": "y"}}`, "spy"},
		"our label":       {"ClusterRole", "aws-manager", `{"metadata": {"labels": {"poundlock.openshift.io/installed-by": null}}}`, ""},
		"managed fields":  {"Deployment", "aws-manager", `{"metadata": {"managedFields": [{}]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			patch := types.StrategicMergePatchType
			if name == "a webhook" {
				// What the service CA writes into it goes, too.
				defer c.standin.TakeAway(false)
			}
			if name == "managed fields" {
				patch = types.MergePatchType
			}
			c.edit(d.kind, d.object, patch, d.patch)
			if name == "a webhook" {
				c.eventually("the service CA has written", func() error {
					hooks := hooksOf(c.must(d.kind, d.object))
					if client, _, _ := unstructured.NestedString(hooks[len(hooks)-1], "clientConfig", "caBundle"); client == "" {
						return fmt.Errorf("not yet")
					}
					return nil
				})
			}
			c.untilDone()
			o := c.must(d.kind, d.object)
			text := fmt.Sprint(withoutManagedFields(o).Object)
			if d.left != "" && strings.Contains(text, d.left) {
				t.Errorf("%s is left: %s", d.left, text)
			}
			if o.GetLabels()[installation.InstalledByLabel] != installation.Manager {
				t.Error("the label is gone")
			}
			c.quiet()
		})
	}
	t.Run("what may stay", func(t *testing.T) {
		c.edit("Deployment", "aws-manager", types.MergePatchType,
			`{"metadata": {"labels": {"team": "a"}}, "spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}}`)
		c.untilDone()
		o := c.must("Deployment", "aws-manager")
		restarted, _, _ := unstructured.NestedString(o.Object, "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt")
		if restarted != "now" || o.GetLabels()["team"] != "a" {
			t.Error("a restart or a label was undone")
		}
		c.quiet()
	})
	t.Run("an autoscaler scales", func(t *testing.T) {
		c.release(provider(t, "infrastructure-aws", "v1.1.0", replaced("spec:\n  selector: {matchLabels: {app: aws}}",
			"spec:\n  replicas: 1\n  selector: {matchLabels: {app: aws}}")))
		c.untilDone()
		scale := func(n int32) {
			t.Helper()
			o := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: "aws-manager"}}
			if err := c.SubResource("scale").Update(t.Context(), o, client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}),
				client.FieldOwner("kube-controller-manager")); err != nil {
				t.Fatal(err)
			}
			c.untilDone()
			if got, _, _ := unstructured.NestedInt64(c.must("Deployment", "aws-manager").Object, "spec", "replicas"); got != int64(n) {
				t.Errorf("%d replicas, and an autoscaler wants %d", got, n)
			}
			c.quiet()
		}
		scale(3)
		scale(2)
		c.release(provider(t, "infrastructure-aws", "v1.0.0"))
		c.untilDone()
	})
	t.Run("a deleted object comes back", func(t *testing.T) {
		if err := c.Delete(t.Context(), c.must("ClusterRoleBinding", "aws-manager")); err != nil {
			t.Fatal(err)
		}
		c.untilDone()
		c.must("ClusterRoleBinding", "aws-manager")
		c.expect(well)
	})
}

func withoutManagedFields(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	out.SetManagedFields(nil)
	return out
}

func TestCollision(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	foreign := &unstructured.Unstructured{Object: map[string]any{"rules": []any{}}}
	foreign.SetGroupVersionKind(kindOf("ClusterRole"))
	foreign.SetName("aws-manager")
	foreign.SetLabels(map[string]string{"cluster.x-k8s.io/provider": "infrastructure-aws", "old": "label"})
	if err := c.Create(t.Context(), foreign, client.FieldOwner("clusterctl")); err != nil {
		t.Fatal(err)
	}
	c.release(both(t)...)
	c.eventually("core is installed", func() error {
		_, _ = c.once()
		if c.find("ValidatingWebhookConfiguration", "clusterapi-validating") == nil {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	c.expect(statuses{degraded: "True"})
	if m := c.condition(degraded).Message; !strings.Contains(m, "ClusterRole/aws-manager") || !strings.Contains(m, "clusterctl") {
		t.Errorf("the message is %q", m)
	}
	if len(c.must("ClusterRole", "aws-manager").GetLabels()) != 2 || c.find("ServiceAccount", "aws-manager") != nil {
		t.Error("something of the provider was written")
	}
	c.edit("ClusterRole", "aws-manager", types.MergePatchType, `{"metadata": {"annotations": {"poundlock.openshift.io/adopt": "true"}}}`)
	c.untilDone()
	adopted := c.must("ClusterRole", "aws-manager")
	if rules, _, _ := unstructured.NestedSlice(adopted.Object, "rules"); len(rules) != 2 || adopted.GetLabels()["old"] != "" {
		t.Errorf("it was not taken over: %v", adopted.Object)
	}
	c.expect(well)
	c.quiet()
}

func TestPruneAndDeletedConfigMaps(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	// A person's object of the kinds, and one that took the name of ours.
	users := &unstructured.Unstructured{}
	users.SetGroupVersionKind(kindOf("ConfigMap"))
	users.SetNamespace(bundle.Namespace)
	users.SetName("users")
	users.SetLabels(map[string]string{"cluster.x-k8s.io/provider": "aws", installation.InstalledByLabel: installation.Manager})
	if err := c.Create(t.Context(), users); err != nil {
		t.Fatal(err)
	}
	thing := &unstructured.Unstructured{}
	thing.SetGroupVersionKind(kindOf("awsThing"))
	thing.SetNamespace(bundle.Namespace)
	thing.SetName("users")
	if err := c.Create(t.Context(), thing); err != nil {
		t.Fatal(err)
	}
	c.release(provider(t, "infrastructure-aws", "v1.1.0", without("kind: CustomResourceDefinition"), without("kind: awsThing"), without("aws-settings"),
		without("name: aws-priority"),
		func(all string) string {
			i := strings.Index(all, "- name: two.aws")
			j := strings.Index(all[i:], "\n---")
			if j < 0 {
				return all[:i]
			}
			return all[:i] + all[i+j+1:]
		}))
	c.untilDone()
	if hooks := hooksOf(c.must("ValidatingWebhookConfiguration", "aws-validating")); len(hooks) != 1 {
		t.Errorf("%d webhooks are left", len(hooks))
	}
	for kind, name := range map[string]string{"ConfigMap": "aws-settings", "PriorityClass": "aws-priority", "awsThing": "aws-default"} {
		if c.find(kind, name) != nil {
			t.Errorf("%s/%s was not pruned", kind, name)
		}
	}
	c.must("ConfigMap", "users")
	c.must("awsThing", "users")
	crd := c.must("CustomResourceDefinition", "awsthings.infrastructure.cluster.x-k8s.io")
	if crd.GetLabels()[installation.InstalledByLabel] != "" {
		t.Error("the definition was not released")
	}
	if m := c.condition(upgradeable).Message; !strings.Contains(m, "awsthings") {
		t.Errorf("the released definition is not named: %q", m)
	}
	c.expect(well)
	c.quiet()

	// The ConfigMap is deleted: its content stays, after a restart too, and is kept in order.
	if err := c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: "infrastructure-aws"}}); err != nil {
		t.Fatal(err)
	}
	c.restart()
	for range 3 {
		if _, err := c.once(); err != nil {
			t.Fatal(err)
		}
	}
	c.expect(statuses{available: "True", progressing: "False", degraded: "True"})
	c.quiet()
	c.edit("Deployment", "aws-manager", types.StrategicMergePatchType, `{"spec": {"template": {"spec": {"hostNetwork": true}}}}`)
	if err := c.Delete(t.Context(), c.must("ClusterRoleBinding", "aws-manager")); err != nil {
		t.Fatal(err)
	}
	c.untilDone()
	c.must("ClusterRoleBinding", "aws-manager")
	if host, _, _ := unstructured.NestedBool(c.must("Deployment", "aws-manager").Object, "spec", "template", "spec", "hostNetwork"); host {
		t.Error("drift is left")
	}
	// The definition comes back with its ConfigMap.
	c.release(provider(t, "infrastructure-aws", "v1.0.0"))
	c.untilDone()
	c.expect(well)
	if crd := c.must("CustomResourceDefinition", "awsthings.infrastructure.cluster.x-k8s.io"); crd.GetLabels()[installation.InstalledByLabel] == "" {
		t.Error("the definition is not the installer's again")
	}
}

// Other ConfigMaps with the label of a provider, such as its own settings, do not stand for the one that carries it.
func TestALabelDoesNotMakeATransport(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	settings := func(all string) string {
		return strings.ReplaceAll(all, "labels: {cluster.x-k8s.io/provider: aws}", "labels: {cluster.x-k8s.io/provider: infrastructure-aws}")
	}
	c.release(provider(t, "cluster-api", "v1.0.0"), provider(t, "infrastructure-aws", "v1.0.0", settings))
	c.untilDone()
	c.put(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: "odd", Labels: map[string]string{bundle.ProviderLabel: "infrastructure-aws"}},
		Data:       map[string]string{"a": "b"},
	})
	c.untilDone()
	c.expect(well)
	c.deleteConfigMap("infrastructure-aws")
	c.passes(3)
	c.expect(statuses{available: "True", progressing: "False", degraded: "True"})
	if d := c.condition(degraded); d.Reason != "ContentMissing" || !strings.Contains(d.Message, "infrastructure-aws") {
		t.Errorf("%s: %s", d.Reason, d.Message)
	}
	if err := c.Delete(t.Context(), c.must("ClusterRoleBinding", "aws-manager")); err != nil {
		t.Fatal(err)
	}
	c.passes(1)
	c.must("ClusterRoleBinding", "aws-manager") // it is kept in order
	c.release(provider(t, "infrastructure-aws", "v1.0.0", settings))
	c.untilDone()
	c.expect(well)
}

// Nothing of a set is written while something in it is wrong, and what is installed stays in force.
func TestPreflightHoldsTheSet(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	core := provider(t, "cluster-api", "v1.0.0")
	c.release(core, provider(t, "infrastructure-aws", "v1.0.0", replaced("${AWS_MODE:=quiet}", "${AWS_MODE}")))
	before := len(c.wire.Writes())
	for range 2 {
		if _, err := c.once(); err == nil {
			t.Fatal("a variable without a value was accepted")
		}
	}
	for _, w := range c.wire.Writes()[before:] {
		if w.Resource != "clusteroperators" {
			t.Errorf("written: %s", w)
		}
	}
	c.expect(statuses{degraded: "True", available: "False"})
	c.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: bundle.VariablesConfigMap},
		Data: map[string]string{"AWS_MODE": "a: b"}})
	c.untilDone()
	c.expect(well)
	if mode, _, _ := unstructured.NestedString(c.must("ConfigMap", "aws-settings").Object, "data", "mode"); mode != "a: b" {
		t.Errorf("the variable is %q", mode)
	}
	// A broken release: the installed content is still enforced.
	broken := provider(t, "infrastructure-aws", "v1.1.0")
	broken.Data["components"] += "# by hand\n"
	c.release(broken)
	if err := c.Delete(t.Context(), c.must("ClusterRoleBinding", "aws-manager")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, _ = c.once()
	}
	c.must("ClusterRoleBinding", "aws-manager")
	c.expect(statuses{degraded: "True", available: "True"})
}

// Objects are rewritten when a storage version moves, and the list of stored versions is trimmed before a version may vanish.
func TestStorageVersionMoves(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	for i := range 5 {
		thing := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": int64(i)}}}
		thing.SetGroupVersionKind(kindOf("awsThing"))
		thing.SetNamespace(bundle.Namespace)
		thing.SetName(fmt.Sprintf("t%d", i))
		if err := c.Create(t.Context(), thing); err != nil {
			t.Fatal(err)
		}
	}
	const v1 = "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n"
	v2 := strings.ReplaceAll(v1, "name: v1", "name: v2")
	c.release(provider(t, "infrastructure-aws", "v1.1.0", replaced(v1, strings.ReplaceAll(v1, "storage: true", "storage: false")+v2)))
	c.untilDone()
	c.expect(well)
	crd := c.must("CustomResourceDefinition", "awsthings.infrastructure.cluster.x-k8s.io")
	stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	if diff := cmp.Diff([]string{"v2"}, stored); diff != "" {
		t.Error(diff)
	}
	c.quiet()
	// Now the old version may go.
	c.release(provider(t, "infrastructure-aws", "v1.1.1", replaced(v1, v2),
		replaced("infrastructure.cluster.x-k8s.io/v1\n", "infrastructure.cluster.x-k8s.io/v2\n")))
	c.untilDone()
	c.expect(well)
	// A release that lacks the version in which objects are stored is refused, and nothing is lost.
	c.release(provider(t, "infrastructure-aws", "v1.1.2", replaced(v1, strings.ReplaceAll(v1, "name: v1", "name: v3")),
		replaced("infrastructure.cluster.x-k8s.io/v1\n", "infrastructure.cluster.x-k8s.io/v3\n")))
	for range 2 {
		_, _ = c.once()
	}
	if m := c.condition(degraded); m.Status != "True" || !strings.Contains(m.Message, "v2") {
		t.Errorf("%s %s", m.Status, m.Message)
	}
}

// Two releases later, neither the version in which a resource was written nor the resource is in the content. It is removed in a version that is served.
func TestPrunesWhatWasWrittenInAVersionThatWent(t *testing.T) {
	long(t, "pruning in a version that is served")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	const v1 = oneVersion
	v2 := strings.ReplaceAll(v1, "name: v1", "name: v2")
	c.release(provider(t, "infrastructure-aws", "v1.1.0", replaced(v1, strings.ReplaceAll(v1, "storage: true", "storage: false")+v2)))
	c.untilDone()
	c.must("awsThing", "aws-default")
	c.release(provider(t, "infrastructure-aws", "v1.1.1", replaced(v1, v2), without("kind: awsThing\nmetadata")))
	c.untilDone()
	c.expect(well)
	if got := c.announced("Pruned"); len(got) != 1 || !strings.Contains(got[0], "awsThing/aws-default") {
		t.Errorf("the events Pruned are %q", got)
	}
	thing := &unstructured.Unstructured{}
	thing.SetGroupVersionKind(kindOf("awsThing").GroupKind().WithVersion("v2"))
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: bundle.Namespace, Name: "aws-default"}, thing); !apierrors.IsNotFound(err) {
		t.Errorf("the resource was not pruned: %v", err)
	}
	c.quiet()
}

// While no version of a resource is served, it can neither be read nor removed. It stays in the inventory until it can.
func TestAnObjectThatIsNotServedStaysInTheInventory(t *testing.T) {
	long(t, "pruning what no version serves")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	c.release(provider(t, "infrastructure-aws", "v1.1.0", replaced(oneVersion, strings.ReplaceAll(oneVersion, "served: true", "served: false")),
		without("kind: awsThing\nmetadata")))
	c.eventually("it is named", func() error {
		if _, err := c.once(); err == nil || !strings.Contains(err.Error(), "cannot remove awsThing/aws-default: the API server serves no version of the object's kind") {
			return fmt.Errorf("not yet: %w", err)
		}
		return nil
	})
	c.expect(statuses{available: "True", progressing: "False", degraded: "False"})
	if text := c.must("ConfigMap", inventoryPrefix+"infrastructure-aws").Object["data"].(map[string]any)[inventoryKey].(string); !strings.Contains(text,
		"aws-default") {
		t.Errorf("it is not in the inventory: %s", text)
	}
	c.release(provider(t, "infrastructure-aws", "v1.1.1", without("kind: awsThing\nmetadata")))
	c.untilDone()
	c.expect(well)
	if c.find("awsThing", "aws-default") != nil {
		t.Error("the resource was not pruned")
	}
}

func TestPlatformsAndRivals(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	c.release(both(t)...)
	c.platform("None")
	before := len(c.wire.Writes())
	if _, err := c.once(); err != nil {
		t.Fatal(err)
	}
	for _, w := range c.wire.Writes()[before:] {
		if w.Resource != "clusteroperators" {
			t.Errorf("written on an unsupported platform: %s", w)
		}
	}
	c.expect(statuses{available: "True", progressing: "False", degraded: "False"})
	if m := c.condition(available).Message; !strings.Contains(m, "not yet implemented") {
		t.Errorf("%q", m)
	}
	c.platform("AWS")
	rival := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}},
		"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "a"}}}},
	}}}
	rival.SetGroupVersionKind(kindOf("Deployment"))
	rival.SetNamespace(bundle.Namespace)
	rival.SetName("cluster-capi-operator")
	if err := c.Create(t.Context(), rival); err != nil {
		t.Fatal(err)
	}
	c.quiet()
	c.edit("Deployment", "cluster-capi-operator", types.MergePatchType, `{"spec": {"replicas": 0}}`)
	c.untilDone()
	c.expect(well)
}

// That the Infrastructure names another platform, or none, or is deleted, is no request to change what is installed: it is kept as it is, serves, and the
// ClusterOperator shows what new content waits for. Nothing of another platform is installed beside it.
func TestAPlatformThatGoesLeavesWhatIsInstalled(t *testing.T) {
	long(t, "another platform, or none")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	c.release(provider(t, "infrastructure-gcp", "v1.0.0"), provider(t, "infrastructure-aws", "v1.1.0", replaced("spec: {a: 1}", "spec: {a: 2}")))
	const stays = ". Until then the installer keeps the installed objects as they are, and applies nothing new"
	for _, to := range []struct {
		platform configv1.PlatformType
		deleted  bool
		contains string
	}{
		{platform: "", contains: "Infrastructure cluster has no status.platformStatus.type yet" + stays},
		{platform: "None", contains: "Cluster API is not yet implemented on this platform: None" + stays},
		{platform: "GCP", contains: "Infrastructure cluster names platform GCP, and infrastructure-aws is installed for AWS: " +
			"correct status.platformStatus.type of the Infrastructure, or remove the provider infrastructure-aws" + stays},
		{deleted: true, contains: "Infrastructure cluster, whose status names the platform, does not exist: restore the object with its status" + stays},
	} {
		if to.deleted {
			if err := c.Delete(t.Context(), &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}); err != nil {
				t.Fatal(err)
			}
			defer c.furnish("AWS")
		} else {
			c.platform(to.platform)
		}
		c.edit("ConfigMap", "aws-settings", types.MergePatchType, `{"data": {"mine": "x"}}`)
		c.passes(2)
		c.expect(statuses{available: "True", progressing: "True", degraded: "False"})
		if m := c.condition(progressing).Message; m != to.contains {
			t.Errorf("%q: Progressing is %q, want %q", to.platform, m, to.contains)
		}
		if _, drifted, _ := unstructured.NestedString(c.find("ConfigMap", "aws-settings").Object, "data", "mine"); drifted {
			t.Errorf("%q: what is installed is not kept as it is", to.platform)
		}
		if a, _, _ := unstructured.NestedInt64(c.must("awsThing", "aws-default").Object, "spec", "a"); a != 1 {
			t.Errorf("%q: new content is applied", to.platform)
		}
		for kind, name := range map[string]string{"CustomResourceDefinition": "gcpthings.infrastructure.cluster.x-k8s.io",
			"Deployment": "gcp-manager", "ClusterRole": "gcp-manager"} {
			if c.find(kind, name) != nil {
				t.Errorf("%q: %s of another platform's provider is installed", to.platform, kind)
			}
		}
		view, err := Look(t.Context(), c.wire.Config(), Options{})
		if err != nil || len(view.Providers) != 2 || view.Waits != to.contains {
			t.Errorf("%q: a look shows %d providers, and what is waited for: %q (%v)", to.platform, len(view.Providers), view.Waits, err)
		}
	}
	c.furnish("AWS")
	c.untilDone()
	c.expect(well)
	if a, _, _ := unstructured.NestedInt64(c.must("awsThing", "aws-default").Object, "spec", "a"); a != 2 {
		t.Error("the new content is not applied")
	}
}

// A person who removes a provider, as docs/providers.md describes, may install for another platform.
func TestAPlatformChangesOnceItsProviderIsRemoved(t *testing.T) {
	long(t, "another platform after the first provider is removed")
	c := newCluster(t)
	c.release(append(both(t), provider(t, "infrastructure-gcp", "v1.0.0"))...)
	c.untilDone()
	c.platform("GCP")
	c.passes(2)
	if c.find("Deployment", "gcp-manager") != nil {
		t.Error("GCP's provider is installed beside AWS's")
	}
	for _, name := range []string{"poundlock-inventory-infrastructure-aws", "poundlock-last-good-infrastructure-aws"} {
		if err := c.Delete(t.Context(), c.must("ConfigMap", name)); err != nil {
			t.Fatal(err)
		}
	}
	c.untilDone()
	c.expect(well)
	c.must("Deployment", "gcp-manager")
	c.must("Deployment", "aws-manager") // the installer forgot it, and removes nothing
}

// Run by a manager, as in a cluster: what changes brings a pass about, long before everything is compared again.
func TestFollowsChanges(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	mgr, err := ctrl.NewManager(c.wire.Config(), ctrl.Options{
		Scheme:         scheme(),
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{bundle.Namespace: {}}},
		Metrics:        metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: installation.Manager, LeaderElectionNamespace: bundle.Namespace,
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := SetupWithManager(mgr, Options{Poll: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- mgr.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}()
	c.release(both(t)...)
	c.eventually("everything is installed", func() error {
		if s := c.condition(available); s.Status != "True" || c.condition(progressing).Status != "False" {
			return fmt.Errorf("%s %s", s.Message, c.condition(progressing).Message)
		}
		return nil
	})
	c.expect(well)
	gone := func(what string, is func() bool) {
		t.Helper()
		c.eventually(what, func() error {
			if is() {
				return fmt.Errorf("not yet")
			}
			return nil
		})
	}
	c.edit("Deployment", "aws-manager", types.StrategicMergePatchType, `{"spec": {"template": {"spec": {"containers": [{"name": "spy", "image": "spy"}]}}}}`)
	gone("a sidecar is removed", func() bool {
		containers, _, _ := unstructured.NestedSlice(c.must("Deployment", "aws-manager").Object, "spec", "template", "spec", "containers")
		return len(containers) > 1
	})
	c.edit("ClusterRole", "aws-manager", types.MergePatchType, `{"metadata": {"labels": {"poundlock.openshift.io/installed-by": null}}}`)
	gone("a label comes back", func() bool {
		return c.must("ClusterRole", "aws-manager").GetLabels()[installation.InstalledByLabel] == ""
	})
	if err := c.Delete(t.Context(), c.must("ConfigMap", "aws-settings")); err != nil {
		t.Fatal(err)
	}
	gone("a deleted object comes back", func() bool { return c.find("ConfigMap", "aws-settings") == nil })
	c.edit("ClusterOperator", installation.OperatorName, types.MergePatchType, `{"metadata": {"labels": {"a": "b"}}}`)
	c.standin.Crash("aws-manager", true)
	gone("a workload that crashes is reported", func() bool { return c.condition(available).Status == "True" })
	c.standin.Crash("aws-manager", false)
	gone("and that it runs again", func() bool { return c.condition(available).Status != "True" })
	c.release(provider(t, "infrastructure-aws", "v1.1.0", without("aws-settings")))
	gone("a new release is installed", func() bool { return c.find("ConfigMap", "aws-settings") != nil })
	c.release(marked("4.21", provider(t, "infrastructure-aws", "v1.1.0", without("aws-settings")))...)
	c.release(imagesOf("4.22", "2"))
	gone("images with another mark are noticed", func() bool { return c.condition(progressing).Status != "True" })
	c.release(imagesOf("4.21", "2"))
	gone("and that the mark is right again", func() bool { return c.condition(progressing).Status == "True" })
	time.AfterFunc(time.Second, cancel) // and then it is quiet
	before := len(c.wire.Writes())
	<-ctx.Done()
	if writes := c.wire.Writes()[before:]; len(writes) > 4 { // the last records of the new release, and the Lease
		t.Errorf("it goes on writing: %v", writes)
	}
}
