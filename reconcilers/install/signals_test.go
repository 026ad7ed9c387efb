// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/test/chaos/wire"
	"github.com/poundlock/poundlock/test/stories"
)

// announced are the events since the last call that have a reason.
func (c *cluster) announced(reason string) []string {
	c.Helper()
	recorder, _ := c.r.recorder.(*events.FakeRecorder)
	var out []string
	for {
		select {
		case e := <-recorder.Events:
			if strings.Contains(e, " "+reason+" ") {
				out = append(out, e)
			}
		default:
			return out
		}
	}
}

// failed holds that there was one event InstallFailed, with these words, or none where there are no words.
func (c *cluster) failed(words string) {
	c.Helper()
	got := c.announced("InstallFailed")
	if words == "" && len(got) > 0 || words != "" && (len(got) != 1 || !strings.Contains(got[0], words)) {
		c.Errorf("the events InstallFailed are %q, want one with %q", got, words)
	}
}

// shows holds that gauges have a value; -1 is none.
func (c *cluster) shows(degraded, failing, stage float64) {
	c.Helper()
	m := c.r.meters
	if got := testutil.ToFloat64(m.degraded); got != degraded {
		c.Errorf("degraded is %v, want %v", got, degraded)
	}
	for name, gauge := range map[string]struct {
		series int
		value  func() float64
		want   float64
	}{
		"failing": {testutil.CollectAndCount(m.problem), func() float64 { return testutil.ToFloat64(m.problem.WithLabelValues("infrastructure-aws")) }, failing},
		"stage":   {testutil.CollectAndCount(m.stage), func() float64 { return testutil.ToFloat64(m.stage.WithLabelValues("infrastructure-aws")) }, stage},
	} {
		if gauge.want < 0 {
			if gauge.series > 0 {
				c.Errorf("%s has %d series, want none", name, gauge.series)
			}
		} else if got := gauge.value(); gauge.series == 0 || got != gauge.want {
			c.Errorf("%s is %v of %d series, want %v", name, got, gauge.series, gauge.want)
		}
	}
}

// collide has somebody else create a ConfigMap that the provider has.
func (c *cluster) collide() {
	c.Helper()
	c.deleteConfigMap("aws-settings")
	c.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: "aws-settings"}})
}

// Each problem that a person has to end has one event, whichever pass finds it again. One that may pass has none. Gauges show what is true now.
func TestEventsAndGauges(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	c.r.meters.standsStill(true) // nothing is shown of earlier stories
	c.release(provider(t, "cluster-api", "v1.0.0"), provider(t, "infrastructure-aws", "v1.0.0", replaced("${AWS_MODE:=quiet}", "${AWS_MODE}")))
	c.passes(4)
	c.failed("AWS_MODE")
	c.shows(1, -1, -1)
	c.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: bundle.VariablesConfigMap}, Data: map[string]string{"AWS_MODE": "a"}})
	c.untilDone()
	if got := c.announced("Installed"); len(got) != 2 {
		t.Errorf("the events Installed are %q, want one for each provider", got)
	}
	c.shows(0, 0, 0)

	// An error that may pass, until it is Degraded, has no event.
	lift := c.wire.Lay(wire.Rule{When: func(r wire.Request) bool { return r.Stores() && r.Resource == "clusterrolebindings" }, Do: wire.InternalError()})
	if err := c.Delete(t.Context(), c.must("ClusterRoleBinding", "aws-manager")); err != nil {
		t.Fatal(err)
	}
	c.passes(1)
	c.shows(0, 1, float64(bundle.Roles))
	c.now = c.now.Add(installation.Grace + time.Second)
	c.passes(installation.Passes)
	c.failed("")
	c.shows(1, 1, float64(bundle.Roles))
	lift()
	c.untilDone()
	c.shows(0, 0, 0)

	// A collision has one each time that it comes.
	for range 2 {
		c.collide()
		c.passes(4)
		c.failed("ConfigMap/aws-settings")
		c.shows(1, 1, float64(bundle.Prerequisites))
		c.deleteConfigMap("aws-settings")
		c.untilDone()
		c.shows(0, 0, 0)
	}

	// Beside OpenShift's own installer nothing is failing that is nobody's task here.
	c.collide()
	c.passes(2)
	lift = c.wire.Lay(wire.Rule{When: func(r wire.Request) bool { return wire.Reads(r) && r.Resource == "customresourcedefinitions" }, Do: wire.InternalError()})
	c.passes(1)
	c.shows(1, 1, float64(bundle.Prerequisites)) // what cannot be read proves nothing
	lift()
	rival := &unstructured.Unstructured{Object: map[string]any{"spec": c.must("Deployment", "aws-manager").Object["spec"]}}
	rival.SetGroupVersionKind(kindOf("Deployment"))
	rival.SetNamespace(bundle.Namespace)
	rival.SetName("cluster-capi-operator")
	if err := c.Create(t.Context(), rival); err != nil {
		t.Fatal(err)
	}
	c.passes(1)
	c.shows(0, -1, -1)
	if still := testutil.ToFloat64(c.r.meters.still); still != 1 {
		t.Errorf("standing still is %v", still)
	}
	if err := c.Delete(t.Context(), rival); err != nil {
		t.Fatal(err)
	}
	c.passes(2)
	c.shows(1, 1, float64(bundle.Prerequisites))
	c.platform("None")
	c.passes(1)
	c.shows(1, 1, float64(bundle.Prerequisites)) // what is installed is kept, and so is what is in its way
	if still := testutil.ToFloat64(c.r.meters.still); still != 0 {
		t.Errorf("standing still is %v", still)
	}
}

// A set that waits for its rest has one event that says so.
func TestASetThatWaitsHasAnEvent(t *testing.T) {
	long(t, "the event of a set that waits")
	c := newCluster(t)
	c.release(provider(t, "infrastructure-aws", "v1.0.0"))
	c.passes(3)
	if got := c.announced("Waiting"); len(got) != 1 || !strings.Contains(got[0], "core provider") {
		t.Errorf("the events Waiting are %q", got)
	}
}

// A role and a policy are refused: their bindings wait for them.
func TestNoBindingComesBeforeWhatItBinds(t *testing.T) {
	long(t, "the order of bindings, all in one stage")
	c := newCluster(t)
	for _, resource := range []string{"clusterroles", "validatingadmissionpolicies"} {
		lift := c.wire.Lay(wire.Rule{When: func(r wire.Request) bool { return r.Stores() && r.Resource == resource }, Do: wire.InternalError()})
		c.release(both(t)...)
		c.eventually("it is refused", func() error {
			if _, err := c.once(); err == nil {
				return errWaits
			}
			return nil
		})
		c.passes(1)
		for kind, of := range map[string]string{"ClusterRoleBinding": "clusterroles", "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicies"} {
			for _, name := range []string{"clusterapi", "aws"} {
				suffix := map[string]string{"ClusterRoleBinding": "-manager", "ValidatingAdmissionPolicyBinding": "-keeps"}[kind]
				if of == resource && c.find(kind, name+suffix) != nil {
					t.Errorf("%s/%s%s is there before what it binds", kind, name, suffix)
				}
			}
		}
		lift()
	}
	c.untilDone()
	c.expect(well)
}

// A Secret in a ConfigMap that no command made is left out, and that is reported once.
func TestWhatIsDroppedHasAnEvent(t *testing.T) {
	long(t, "the event about what is dropped")
	c := newCluster(t)
	secret := func(all string) string {
		return all + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: aws-credentials, namespace: openshift-cluster-api}\ndata: {a: Yg==}\n"
	}
	c.release(provider(t, "cluster-api", "v1.0.0"), provider(t, "infrastructure-aws", "v1.0.0", secret))
	c.untilDone()
	c.expect(well)
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: bundle.Namespace, Name: "aws-credentials"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret was applied: %v", err)
	}
	if got := c.announced("Dropped"); len(got) != 1 || !strings.Contains(got[0], "Secret/aws-credentials") ||
		!strings.Contains(got[0], "credentials: the cloud credential operator") {
		t.Errorf("the events Dropped are %q", got)
	}
	c.quiet()
}

// The guide has a command that lists the events. It works.
func TestTheGuideListsEvents(t *testing.T) {
	c := newCluster(t)
	guide, err := os.ReadFile("../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^kubectl (.* get events .*)$`).FindSubmatch(guide)
	if command == nil {
		t.Fatal("the guide lists no events")
	}
	for name, controller := range map[string]string{"note-of-the-installer": "poundlock-install", "note-of-another": "else"} {
		e := &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, GenerateName: name + "-"}, EventTime: metav1.NowMicro(),
			ReportingController: controller, ReportingInstance: "x",
			Type: corev1.EventTypeNormal, Reason: "Installed", Action: "Apply", Note: name,
			Regarding: corev1.ObjectReference{Kind: "ConfigMap", Namespace: bundle.Namespace, Name: "x"},
		}
		if err := c.Create(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	kubectl := exec.CommandContext(t.Context(), plane.Kubectl(),
		append([]string{"--kubeconfig", plane.KubeconfigPath()}, strings.Fields(string(command[1]))...)...)
	out, err := kubectl.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "note-of-the-installer") || strings.Contains(string(out), "note-of-another") {
		t.Errorf("%v: %s", err, out)
	}
}

// The recorder of a manager counts events that differ in their text alone as one. So one event names all objects of a pass.
func TestOneEventNamesAllObjects(t *testing.T) {
	long(t, "one event for all objects")
	c := newCluster(t)
	more := func(all string) string {
		return all + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: aws-credentials, namespace: openshift-cluster-api}\ndata: {a: Yg==}\n" +
			"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: openshift-cluster-api}\n"
	}
	named := func(reason string, words ...string) {
		t.Helper()
		got := c.announced(reason)
		if len(got) != 1 {
			t.Fatalf("the events %s are %q, want one", reason, got)
		}
		for _, word := range words {
			if !strings.Contains(got[0], word) {
				t.Errorf("%q is not in %q", word, got[0])
			}
		}
	}
	c.release(provider(t, "cluster-api", "v1.0.0"), provider(t, "infrastructure-aws", "v1.0.0", more))
	c.untilDone()
	named("Dropped", "Secret/aws-credentials", "Namespace/openshift-cluster-api")
	c.edit("ClusterRole", "aws-manager", types.JSONPatchType,
		`[{"op": "add", "path": "/rules/-", "value": {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}}]`)
	c.edit("ClusterRoleBinding", "aws-manager", types.JSONPatchType,
		`[{"op": "add", "path": "/subjects/-", "value": {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "x"}}]`)
	c.untilDone()
	named("DriftRemoved", "ClusterRole/aws-manager", "ClusterRoleBinding/aws-manager")
	c.release(provider(t, "infrastructure-aws", "v1.1.0", without("aws-settings"), without("aws-priority"), without("kind: awsThing\nmetadata"),
		without("kind: CustomResourceDefinition")))
	c.untilDone()
	c.expect(statuses{available: "True", progressing: "False", degraded: "False"})
	named("Pruned", "infrastructure-aws v1.1.0", "ConfigMap/aws-settings", "PriorityClass/aws-priority", "awsThing/aws-default")
}

// counted are how many objects of AWS's provider were written in a stage with a result; "" is each.
func (c *cluster) counted(stage bundle.Stage, result string) float64 {
	return testutil.ToFloat64(c.r.meters.objects.WithLabelValues("infrastructure-aws", installation.NameOf(stage), result))
}

// Each write is counted once, and what writes nothing is not counted.
func TestCountersCountOnce(t *testing.T) {
	long(t, "counters")
	c := newCluster(t)
	c.r.meters.objects.Reset()
	c.release(both(t)...)
	c.untilDone()
	applied := map[bundle.Stage]float64{
		bundle.Prerequisites: 1, bundle.Definitions: 1, bundle.Accounts: 2, bundle.Roles: 2, bundle.Services: 1, bundle.Policies: 2,
		bundle.Workloads: 1, bundle.Rest: 1,
	}
	expect := func(what string) {
		t.Helper()
		for stage, want := range applied {
			if got := c.counted(stage, "applied"); got != want {
				t.Errorf("%s: %v applied in stage %s, want %v", what, got, installation.NameOf(stage), want)
			}
		}
	}
	expect("installed")
	c.quiet()
	expect("a pass without work")
	c.edit("Deployment", "aws-manager", types.StrategicMergePatchType, `{"spec": {"template": {"spec": {"hostNetwork": true}}}}`)
	c.untilDone()
	applied[bundle.Workloads]++
	expect("drift")
	if got := c.counted(bundle.Workloads, "drift"); got != 1 {
		t.Errorf("%v drifts, want 1", got)
	}
	for name, effect := range map[string]wire.Effect{"error": wire.InternalError(), "": wire.TooManyRequests(0)} {
		lift := c.wire.Lay(wire.Rule{When: func(r wire.Request) bool { return r.Stores() && r.Resource == "serviceaccounts" }, Do: effect})
		sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: "aws-manager"}}
		if err := client.IgnoreNotFound(c.Delete(t.Context(), sa)); err != nil {
			t.Fatal(err)
		}
		c.passes(1)
		lift()
		c.untilDone()
		applied[bundle.Accounts]++
		expect("after a refusal " + name)
	}
	if got := c.counted(bundle.Accounts, "error"); got != 1 {
		t.Errorf("%v errors, want 1: a server that asks for patience has not refused", got)
	}
	c.release(provider(t, "infrastructure-aws", "v1.1.0", without("aws-settings")))
	c.untilDone()
	if got := c.counted(bundle.Rest, "pruned"); got != 1 {
		t.Errorf("%v pruned, want 1", got)
	}
}
