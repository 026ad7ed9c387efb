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
)

// Cleanup converts nothing: a cluster whose Infrastructure was deleted can be left all the same.
func TestWithoutTheInfrastructure(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch it := requested(r); it.verb {
		case "get":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`)
		case "list":
			items := ""
			if it.resource == "validatingwebhookconfigurations" {
				items = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"poundlock"}}`
			}
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[`+items+`]}`)
		default:
			if r.URL.Query().Get("dryRun") == "" {
				t.Errorf("the plan asks to %s", it)
			}
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"}}`)
		}
	}))
	defer server.Close()
	out, p := &bytes.Buffer{}, plugin(server.URL)
	p.Out = out
	if err := (&options{Plugin: p, dryRun: "client", name: "poundlock"}).run(t.Context()); err != nil || !strings.Contains(out.String(), "validatingwebhookconfigurations/poundlock") {
		t.Errorf("%v\n%s", err, out)
	}
}
