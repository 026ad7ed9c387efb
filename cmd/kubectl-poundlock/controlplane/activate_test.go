// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/policies/authority"
)

// warning is an API server with Poundlock. Admission warns of each change of the set, and refuses it where refuses is set.
func warning(t *testing.T, stored *int, refuses bool) *httptest.Server {
	t.Helper()
	without := silent(t, stored).Config.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/leases"):
			w.Header().Set("Warning", fmt.Sprintf("299 - %q", authority.ProbeAnswer))
		case r.Method == http.MethodPatch:
			w.Header().Set("Warning", `299 - "targetPools: a new Machine is in no target pool [controlplane/x]"`)
			if refuses {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`)
				return
			}
		}
		without.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// Nobody can take an activation back, so its warnings come before the question.
func TestWarningsComeBeforeTheQuestion(t *testing.T) {
	const warned, question, active = "targetPools: a new Machine is in no target pool", "Activate the set?", "cluster is Active."
	for sentence, c := range map[string]struct {
		typed, flag string
		refuses     bool
		stored      int
		// asked and done are what the output has after the warning.
		asked, done bool
	}{
		"the answer is no":             {typed: "n\n", asked: true},
		"the answer is yes":            {typed: "y\n", stored: 1, asked: true, done: true},
		"no question":                  {flag: "--yes", stored: 1, done: true},
		"a dry run":                    {flag: "--dry-run=server"},
		"admission refuses: no answer": {typed: "y\n", refuses: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			stored, out := 0, &bytes.Buffer{}
			args := []string{"--server", warning(t, &stored, c.refuses).URL, "activate"}
			if c.flag != "" {
				args = append(args, c.flag)
			}
			err := executeWith(t, c.typed, out, args...)
			before, after, found := strings.Cut(out.String(), warned)
			if !found || strings.Contains(before, question) || strings.Contains(after, warned) {
				t.Errorf("want the warning once, and before the question: %v\n%s", err, out)
			}
			if strings.Contains(after, question) != c.asked || strings.Contains(after, active) != c.done || stored != c.stored {
				t.Errorf("%d stored, want %d; asked: want %t; done: want %t: %v\n%s", stored, c.stored, c.asked, c.done, err, out)
			}
		})
	}
}
