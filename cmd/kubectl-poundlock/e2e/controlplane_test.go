// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// theRestHolds tests a running control plane beyond the transcript.
func theRestHolds(t *testing.T) {
	t.Helper()
	for _, command := range []string{
		"kubectl create clusterrole reader --verb=get,list --resource=controlplanemachinesets.machine.openshift.io,machines.machine.openshift.io,nodes,infrastructures.config.openshift.io",
		"kubectl create clusterrolebinding reader --clusterrole=reader --user=reader",
	} {
		if out, code := sh(t, command); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
	}
	for sentence, c := range map[string]struct {
		command string
		code    int
		want    string
	}{
		"nobody sees nothing":                         {"status --as nobody", 1, `User "nobody" cannot list resource "controlplanemachinesets"`},
		"without the ClusterOperator there is a rest": {"status --as reader", 0, "Not shown, because it could not be read: ClusterOperator control-plane-machine-set"},
		"who reads can plan":                          {"plan --as reader", 0, "This will do nothing"},
		"a file that is none":                         {"plan -f docs/plugin.md", 1, "docs/plugin.md"},
		"a file of several objects":                   {"plan -f test/testcluster/fleet.yaml", 1, "objects, and none is a ControlPlaneMachineSet"},
		"the server refuses what the CRD forbids":     {"plan -f - --dry-run=server", 3, "spec.replicas"},
	} {
		t.Run(sentence, func(t *testing.T) {
			command := "kubectl poundlock controlplane " + c.command
			if strings.Contains(c.command, "-f -") {
				command = "kubectl -n openshift-machine-api get controlplanemachineset cluster -o yaml | sed 's/replicas: 3$/replicas: 4/' | " + command
			}
			if out, code := sh(t, command); code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, c.code, c.want, out)
			}
		})
	}
	whatAdmissionFillsIsNoDifference(t)
	aTemplateOfClusterAPIIsPlanned(t)
}

// whatAdmissionFillsIsNoDifference removes from the template what a policy writes into each Machine. The operator replaces no Machine because of that, so no
// plan may.
func whatAdmissionFillsIsNoDifference(t *testing.T) {
	t.Helper()
	const without = `kubectl -n openshift-machine-api get controlplanemachineset cluster -o yaml | sed '/iamInstanceProfile:/,+1d' | kubectl poundlock controlplane plan -f -`
	if out, _ := sh(t, without); !strings.Contains(out, "iamInstanceProfile") || !strings.Contains(out, "replace") {
		t.Fatalf("without a policy:\n%s", out)
	}
	profile, _ := sh(t, "kubectl -n openshift-machine-api get machines.machine.openshift.io -l machine.openshift.io/cluster-api-machine-role=master -o jsonpath={.items[0].spec.providerSpec.value.iamInstanceProfile.id}")
	const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: profiles}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [machine.openshift.io], apiVersions: [v1beta1], resources: [machines], operations: [CREATE]}]}
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: \"add\", path: \"/spec/providerSpec/value/iamInstanceProfile\", value: {\"id\": \"PROFILE\"}}]"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: profiles}
spec: {policyName: profiles}
`
	defer sh(t, "kubectl delete mutatingadmissionpolicybinding,mutatingadmissionpolicy profiles")
	if out, code := sh(t, "kubectl create -f - <<'EOF'\n"+strings.Replace(policy, "PROFILE", profile, 1)+"EOF"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	eventually(t, "the plan knows what the policy writes", func() (string, bool) {
		out, code := sh(t, without)
		return out, code == 0 && strings.Contains(out, "do nothing")
	})
}

// aTemplateOfClusterAPIIsPlanned plans with the union's member for Cluster API, after the set has moved there.
func aTemplateOfClusterAPIIsPlanned(t *testing.T) {
	t.Helper()
	const set = "kubectl -n openshift-machine-api %s controlplanemachineset cluster "
	if out, code := sh(t, strings.Replace(set, "%s", "patch", 1)+`--type merge -p '{"spec":{"authoritativeAPI":"ClusterAPI"}}'`); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	eventually(t, "Cluster API is authoritative for the set, and has its template", func() (string, bool) {
		out, _ := sh(t, strings.Replace(set, "%s", "get", 1)+
			"-o jsonpath={.status.authoritativeAPI}; kubectl -n openshift-cluster-api get awsmachinetemplates -o name")
		return out, strings.HasPrefix(out, "ClusterAPI") && strings.Contains(out, "/cluster-")
	})
	out, _ := sh(t, "kubectl -n openshift-cluster-api get awsmachinetemplates -o name | grep /cluster-")
	_, template, _ := strings.Cut(strings.TrimSpace(out), "/")
	domains, _ := sh(t, strings.Replace(set, "%s", "get", 1)+"-o jsonpath={.spec.template.machines_v1beta1_machine_openshift_io.failureDomains}")
	metadata, _ := sh(t, strings.Replace(set, "%s", "get", 1)+"-o jsonpath={.spec.template.machines_v1beta1_machine_openshift_io.metadata}")
	for name, want := range map[string]string{template: "stays", "nothing": `AWSMachineTemplate "nothing" does not exist`} {
		file := `{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSet","metadata":{"name":"cluster"},"spec":{"template":{
			"machineType":"machines_v1beta2_cluster_x_k8s_io","machines_v1beta2_cluster_x_k8s_io":{"failureDomains":` + domains + `,"metadata":` + metadata + `,"spec":{
			"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachineTemplate","name":"` + name + `"},"bootstrap":{"dataSecretName":"master-user-data"}}}}}}`
		out, code := sh(t, "kubectl poundlock controlplane plan -f - <<'EOF'\n"+file+"\nEOF")
		if !strings.Contains(out, want) || strings.Contains(out, "replaced") || (code == 0) != (name == template) {
			t.Errorf("exit code %d, want %q:\n%s", code, want, out)
		}
	}
}
