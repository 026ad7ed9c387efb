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

// Without a terminal, what is missing is named at once: --yes alone moves no Machine of the control plane.
func TestAMachineOfTheControlPlaneWithoutATerminal(t *testing.T) {
	kind, _ := authority.KindNamed("Machine")
	master, err := policies.ParseObject([]byte(`{"metadata":{"name":"master-0","labels":{"machine.openshift.io/cluster-api-machine-role":"master"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	m := &mover{options: &options{Plugin: &cli.Plugin{Options: cli.Options{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &strings.Builder{}}}}}}
	err = m.mayMoveControlPlane(t.Context(), []PlannedMove{{Pair: inventory.Pair{Kind: kind, Name: "master-0", MachineAPI: master}}})
	if err == nil || !strings.Contains(err.Error(), "--yes --include-control-plane") {
		t.Errorf("%v", err)
	}
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
