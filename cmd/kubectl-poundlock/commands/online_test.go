// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
)

// cluster answers as a cluster with these objects, by their paths, and no others. answers: Poundlock's webhook answers too.
func cluster(t *testing.T, answers bool, objects map[string]string) string {
	t.Helper()
	list := regexp.MustCompile(`^/apis?/([a-z0-9.-]+/)?v[0-9a-z]+/(namespaces/[^/]+/)?[a-z]+$`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch object, has := objects[r.URL.Path]; {
		case r.Method == http.MethodPost:
			if answers {
				w.Header().Set("Warning", fmt.Sprintf(`299 - %q`, authority.ProbeAnswer))
			}
			fmt.Fprint(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"probe"}}`)
		case has:
			switch {
			case strings.Contains(object, `"code":403`):
				w.WriteHeader(http.StatusForbidden)
			case strings.Contains(object, `"code":404`):
				w.WriteHeader(http.StatusNotFound)
			}
			fmt.Fprint(w, object)
		case list.MatchString(r.URL.Path):
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"List","metadata":{},"items":[]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestTheFirstLines(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const (
		infrastructure = "/apis/config.openshift.io/v1/infrastructures/cluster"
		gates          = "/apis/config.openshift.io/v1/featuregates/cluster"
		lease          = "/apis/coordination.k8s.io/v1/namespaces/openshift-cluster-api/leases/poundlock"
		webhook        = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/poundlock"
		mutating       = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/poundlock"
		deployment     = "/apis/apps/v1/namespaces/openshift-cluster-api/deployments/poundlock"
	)
	renewed := func(ago time.Duration) string {
		return fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"poundlock"},"spec":{"holderIdentity":"a","leaseDurationSeconds":15,"renewTime":%q}}`,
			time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	gate := func(list string) string {
		return `{"apiVersion":"config.openshift.io/v1","kind":"FeatureGate","metadata":{"name":"cluster"},"status":{"featureGates":[{"version":"4","` + list + `":[{"name":"MachineAPIMigration"}]}]}}`
	}
	const configuration = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"poundlock"}}`
	const off = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"poundlock"},"spec":{"template":{"spec":{"containers":[{"name":"m","args":["manager","--feature-gate=off"]}]}}}}`
	for sentence, c := range map[string]struct {
		answers bool
		objects map[string]string
		// check and status are how the first line begins; "" if it has no such sentence.
		check, status string
	}{
		"all is well":          {true, map[string]string{lease: renewed(time.Second), gates: gate("enabled")}, "", ""},
		"it is down":           {false, map[string]string{lease: renewed(time.Hour), gates: gate("enabled")}, "Poundlock does not answer, and no manager has renewed its Lease since", "Poundlock does not answer, and no manager has renewed its Lease since"},
		"nobody leads":         {true, map[string]string{lease: renewed(time.Hour), gates: gate("enabled")}, "No manager of Poundlock has renewed the Lease since", "No manager of Poundlock has renewed the Lease since"},
		"it was never started": {false, map[string]string{webhook: configuration, mutating: configuration, gates: gate("enabled")}, "Poundlock does not answer, and no Lease was found", "Poundlock does not answer, and no Lease was found"},
		"a configuration was deleted": {true, map[string]string{mutating: configuration, lease: renewed(time.Second), gates: gate("enabled")},
			"ValidatingWebhookConfiguration/poundlock does not exist", "ValidatingWebhookConfiguration/poundlock does not exist"},
		"it is not installed":         {false, map[string]string{gates: gate("enabled")}, "", "Poundlock does not answer, and no Lease was found"},
		"the gate is off":             {true, map[string]string{lease: renewed(time.Second), gates: gate("disabled")}, "", "The feature gate MachineAPIMigration is off: Poundlock mirrors and migrates nothing. Turn it on"},
		"the gate is off by its flag": {true, map[string]string{lease: renewed(time.Second), gates: gate("enabled"), deployment: off}, "", "The feature gate MachineAPIMigration is off: Poundlock mirrors and migrates nothing. Remove"},
		"who knows of the gate":       {true, map[string]string{lease: renewed(time.Second)}, "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.objects[infrastructure] = `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"platformStatus":{"type":"AWS"}}}`
			server := cluster(t, c.answers, c.objects)
			for command, want := range map[string]string{"check": c.check, "status": c.status} {
				out, errOut, code := run(t, "", command, "--server", server)
				if want == "" {
					want = "No Machine, MachineSet or MachineHealthCheck was found"
				}
				if code != 0 || !strings.HasPrefix(strings.ReplaceAll(out, "\n", " "), want) {
					t.Errorf("%s: exit code %d, want %q first, not\n%s%s", command, code, want, out, errOut)
				}
			}
		})
	}
}

// What status may not read of the feature gate is named, also where there is no object: else "nothing" and "not known" look alike.
func TestStatusNamesWhatItMayNotRead(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const forbidden = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403}`
	const gates, deployment = "/apis/config.openshift.io/v1/featuregates/cluster", "/apis/apps/v1/namespaces/openshift-cluster-api/deployments/poundlock"
	for want, objects := range map[string]map[string]string{
		"":                                       {},
		"You may not read FeatureGate cluster, ": {gates: forbidden},
		"You may not read Deployment openshift-cluster-api/poundlock and FeatureGate cluster, ": {gates: forbidden, deployment: forbidden},
	} {
		server := cluster(t, true, objects)
		out, errOut, code := run(t, "", "status", "--server", server)
		if text := strings.Join(strings.Fields(out), " "); code != 0 || !strings.Contains(text, want) || (want == "") == strings.Contains(text, "may not read") {
			t.Errorf("exit code %d, want %q:\n%s%s", code, want, out, errOut)
		}
		if out, _, _ := run(t, "", "status", "--server", server, "-o", "json"); strings.Contains(out, `"gateUnknown"`) == (want == "") {
			t.Errorf("%q: %s", want, out)
		}
	}
}

// What is not found is named as it was asked for.
func TestNothingIsFoundOfWhatWasAskedFor(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	server := cluster(t, true, map[string]string{
		"/apis/config.openshift.io/v1/infrastructures/cluster": `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"platformStatus":{"type":"AWS"}}}`,
	})
	for args, want := range map[string]string{
		"":                       "No Machine, MachineSet or MachineHealthCheck was found.",
		"mhc":                    "No MachineHealthCheck was found.",
		"machines,mhc":           "No Machine or MachineHealthCheck was found.",
		"-l foo=bar":             "The selector foo=bar matches no Machine, MachineSet or MachineHealthCheck.",
		"machinesets -l foo=bar": "The selector foo=bar matches no MachineSet.",
	} {
		for _, command := range []string{"check", "status"} {
			out, errOut, code := run(t, "", append([]string{command, "--server", server}, strings.Fields(args)...)...)
			if code != 0 || !strings.HasPrefix(out, want) {
				t.Errorf("%s %s: exit code %d, want %q, not\n%s%s", command, args, code, want, out, errOut)
			}
		}
	}
}

// If Cluster API finds no Machine of the control plane, it drains no Node and leaves out preDrain hooks. check reports that before a move, in every format.
func TestCheckNamesAControlPlaneWithoutMachines(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	machine := func(role string) string {
		return `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"m","namespace":"openshift-machine-api","uid":"1","generation":1,"labels":{"machine.openshift.io/cluster-api-machine-role":"` + role + `"}},
"spec":{"authoritativeAPI":"MachineAPI","lifecycleHooks":{"preDrain":[{"name":"data","owner":"storage"}]}},"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI","synchronizedGeneration":1}}`
	}
	list := func(item string) string {
		return `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + item + `]}`
	}
	const (
		master   = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"m0","namespace":"openshift-cluster-api","labels":{"cluster.x-k8s.io/control-plane":""}%s}}`
		deleting = `,"deletionTimestamp":"2026-01-01T00:00:00Z"`
	)
	for sentence, c := range map[string]struct {
		role, masters string
		args          []string
		reported      bool
	}{
		"none is mirrored":          {role: "worker", reported: true},
		"wide":                      {role: "worker", args: []string{"-o", "wide"}, reported: true},
		"for a program":             {role: "worker", args: []string{"-o", "json"}, reported: true},
		"one kind alone":            {role: "worker", args: []string{"machine"}, reported: true},
		"the last is being deleted": {role: "worker", masters: fmt.Sprintf(master, deleting), reported: true},
		"one is mirrored":           {role: "worker", masters: fmt.Sprintf(master, "")},
		"the way back":              {role: "worker", args: []string{"--to", "machineapi"}},
		"it is the control plane":   {role: "master"},
	} {
		server := cluster(t, true, map[string]string{
			"/apis/config.openshift.io/v1/infrastructures/cluster":                         `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`,
			"/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines": list(machine(c.role)),
			"/apis/cluster.x-k8s.io/v1beta2/namespaces/openshift-cluster-api/machines":     list(c.masters),
		})
		out, errOut, code := run(t, "", append([]string{"check", "--server", server}, c.args...)...)
		text := strings.Join(strings.Fields(out), " ")
		if code != 0 || strings.Contains(text, "Cluster API finds no control plane Machine in openshift-cluster-api. Without one, Cluster API deletes a Machine "+
			"without draining its Node") != c.reported {
			t.Errorf("%s: exit code %d\n%s%s", sentence, code, out, errOut)
		}
		if wide := strings.Contains(text, "a deletion of this Machine does not wait for data, and drains no Node"); wide != (len(c.args) > 1 && c.reported) {
			t.Errorf("%s: the warning of the request is shown: %t\n%s", sentence, wide, out)
		}
	}
}

// Controllers read no warnings. So check and status name the other writers, and what prevents all moves, before, during and after a move.
func TestNeighboursAreNamed(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const set = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","generation":1,
"labels":{"hive.openshift.io/managed":"true","hive.openshift.io/machine-pool":"worker","app.kubernetes.io/instance":"fleet"},
"annotations":{"machine.openshift.io/cluster-api-autoscaler-node-group-max-size":"3"}},"spec":{"authoritativeAPI":"MachineAPI","selector":{"matchLabels":{"s":"a"}},
"template":{"metadata":{"labels":{"s":"a"}},"spec":{"providerSpec":{"value":{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"},"instanceType":"m6i.large","placement":{"region":"us-east-1"}}}}}},
"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI","synchronizedGeneration":1}}`
	const operator = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"cluster-capi-operator","namespace":"openshift-cluster-api"},"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"machine-api-migration"}]}}}}`
	list := func(item string) string {
		return `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + item + `]}`
	}
	migrating := strings.Replace(set, `"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"Migrating"`, 1)
	moved := strings.Replace(set, `"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"ClusterAPI"`, 1)
	for stage, at := range map[string]string{"before": set, "in mid-move": migrating, "afterwards": moved} {
		if stage != "before" {
			at = strings.Replace(at, `"spec":{"authoritativeAPI":"MachineAPI"`, `"spec":{"authoritativeAPI":"ClusterAPI"`, 1)
		}
		server := cluster(t, true, map[string]string{
			"/apis/config.openshift.io/v1/infrastructures/cluster":                                      `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`,
			"/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machinesets":           list(at),
			"/apis/apps/v1/namespaces/openshift-cluster-api/deployments":                                list(operator),
			"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/cluster-api-machine-vap": `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"cluster-api-machine-vap"}}`,
		})
		rival := "Deployment openshift-cluster-api/cluster-capi-operator with the container machine-api-migration, ValidatingAdmissionPolicy cluster-api-machine-vap"
		for command, want := range map[string][]string{
			"check": {"Hive (MachinePool worker)", "GitOps (app fleet)", "spec.managedBootImages of MachineConfiguration cluster", "the cluster autoscaler " +
				"continues to scale", "RivalMigration", rival},
			"status": {"GitOps (1), Hive (1), cluster-autoscaler (1), machine-config-operator (1)", "kubectl poundlock check", "Stop or remove " + rival},
		} {
			if stage == "afterwards" && command == "check" {
				want = want[:4] // the migration blocks moves, and an object that has moved needs none
			}
			out, errOut, code := run(t, "", command, "--server", server)
			text := strings.Join(strings.Fields(out), " ")
			for _, part := range want {
				if code != 0 || !strings.Contains(text, part) {
					t.Errorf("%s, %s: exit code %d, no word of %q:\n%s%s", stage, command, code, part, out, errOut)
				}
			}
		}
	}
}

// A check with external remediation needs its template in Cluster API's namespace. Nothing copies it there.
func TestTheTemplateOfACheckIsLookedFor(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const check = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineHealthCheck","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","generation":1},
"spec":{"authoritativeAPI":"MachineAPI","selector":{},"unhealthyConditions":[{"type":"Ready","status":"False","timeout":"300s"}],"remediationTemplate":{"apiVersion":"self-node-remediation.medik8s.io/v1alpha1","kind":"SelfNodeRemediationTemplate","name":"t"}},
"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI","synchronizedGeneration":1}}`
	const sought = "Cluster API's check looks for SelfNodeRemediationTemplate t in namespace openshift-cluster-api, and none exists there"
	for name, c := range map[string]struct {
		template string
		warns    bool
	}{
		"it is there": {`{"apiVersion":"self-node-remediation.medik8s.io/v1alpha1","kind":"SelfNodeRemediationTemplate","metadata":{"name":"t"}}`, false},
		"it is not":   {"", true},
	} {
		objects := map[string]string{
			"/apis/config.openshift.io/v1/infrastructures/cluster":                                    `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`,
			"/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machinehealthchecks": `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + check + `]}`,
		}
		if c.template != "" {
			objects["/apis/self-node-remediation.medik8s.io/v1alpha1/namespaces/openshift-cluster-api/selfnoderemediationtemplates/t"] = c.template
		}
		out, errOut, code := run(t, "", "check", "--server", cluster(t, true, objects))
		if text := strings.Join(strings.Fields(out), " "); code != 0 || strings.Contains(text, sought) != c.warns {
			t.Errorf("%s: exit code %d:\n%s%s", name, code, out, errOut)
		}
	}
}

// migrate prints why an object cannot move once. Of one that is being deleted, that is the reason, and what else it lacks is no field.
func TestAMissingTemplateIsNamedOnce(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const (
		cause = "AWSMachineTemplate openshift-cluster-api/a-1, to which the Cluster API MachineSet refers, does not exist."
		set   = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","generation":1%s},
"spec":{"authoritativeAPI":"ClusterAPI","selector":{"matchLabels":{"s":"a"}},"template":{"metadata":{"labels":{"s":"a"}},"spec":{}}},"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI","synchronizedGeneration":1,
"conditions":[{"type":"Synchronized","status":"False","reason":"InfrastructureNotFound","message":"` + cause + `"},{"type":"AuthoritySettled","status":"False","reason":"TwinMissing","message":"no"}]}}`
		twin = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","metadata":{"name":"a","namespace":"openshift-cluster-api","uid":"2","generation":1},"spec":{"clusterName":"x","selector":{"matchLabels":{"s":"a"}},
"template":{"metadata":{"labels":{"s":"a"}},"spec":{"clusterName":"x","bootstrap":{"dataSecretName":"worker-user-data"},"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachineTemplate","name":"a-1"}}}}}`
	)
	list := func(item string) string {
		return `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + item + `]}`
	}
	for metadata, want := range map[string]struct {
		times int
		part  string
	}{
		"": {1, "Restore it, or correct spec.template.spec.infrastructureRef."},
		`,"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["a/b"]`: {0, "this MachineSet is being deleted"},
	} {
		server := cluster(t, true, map[string]string{
			"/apis/config.openshift.io/v1/infrastructures/cluster":                                       `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`,
			"/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machinesets":            list(fmt.Sprintf(set, metadata)),
			"/apis/cluster.x-k8s.io/v1beta2/namespaces/openshift-cluster-api/machinesets":                list(twin),
			"/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/openshift-cluster-api/awsclusters": list(`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSCluster","metadata":{"name":"x","namespace":"openshift-cluster-api"},"spec":{"region":"us-east-1"}}`),
		})
		out, errOut, _ := run(t, "", "migrate", "machineset/a", "--to", "machineapi", "--dry-run", "client", "--server", server)
		if text := strings.Join(strings.Fields(out+errOut), " "); strings.Count(text, cause) != want.times || !strings.Contains(text, want.part) {
			t.Errorf("%d times, want %d, with %q:\n%s%s", strings.Count(text, cause), want.times, want.part, out, errOut)
		}
	}
}

// The mirror copies a GitOps label to no twin, except one by which the Machine's set selects it. convert shows the mirror's result.
func TestConvertKnowsTheSetOfAMachine(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const (
		machine = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"m","namespace":"openshift-machine-api","uid":"1",
"labels":{"app.kubernetes.io/instance":"fleet","machine.openshift.io/cluster-api-cluster":"x"},"ownerReferences":[{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","name":"a","uid":"2","controller":true}]},
"spec":{"authoritativeAPI":"MachineAPI","providerSpec":{"value":{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"},"instanceType":"m6i.large",
"placement":{"region":"us-east-1","availabilityZone":"us-east-1a"},"subnet":{"id":"subnet-1"},"userDataSecret":{"name":"worker-user-data"},"credentialsSecret":{"name":"aws-cloud-credentials"}}}},"status":{"authoritativeAPI":"MachineAPI"}}`
		set = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"2"},
"spec":{"authoritativeAPI":"MachineAPI","selector":{"matchLabels":{%q:"fleet"}},"template":{}},"status":{"authoritativeAPI":"MachineAPI"}}`
		sets      = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machinesets"
		forbidden = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403}`
	)
	list := func(item string) string {
		return `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + item + `]}`
	}
	for sentence, c := range map[string]struct {
		sets   string
		copied bool
	}{
		"its set selects by the label":   {list(fmt.Sprintf(set, "app.kubernetes.io/instance")), true},
		"its set selects by another one": {list(fmt.Sprintf(set, "s")), false},
		"its set is gone":                {list(""), false},
		"sets may not be read":           {forbidden, false},
	} {
		server := cluster(t, true, map[string]string{
			"/apis/config.openshift.io/v1/infrastructures/cluster":                                       `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`,
			"/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines":               list(machine),
			"/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/openshift-cluster-api/awsclusters": list(`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSCluster","metadata":{"name":"x","namespace":"openshift-cluster-api"},"spec":{"region":"us-east-1"}}`),
			sets: c.sets,
		})
		out, errOut, code := run(t, "", "convert", "machine/m", "--server", server)
		if copied := strings.Contains(out, "app.kubernetes.io/instance: fleet"); code != 0 || copied != c.copied {
			t.Errorf("%s: exit code %d, the label is copied: %t\n%s%s", sentence, code, copied, out, errOut)
		}
		if strings.Contains(out, "kind: MachineSet") {
			t.Errorf("%s: the set is converted too, which nobody asked for\n%s", sentence, out)
		}
	}
}

// controlplane status begins with the sentence of status if Poundlock does not answer.
func TestTheFirstLineOfAControlPlane(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const lease = "/apis/coordination.k8s.io/v1/namespaces/openshift-cluster-api/leases/poundlock"
	renewed := func(ago time.Duration) string {
		return fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"poundlock"},"spec":{"holderIdentity":"a","leaseDurationSeconds":15,"renewTime":%q}}`,
			time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	for sentence, c := range map[string]struct {
		answers bool
		lease   string
		want    string
	}{
		"all is well":  {true, renewed(time.Second), "SET"},
		"it is down":   {false, renewed(time.Hour), "Poundlock does not answer, and no manager has renewed its Lease since"},
		"nobody leads": {true, renewed(time.Hour), "No manager of Poundlock has renewed the Lease since"},
	} {
		server := cluster(t, c.answers, map[string]string{
			"/apis/config.openshift.io/v1/infrastructures/cluster": `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`,
			"/apis/machine.openshift.io/v1/namespaces/openshift-machine-api/controlplanemachinesets": `{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSetList","metadata":{},"items":[
{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSet","metadata":{"name":"cluster","namespace":"openshift-machine-api","uid":"1"},"spec":{"replicas":3,"state":"Active","selector":{"matchLabels":{"machine.openshift.io/cluster-api-machine-role":"master"}},
"template":{"machineType":"machines_v1beta1_machine_openshift_io","machines_v1beta1_machine_openshift_io":{"spec":{"providerSpec":{"value":{"kind":"AWSMachineProviderConfig"}}}}}}}]}`,
			lease: c.lease,
		})
		for format, want := range map[string]string{"table": c.want, "json": `"away": "` + c.want} {
			out, errOut, code := run(t, "", "controlplane", "status", "-o", format, "--server", server)
			text := strings.ReplaceAll(out, "\n", " ")
			if format == "table" && !strings.HasPrefix(text, want) || format == "json" && strings.Contains(text, want) != (c.want != "SET") || code != 0 {
				t.Errorf("%s, %s: exit code %d, want %q first, not\n%s%s", sentence, format, code, want, out, errOut)
			}
		}
	}
}

// cleanup reads the ControlPlaneMachineSet too, which has no twin: a later installation would execute its request to move.
func TestCleanupReadsTheControlPlaneMachineSet(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const sets = "/apis/machine.openshift.io/v1/namespaces/openshift-machine-api/controlplanemachinesets"
	set := func(status string) string {
		return `{"apiVersion":"v1","kind":"List","metadata":{},"items":[{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSet","metadata":{"name":"cluster","namespace":"openshift-machine-api","uid":"1"},
"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"` + status + `","synchronizedAPI":"MachineAPI"}}]}`
	}
	for sentence, c := range map[string]struct {
		sets, want string
		code       int
	}{
		"asked to move":    {set("MachineAPI"), "request to move to Cluster API   controlplanemachinesets.machine.openshift.io/cluster", 0},
		"on the move":      {set("Migrating"), "controlplanemachineset/cluster is moving", 3},
		"of no kind there": {`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`, "This cluster has none of", 0},
	} {
		server := cluster(t, false, map[string]string{
			"/apis/config.openshift.io/v1/infrastructures/cluster": `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`,
			sets: c.sets,
		})
		if out, errOut, code := run(t, "", "cleanup", "--dry-run=client", "--server", server); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d\n%s%s", sentence, code, out, errOut)
		}
	}
}

// Whether a control plane Machine converts depends on the others, which share the infrastructure cluster. diff shows what the mirror reports.
func TestDiffKnowsTheControlPlaneAndTheSet(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const (
		machineAPI = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/"
		clusterAPI = "/apis/cluster.x-k8s.io/v1beta2/namespaces/openshift-cluster-api/"
		provider   = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/openshift-cluster-api/"
		forbidden  = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403}`
	)
	list := func(items ...string) string {
		return `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
	}
	machine := func(name, role, more, balancers, labels string) string {
		return fmt.Sprintf(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":%q,"namespace":"openshift-machine-api","uid":"1","labels":{%s"machine.openshift.io/cluster-api-machine-role":%q,"machine.openshift.io/cluster-api-cluster":"x"}%s},
"spec":{"authoritativeAPI":"MachineAPI","providerSpec":{"value":{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"},"instanceType":"m6i.large","loadBalancers":[%s],
"placement":{"region":"us-east-1","availabilityZone":"us-east-1a"},"subnet":{"id":"subnet-1"},"userDataSecret":{"name":"worker-user-data"},"credentialsSecret":{"name":"aws-cloud-credentials"}}}},"status":{"authoritativeAPI":"MachineAPI"}}`,
			name, labels, role, more, balancers)
	}
	const (
		internal, external = `{"name":"x-int","type":"network"}`, `{"name":"x-ext","type":"network"}`
		mirror             = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"m","namespace":"openshift-cluster-api","uid":"3","labels":{%s"machine.openshift.io/cluster-api-machine-role":"worker","machine.openshift.io/cluster-api-cluster":"x"}},
"spec":{"clusterName":"x","bootstrap":{"dataSecretName":"worker-user-data"},"failureDomain":"us-east-1a","infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachine","name":"m"}}}`
		infra = `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSMachine","metadata":{"name":"m","namespace":"openshift-cluster-api","uid":"4"},"spec":{"ami":{"id":"ami-1"},"instanceType":"m6i.large","subnet":{"id":"subnet-1"},"ignition":{"storageType":"UnencryptedUserData","version":"3.4"}}}`
		owned = `,"ownerReferences":[{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","name":"a","uid":"2","controller":true}]`
		set   = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"2"},
"spec":{"authoritativeAPI":"MachineAPI","selector":{"matchLabels":{%q:"fleet"}},"template":{}},"status":{"authoritativeAPI":"MachineAPI"}}`
		gitOps = "app.kubernetes.io/instance"
		label  = "metadata.labels[" + gitOps + "]"
	)
	master, other := machine("m", "master", "", internal, ""), machine("n", "master", "", external, "")
	worker := machine("m", "worker", owned, "", `"`+gitOps+`":"fleet",`)
	for sentence, c := range map[string]struct {
		machine, sets, machines string
		want                    string
		without                 string
	}{
		"another has another load balancer":          {machine: master, machines: list(master, other), want: `"name":"x-ext"`},
		"it is alone":                                {machine: master, machines: list(master), want: `"name":"x-int"`, without: "x-ext"},
		"Machines may not be listed":                 {machine: master, machines: forbidden, want: `"name":"x-int"`, without: "x-ext"},
		"its set selects by a label of GitOps":       {machine: worker, sets: list(fmt.Sprintf(set, gitOps)), want: label},
		"its set selects by another one":             {machine: worker, sets: list(fmt.Sprintf(set, "s")), want: "machine/m, ", without: label},
		"its set is gone, and so is what it selects": {machine: worker, want: "machine/m, ", without: label},
		"sets may not be listed":                     {machine: worker, sets: forbidden, want: "machine/m, ", without: label},
	} {
		objects := map[string]string{
			"/apis/config.openshift.io/v1/infrastructures/cluster": `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`,
			provider + "awsclusters/x":                             `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSCluster","metadata":{"name":"x","namespace":"openshift-cluster-api"},"spec":{"region":"us-east-1"}}`,
			provider + "awsmachines/m":                             infra,
			machineAPI + "machines/m":                              c.machine,
			clusterAPI + "machines/m":                              fmt.Sprintf(mirror, `"app.kubernetes.io/instance":"other",`),
		}
		for path, answer := range map[string]string{"machinesets": c.sets, "machines": c.machines} {
			if answer != "" {
				objects[machineAPI+path] = answer
			}
		}
		out, errOut, code := run(t, "", "diff", "machine/m", "--server", cluster(t, true, objects))
		out = strings.Join(strings.Fields(out), " ")
		if code != 0 && code != 3 || !strings.Contains(out, c.want) || c.without != "" && strings.Contains(out, c.without) {
			t.Errorf("%s: exit code %d\n%s%s", sentence, code, out, errOut)
		}
		if strings.Contains(out, "machine/n") || strings.Contains(out, "machineset/a") {
			t.Errorf("%s: something else is compared\n%s", sentence, out)
		}
	}
}

// Without the Infrastructure nothing converts. status does not need it and prints its table; the other commands end with the remedy.
func TestAClusterWithoutAnInfrastructure(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const machines = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines"
	const one = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"m","namespace":"openshift-machine-api","uid":"1","generation":1},
"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI","synchronizedGeneration":1}}`
	server := cluster(t, true, map[string]string{machines: `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + one + `]}`, machines + "/m": one})
	const missing, remedy = "Infrastructure cluster (config.openshift.io) does not exist", "kubectl replace --subresource=status -f infrastructure.yaml"
	for _, c := range []struct {
		args  []string
		code  int
		shows string
	}{
		{[]string{"status"}, 0, "machine/m"},
		{[]string{"check"}, 1, ""},
		{[]string{"diff", "machine/m"}, 1, ""},
		{[]string{"migrate", "machine/m", "--to", "clusterapi"}, 1, ""},
	} {
		out, errOut, code := run(t, "", append(c.args, "--server", server)...)
		text := strings.Join(strings.Fields(out+errOut), " ")
		if code != c.code || !strings.Contains(text, missing) || !strings.Contains(text, remedy) || !strings.Contains(out, c.shows) {
			t.Errorf("%s: exit code %d\n%s%s", c.args, code, out, errOut)
		}
		if !strings.HasPrefix(text, missing) {
			t.Errorf("%s: not first: %s", c.args, text)
		}
	}
}

// An infrastructure cluster object that does not exist differs from one that the user may not read: check has the manager's reason, and the manifest.
func TestCheckReportsThatTheInfrastructureClusterDoesNotExist(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const (
		about = `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"OpenStack","openstack":{"apiServerInternalIPs":["10.0.0.5"]}}}}`
		set   = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"s","namespace":"openshift-machine-api","uid":"1","generation":1},
"spec":{"authoritativeAPI":"MachineAPI","selector":{"matchLabels":{"s":"a"}},"template":{"metadata":{"labels":{"s":"a"}},"spec":{"providerSpec":{"value":{"apiVersion":"machine.openshift.io/v1alpha1","kind":"OpenstackProviderSpec",
"cloudName":"openstack","cloudsSecret":{"name":"openstack-cloud-credentials"},"flavor":"f","image":"i","userDataSecret":{"name":"worker-user-data"},"networks":[{"subnets":[{"filter":{"name":"x-nodes","tags":"openshiftClusterID=x"}}]}]}}}}}}`
		infrastructure = "/apis/config.openshift.io/v1/infrastructures/cluster"
		sets           = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machinesets"
		clusters       = "/apis/cluster.x-k8s.io/v1beta2/namespaces/openshift-cluster-api/clusters/x"
		forbidden      = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403}`
		manifest       = `"subnets":[{"filter":{"name":"x-nodes","tags":["openshiftClusterID=x"]}}]`
	)
	list := `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + set + `]}`
	check := func(objects map[string]string) string {
		objects[sets] = list
		out, errOut, _ := run(t, "", "check", "-o", "json", "--server", cluster(t, true, objects))
		return strings.ReplaceAll(out, `\"`, `"`) + errOut
	}
	for sentence, c := range map[string]struct {
		objects map[string]string
		cluster bool
	}{
		"no Cluster either": {map[string]string{infrastructure: about}, true},
		"a Cluster":         {map[string]string{infrastructure: about, clusters: `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"x","namespace":"openshift-cluster-api"}}`}, false},
	} {
		text := check(c.objects)
		if !strings.Contains(text, `"reason": "InfraClusterMissing"`) || !strings.Contains(text, "OpenStackCluster openshift-cluster-api/x does not exist") ||
			!strings.Contains(text, manifest) || strings.Contains(text, `"kind":"Cluster"`) != c.cluster || strings.Contains(text, "cannot be read") {
			t.Errorf("%s: %s", sentence, text)
		}
	}
	out, errOut, code := run(t, "", "convert", "machineset/s", "--server", cluster(t, true, map[string]string{infrastructure: about, sets: list}))
	if code != 3 || !strings.Contains(errOut, "OpenStackCluster openshift-cluster-api/x does not exist") || strings.Contains(errOut, "may not read") {
		t.Errorf("convert: exit code %d: %s%s", code, out, errOut)
	}
	if message := check(map[string]string{infrastructure: forbidden}); !strings.Contains(message, "You may not read all of this, or the cluster does not have it: ClusterRole poundlock-viewer has the rights that this command needs; bind the role cluster-wide") {
		t.Errorf("who may not read it: %s", message)
	}
	out, _, _ = run(t, about+"\n---\n"+set, "check", "-f", "-", "-o", "json")
	if answer := strings.ReplaceAll(out, `\"`, `"`); !strings.Contains(answer, "kubectl get openstackclusters") || !strings.Contains(answer, manifest) {
		t.Errorf("of files: %s", answer)
	}
	if output, _, _ := run(t, set, "check", "-f", "-", "-o", "json"); !strings.Contains(output, "not every release of OpenShift creates this object") {
		t.Errorf("of a file without the Infrastructure: %s", output)
	}
}

// Who lacks a right reads in each command which role has it, and where to bind that.
func TestTheRoleThatARefusedReadTakes(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const (
		about  = "/apis/config.openshift.io/v1/infrastructures/cluster"
		nodes  = "/api/v1/nodes"
		cpms   = "/apis/machine.openshift.io/v1/namespaces/openshift-machine-api/controlplanemachinesets"
		sets   = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machinesets/"
		twins  = "/apis/cluster.x-k8s.io/v1beta2/namespaces/openshift-cluster-api/machinesets/"
		wide   = "ClusterRole poundlock-viewer has the rights that this command needs; bind the role cluster-wide"
		inBoth = "ClusterRole poundlock-viewer has the rights that this command needs; bind the role in the namespaces of both APIs"
		// Only cleanup takes the administrator's role.
		administrator = "ClusterRole poundlock-administrator has the rights that this command needs; bind the role cluster-wide"
		platform      = `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`
		active        = `{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSetList","metadata":{},"items":[
{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSet","metadata":{"name":"cluster","namespace":"openshift-machine-api","uid":"1"},"spec":{"replicas":3,"state":"Active","selector":{"matchLabels":{"machine.openshift.io/cluster-api-machine-role":"master"}},
"template":{"machineType":"machines_v1beta1_machine_openshift_io","machines_v1beta1_machine_openshift_io":{"spec":{"providerSpec":{"value":{"kind":"AWSMachineProviderConfig"}}}}}}}]}`
		set = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","labels":{"machine.openshift.io/cluster-api-cluster":"x"}},"spec":{"authoritativeAPI":"MachineAPI","selector":{"matchLabels":{"s":"a"}},"template":{"metadata":{"labels":{"s":"a"}},
"spec":{"providerSpec":{"value":{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"},"instanceType":"m6i.large","subnet":{"id":"subnet-1"},"userDataSecret":{"name":"worker-user-data"},"placement":{"region":"us-east-1"}}}}}},"status":{"authoritativeAPI":"MachineAPI"}}`
		twin = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","metadata":{"name":"a","namespace":"openshift-cluster-api"},"spec":{"clusterName":"x","selector":{"matchLabels":{"s":"a"}},"template":{"spec":{"clusterName":"x"}}}}`
	)
	refused := func(resource string) string {
		return `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","message":"no","details":{"kind":"` + resource + `"},"code":403}`
	}
	for sentence, c := range map[string]struct {
		objects map[string]string
		args    []string
		want    string
	}{
		"status of the control plane, without the set":            {map[string]string{cpms: refused("controlplanemachinesets")}, []string{"controlplane", "status"}, inBoth},
		"status of the control plane, without the Infrastructure": {map[string]string{cpms: active, about: refused("infrastructures")}, []string{"controlplane", "status"}, wide},
		"status of the control plane, without Nodes":              {map[string]string{cpms: active, about: platform, nodes: refused("nodes")}, []string{"controlplane", "status"}, wide},
		"plan, without Nodes":                                     {map[string]string{cpms: active, about: platform, nodes: refused("nodes")}, []string{"controlplane", "plan"}, wide},
		"diff, without the Infrastructure":                        {map[string]string{sets + "a": set, twins + "a": twin, about: refused("infrastructures")}, []string{"diff", "machineset/a"}, wide},
		"diff, without the set":                                   {map[string]string{sets + "a": refused("machinesets"), about: platform}, []string{"diff", "machineset/a"}, inBoth},
		"cleanup, without the sets":                               {map[string]string{about: platform, sets[:len(sets)-1]: refused("machinesets")}, []string{"cleanup"}, administrator},
		"cleanup, without the namespaces":                         {map[string]string{about: platform, "/api/v1/namespaces/openshift-machine-api": refused("namespaces")}, []string{"cleanup"}, administrator},
		"cleanup, without a definition": {
			map[string]string{about: platform, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/awsclusters.infrastructure.cluster.x-k8s.io": refused("customresourcedefinitions")}, []string{"cleanup"},
			"reading customresourcedefinitions.apiextensions.k8s.io awsclusters.infrastructure.cluster.x-k8s.io: no: " + administrator,
		},
		"providers, without the Deployments": {
			map[string]string{
				"/api":          `{"kind":"APIVersions","versions":["v1"]}`,
				"/apis":         `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}]}`,
				"/apis/apps":    `{"kind":"APIGroup","apiVersion":"v1","name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}`,
				"/apis/apps/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["get"]}]}`,
				"/apis/apps/v1/namespaces/openshift-cluster-api-operator/deployments/capi-operator": refused("deployments"),
			}, []string{"providers"},
			"Bind ClusterRole view cluster-wide: Poundlock's manifests aggregate poundlock-viewer to view, so view then has all rights that this command needs",
		},
		"version, without the Deployment": {map[string]string{"/apis/apps/v1/namespaces/openshift-cluster-api/deployments/poundlock": refused("deployments")}, []string{"version"},
			"server: not known: no: " + inBoth},
		"version, without the FeatureGate":  {map[string]string{"/apis/config.openshift.io/v1/featuregates/cluster": refused("featuregates")}, []string{"version"}, "gate: MachineAPIMigration is not known: no: " + wide},
		"cleanup, without the policies":     {map[string]string{about: platform, "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies": refused("validatingadmissionpolicies")}, []string{"cleanup"}, administrator},
		"check, without the Infrastructure": {map[string]string{sets[:len(sets)-1]: `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + set + `]}`, about: refused("infrastructures")}, []string{"check"}, wide},
	} {
		out, errOut, _ := run(t, "", append(c.args, "--server", cluster(t, true, c.objects))...)
		if text := strings.Join(strings.Fields(out+errOut), " "); !strings.Contains(text, c.want) || c.want == administrator && strings.Contains(text, "poundlock-viewer") {
			t.Errorf("%s: want %q:\n%s%s", sentence, c.want, out, errOut)
		}
	}
}

// On Azure the ID of any instance has the subscription. A kind that is named alone is judged as it is among all.
func TestASetAloneKnowsTheAccount(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	raw, err := os.ReadFile("../../../conversion/platforms/testdata/corpus/azure/worker-4.21.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set, err := yaml.YAMLToJSON(bytes.Replace(raw, []byte(`managedIdentity: ""`), []byte("managedIdentity: prod-x7k2p-identity"), 1))
	if err != nil {
		t.Fatal(err)
	}
	const (
		machineAPI = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/"
		machine    = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"m","namespace":"openshift-machine-api","uid":"1"},"spec":{"providerID":"azure:///subscriptions/s-1/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/m"}}`
		about      = `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"spec":{"cloudConfig":{"name":"cloud-provider-config","key":"config"}},"status":{"infrastructureName":"prod-x7k2p","platformStatus":{"type":"Azure","azure":{"resourceGroupName":"prod-x7k2p-rg","networkResourceGroupName":"prod-x7k2p-rg"}}}}`
		forbidden  = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403}`
		infra      = `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"AzureCluster","metadata":{"name":"prod-x7k2p","namespace":"openshift-cluster-api"},"spec":{"location":"eastus","resourceGroup":"prod-x7k2p-rg","azureEnvironment":"AzurePublicCloud","networkSpec":{"vnet":{"name":"prod-x7k2p-vnet","resourceGroup":"prod-x7k2p-rg"},"nodeOutboundLB":{"name":"prod-x7k2p","backendPool":{"name":"prod-x7k2p"}}}}}`
	)
	list := func(item string) string {
		return `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + item + `]}`
	}
	for machines, unknown := range map[string]bool{list(machine): false, list(""): true, forbidden: true} {
		server := cluster(t, true, map[string]string{
			"/apis/config.openshift.io/v1/infrastructures/cluster":                 about,
			"/api/v1/namespaces/openshift-config/configmaps/cloud-provider-config": forbidden,
			machineAPI + "machines":    machines,
			machineAPI + "machinesets": list(string(set)),
			"/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/openshift-cluster-api/azureclusters": list(infra),
		})
		out, errOut, _ := run(t, "", "check", "machinesets", "-o", "json", "--server", server)
		if asks := strings.Contains(out, "ConfigMap cloud-provider-config"); asks != unknown {
			t.Errorf("%s: %s%s", machines, out, errOut)
		}
	}
}

// What has arrived cannot be cancelled. The command that moves it back is whole, to be copied.
func TestACancellationOfWhatHasArrivedHasTheCommandBack(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	server := cluster(t, true, map[string]string{
		"/apis/config.openshift.io/v1/infrastructures/cluster": `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"platformStatus":{"type":"AWS"}}}`,
		"/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines": `{"apiVersion":"v1","kind":"List","metadata":{},"items":[
{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"m","namespace":"openshift-machine-api","uid":"1"},"spec":{"authoritativeAPI":"ClusterAPI"},
"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI","conditions":[{"type":"AuthoritySettled","status":"False","reason":"WaitingForResume","message":"x"}]}}]}`,
	})
	out, errOut, code := run(t, "", "migrate", "machine/m", "--cancel", "--dry-run=client", "--server", server)
	if code != 0 || !strings.Contains(out, "To move the object back once the move is over: kubectl poundlock migrate machine/m --to machineapi\n") {
		t.Errorf("exit code %d: %s%s", code, out, errOut)
	}
}
