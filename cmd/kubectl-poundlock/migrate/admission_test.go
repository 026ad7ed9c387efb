// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// machine is a pair of a kind whose Machine API object has these labels.
func machine(t *testing.T, kind, name, labels string) inventory.Pair {
	t.Helper()
	k, ok := authority.KindNamed(kind)
	if !ok {
		t.Fatal(kind)
	}
	return inventory.Pair{Kind: k, Name: name,
		MachineAPI: mustParse(t, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s}},"spec":{"authoritativeAPI":"MachineAPI"}}`, name, labels))}
}

// A plan has the role of each Machine, and no such column where none has one: a set's label is its Machines'.
func TestThePlanHasRoles(t *testing.T) {
	const label = `"machine.openshift.io/cluster-api-machine-role":`
	for sentence, c := range map[string]struct {
		pairs []inventory.Pair
		want  []string
	}{
		"a master, a worker, and a set": {
			[]inventory.Pair{
				machine(t, "Machine", "master-0", label+`"master"`), machine(t, "Machine", "w", label+`"worker"`), machine(t, "MachineSet", "s", label+`"master"`),
			},
			[]string{"OBJECT ROLE FROM", "machine/master-0 control plane Machine API", "machine/w worker Machine API", "machineset/s - Machine API"},
		},
		"the newer name of a master's role": {[]inventory.Pair{machine(t, "Machine", "m", label+`"control-plane"`)}, []string{"machine/m control plane Machine API"}},
		"a Machine without a role":          {[]inventory.Pair{machine(t, "Machine", "m", "")}, []string{"OBJECT FROM", "machine/m Machine API"}},
		"a set alone":                       {[]inventory.Pair{machine(t, "MachineSet", "s", label+`"master"`)}, []string{"OBJECT FROM", "machineset/s Machine API"}},
	} {
		out := &strings.Builder{}
		m := &mover{options: &options{dryRun: "none", format: "text"}, Output: printers.Output{Writer: out}, to: authority.ClusterAPI}
		var plan []PlannedMove
		for _, p := range c.pairs {
			plan = append(plan, PlannedMove{Pair: p, Action: Ask})
		}
		m.show(plan)
		printed := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range c.want {
			if !strings.Contains(printed, want) {
				t.Errorf("%s: no %q in\n%s", sentence, want, out)
			}
		}
	}
}

// Machines of the control plane want the flag or a question of their own. Others, and requests that are taken back, want neither.
func TestWhatWantsIncludeControlPlane(t *testing.T) {
	const master, worker = `"machine.openshift.io/cluster-api-machine-role":"master"`, `"machine.openshift.io/cluster-api-machine-role":"worker"`
	back := machine(t, "Machine", "m", master)
	back.MachineAPI = mustParse(t,
		`{"metadata":{"name":"m","labels":{`+master+`}},"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"MachineAPI"}}`)
	for sentence, c := range map[string]struct {
		pair      inventory.Pair
		to        authority.API
		yes, flag bool
		want      string
	}{
		"a master, and nobody to ask":  {pair: machine(t, "Machine", "m", master), to: authority.ClusterAPI, want: "--yes --include-control-plane"},
		"a master, with --yes":         {pair: machine(t, "Machine", "m", master), to: authority.ClusterAPI, yes: true, want: "machine/m: with --yes, Machines of the control plane"},
		"a master, with both":          {pair: machine(t, "Machine", "m", master), to: authority.ClusterAPI, yes: true, flag: true},
		"a worker, with --yes":         {pair: machine(t, "Machine", "m", worker), to: authority.ClusterAPI, yes: true},
		"a set of masters":             {pair: machine(t, "MachineSet", "s", master), to: authority.ClusterAPI, yes: true},
		"a master's request goes back": {pair: back, to: authority.MachineAPI, yes: true},
	} {
		o := &options{Plugin: &cli.Plugin{Options: cli.Options{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &strings.Builder{}}}},
			yes: c.yes, controlPlane: c.flag}
		step := PlannedMove{Pair: c.pair, Action: Ask}
		step.Finding.To = c.to
		err := (&mover{options: o, to: c.to}).mayMoveControlPlane(t.Context(), []PlannedMove{step})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func mustParse(t *testing.T, text string) *policies.Object {
	t.Helper()
	o, err := policies.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Without the validating configuration a move would lack its locks. Taking a move back needs them for a shorter time.
func TestWithoutAWebhookConfiguration(t *testing.T) {
	for sentence, c := range map[string]struct {
		gone, cancel, refused bool
		dryRun, contains      string
	}{
		"a server dry run":        {gone: true, dryRun: "server", refused: true},
		"a plan":                  {gone: true, dryRun: "client", contains: "ValidatingWebhookConfiguration/poundlock does not exist"},
		"a plan, and all is well": {dryRun: "client"},
		"all is well":             {},
		"a move":                  {gone: true, refused: true},
		"a move is taken back":    {gone: true, cancel: true},
		"taken back, all is well": {cancel: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method == http.MethodPost {
					w.Header().Set("Warning", fmt.Sprintf("299 - %q", authority.ProbeAnswer))
				}
				if c.gone && strings.Contains(r.URL.Path, "/validatingwebhookconfigurations/") {
					w.WriteHeader(http.StatusNotFound)
					fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
					return
				}
				fmt.Fprint(w, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"poundlock"}}`)
			}))
			defer server.Close()
			o := &options{Plugin: &cli.Plugin{Options: cli.Options{Env: func(string) string { return "" }, Now: time.Now}}, cancel: c.cancel, dryRun: c.dryRun}
			o.Plugin.AddFlags(&cobra.Command{})
			*o.Config.APIServer = server.URL
			value := &strings.Builder{}
			if err := (&mover{options: o, Output: printers.Output{Writer: value}}).answered(t.Context(), "n"); (err != nil) != c.refused {
				t.Errorf("%v", err)
			}
			if !strings.Contains(value.String(), c.contains) || (c.contains == "") != (value.String() == "") {
				t.Errorf("said %q", value)
			}
		})
	}
}
