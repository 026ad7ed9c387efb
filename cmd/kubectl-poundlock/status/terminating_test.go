// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestANamespaceThatIsTerminating(t *testing.T) {
	for sentence, c := range map[string]struct{ going, want string }{
		"neither":               {"", ""},
		"one":                   {"openshift-cluster-api", "The namespace openshift-cluster-api is Terminating"},
		"both, in one sentence": {"openshift-machine-api openshift-cluster-api", "The namespaces openshift-machine-api, openshift-cluster-api are Terminating"},
		"nobody may read them":  {"forbidden", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
				switch {
				case c.going == "forbidden":
					w.WriteHeader(http.StatusForbidden)
					fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
				case strings.Contains(c.going, name):
					fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q,"deletionTimestamp":"2026-01-01T00:00:00Z"}}`, name)
				default:
					fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q}}`, name)
				}
			}))
			defer server.Close()
			o := &options{Plugin: &cli.Plugin{Options: cli.Options{Env: func(string) string { return "" }, Now: time.Now}}}
			o.Plugin.AddFlags(&cobra.Command{})
			*o.Config.APIServer = server.URL
			s := survey{Terminating: o.terminating(t.Context(), authority.Pairs{inventory.DefaultPair})}
			if got := strings.Join(s.first(), "\n"); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestAMirrorThatIsBeingDeleted(t *testing.T) {
	for want, s := range map[string]standing.Standing{
		"(mirror being deleted)": {Deleting: true, MirrorDeleting: true},
		"(being deleted)":        {Deleting: true},
		"":                       {},
	} {
		if got := (glance{Output: printers.Output{Writer: &bytes.Buffer{}}}).waits(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
