// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package presence_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/policies/authority"
)

const (
	validating = "ValidatingWebhookConfiguration/poundlock"
	mutating   = "MutatingWebhookConfiguration/poundlock"
)

// One configuration that answers the probe hides that the other is missing.
func TestSignsOfAMissingConfiguration(t *testing.T) {
	for sentence, c := range map[string]struct {
		validating, mutating int
		want                 []string
	}{
		"both are there":         {http.StatusOK, http.StatusOK, nil},
		"validating is gone":     {http.StatusNotFound, http.StatusOK, []string{validating}},
		"mutating is gone":       {http.StatusOK, http.StatusNotFound, []string{mutating}},
		"both are gone":          {http.StatusNotFound, http.StatusNotFound, []string{validating, mutating}},
		"nobody may read either": {http.StatusForbidden, http.StatusForbidden, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				code := http.StatusNotFound
				switch {
				case strings.Contains(r.URL.Path, "/validatingwebhookconfigurations/poundlock"):
					code = c.validating
				case strings.Contains(r.URL.Path, "/mutatingwebhookconfigurations/poundlock"):
					code = c.mutating
				case r.Method == http.MethodPost:
					w.Header().Set("Warning", fmt.Sprintf("299 - %q", authority.ProbeAnswer))
				}
				reason := map[int]string{http.StatusNotFound: "NotFound", http.StatusForbidden: "Forbidden"}[code]
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				if reason == "" {
					fmt.Fprint(w, `{"kind":"X","apiVersion":"admissionregistration.k8s.io/v1","metadata":{"name":"poundlock"}}`)
					return
				}
				fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
			}))
			defer server.Close()
			p := &cli.Plugin{Options: cli.Options{Env: func(string) string { return "" }, Now: time.Now}}
			p.AddFlags(&cobra.Command{})
			*p.Config.APIServer = server.URL
			got := presence.Signs(t.Context(), p, "n")
			if got.Presence != presence.Answers || !slices.Equal(got.Missing, c.want) {
				t.Errorf("%+v, want %v", got, c.want)
			}
		})
	}
}

// TestTheAnswerToTheTrial: only an API server that carries the trial out, or could, shows that Poundlock does not answer. A user who may not send it learns
// nothing.
func TestTheAnswerToTheTrial(t *testing.T) {
	for sentence, c := range map[string]struct {
		code   int
		reason string
		warns  string
		want   presence.Presence
		fails  bool
	}{
		"Poundlock answers":               {http.StatusCreated, "", authority.ProbeAnswer, presence.Answers, false},
		"Poundlock answers, and is asked": {http.StatusForbidden, "Forbidden", authority.ProbeAnswer, presence.Answers, false},
		"another webhook warns":           {http.StatusCreated, "", "beware", presence.Silent, false},
		"nobody answers":                  {http.StatusCreated, "", "", presence.Silent, false},
		"there is no namespace":           {http.StatusNotFound, "NotFound", "", presence.Silent, false},
		"there is such a Lease":           {http.StatusConflict, "AlreadyExists", "", presence.Silent, false},
		"the user may not send it":        {http.StatusForbidden, "Forbidden", "", presence.NotAsked, false},
		"the API server fails":            {http.StatusInternalServerError, "InternalError", "", presence.NotAsked, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.warns != "" {
					w.Header().Set("Warning", fmt.Sprintf("299 - %q", c.warns))
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.code)
				if c.reason == "" {
					fmt.Fprint(w, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"x"}}`)
					return
				}
				fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, c.reason, c.code)
			}))
			defer server.Close()
			p := &cli.Plugin{Options: cli.Options{Env: func(string) string { return "" }, Now: time.Now}}
			p.AddFlags(&cobra.Command{})
			*p.Config.APIServer = server.URL
			if got, err := presence.Of(t.Context(), p, "n"); got != c.want || (err != nil) != c.fails {
				t.Errorf("%v, %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestMessagesAboutAMissingConfiguration(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	held := presence.Lease{Renewed: now, Duration: 15 * time.Second}
	old := presence.Lease{Renewed: now.Add(-time.Hour), Duration: 15 * time.Second}
	one, both := []string{validating}, []string{validating, mutating}
	for sentence, c := range map[string]struct {
		seen          presence.Seen
		away, refusal []string
	}{
		"all is well":                  {seen: presence.Seen{Presence: presence.Answers, Lease: held}},
		"nobody may look":              {seen: presence.Seen{}},
		"one is gone, the other there": {presence.Seen{Presence: presence.Answers, Lease: held, Missing: one}, []string{validating + " does not exist", "(docs/install.md: kubectl apply -k deploy)"}, []string{validating, "No request was made"}},
		"one is gone, nobody answers":  {presence.Seen{Presence: presence.Silent, Lease: old, Missing: one}, []string{validating, "does not answer, and no manager has renewed its Lease since"}, []string{validating}},
		"both are gone, one leads":     {presence.Seen{Presence: presence.Silent, Lease: held, Missing: both}, []string{validating + " and " + mutating + " do not exist"}, []string{mutating}},
		"it is not installed":          {presence.Seen{Presence: presence.Silent, Missing: both}, []string{"Check that Poundlock is installed", "kubectl poundlock explain PoundlockAway"}, []string{"does not answer"}},
		"it has another name":          {seen: presence.Seen{Presence: presence.Answers, Missing: both}},
		"it is down":                   {presence.Seen{Presence: presence.Silent, Lease: old}, []string{"does not answer, and no manager has renewed its Lease since", "kubectl poundlock explain PoundlockAway"}, []string{"does not answer"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			for got, want := range map[string][]string{"away: " + c.seen.Away(now): c.away, "refusal: " + c.seen.Refusal(now): c.refusal} {
				_, text, _ := strings.Cut(got, ": ")
				if (text == "") != (len(want) == 0) || slices.ContainsFunc(want, func(s string) bool { return !strings.Contains(text, s) }) {
					t.Errorf("%q, want %q", got, want)
				}
			}
		})
	}
}
