// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
)

// silent is an API server with an Inactive set and without Poundlock. It counts the requests that would store something.
func silent(t *testing.T, stored *int) *httptest.Server {
	t.Helper()
	v := three(inactive)
	v.Set.APIVersion, v.Set.Kind = "machine.openshift.io/v1", "ControlPlaneMachineSet"
	set, err := json.Marshal(v.Set)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodGet && r.URL.Query().Get("dryRun") == "" {
			*stored++
		}
		list := func(kind string, items ...any) {
			raw, _ := json.Marshal(map[string]any{"apiVersion": "v1", "kind": kind + "List", "metadata": map[string]any{}, "items": items})
			_, _ = w.Write(raw)
		}
		path := r.URL.Path
		switch {
		case strings.HasSuffix(path, "/controlplanemachinesets"):
			list("ControlPlaneMachineSet", v.Set)
		case strings.Contains(path, "/controlplanemachinesets/"):
			_, _ = w.Write(set)
		case r.Method == http.MethodGet && strings.HasSuffix(path, "/machines"):
			items := []any{}
			for _, m := range v.Machines {
				m.APIVersion, m.Kind = "machine.openshift.io/v1beta1", "Machine"
				items = append(items, m)
			}
			list("Machine", items...)
		case strings.HasSuffix(path, "/nodes"):
			items := []any{}
			for _, n := range v.Nodes {
				n.APIVersion, n.Kind = "v1", "Node"
				items = append(items, n)
			}
			list("Node", items...)
		case strings.HasSuffix(path, "/infrastructures/cluster"):
			v.Infrastructure.APIVersion, v.Infrastructure.Kind = "config.openshift.io/v1", "Infrastructure"
			_ = json.NewEncoder(w).Encode(v.Infrastructure)
		case r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(body)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// execute runs a command of controlplane.
func execute(t *testing.T, out *bytes.Buffer, args ...string) error {
	t.Helper()
	return executeWith(t, "", out, args...)
}

// executeWith runs one with what a person types.
func executeWith(t *testing.T, typed string, out *bytes.Buffer, args ...string) error {
	t.Helper()
	p := &cli.Plugin{Options: cli.Options{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(typed), Out: out, ErrOut: out},
		Env:       func(string) string { return "" }, Now: time.Now,
	}}
	root := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
	p.AddFlags(root)
	root.AddCommand(NewCommand(p))
	root.SetArgs(append([]string{"controlplane"}, args...))
	return root.ExecuteContext(t.Context())
}

// An activation cannot be taken back, and Poundlock could not execute it.
func TestWithoutPoundlock(t *testing.T) {
	for _, c := range []struct {
		args    []string
		out     string
		refused bool
	}{
		{[]string{"activate", "--yes"}, "", true},
		{[]string{"activate", "--dry-run=server"}, "", true},
		{[]string{"plan"}, "Poundlock does not answer", false},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			stored, out := 0, &bytes.Buffer{}
			err := execute(t, out, append([]string{"--server", silent(t, &stored).URL}, c.args...)...)
			if refused := err != nil && strings.Contains(err.Error(), "Poundlock does not answer"); refused != c.refused || stored > 0 {
				t.Errorf("%v, %d stored\n%s", err, stored, out)
			}
			if !strings.HasPrefix(out.String(), c.out) {
				t.Errorf("the first line is not that %s:\n%s", c.out, out)
			}
		})
	}
}

// A plan reads its file from where kubectl reads one.
func TestAPlanOfAURL(t *testing.T) {
	v := three(inactive)
	v.Set.Namespace = "" // m, which the cluster's is not
	v.Set.APIVersion, v.Set.Kind = "machine.openshift.io/v1", "ControlPlaneMachineSet"
	set, err := json.Marshal(v.Set)
	if err != nil {
		t.Fatal(err)
	}
	other := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/set.json":
			_, _ = w.Write(set)
		case "/other.json":
			_, _ = w.Write(other)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer files.Close()
	for name, want := range map[string]string{
		"/set.json":   "",
		"/other.json": "contains a ConfigMap of v1: give a ControlPlaneMachineSet",
		"/gone.json":  "404 Not Found",
	} {
		t.Run(name, func(t *testing.T) {
			stored, out := 0, &bytes.Buffer{}
			err := execute(t, out, "--server", silent(t, &stored).URL, "plan", "-f", files.URL+name)
			if text := fmt.Sprint(err); (want == "") != (err == nil) || !strings.Contains(text, want) && want != "" || !strings.Contains(text+out.String(), files.URL+name) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
