// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// A manager may start, and manifests may be applied, after cleanup has begun. It then stops at the first refusal, and reports neither each object's refusal nor
// that it is done.
func TestWhatStartsMeanwhileStopsCleanup(t *testing.T) {
	const refusal = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"denied the request: metadata.finalizers: Forbidden: no [authority/finalizers-kept]"}`
	const webhook = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"poundlock"}}`
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for sentence, c := range map[string]struct {
		refuses, answers bool
		replicas         int
		renewed          string
		again            string
		patched          int
		want             string
	}{
		"nobody":                                     {patched: 3},
		"the Deployment is scaled up":                {refuses: true, replicas: 1, patched: 1, want: "stopped, because this changed meanwhile: the Deployment c/poundlock is scaled to 1 replica: Poundlock's manager would put everything back. To continue: kubectl -n c scale deployment poundlock --replicas=0. Then run the same command again"},
		"a process holds the Lease":                  {refuses: true, renewed: "2025-12-31T23:59:55Z", patched: 1, want: "was renewed 5s ago by a"},
		"its webhook answers":                        {refuses: true, answers: true, patched: 1, want: "Poundlock's webhook answers"},
		"it runs, and nothing refuses":               {replicas: 2, patched: 3, want: "is scaled to 2 replicas"},
		"its manifests are applied":                  {refuses: true, again: webhook, patched: 1, want: "stopped, because this changed meanwhile: validatingwebhookconfigurations/poundlock was created again"},
		"they are, and what is taken off comes back": {again: webhook, patched: 3, want: "stop the writer that applies Poundlock's manifests"},
		"an API server is behind":                    {refuses: true, patched: 1, want: "still calls Poundlock's deleted webhooks or policies"},
	} {
		t.Run(sentence, func(t *testing.T) {
			patched := map[string]bool{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch it := requested(r); {
				case it.verb == "patch":
					if patched[it.name] = true; c.refuses {
						w.WriteHeader(http.StatusUnprocessableEntity)
						_, _ = io.WriteString(w, refusal)
						return
					}
				case it.verb == "create" && c.answers:
					w.Header().Set("Warning", fmt.Sprintf("299 - %q", authority.ProbeAnswer))
				case it.resource == "deployments":
					_, _ = fmt.Fprintf(w, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"poundlock"},"spec":{"replicas":%d}}`, c.replicas)
					return
				case it.resource == "leases" && it.verb == "get" && c.renewed != "":
					_, _ = fmt.Fprintf(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"poundlock"},"spec":{"holderIdentity":"a","leaseDurationSeconds":15,"renewTime":%q}}`, c.renewed)
					return
				case it.verb == "list":
					items := ""
					if it.resource == presence.Webhooks[0].Resource {
						items = c.again
					}
					_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[`+items+`]}`)
					return
				}
				_, _ = io.WriteString(w, `{"apiVersion":"x/v1","kind":"X","metadata":{"name":"x","resourceVersion":"1"}}`)
			}))
			defer server.Close()
			client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
			if err != nil {
				t.Fatal(err)
			}
			out := &bytes.Buffer{}
			p := plugin(server.URL)
			p.Now = func() time.Time { return now }
			cleans := &cleaner{options: &options{Plugin: p, dryRun: "none", name: presence.Name}, Output: printers.Output{Writer: out}, client: client, lingers: time.Millisecond}
			machines, _ := authority.KindNamed("Machine")
			var changes []Change
			for _, name := range []string{"m0", "m1", "m2"} {
				o := &policies.Object{}
				o.Metadata.Name, o.Metadata.Namespace, o.Metadata.ResourceVersion = name, "m", "1"
				changes = append(changes, Change{Item: inventory.Item{Resource: machines.MachineAPI.WithResource(machines.Resource), Object: o}, Finalizer: true})
			}
			code, text := cli.Code(cleans.carryOut(t.Context(), "c", changes))
			if len(patched) != c.patched || !strings.Contains(text, c.want) || code != map[bool]int{true: cli.CodeDone, false: cli.CodeNo}[c.want == ""] {
				t.Errorf("%d patched, exit code %d: %s\n%s", len(patched), code, text, out)
			}
			if done := strings.Contains(out.String(), "Done."); done != (c.want == "") {
				t.Errorf("it says that it is done: %t\n%s", done, out)
			}
		})
	}
}
