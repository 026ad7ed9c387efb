// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/test/stories"
)

// newCheck creates a MachineHealthCheck of all Machines of the namespace; spec is what it says besides, in YAML's flow style.
func (p *place) newCheck(metadata, spec string) *unstructured.Unstructured {
	p.Helper()
	return p.newCheckNamed("check", metadata, spec)
}

func (p *place) newCheckNamed(name, metadata, spec string) *unstructured.Unstructured {
	p.Helper()
	o := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: MachineHealthCheck, metadata: {name: %s, namespace: %s%s}, spec: {%s}}`,
		name, p.namespace, metadata, spec)
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		p.Fatal(err)
	}
	if err := p.Create(p.Context(), o); err != nil {
		p.Fatal(err)
	}
	return o
}

const (
	everything = `selector: {}, `
	notReady   = `unhealthyConditions: [{type: Ready, status: "False", timeout: 5m}, {type: Ready, status: Unknown, timeout: 5m}]`
)

func (p *place) check() (*unstructured.Unstructured, machinev1beta1.MachineHealthCheckStatus) {
	p.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(healthCheckKind)
	if err := p.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: "check"}, o); err != nil {
		p.Fatal(err)
	}
	var status struct {
		Status machinev1beta1.MachineHealthCheckStatus `json:"status"`
	}
	raw, err := o.MarshalJSON()
	if err == nil {
		err = yaml.Unmarshal(raw, &status)
	}
	if err != nil {
		p.Fatal(err)
	}
	return o, status.Status
}

// counts waits until the check counts so many Machines, so many of them healthy.
func (p *place) counts(expected, healthy int) {
	p.Helper()
	p.eventually(fmt.Sprintf("%d of %d are healthy", healthy, expected), func() bool {
		_, s := p.check()
		return s.ExpectedMachines != nil && s.CurrentHealthy != nil && *s.ExpectedMachines == expected && *s.CurrentHealthy == healthy
	})
}

func (p *place) condition(kind machinev1beta1.ConditionType, status corev1.ConditionStatus, reason, part string) {
	p.Helper()
	p.eventually(fmt.Sprintf("%s is %s: %s", kind, status, reason), func() bool {
		_, s := p.check()
		c, _ := conditionOfType(s.Conditions, kind)
		return c.Status == status && c.Reason == reason && strings.Contains(c.Message, part)
	})
}

// worker creates a Machine that has an owner and a Node that is ready; a finalizer holds it, as its controller's does.
func (p *place) worker(name string, edits ...func(*machinev1beta1.Machine)) (*machinev1beta1.Machine, *corev1.Node) {
	p.Helper()
	m := p.young(name, edits...)
	return m, p.newNode(m)
}

// young is a worker without a Node.
func (p *place) young(name string, edits ...func(*machinev1beta1.Machine)) *machinev1beta1.Machine {
	p.Helper()
	return p.newMachine(name, append([]func(*machinev1beta1.Machine){func(m *machinev1beta1.Machine) {
		// Of a kind that the collector does not know, so that it leaves the Machine alone.
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Fleet", Name: "fleet", UID: "fleet", Controller: new(true)}}
		m.Finalizers = []string{machinev1beta1.MachineFinalizer}
	}}, edits...)...)
}

func (p *place) breaks(nodes ...*corev1.Node) {
	p.Helper()
	for _, n := range nodes {
		p.reportCondition(n, "Ready", "False", time.Now().Add(-time.Hour))
	}
}

// deleting are the names of the Machines that are being deleted.
func (p *place) deleting() []string {
	p.Helper()
	var names []string
	for _, m := range p.machines() {
		if m.DeletionTimestamp != nil {
			names = append(names, m.Name)
		}
	}
	return names
}

// TestHealthCheckDeletesOnce: an unhealthy Machine is deleted by one request, whatever happens afterwards, with an event that gives the reason.
func TestHealthCheckDeletesOnce(t *testing.T) {
	stories.Long(t)
	p := newPlace(t)
	stop := p.run(AddHealthChecks, onlyGated())
	m, node := p.worker("a")
	p.worker("b")
	check := p.newCheck("", everything+notReady)
	p.counts(2, 2)
	p.condition(machinev1beta1.RemediationAllowedCondition, "True", "", "")
	p.idle(func() { p.reportCondition(node, "Ready", "True", time.Now().Add(-2*time.Hour)) })

	p.breaks(node)
	p.counts(2, 1)
	p.eventually("a is deleted", func() bool { return slices.Equal(p.deleting(), []string{"a"}) })
	p.idle(func() { p.reportCondition(node, "Ready", "Unknown", time.Now().Add(-time.Hour)) })
	stop()
	p.run(AddHealthChecks, onlyGated())
	p.idle(func() { p.reportCondition(node, "Ready", "False", time.Now().Add(-2*time.Hour)) })
	if n := p.requests.count("DELETE", "machines"); n != 1 {
		t.Errorf("%d deletions, want 1: %v", n, p.requests.changes())
	}
	p.eventually("everybody is told", func() bool {
		return p.reasons(m)["UnhealthyNode"] == 1 && p.reasons(check)["MachineDeleted"] == 1
	})
}

// TestHealthCheckFollowsItsClock: nothing but time passes, first on a clock that the test turns, then on the wall.
func TestHealthCheckFollowsItsClock(t *testing.T) {
	t.Run("it does nothing before the time, and does it at the time", func(t *testing.T) {
		p := newPlace(t)
		clock := clocktesting.NewFakePassiveClock(time.Now())
		p.run(AddHealthChecks, Options{Gated: true, Clock: clock})
		_, node := p.worker("a")
		p.newCheck("", everything+notReady)
		p.counts(1, 1)
		since := time.Now()
		p.reportCondition(node, "Ready", "Unknown", since)
		p.counts(1, 0)
		clock.SetTime(since.Add(5*time.Minute - 2*time.Second))
		p.worker("wakes")
		p.counts(2, 1)
		if gone := p.deleting(); len(gone) != 0 {
			t.Errorf("%v was deleted before its time", gone)
		}
		clock.SetTime(since.Add(5 * time.Minute))
		p.worker("wakes-again")
		p.eventually("a is deleted", func() bool { return slices.Equal(p.deleting(), []string{"a"}) })
	})
	t.Run("it wakes by itself", func(t *testing.T) {
		p := newPlace(t)
		p.run(AddHealthChecks, onlyGated())
		_, node := p.worker("a")
		p.newCheck("", everything+`unhealthyConditions: [{type: Ready, status: "False", timeout: 3s}]`)
		p.counts(1, 1)
		p.reportCondition(node, "Ready", "False", time.Now())
		p.counts(1, 0)
		p.eventually("a is deleted", func() bool { return slices.Equal(p.deleting(), []string{"a"}) })
	})
}

func TestHealthCheckOfMachinesThatDoNotStart(t *testing.T) {
	p := newPlace(t)
	clock := clocktesting.NewFakePassiveClock(time.Now())
	p.run(AddHealthChecks, Options{Gated: true, Clock: clock})
	p.young("a")
	p.newCheck("", everything+`nodeStartupTimeout: 20m, `+notReady)
	p.counts(1, 0)
	clock.SetTime(time.Now().Add(19 * time.Minute))
	p.young("b")
	p.counts(2, 0)
	if gone := p.deleting(); len(gone) != 0 {
		t.Errorf("%v was deleted before its time", gone)
	}
	check, _ := p.check()
	p.merge(check, false, `{"spec": {"nodeStartupTimeout": "0"}}`)
	clock.SetTime(time.Now().Add(1000 * time.Hour))
	p.counts(2, 2)
	p.merge(check, false, `{"spec": {"nodeStartupTimeout": "1h"}}`)
	p.eventually("both are deleted", func() bool { return slices.Equal(p.deleting(), []string{"a", "b"}) })
}

// TestHealthCheckCauses: a Node that is gone and a Machine that failed are no matter of time; and what is not remediated.
func TestHealthCheckCauses(t *testing.T) {
	p := newPlace(t)
	p.run(AddHealthChecks, onlyGated())
	gone, node := p.worker("gone")
	failed, _ := p.worker("failed")
	_, orphan := p.worker("orphan", func(m *machinev1beta1.Machine) { m.OwnerReferences = nil })
	_, skipped := p.worker("skipped", func(m *machinev1beta1.Machine) {
		m.Annotations = map[string]string{"cluster.x-k8s.io/skip-remediation": ""}
	})
	p.worker("well")
	p.newCheck("", everything+notReady)
	p.counts(5, 5)
	p.breaks(orphan, skipped)
	if err := p.Delete(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	p.merge(failed, true, `{"status": {"phase": "Failed", "errorMessage": "no such instance type"}}`)
	p.counts(5, 1)
	p.eventually("two are deleted", func() bool { return slices.Equal(p.deleting(), []string{"failed", "gone"}) })
	p.rests()
	if n := p.requests.count("DELETE", "machines"); n != 2 {
		t.Errorf("%d deletions: %v", n, p.requests.changes())
	}
	p.eventually("the Machines' events say why", func() bool {
		return p.reasons(gone)["NodeGone"] == 1 && p.reasons(failed)["MachineFailed"] == 1
	})
}

// TestHealthCheckStopsWhereTooManyAreUnhealthy, says so, and goes on when it may.
func TestHealthCheckStopsWhereTooManyAreUnhealthy(t *testing.T) {
	p := newPlace(t)
	p.run(AddHealthChecks, onlyGated())
	var nodes []*corev1.Node
	for _, name := range []string{"a", "b", "c"} {
		_, n := p.worker(name)
		nodes = append(nodes, n)
	}
	check := p.newCheck("", everything+`maxUnhealthy: 0, `+notReady)
	p.counts(3, 3)
	p.breaks(nodes[0], nodes[1])
	p.counts(3, 1)
	p.condition(machinev1beta1.RemediationAllowedCondition, "False", "TooManyUnhealthy", "2 of 3 Machines are unhealthy")
	p.measures(map[string]float64{"nodes_covered": 3, "short_circuit": 1})
	p.merge(check, false, `{"spec": {"maxUnhealthy": "65%%"}}`)
	p.condition(machinev1beta1.RemediationAllowedCondition, "False", "TooManyUnhealthy", "maxUnhealthy allows 1")
	p.rests()
	if gone := p.deleting(); len(gone) != 0 {
		t.Errorf("%v was deleted", gone)
	}
	p.reportCondition(nodes[1], "Ready", "True", time.Now())
	p.eventually("the one that is left is deleted", func() bool { return slices.Equal(p.deleting(), []string{"a"}) })
	p.condition(machinev1beta1.RemediationAllowedCondition, "True", "", "")
	p.eventually("it is told once", func() bool { return p.reasons(check)["TooManyUnhealthy"] == 1 })
	p.measures(map[string]float64{"nodes_covered": 3, "short_circuit": 0, "remediation_success_total": 1})
	p.remove(check)
	p.measures(map[string]float64{}) // no alert is left of a check that is gone
}

// measures waits until this is what is published of the namespace's checks.
func (p *place) measures(want map[string]float64) {
	p.Helper()
	p.eventually(fmt.Sprintf("the metrics say %v", want), func() bool {
		families, err := metrics.Registry.Gather()
		if err != nil {
			p.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				name, ours := strings.CutPrefix(f.GetName(), "mapi_machinehealthcheck_")
				if labels := m.GetLabel(); ours && labels[1].GetValue() == p.namespace {
					got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
		return maps.Equal(want, got)
	})
}

// TestHealthCheckIsGated: a check that is Cluster API's, or that its annotation pauses, does nothing; nor is a Machine touched while its authority moves.
func TestHealthCheckIsGated(t *testing.T) {
	p := newPlace(t)
	p.run(AddHealthChecks, onlyGated())
	moving, node := p.worker("moving")
	p.worker("well")
	check := p.newCheck("", `authoritativeAPI: MachineAPI, `+everything+notReady)
	p.counts(2, 2)
	p.condition("Paused", "False", "AuthoritativeAPIMachineAPI", "MachineAPI")
	p.merge(check, true, `{"status": {"authoritativeAPI": "Migrating"}}`)
	p.condition("Paused", "True", "AuthoritativeAPINotMachineAPI", "Migrating")
	p.breaks(node)
	p.rests()
	p.merge(check, false, `{"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}`)
	p.merge(check, true, `{"status": {"authoritativeAPI": "MachineAPI"}}`)
	p.condition("Paused", "False", "AuthoritativeAPIMachineAPI", "MachineAPI")
	p.condition(machinev1beta1.RemediationAllowedCondition, "True", "", "")
	p.merge(moving, true, `{"status": {"authoritativeAPI": "Migrating"}}`)
	p.rests()
	p.counts(2, 2) // as it was before the pause
	p.merge(check, false, `{"metadata": {"annotations": null}}`)
	p.counts(2, 1)
	p.rests()
	if gone := p.deleting(); len(gone) != 0 {
		t.Errorf("%v was deleted while it might not be", gone)
	}
	// A mixed cluster: what Cluster API is authoritative for is remediated by deleting the Machine API's Machine.
	p.merge(moving, true, `{"status": {"authoritativeAPI": "ClusterAPI"}}`)
	p.eventually("it is deleted once its authority has settled", func() bool { return slices.Equal(p.deleting(), []string{"moving"}) })
}

// TestHealthCheckWithItsGateOff acts as it always did.
func TestHealthCheckWithItsGateOff(t *testing.T) {
	p := newPlace(t)
	_, node := p.worker("a")
	check := p.newCheck("", `authoritativeAPI: ClusterAPI, `+everything+notReady)
	p.merge(check, true, `{"status": {"authoritativeAPI": "ClusterAPI"}}`)
	p.run(AddHealthChecks, Options{})
	p.breaks(node)
	p.eventually("a is deleted", func() bool { return slices.Equal(p.deleting(), []string{"a"}) })
}

// TestHealthCheckSelects: what its selector does not match is neither counted nor remediated.
func TestHealthCheckSelects(t *testing.T) {
	p := newPlace(t)
	p.run(AddHealthChecks, onlyGated())
	_, node := p.worker("other", func(m *machinev1beta1.Machine) { m.Labels["set"] = "others" })
	m, _ := p.worker("ours")
	p.newCheck("", `selector: {matchLabels: {set: workers}}, `+notReady)
	p.counts(1, 1)
	p.breaks(node)
	p.merge(m, false, `{"metadata": {"labels": {"set": "others"}}}`)
	p.counts(0, 0)
	if gone := p.deleting(); len(gone) != 0 {
		t.Errorf("%v was deleted", gone)
	}
}

// TestHealthCheckThatIsInvalid: one check that nobody can read stops neither the controller nor another check, and says what is wrong.
func TestHealthCheckThatIsInvalid(t *testing.T) {
	for name, c := range map[string]struct{ metadata, spec, contains string }{
		"a duration that the schema lets pass": {spec: everything + `nodeStartupTimeout: 0nonsense, ` + notReady, contains: "spec cannot be read"},
		"a duration that is too long":          {spec: everything + `unhealthyConditions: [{type: Ready, status: "False", timeout: 99999999999h}]`, contains: "spec cannot be read"},
		"a negative number":                    {spec: everything + `maxUnhealthy: -1, ` + notReady, contains: "spec.maxUnhealthy"},
		"a selector that is no selector":       {spec: `selector: {matchExpressions: [{key: a, operator: Perhaps}]}, ` + notReady, contains: "spec.selector"},
		"a strategy that there is not": {
			metadata: `, annotations: {machine.openshift.io/remediation-strategy: hope}`, spec: everything + notReady, contains: "remediation-strategy"},
		"a template that is none": {
			spec: everything + `remediationTemplate: {apiVersion: v1, kind: ConfigMap, name: x}, ` + notReady, contains: "spec.remediationTemplate"},
		"a template from elsewhere": {
			spec:     everything + `remediationTemplate: {apiVersion: v1, kind: ATemplate, name: x, namespace: kube-system}, ` + notReady,
			contains: "spec.remediationTemplate.namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.run(AddHealthChecks, onlyGated())
			_, node := p.worker("a")
			p.breaks(node)
			check := p.newCheck(c.metadata, c.spec)
			p.condition(machinev1beta1.RemediationAllowedCondition, "False", "InvalidConfiguration", c.contains)
			p.merge(check, true, `{"status": {"authoritativeAPI": "Migrating"}}`)
			p.condition("Paused", "True", "AuthoritativeAPINotMachineAPI", "Migrating")
			p.condition(machinev1beta1.RemediationAllowedCondition, "False", "InvalidConfiguration", c.contains)
			p.merge(check, true, `{"status": {"authoritativeAPI": "MachineAPI"}}`)
			p.condition("Paused", "False", "AuthoritativeAPIMachineAPI", "MachineAPI")
			p.idle(func() { p.merge(check, false, `{"metadata": {"labels": {"poke": "1"}}}`) })
			if gone := p.deleting(); len(gone) != 0 {
				t.Errorf("%v was deleted", gone)
			}
		})
	}
}

// remediationCRDs installs the kinds of a remediation that somebody else does.
func remediationCRDs(t *testing.T) {
	t.Helper()
	free := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	for _, kind := range []string{"Restart", "RestartTemplate"} {
		plural := strings.ToLower(kind) + "s"
		err := plane.InstallCRDs(t.Context(), &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + ".remediation.example.com"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "remediation.example.com", Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: free}}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (p *place) restarts() []unstructured.Unstructured {
	p.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetAPIVersion("remediation.example.com/v1")
	l.SetKind("RestartList")
	if err := p.List(p.Context(), l, client.InNamespace(p.namespace)); err != nil {
		p.Fatal(err)
	}
	return l.Items
}

// TestHealthCheckWithATemplate: a request for each unhealthy Machine, one and no more, which goes when the Machine is healthy again; no Machine is deleted.
func TestHealthCheckWithATemplate(t *testing.T) {
	stories.Long(t)
	remediationCRDs(t)
	p := newPlace(t)
	p.run(AddHealthChecks, onlyGated())
	m, node := p.worker("a", func(m *machinev1beta1.Machine) { m.OwnerReferences = nil })
	p.worker("b")
	check := p.newCheck("", everything+`remediationTemplate: {apiVersion: remediation.example.com/v1, kind: RestartTemplate, name: template}, `+notReady)
	p.condition(machinev1beta1.ExternalRemediationTemplateAvailable, "False", "ExternalRemediationTemplateNotFound", "template")
	template := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, `{apiVersion: remediation.example.com/v1, kind: RestartTemplate, metadata: {name: template, namespace: %s},
		spec: {template: {metadata: {labels: {l: v}}, spec: {retries: 3}}}}`, p.namespace), &template.Object); err != nil {
		t.Fatal(err)
	}
	if err := p.Create(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	p.breaks(node)
	p.eventually("a request is there", func() bool { return len(p.restarts()) == 1 })
	request := p.restarts()[0]
	want := map[string]any{
		"name": "a", "labels": map[string]any{"l": "v"},
		"annotations": map[string]any{
			"poundlock.openshift.io/health-check": "check", "machine.openshift.io/cloned-from-name": "template",
			"machine.openshift.io/cloned-from-groupkind": "RestartTemplate.remediation.example.com",
		},
		"ownerReferences": []any{map[string]any{"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": "a", "uid": string(m.UID)}},
	}
	got, _, _ := unstructured.NestedMap(request.Object, "metadata")
	for name := range got {
		if _, asked := want[name]; !asked {
			delete(got, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"retries": int64(3)}, request.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	p.condition(machinev1beta1.ExternalRemediationTemplateAvailable, "True", "", "")
	p.condition(machinev1beta1.ExternalRemediationRequestAvailable, "True", "", "")
	p.idle(func() { p.reportCondition(node, "Ready", "False", time.Now().Add(-2*time.Hour)) })
	if n := p.requests.count("POST", "restarts"); n != 1 {
		t.Errorf("%d requests were made", n)
	}
	p.reportCondition(node, "Ready", "True", time.Now())
	p.eventually("the request is gone", func() bool { return len(p.restarts()) == 0 })
	p.idle(func() { p.reportCondition(node, "Ready", "True", time.Now().Add(-time.Hour)) })
	if n := p.requests.count("DELETE", "machines"); n != 0 {
		t.Errorf("%d Machines were deleted", n)
	}
	p.merge(check, false, `{"spec": {"remediationTemplate": null}}`)
	p.eventually("what was said of the template goes with it", func() bool {
		_, s := p.check()
		_, given := conditionOfType(s.Conditions, machinev1beta1.ExternalRemediationTemplateAvailable)
		return !given
	})
}

// TestHealthCheckOfBareMetal asks for the host to be restarted, once, and deletes only what has failed.
func TestHealthCheckOfBareMetal(t *testing.T) {
	stories.Long(t)
	p := newPlace(t)
	p.run(AddHealthChecks, onlyGated())
	_, node := p.worker("a")
	failed, _ := p.worker("failed")
	check := p.newCheck(`, annotations: {machine.openshift.io/remediation-strategy: external-baremetal}`, everything+notReady)
	p.counts(2, 2)
	p.breaks(node)
	p.eventually("the host is to be restarted", func() bool {
		return p.machines()[0].Annotations[rebootAnnotation] == "" && len(p.machines()[0].Annotations) == 1
	})
	p.merge(failed, true, `{"status": {"phase": "Failed"}}`)
	p.eventually("what failed is deleted", func() bool { return slices.Equal(p.deleting(), []string{"failed"}) })
	p.idle(func() { p.reportCondition(node, "Ready", "False", time.Now().Add(-2*time.Hour)) })
	if n := p.requests.count("PATCH", "machines"); n != 1 {
		t.Errorf("%d patches of Machines: %v", n, p.requests.changes())
	}
	p.eventually("both are told, once", func() bool {
		value := p.reasons(check)
		return value["MachineAnnotated"] == 1 && value["MachineDeleted"] == 1
	})
}

// remediationTemplate creates a template to make requests from.
func (p *place) remediationTemplate(name string) *unstructured.Unstructured {
	p.Helper()
	template := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, `{apiVersion: remediation.example.com/v1, kind: RestartTemplate, metadata: {name: %s, namespace: %s},
		spec: {template: {spec: {retries: 3}}}}`, name, p.namespace), &template.Object); err != nil {
		p.Fatal(err)
	}
	if err := p.Create(p.Context(), template); err != nil {
		p.Fatal(err)
	}
	return template
}

// TestRemediationRequestDoesNotOutliveItsCheck: a request that nobody withdraws keeps its Node fenced, and beside one of another API's check it is a second
// remediation.
func TestRemediationRequestDoesNotOutliveItsCheck(t *testing.T) {
	remediationCRDs(t)
	const templated = `remediationTemplate: {apiVersion: remediation.example.com/v1, kind: RestartTemplate, name: template}, ` + notReady
	for name, c := range map[string]struct {
		// end is what ends the check's work, and heals reports that the Node recovers afterwards.
		end   func(*place, *unstructured.Unstructured)
		heals bool
		// foreign requests stay, and so does that of a Machine that is still unhealthy, where stays is true.
		stays bool
	}{
		"the check is paused, and the Node recovers": {heals: true, end: func(p *place, check *unstructured.Unstructured) {
			p.merge(check, false, `{"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}`)
		}},
		"the check is paused, and the Node does not recover": {stays: true, end: func(p *place, check *unstructured.Unstructured) {
			p.merge(check, false, `{"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}`)
		}},
		"the check moves": {end: func(p *place, check *unstructured.Unstructured) {
			p.merge(check, true, `{"status": {"authoritativeAPI": "Migrating"}}`)
			p.condition("Paused", "True", "AuthoritativeAPINotMachineAPI", "Migrating")
			if n := len(p.restarts()); n != 1 {
				p.Errorf("%d requests when the pause is acknowledged, want the one that is another's", n)
			}
		}},
		"the check is deleted": {end: func(p *place, check *unstructured.Unstructured) { p.remove(check) }},
		"the check is being deleted, and something holds it": {end: func(p *place, check *unstructured.Unstructured) {
			p.merge(check, false, `{"metadata": {"finalizers": ["example.com/hold"]}}`)
			p.remove(check)
		}},
		"the check has no template any more": {end: func(p *place, check *unstructured.Unstructured) {
			p.merge(check, false, `{"spec": {"remediationTemplate": null, "maxUnhealthy": 0}}`)
		}},
		"the check is paused, and has no template any more": {end: func(p *place, check *unstructured.Unstructured) {
			p.merge(check, false, `{"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}, "spec": {"remediationTemplate": null}}`)
		}},
		"the template is gone, and the Node recovers": {heals: true, end: func(p *place, _ *unstructured.Unstructured) {
			template := &unstructured.Unstructured{}
			template.SetAPIVersion("remediation.example.com/v1")
			template.SetKind("RestartTemplate")
			template.SetName("template")
			template.SetNamespace(p.namespace)
			p.remove(template)
		}},
		"the check selects the Machine no more": {end: func(p *place, _ *unstructured.Unstructured) {
			p.merge(p.machines()[0].DeepCopy(), false, `{"metadata": {"labels": {"set": "others"}}}`)
		}},
		"the Machine is to be left alone": {end: func(p *place, _ *unstructured.Unstructured) {
			p.merge(p.machines()[0].DeepCopy(), false, `{"metadata": {"annotations": {"cluster.x-k8s.io/skip-remediation": ""}}}`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.run(AddHealthChecks, onlyGated())
			p.remediationTemplate("template")
			_, node := p.worker("a")
			p.worker("b")
			another := p.newCheckNamed("another", "", `authoritativeAPI: ClusterAPI, selector: {matchLabels: {set: nobodys}}, `+templated)
			p.merge(another, true, `{"status": {"authoritativeAPI": "ClusterAPI"}}`)
			p.eventually("the other check's controller is paused", func() bool { // else it would withdraw the request itself
				if err := p.Get(p.Context(), client.ObjectKeyFromObject(another), another); err != nil {
					p.Fatal(err)
				}
				value, _, _ := unstructured.NestedSlice(another.Object, "status", "conditions")
				return slices.ContainsFunc(value, func(c any) bool {
					m, _ := c.(map[string]any)
					return m["type"] == "Paused" && m["status"] == "True"
				})
			})
			foreign := &unstructured.Unstructured{}
			foreign.SetAPIVersion("remediation.example.com/v1")
			foreign.SetKind("Restart")
			foreign.SetName("another-s")
			foreign.SetNamespace(p.namespace)
			foreign.SetAnnotations(map[string]string{"poundlock.openshift.io/health-check": another.GetName()})
			check := p.newCheck("", `authoritativeAPI: MachineAPI, selector: {matchLabels: {set: workers}}, `+templated)
			p.counts(2, 2)
			p.breaks(node)
			p.eventually("a request of each check is there", func() bool {
				// A cache that does not know yet that the other check has paused has its controller withdraw this once more.
				if err := p.Create(t.Context(), foreign.DeepCopy()); client.IgnoreAlreadyExists(err) != nil {
					t.Fatal(err)
				}
				return len(p.restarts()) == 2
			})
			c.end(p, check)
			if c.heals {
				p.reportCondition(node, "Ready", "True", time.Now())
			}
			if c.stays {
				p.rests()
			}
			want := 1
			if c.stays {
				want = 2
			}
			p.eventually(fmt.Sprintf("%d requests are there", want), func() bool { return len(p.restarts()) == want })
			if n := p.requests.count("DELETE", "machines"); n != 0 {
				t.Errorf("%d Machines were deleted", n)
			}
		})
	}
}

// TestHealthCheckOfAMarkedMachine: a person asks for the remediation of a Machine whose Node is well.
func TestHealthCheckOfAMarkedMachine(t *testing.T) {
	t.Run("it is deleted", func(t *testing.T) {
		p := newPlace(t)
		p.run(AddHealthChecks, onlyGated())
		m, _ := p.worker("a")
		p.worker("b")
		p.newCheck("", everything+notReady)
		p.counts(2, 2)
		p.merge(m, false, `{"metadata": {"annotations": {"cluster.x-k8s.io/remediate-machine": ""}}}`)
		p.eventually("a is deleted", func() bool { return slices.Equal(p.deleting(), []string{"a"}) })
		p.eventually("its event says why", func() bool { return p.reasons(m)["HasRemediateAnnotation"] == 1 })
	})
	t.Run("its host is restarted once", func(t *testing.T) {
		p := newPlace(t)
		p.run(AddHealthChecks, onlyGated())
		m, _ := p.worker("a")
		p.newCheck(`, annotations: {machine.openshift.io/remediation-strategy: external-baremetal}`, everything+notReady)
		p.counts(1, 1)
		p.merge(m, false, `{"metadata": {"annotations": {"cluster.x-k8s.io/remediate-machine": ""}}}`)
		p.eventually("the host is to be restarted", func() bool {
			_, asked := p.machines()[0].Annotations[rebootAnnotation]
			_, marked := p.machines()[0].Annotations["cluster.x-k8s.io/remediate-machine"]
			return asked && !marked
		})
		p.merge(m, false, `{"metadata": {"annotations": {%q: null}}}`, rebootAnnotation) // as its controller does
		p.rests()
		if n := p.requests.count("PATCH", "machines"); n != 1 {
			t.Errorf("%d patches of Machines: %v", n, p.requests.changes())
		}
	})
}

// TestHealthCheckOfANodeThatHasAnotherName: the instance's Node was deleted and has registered again under another name, which its Machine does not know yet.
func TestHealthCheckOfANodeThatHasAnotherName(t *testing.T) {
	p := newPlace(t)
	p.run(AddHealthChecks, onlyGated())
	m, node := p.worker("a", func(m *machinev1beta1.Machine) { m.Spec.ProviderID = new("aws:///us-east-1a/i-" + p.namespace) })
	renamed := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name + "-again"}, Spec: corev1.NodeSpec{ProviderID: *m.Spec.ProviderID}}
	if err := p.Create(t.Context(), renamed); err != nil {
		t.Fatal(err)
	}
	p.reportCondition(renamed, "Ready", "True", time.Now())
	p.newCheck("", everything+notReady)
	p.counts(1, 1)
	p.remove(node)
	p.rests()
	if gone := p.deleting(); len(gone) != 0 {
		t.Errorf("%v was deleted although its instance has a Node that is ready", gone)
	}
	p.reportCondition(renamed, "Ready", "False", time.Now().Add(-time.Hour))
	p.merge(m, false, `{"metadata": {"annotations": {"poke": "1"}}}`)
	p.eventually("a is deleted once that Node is unhealthy", func() bool { return slices.Equal(p.deleting(), []string{"a"}) })
	p.remove(renamed)
}
