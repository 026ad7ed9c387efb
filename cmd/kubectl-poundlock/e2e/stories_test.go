// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/test/testcluster"
)

// sh runs a command without a terminal, and returns its stdout and stderr together with the exit code.
func sh(t *testing.T, command string, env ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = root, environment(t, env...)
	out, _ := cmd.CombinedOutput() // the exit code reports a failure
	return string(out), cmd.ProcessState.ExitCode()
}

// newSet creates a set without Machines that converts, and waits until it is mirrored.
func newSet(t *testing.T, name string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "kubectl", "create", "-f", "-")
	cmd.Path = stage.Plane.Kubectl()
	cmd.Env, cmd.Stdin = environment(t), strings.NewReader(testcluster.MachineSet(name, 0))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ready(t, name)
}

// ready waits until check reports that the set could move.
func ready(t *testing.T, name string) {
	t.Helper()
	eventually(t, name+" could move", func() (string, bool) {
		out, code := sh(t, "kubectl poundlock check machineset/"+name+" -o json")
		return out, code == 0 && strings.Contains(out, `"verdict": "ready"`)
	})
}

func eventually(t *testing.T, what string, holds func() (string, bool)) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, func(context.Context) (ok bool, _ error) {
		last, ok = holds()
		return ok, nil
	})
	if err != nil {
		t.Fatalf("after a minute not yet: %s:\n%s", what, last)
	}
}

func authorityOf(t *testing.T, name string) string {
	t.Helper()
	out, _ := sh(t, "kubectl -n openshift-machine-api get machinesets.machine.openshift.io "+name+
		" -o jsonpath='{.spec.authoritativeAPI} {.status.authoritativeAPI}'")
	return out
}

func TestAMoveIsInterruptedAndResumed(t *testing.T) {
	stories.Long(t)
	newSet(t, "interrupted")
	stage.Freeze() // so that no controller acknowledges the pause
	thaw := sync.OnceFunc(stage.Thaw)
	t.Cleanup(thaw)

	s := at(t, "kubectl-poundlock migrate machineset/interrupted --to clusterapi --wait")
	s.answers = []string{"y"}
	typed := false
	s.heard = func(all string) string {
		if typed || !strings.Contains(all, "authority is moving") {
			return ""
		}
		typed = true
		return "\x03"
	}
	out, code := s.run()
	if code != 130 || !strings.Contains(out, "interrupted: 0 done, 1 on the way") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if got := authorityOf(t, "interrupted"); got != "ClusterAPI Migrating" {
		t.Errorf("the move did not go on without the plugin: %s", got)
	}

	thaw()
	out, code = sh(t, "kubectl poundlock migrate machineset/interrupted --to clusterapi --wait --yes")
	if code != 0 || !strings.Contains(out, "Cluster API is authoritative for 1 object") && !strings.Contains(out, "is there") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if got := authorityOf(t, "interrupted"); got != "ClusterAPI ClusterAPI" {
		t.Errorf("after the second command: %s", got)
	}
}

// Objects move in the order of the arguments: a canary first. Machines of the control plane need a confirmation of their own.
func TestTheOrderAndTheControlPlane(t *testing.T) {
	newSet(t, "second")
	newSet(t, "canary")
	for _, flags := range []string{"", " --with-machines"} { // not in the order of the alphabet
		out, code := sh(t, "kubectl poundlock migrate machineset/second machineset/canary --to clusterapi --dry-run=client"+flags)
		if first, second := strings.Index(out, "machineset/second"), strings.Index(out, "machineset/canary"); code != 0 || first < 0 || second < first {
			t.Errorf("exit code %d:\n%s", code, out)
		}
	}
	var out string
	var code int
	if out, code = sh(t, "kubectl poundlock migrate machineset/worker-b --to clusterapi --skip-blocked --yes"); code != 3 ||
		!strings.Contains(out, "none of these objects can move") {
		t.Errorf("what is left out was all: exit code %d:\n%s", code, out)
	}
	if out, code = sh(t, "kubectl poundlock migrate machine/master-0 --to clusterapi --yes"); code != 3 || !strings.Contains(out, "--include-control-plane") ||
		!strings.Contains(out, "control plane") {
		t.Errorf("exit code %d, want 3:\n%s", code, out)
	}
	if got := authorityOf(t, "master-0"); strings.Contains(got, "ClusterAPI") {
		t.Errorf("it was asked for all the same: %s", got)
	}
	if out, code = sh(t, "kubectl poundlock status machine/master-0 -o name"); code != 0 || strings.TrimSpace(out) != "machine.machine.openshift.io/master-0" {
		t.Errorf("exit code %d: %q", code, out)
	}
}

func TestAMoveIsCancelled(t *testing.T) {
	newSet(t, "cancelled")
	stage.Freeze()
	thaw := sync.OnceFunc(stage.Thaw)
	t.Cleanup(thaw)
	if out, code := sh(t, "kubectl poundlock migrate machineset/cancelled --to clusterapi --yes"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	eventually(t, "it is on the move", func() (string, bool) {
		out, _ := sh(t, "kubectl poundlock status machineset/cancelled")
		return out, strings.Contains(out, "Machine API ⇒ Cluster API") && strings.Contains(out, "WaitingForPause")
	})
	if out, code := sh(t, "kubectl poundlock migrate machineset/cancelled --to clusterapi --wait --timeout 1s --yes"); code != 4 {
		t.Errorf("a move that nobody acknowledges: exit code %d, want 4:\n%s", code, out)
	}
	if out, code := sh(t, "kubectl poundlock migrate machineset/cancelled --cancel --wait --timeout 1s --yes"); code != 4 ||
		!strings.Contains(out, "cancellation requested") {
		t.Errorf("a cancellation that nobody acknowledges: exit code %d, want 4:\n%s", code, out)
	}
	thaw()
	eventually(t, "it is back", func() (string, bool) {
		got := authorityOf(t, "cancelled")
		return got, got == "MachineAPI MachineAPI"
	})
}

// The published ClusterRoles, bound in the two namespaces alone, are enough.
func TestTheRolesForPeopleSuffice(t *testing.T) {
	newSet(t, "seen")
	for user, role := range map[string]string{"viewer": "poundlock-viewer", "migrator": "poundlock-migrator"} {
		for _, namespace := range []string{"openshift-machine-api", "openshift-cluster-api"} {
			if out, code := sh(t, fmt.Sprintf("kubectl -n %s create rolebinding %s --clusterrole=%s --user=%s", namespace, user, role, user)); code != 0 {
				t.Fatal(out)
			}
		}
	}
	everywhere(t, "watcher", "view")
	everywhere(t, "editor", "edit")
	if out, code := sh(t, "kubectl poundlock check machineset/seen --as=watcher"); code != 0 || strings.Contains(out, "You may not read") {
		t.Errorf("the cluster's own view does not suffice: exit code %d:\n%s", code, out)
	}
	for _, user := range []string{"watcher", "migrator", "editor"} {
		out, code := sh(t, "kubectl poundlock cleanup --dry-run=client --as="+user)
		if out = strings.Join(strings.Fields(out), " "); code != 1 || !strings.Contains(out, "cannot") ||
			!strings.Contains(out, "ClusterRole poundlock-administrator has the rights that this command needs; bind the role cluster-wide") {
			t.Errorf("%s cleans up: exit code %d:\n%s", user, code, out)
		}
	}
	if out, code := sh(t, "kubectl poundlock migrate machineset/seen --to clusterapi --yes --as=watcher"); code != 3 || !strings.Contains(out, "cannot patch") {
		t.Errorf("the cluster's own view migrates: exit code %d:\n%s", code, out)
	}
	if out, code := sh(t, "kubectl poundlock status --as=nobody"); code != 1 || !strings.Contains(out, "ClusterRole poundlock-viewer") {
		t.Errorf("somebody without rights: exit code %d:\n%s", code, out)
	}
	for _, command := range []string{"status machineset/seen -o wide", "check machineset/seen", "diff machineset/seen", "convert machineset/seen"} {
		if out, code := sh(t, "kubectl poundlock "+command+" --as=viewer"); code != 0 || !strings.Contains(out, "seen") {
			t.Errorf("%s: exit code %d:\n%s", command, code, out)
		}
	}
	if out, code := sh(t, "kubectl poundlock check machineset/seen --as=viewer"); code != 0 || !strings.Contains(out, "You may not read the Infrastructure") {
		t.Errorf("nothing says what was assumed: exit code %d:\n%s", code, out)
	}
	if out, code := sh(t, "kubectl poundlock migrate machineset/seen --to clusterapi --yes --as=viewer"); code != 3 || !strings.Contains(out, "cannot patch") {
		t.Errorf("a viewer migrates: exit code %d:\n%s", code, out)
	}
	if out, code := sh(t, "kubectl poundlock migrate machineset/seen --to clusterapi --yes --wait --as=migrator"); code != 0 {
		t.Errorf("a migrator may not: exit code %d:\n%s", code, out)
	}
	if out, code := sh(t, "kubectl poundlock migrate machineset/seen --to machineapi --yes --wait --as=editor"); code != 0 ||
		strings.Contains(out, "You may not read") {
		t.Errorf("the cluster's own edit does not suffice: exit code %d:\n%s", code, out)
	}
}

// everywhere binds a ClusterRole of the cluster's, to which the manifests add Poundlock's, and waits until that is done.
func everywhere(t *testing.T, user, role string) {
	t.Helper()
	if out, code := sh(t, fmt.Sprintf("kubectl create clusterrolebinding %s --clusterrole=%s --user=%[1]s", user, role)); code != 0 {
		t.Fatal(out)
	}
	eventually(t, role+" has Poundlock's rights", func() (string, bool) {
		out, code := sh(t, "kubectl auth can-i list machines.machine.openshift.io -A --as="+user)
		return out, code == 0
	})
}

// Programs follow a move line by line, with names that another command has written.
func TestAMoveForPrograms(t *testing.T) {
	stories.Long(t)
	newSet(t, "first-of-two")
	newSet(t, "second-of-two")
	out, code := sh(t, "kubectl poundlock status machinesets -o name | grep of-two | kubectl poundlock migrate -f - --to clusterapi --yes --wait --max-in-flight 1 -o json")
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	var last struct {
		APIVersion, Kind, Event, Object string
		Arrived, Total                  int
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines {
		if err := json.Unmarshal([]byte(line), &last); err != nil || last.APIVersion != "cli.poundlock.openshift.io/v1" || last.Kind != "MigrationEvent" {
			t.Errorf("%v: %s", err, line)
		}
		if !strings.HasPrefix(last.Object, "machineset.machine.openshift.io/") && last.Event != "over" {
			t.Errorf("kubectl would take %q for Cluster API's", last.Object)
		}
	}
	if last.Event != "over" || last.Arrived != 2 || last.Total != 2 || len(lines) < 5 {
		t.Errorf("%+v:\n%s", last, out)
	}
}

func TestNobodyIsAskedWhereNobodyCanAnswer(t *testing.T) {
	newSet(t, "unasked")
	out, code := sh(t, "kubectl poundlock migrate machineset/unasked --to clusterapi </dev/null")
	if code != 2 || !strings.Contains(out, "give --yes") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	s := at(t, "kubectl-poundlock migrate machineset/unasked --to clusterapi")
	s.answers = []string{""}
	if out, code := s.run(); code != 3 {
		t.Errorf("an empty answer is no: exit code %d:\n%s", code, out)
	}
	if got := authorityOf(t, "unasked"); got != "MachineAPI MachineAPI" {
		t.Errorf("authority: %s", got)
	}
}

func TestAWatchShowsWhatChanges(t *testing.T) {
	stories.Long(t)
	newSet(t, "watched")
	s := at(t, "kubectl-poundlock status machineset/watched --watch -o json", "NO_COLOR=1")
	asked, ended := false, false
	s.heard = func(all string) string {
		switch {
		case !asked && strings.Contains(all, `"authoritativeAPI": "MachineAPI"`):
			asked = true
			if out, code := sh(t, "kubectl poundlock migrate machineset/watched --to clusterapi --yes"); code != 0 {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		case !ended && strings.Contains(all, `"authoritativeAPI": "ClusterAPI"`):
			ended = true
			return "\x03"
		}
		return ""
	}
	if out, code := s.run(); code != 0 || !strings.Contains(out, `"requestedAPI": "ClusterAPI"`) {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestColourIsForTerminals(t *testing.T) {
	const command, escape = "kubectl-poundlock check", "\x1b["
	if out, _ := at(t, command).run(); !strings.Contains(out, escape) {
		t.Errorf("a terminal sees no colour:\n%s", out)
	}
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb"} {
		if out, _ := at(t, command, env).run(); strings.Contains(out, escape) {
			t.Errorf("with %s there is colour", env)
		}
	}
	if out, _ := sh(t, command); strings.Contains(out, escape) {
		t.Error("without a terminal there is colour")
	}
}

func TestKubectlCompletesThePlugin(t *testing.T) {
	out, code := sh(t, "kubectl __complete poundlock diff machineset/worker- 2>/dev/null")
	if code != 0 || !strings.Contains(out, "machineset/worker-a") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if out, _ := sh(t, "kubectl __complete poundlock explain Waiting 2>/dev/null"); !strings.Contains(out, "WaitingForPause") {
		t.Errorf("a reason is not completed:\n%s", out)
	}
}

// moveEverything moves every Machine and MachineSet to Cluster API. It deletes what cannot move. The garbage collector deletes a set's Machines with the set,
// perhaps between the list and the deletion.
func moveEverything(t *testing.T) {
	t.Helper()
	if out, code := sh(t, "kubectl poundlock migrate machinesets machines --to clusterapi --include-control-plane --skip-blocked --wait --yes"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	for _, kind := range []string{"machinesets.machine.openshift.io", "machines.machine.openshift.io"} {
		all := "kubectl -n openshift-machine-api get " + kind + " --no-headers -o custom-columns=NAME:.metadata.name,API:.status.authoritativeAPI"
		if out, code := sh(t, all+" | grep -v ' ClusterAPI$' | cut -d' ' -f1 | xargs -r kubectl -n openshift-machine-api delete --ignore-not-found --timeout=3m "+
			kind); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
		if out, _ := sh(t, all); strings.Count(out, " ClusterAPI") == 0 || strings.Count(out, " ClusterAPI") != strings.Count(out, "\n") {
			t.Fatalf("not all are Cluster API's, or none is left:\n%s", out)
		}
	}
}

func TestYNobodyAnswers(t *testing.T) {
	if err := stage.StopManager(); err != nil {
		t.Fatal(err)
	}
	if out, code := sh(t, "kubectl poundlock status"); code != 0 || !strings.HasPrefix(out, "Poundlock") {
		t.Errorf("the first line does not say that nobody answers: exit code %d:\n%s", code, out)
	}
	if out, code := sh(t, "kubectl poundlock migrate machineset/worker-a --to machineapi --yes"); code != 3 ||
		!strings.Contains(out, "Nobody would carry out a request") {
		t.Errorf("a move that nobody carries out: exit code %d:\n%s", code, out)
	}
	if out, code := sh(t, "kubectl poundlock check machineset/worker-b"); code != 0 || !strings.Contains(out, "deviceIndex") {
		t.Errorf("what could move is not told: exit code %d:\n%s", code, out)
	}
	if err := stage.StartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// asking creates a Machine whose requested move to Cluster API does not begin, since it does not convert, and returns a function that shows its spec and
// status.
func asking(t *testing.T) (name, authority string) {
	t.Helper()
	set := strings.Replace(testcluster.MachineSet("asking", 1), "deviceIndex: 0", "deviceIndex: 1", 1)
	if out, code := sh(t, "kubectl create -f - <<'EOF'\n"+set+"\nEOF"); code != 0 {
		t.Fatal(out)
	}
	const machines = "kubectl -n openshift-machine-api get machines.machine.openshift.io "
	eventually(t, "the set has a Machine that the Machine API runs", func() (string, bool) {
		out, _ := sh(t, machines+"-l machine.openshift.io/cluster-api-machineset=asking -o jsonpath='{range .items[*]}{.metadata.name} {.status.phase} {.status.authoritativeAPI}{end}'")
		name, _, _ = strings.Cut(out, " ")
		return out, strings.HasSuffix(out, " Running MachineAPI")
	})
	if out, code := sh(t, "kubectl -n openshift-machine-api patch machines.machine.openshift.io "+name+` --type merge -p '{"spec":{"authoritativeAPI":"ClusterAPI"}}'`); code != 0 {
		t.Fatal(out)
	}
	authority = machines + name + " -o jsonpath='{.spec.authoritativeAPI} {.status.authoritativeAPI}'"
	eventually(t, "the move waits", func() (string, bool) {
		out, _ := sh(t, machines+name+` -o jsonpath='{.status.conditions[?(@.type=="AuthoritySettled")].reason}'`)
		return out, out == "NotSynchronized"
	})
	if out, _ := sh(t, authority); out != "ClusterAPI MachineAPI" {
		t.Fatalf("spec and status: %s", out)
	}
	return name, authority
}

// checked creates a MachineHealthCheck that remediates nothing, and moves it.
func checked(t *testing.T) {
	t.Helper()
	const check = `apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata: {name: patient, namespace: openshift-machine-api}
spec:
  selector: {matchLabels: {machine.openshift.io/cluster-api-machineset: worker-a}}
  unhealthyConditions: [{type: Ready, status: "False", timeout: 8h}, {type: Ready, status: Unknown, timeout: 8h}]
  maxUnhealthy: 40%
  nodeStartupTimeout: 8h
`
	if out, code := sh(t, "kubectl create -f - <<'EOF'\n"+check+"EOF"); code != 0 {
		t.Fatal(out)
	}
	eventually(t, "the check could move", func() (string, bool) {
		out, code := sh(t, "kubectl poundlock check machinehealthcheck/patient -o json")
		return out, code == 0 && strings.Contains(out, `"verdict": "ready"`)
	})
	if out, code := sh(t, "kubectl poundlock migrate machinehealthcheck/patient --to clusterapi --wait --yes"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
}

// nothingDiffers compares the two sides of everything that has moved.
func nothingDiffers(t *testing.T) {
	t.Helper()
	out, code := sh(t, "kubectl poundlock status machinesets machines machinehealthchecks -o name")
	names := strings.Fields(out)
	for _, want := range []string{"machinehealthcheck.machine.openshift.io/patient", "machine.machine.openshift.io/master-0", "machineset.machine.openshift.io/worker-a"} {
		if !slices.Contains(names, want) {
			t.Fatalf("no %s: exit code %d:\n%s", want, code, out)
		}
	}
	for _, name := range names {
		eventually(t, "the two sides of "+name+" are the same", func() (string, bool) {
			out, code := sh(t, "kubectl poundlock diff "+name)
			return out, code == 0
		})
	}
}

// TestZCleanup runs last: nothing of Poundlock is left after it. Everything has moved, so each object is locked. Poundlock's policies refuse what its webhooks
// would refuse, which does not prove that a manager runs. One Machine has only a request to move, and cleanup takes it back. The user who
// cleans up has only the cluster's own role admin, to which the manifests add Poundlock's for administrators.
func TestZCleanup(t *testing.T) {
	stories.Long(t)
	checked(t)
	moveEverything(t)
	nothingDiffers(t)
	everywhere(t, "administrator", "admin")
	const cleanup = "kubectl poundlock cleanup --as=administrator"
	asks, authority := asking(t)
	paused := func() string {
		out, _ := sh(t, `kubectl get machines.cluster.x-k8s.io,machinesets.cluster.x-k8s.io,awsmachines -A -o json | grep -c '"cluster.x-k8s.io/paused": '`)
		return strings.TrimSpace(out)
	}
	before := paused()
	if out, _ := sh(t, "kubectl get namespaces -l poundlock.openshift.io/admission=enforced -o name"); strings.Count(out, "namespace/") != 2 {
		t.Errorf("locks fail closed in: %s", out)
	}
	if out, code := sh(t, cleanup+" --yes"); code != 3 || !strings.Contains(out, "a manager of Poundlock runs") {
		t.Fatalf("while the manager runs: exit code %d:\n%s", code, out)
	}
	if err := stage.StopManager(); err != nil {
		t.Fatal(err)
	}
	if out, code := sh(t, "kubectl poundlock cleanup --name nosuch --yes"); code != 1 || !strings.Contains(out, "no Deployment or Lease of this name") {
		t.Errorf("a name that nothing has: exit code %d:\n%s", code, out)
	}
	if out, code := sh(t, cleanup+" --dry-run=server"); code != 0 || !strings.Contains(out, "server dry run") {
		t.Errorf("dry run: exit code %d:\n%s", code, out)
	}
	if out, code := sh(t, cleanup+" --yes"); code != 0 || !slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "request to move to Cluster API ") && strings.HasSuffix(line, " machines.machine.openshift.io/"+asks)
	}) {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if out, _ := sh(t, authority); out != "MachineAPI MachineAPI" {
		t.Errorf("after the request was taken back, spec and status are: %s", out)
	}
	all, _ := sh(t, "kubectl get machinehealthchecks.machine.openshift.io,machinehealthchecks.cluster.x-k8s.io,controlplanemachinesets.machine.openshift.io,"+
		"machines.machine.openshift.io,machinesets.machine.openshift.io,machines.cluster.x-k8s.io,machinesets.cluster.x-k8s.io,awsmachines,awsmachinetemplates,awsclusters,clusters.cluster.x-k8s.io,crds,namespaces -A -o json")
	for _, o := range metadataOf(t, all) {
		for _, a := range o.Annotations {
			if strings.HasPrefix(a, "poundlock.openshift.io/") {
				t.Errorf("%s still has the mark %s", o.Name, a)
			}
		}
		if slices.Contains(o.Finalizers, "sync.machine.openshift.io/finalizer") {
			t.Errorf("%s still has the sync finalizer", o.Name)
		}
	}
	if out, _ := sh(t, "kubectl get namespaces -l poundlock.openshift.io/admission -o name"); strings.TrimSpace(out) != "" {
		t.Errorf("still labelled: %s", out)
	}
	if after := paused(); after != before {
		t.Errorf("%s objects are paused, and were %s", after, before)
	}
	if out, code := sh(t, cleanup); code != 0 || !strings.Contains(out, "This cluster has none") {
		t.Errorf("a second time: exit code %d:\n%s", code, out)
	}
	if out, _ := sh(t, "kubectl -n openshift-machine-api label machinesets.machine.openshift.io worker-a cleaned=yes"); !strings.Contains(out, "labeled") {
		t.Errorf("a change is refused: %s", out)
	}
}

type metadata struct {
	Name        string
	Finalizers  []string
	Annotations []string
}

func metadataOf(t *testing.T, list string) []metadata {
	t.Helper()
	var all struct {
		Items []struct {
			Metadata struct {
				Name        string            `json:"name"`
				Finalizers  []string          `json:"finalizers"`
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(list), &all); err != nil || len(all.Items) == 0 {
		t.Fatal(fmt.Errorf("reading what is left: %w: %.200s", err, list))
	}
	var out []metadata
	for _, item := range all.Items {
		m := metadata{Name: item.Metadata.Name, Finalizers: item.Metadata.Finalizers}
		for name := range item.Metadata.Annotations {
			m.Annotations = append(m.Annotations, name)
		}
		out = append(out, m)
	}
	return out
}
