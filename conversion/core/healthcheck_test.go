// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
)

const fullCheck = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata:
  name: workers
  namespace: openshift-machine-api
  labels: {machine.openshift.io/cluster-api-cluster: ocean-x7k2p, team: sea}
  annotations: {note: mine, kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec:
  authoritativeAPI: MachineAPI
  selector:
    matchLabels: {machine.openshift.io/cluster-api-cluster: ocean-x7k2p, machine.openshift.io/cluster-api-machine-role: worker}
    matchExpressions: [{key: machine.openshift.io/zone, operator: In, values: [us-east-1a]}]
  unhealthyConditions:
  - {type: Ready, status: "False", timeout: 300s}
  - {type: Ready, status: Unknown, timeout: 1h5m}
  maxUnhealthy: "5"
  nodeStartupTimeout: "0"
  remediationTemplate: {apiVersion: remediation.example.com/v1, kind: RebootTemplate, name: reboot, namespace: openshift-machine-api}
`

// checkEnv: a check needs no platform.
func checkEnv() conversion.Env {
	e := env()
	e.Platform = conversion.Platform{}
	return e
}

func TestAWholeCheck(t *testing.T) {
	twin, errs := core.ToClusterAPI("MachineHealthCheck", object(t, fullCheck), checkEnv())
	if len(errs) > 0 || twin.Infra != nil {
		t.Fatalf("errors %v, infrastructure %v", errs, twin.Infra)
	}
	diff(t, object(t, `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata:
  name: workers
  namespace: openshift-cluster-api
  labels: {cluster.x-k8s.io/cluster-name: ocean-x7k2p, machine.openshift.io/cluster-api-cluster: ocean-x7k2p, team: sea}
  annotations: {note: mine}
spec:
  clusterName: ocean-x7k2p
  selector:
    matchLabels: {cluster.x-k8s.io/cluster-name: ocean-x7k2p, machine.openshift.io/cluster-api-machine-role: worker}
    matchExpressions: [{key: machine.openshift.io/zone, operator: In, values: [us-east-1a]}]
  checks:
    nodeStartupTimeoutSeconds: 0
    unhealthyNodeConditions:
    - {type: Ready, status: "False", timeoutSeconds: 300}
    - {type: Ready, status: Unknown, timeoutSeconds: 3900}
  remediation:
    triggerIf: {unhealthyLessThanOrEqualTo: 5}
    templateRef: {apiVersion: remediation.example.com/v1, kind: RebootTemplate, name: reboot}
`).Object, twin.Core.Object)

	back, errs := core.ToMachineAPI("MachineHealthCheck", twin, checkEnv())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := object(t, fullCheck)
	want.SetAnnotations(map[string]string{"note": "mine"})
	for _, at := range [][]string{{"spec", "authoritativeAPI"}, {"spec", "remediationTemplate", "namespace"}} {
		unstructured.RemoveNestedField(want.Object, at...)
	}
	spec := want.Object["spec"].(map[string]any)
	spec["maxUnhealthy"], spec["nodeStartupTimeout"] = int64(5), "0s"
	spec["unhealthyConditions"].([]any)[0].(map[string]any)["timeout"] = "5m0s"
	spec["unhealthyConditions"].([]any)[1].(map[string]any)["timeout"] = "1h5m0s"
	diff(t, want.Object, back.Object)
}

func TestNoCheckAtAll(t *testing.T) {
	for _, o := range []string{`{}`, `{spec: {}}`, `{spec: {selector: {matchLabels: {a: b}}, unhealthyConditions: [{}]}}`} {
		if _, errs := core.ToClusterAPI("MachineHealthCheck", object(t, o), checkEnv()); len(errs) == 0 {
			t.Errorf("%s is a check", o)
		}
	}
}

func TestWhatOfACheckCannotGo(t *testing.T) {
	for it, tt := range map[string]struct {
		from, to string
		want     []string
	}{
		"it is in order":                             {from: "team: sea", to: "team: sky"},
		"it selects everything":                      {from: selectorOfFull, to: "selector: {}", want: []string{"spec.selector: FieldValueRequired"}},
		"a selector makes no sense":                  {from: "operator: In", to: "operator: Near", want: []string{"spec.selector: FieldValueInvalid"}},
		"it selects another cluster":                 {from: "{machine.openshift.io/cluster-api-cluster: ocean-x7k2p, machine", to: "{machine.openshift.io/cluster-api-cluster: other, machine", want: []string{"spec.selector.matchLabels[machine.openshift.io/cluster-api-cluster]: FieldValueNotSupported"}},
		"it selects by a label of Nodes":             {from: "key: machine.openshift.io/zone", to: "key: node-role.kubernetes.io/worker", want: []string{"spec.selector.matchExpressions: FieldValueNotSupported"}},
		"half a second would be lost":                {from: "300s", to: "1500ms", want: []string{"spec.unhealthyConditions[0].timeout: FieldValueNotSupported"}},
		"a second and a half in milliseconds is two": {from: "300s", to: "2000ms"},
		"a time that no clock has":                   {from: "300s", to: "99999999999999h", want: []string{"spec.unhealthyConditions[0].timeout: FieldValueInvalid"}},
		"a time that Cluster API cannot count":       {from: "300s", to: "700000h", want: []string{"spec.unhealthyConditions[0].timeout: FieldValueNotSupported"}},
		"a condition without a status":               {from: `status: "False", `, to: "", want: []string{"spec.unhealthyConditions[0].status: FieldValueRequired"}},
		"half of Cluster API's least startup":        {from: `nodeStartupTimeout: "0"`, to: "nodeStartupTimeout: 15s", want: []string{"spec.nodeStartupTimeout: FieldValueNotSupported"}},
		"just Cluster API's least startup":           {from: `nodeStartupTimeout: "0"`, to: "nodeStartupTimeout: 30s"},
		"a startup that the CRD's pattern passes":    {from: `nodeStartupTimeout: "0"`, to: "nodeStartupTimeout: 0x", want: []string{"spec.nodeStartupTimeout: FieldValueInvalid"}},
		"a limit beyond every number":                {from: `"5"`, to: `"99999999999"`, want: []string{"spec.maxUnhealthy: FieldValueInvalid"}},
		"a limit below none":                         {from: `"5"`, to: "-1", want: []string{"spec.maxUnhealthy: FieldValueNotSupported"}},
		"a template elsewhere":                       {from: "name: reboot, namespace: openshift-machine-api", to: "name: reboot, namespace: x", want: []string{"spec.remediationTemplate.namespace: FieldValueNotSupported"}},
		"a template by its uid":                      {from: "name: reboot,", to: "name: reboot, uid: u,", want: []string{"spec.remediationTemplate.uid: FieldValueNotSupported"}},
		"a template without a name":                  {from: "name: reboot, ", to: "", want: []string{"spec.remediationTemplate.name: FieldValueRequired"}},
		"a check that reboots":                       {from: "note: mine", to: "machine.openshift.io/remediation-strategy: external-baremetal", want: []string{"metadata.annotations[machine.openshift.io/remediation-strategy]: FieldValueNotSupported"}},
		"a field of next year":                       {from: `maxUnhealthy: "5"`, to: "fieldOfNextYear: 1", want: []string{"spec.fieldOfNextYear: FieldValueNotSupported"}},
	} {
		t.Run(it, func(t *testing.T) {
			text := strings.Replace(fullCheck, tt.from, tt.to, 1)
			if text == fullCheck {
				t.Fatalf("the check has no %q", tt.from)
			}
			_, errs := core.ToClusterAPI("MachineHealthCheck", object(t, text), checkEnv())
			diff(t, tt.want, paths(errs))
		})
	}
}

const selectorOfFull = `selector:
    matchLabels: {machine.openshift.io/cluster-api-cluster: ocean-x7k2p, machine.openshift.io/cluster-api-machine-role: worker}
    matchExpressions: [{key: machine.openshift.io/zone, operator: In, values: [us-east-1a]}]`

func TestWhatOfAClusterAPICheckCannotGo(t *testing.T) {
	for it, tt := range map[string]struct {
		checks, rest string
		want         []string
	}{
		"it is in order":           {checks: "unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 5}]"},
		"it has no conditions":     {checks: "nodeStartupTimeoutSeconds: 60", want: []string{"spec.checks.unhealthyNodeConditions: FieldValueRequired"}},
		"it looks at Machines too": {checks: "unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 5}], unhealthyMachineConditions: [{type: X, status: Unknown, timeoutSeconds: 5}]", want: []string{"spec.checks.unhealthyMachineConditions: FieldValueNotSupported"}},
		"it has a range":           {checks: "unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 5}]", rest: `, remediation: {triggerIf: {unhealthyInRange: "[1-3]"}}`, want: []string{"spec.remediation.triggerIf.unhealthyInRange: FieldValueNotSupported"}},
		"more than all":            {checks: "unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 5}]", rest: `, remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 150%}}`, want: []string{"spec.remediation.triggerIf.unhealthyLessThanOrEqualTo: FieldValueNotSupported"}},
		"as much as all":           {checks: "unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 5}]", rest: `, remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 100%}}`},
	} {
		t.Run(it, func(t *testing.T) {
			c := object(t, `{metadata: {name: workers}, spec: {clusterName: ocean-x7k2p, selector: {matchLabels: {a: b}}, checks: {`+tt.checks+`}`+tt.rest+`}}`)
			_, errs := core.ToMachineAPI("MachineHealthCheck", core.Twin{Core: c}, checkEnv())
			diff(t, tt.want, paths(errs))
		})
	}
}

func TestTheStatusOfACheck(t *testing.T) {
	m := object(t, fullCheck)
	m.Object["status"] = fields(t,
		`{expectedMachines: 3, currentHealthy: 1, remediationsAllowed: 0, conditions: [{type: RemediationAllowed, status: "False", severity: Warning, reason: TooManyUnhealthy, message: why, lastTransitionTime: "2026-01-01T00:00:00Z"}, {type: Paused, status: "False"}]}`)
	c, _ := core.StatusToClusterAPI("MachineHealthCheck", m, checkEnv())
	diff(t, fields(t, `{expectedMachines: 3, currentHealthy: 1, remediationsAllowed: 0, conditions: [{type: RemediationAllowed, status: "False", reason: TooManyUnhealthy, message: why, lastTransitionTime: "2026-01-01T00:00:00Z"}]}`), c)

	core2 := &unstructured.Unstructured{Object: map[string]any{"status": c}}
	diff(t, fields(t, `{expectedMachines: 3, currentHealthy: 1, remediationsAllowed: 0, conditions: [{type: RemediationAllowed, status: "False", severity: Warning, reason: TooManyUnhealthy, message: why, lastTransitionTime: "2026-01-01T00:00:00Z"}]}`),
		core.StatusToMachineAPI("MachineHealthCheck", core.Twin{Core: core2}, checkEnv()))

	m.Object["status"] = map[string]any{}
	c, _ = core.StatusToClusterAPI("MachineHealthCheck", m, checkEnv())
	diff(t, map[string]any{}, c)
}

// FuzzChecks: any check of either side gives errors, never a panic.
func FuzzChecks(f *testing.F) {
	m := object(f, fullCheck)
	twin, _ := core.ToClusterAPI("MachineHealthCheck", m, checkEnv())
	for _, o := range []*unstructured.Unstructured{m, twin.Core} {
		raw, err := json.Marshal(o.Object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"spec":{"remediationTemplate":null,"unhealthyConditions":[null],"maxUnhealthy":1.5,"nodeStartupTimeout":7}}`))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		core.Check("MachineHealthCheck", raw, checkEnv())
		core.CheckTwin("MachineHealthCheck", raw, nil, checkEnv())
	})
}

// A value with the same meaning keeps its spelling: a manifest's owner would find it changed, and may not change it back.
func TestACheckKeepsItsSpelling(t *testing.T) {
	const written = `{metadata: {name: workers}, spec: {maxUnhealthy: "5", nodeStartupTimeout: 10m, selector: {matchLabels: {a: b}, matchExpressions: []},
		unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}], authoritativeAPI: ClusterAPI}}`
	has := object(t, written)
	twin, errs := core.ToClusterAPI("MachineHealthCheck", has, env())
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	back, errs := core.ToMachineAPI("MachineHealthCheck", twin, env())
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	core.KeepSpelling("MachineHealthCheck", has, back, env())
	want := object(t, written)
	unstructured.RemoveNestedField(want.Object, "spec", "authoritativeAPI")
	diff(t, want.Object["spec"], back.Object["spec"])
	other := object(t, strings.Replace(written, "300s", "301s", 1))
	twin, _ = core.ToClusterAPI("MachineHealthCheck", other, env())
	back, _ = core.ToMachineAPI("MachineHealthCheck", twin, env())
	core.KeepSpelling("MachineHealthCheck", has, back, env())
	if !strings.Contains(jsonOf(back), "5m1s") {
		t.Errorf("another timeout is not written: %s", jsonOf(back))
	}
}
