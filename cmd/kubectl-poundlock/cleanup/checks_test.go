// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/policies/authority"
)

// checks is a MachineHealthCheck of the Machine API with that of Cluster API.
func checks(t *testing.T, current, metadata string, mirrored bool) *inventory.Fleet {
	t.Helper()
	objects := `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineHealthCheck","metadata":{"name":"workers","namespace":"openshift-machine-api","uid":"1","resourceVersion":"7"` + metadata +
		`},"spec":{"authoritativeAPI":"` + current + `"},"status":{"authoritativeAPI":"` + current + `"}}`
	objects = strings.ReplaceAll(objects, `"authoritativeAPI":""`, "")
	if mirrored {
		objects += `
---
{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineHealthCheck","metadata":{"name":"workers","namespace":"openshift-cluster-api","uid":"2","resourceVersion":"8"},"spec":{"clusterName":"c"}}`
	}
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(objects), authority.Pairs{inventory.DefaultPair})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const (
	pausedByPoundlock = `,"annotations":{"cluster.x-k8s.io/paused":"poundlock.openshift.io"}`
	moves             = "kubectl poundlock migrate machinehealthcheck/workers --to machineapi --wait"
	unpauses          = "kubectl -n openshift-machine-api annotate machinehealthchecks.machine.openshift.io workers cluster.x-k8s.io/paused-"
	frees             = "kubectl -n openshift-cluster-api delete machinehealthchecks.cluster.x-k8s.io workers && " + unpauses
)

func TestPausedChecks(t *testing.T) {
	for sentence, c := range map[string]struct {
		current, metadata string
		mirrored          bool
		want              []PausedCheck
	}{
		"Machine API is authoritative":             {"MachineAPI", "", true, nil},
		"a person paused it":                       {"MachineAPI", `,"annotations":{"cluster.x-k8s.io/paused":"true"}`, true, nil},
		"Cluster API is authoritative":             {"ClusterAPI", pausedByPoundlock, true, []PausedCheck{{"machinehealthcheck/workers", moves, frees}}},
		"Cluster API's is gone":                    {"ClusterAPI", pausedByPoundlock, false, []PausedCheck{{"machinehealthcheck/workers", moves, unpauses}}},
		"the CRD has lost the fields of authority": {"", pausedByPoundlock, true, []PausedCheck{{"machinehealthcheck/workers", frees, frees}}},
		"its controller obeys authority by itself": {"ClusterAPI", "", true, []PausedCheck{{"machinehealthcheck/workers", moves, ""}}},
		"it is being deleted, and acts in no case": {"ClusterAPI", pausedByPoundlock + `,"deletionTimestamp":"2026-01-01T00:00:00Z"`, true, nil},
	} {
		f := checks(t, c.current, c.metadata, c.mirrored)
		got := PausedChecks(f)
		if len(got) != len(c.want) || len(got) == 1 && got[0] != c.want[0] {
			t.Errorf("%s: %+v, want %+v", sentence, got, c.want)
		}
		if n := Paused(f.Items()); n != 0 {
			t.Errorf("%s: %d Cluster API objects are paused", sentence, n)
		}
	}
}

// The plan has the command that moves a check that stays paused, and the end the one that frees it.
func TestAPausedCheckIsNamed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch it := requested(r); it.verb {
		case "list":
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[]}`)
		case "patch":
			_, _ = io.WriteString(w, `{"apiVersion":"x/v1","kind":"X","metadata":{"name":"x","resourceVersion":"1"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		}
	}))
	defer server.Close()
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	for sentence, c := range map[string]struct {
		metadata, dryRun  string
		planned, finished bool
	}{
		"something is taken off":   {pausedByPoundlock + `,"finalizers":["sync.machine.openshift.io/finalizer"]`, "none", true, true},
		"that is only tried":       {pausedByPoundlock + `,"finalizers":["sync.machine.openshift.io/finalizer"]`, "server", true, false},
		"that is only shown":       {pausedByPoundlock + `,"finalizers":["sync.machine.openshift.io/finalizer"]`, "client", true, false},
		"all is taken off already": {pausedByPoundlock, "none", false, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			out := &bytes.Buffer{}
			cleans := &cleaner{options: &options{Plugin: plugin(server.URL), yes: true, dryRun: c.dryRun, name: presence.Name}, Output: printers.Output{Writer: out},
				client: client, leaving: Leaving{}, lingers: time.Millisecond}
			if err := cleans.clean(t.Context(), checks(t, "ClusterAPI", c.metadata, true), "openshift-cluster-api"); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), moves) != c.planned || strings.Contains(out.String(), frees) != c.finished {
				t.Errorf("want the plan's command: %t, the end's: %t\n%s", c.planned, c.finished, out)
			}
		})
	}
}
