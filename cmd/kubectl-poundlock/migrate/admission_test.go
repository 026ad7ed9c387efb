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

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/policies/authority"
)

// Without the validating configuration a move would lack its locks. Taking a move back needs them for a shorter time.
func TestWithoutAWebhookConfiguration(t *testing.T) {
	for sentence, c := range map[string]struct {
		gone, cancel, refused bool
	}{
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
			o := &options{Plugin: &cli.Plugin{Options: cli.Options{Env: func(string) string { return "" }, Now: time.Now}}, cancel: c.cancel}
			o.Plugin.AddFlags(&cobra.Command{})
			*o.Config.APIServer = server.URL
			if err := o.carriedOut(t.Context(), "n"); (err != nil) != c.refused {
				t.Errorf("%v", err)
			}
		})
	}
}
