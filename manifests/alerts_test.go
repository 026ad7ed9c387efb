// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

type prometheusRule struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// TestAlerts holds each alert to a metric that Poundlock has, and to a section of the runbooks that exists.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("components/monitoring/prometheusrule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rule := strict[prometheusRule](t, text)
	page, err := os.ReadFile("../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	sections, known, alerts := anchors(string(page)), metricsInSources(t), 0
	for _, group := range rule.Spec.Groups {
		for _, r := range group.Rules {
			alerts++
			named := regexp.MustCompile(`poundlock_[a-z_]+`).FindAllString(r.Expr, -1)
			if len(named) == 0 && !strings.Contains(r.Expr, `job="poundlock-metrics"`) {
				t.Errorf("%s asks for nothing of Poundlock's: %s", r.Alert, r.Expr)
			}
			for _, name := range named {
				if !known[name] {
					t.Errorf("%s asks for %s, which there is not", r.Alert, name)
				}
			}
			if strings.Contains(r.Annotations["summary"]+r.Annotations["description"], "$labels.name") {
				t.Errorf("%s is an alert for each object, and not for the cause of all", r.Alert)
			}
			_, anchor, linked := strings.Cut(r.Annotations["runbook_url"], "docs/runbooks.md#")
			if !linked || !sections[anchor] {
				t.Errorf("%s links to %q, of which the runbooks have no section", r.Alert, r.Annotations["runbook_url"])
			}
			if !strings.Contains(string(page), "`"+r.Alert+"`") {
				t.Errorf("the runbooks do not name %s", r.Alert)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" || r.For == "" {
				t.Errorf("%s lacks a summary, a description, a severity or a time", r.Alert)
			}
		}
	}
	if alerts == 0 {
		t.Error("there are no alerts")
	}
}

// TestThresholds plays each alert's comparisons with a value at which it must be quiet, and one at which it must fire.
func TestThresholds(t *testing.T) {
	text, err := os.ReadFile("components/monitoring/prometheusrule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const minute, day = 60.0, 24 * 60 * 60.0
	type values struct{ quiet, fires float64 }
	any := values{0, 1} // how many series are past their threshold
	cases := map[string][]values{
		"PoundlockHandoffWaits":        {{29 * minute, 31 * minute}, any},
		"PoundlockMirrorFails":         {{29 * minute, 31 * minute}, any},
		"PoundlockStandsStill":         {{0, 1}},
		"PoundlockMachineSetOutlived":  {{59 * minute, 61 * minute}, {8 * day, 6 * day}, any},
		"PoundlockNobodyLeads":         {{1, 0}},
		"PoundlockMirrorWritesFail":    {{0.01, 1}}, // a second: single conflicts are normal
		"PoundlockControlPlaneStopped": {{0, 1}},
		"PoundlockInstallDegraded":     {{0, 1}},
		"PoundlockInstallDrift":        {{1, 10}},
		"PoundlockAdmissionFails":      {{0, 0.001}},
		"PoundlockAway":                {{0, 1}}, // inside absent()
		"PoundlockNotEnforced":         {{1, 0}},
		"PoundlockCertificateExpires":  {{4 * day, 2 * day}, {1, 0}},
	}
	comparison := regexp.MustCompile(`(<=|>=|==|<|>) *([0-9.]+(?: *\* *[0-9.]+)*)`)
	seen := 0
	for _, group := range strict[prometheusRule](t, text).Spec.Groups {
		for _, r := range group.Rules {
			found := comparison.FindAllStringSubmatch(r.Expr, -1)
			if len(found) != len(cases[r.Alert]) {
				t.Errorf("%s compares %d times, and %d are played: %s", r.Alert, len(found), len(cases[r.Alert]), r.Expr)
				continue
			}
			seen++
			for i, part := range found {
				limit := 1.0
				for factor := range strings.SplitSeq(part[2], "*") {
					f, err := strconv.ParseFloat(strings.TrimSpace(factor), 64)
					if err != nil {
						t.Fatal(err)
					}
					limit *= f
				}
				is := func(v float64) bool {
					return strings.Contains(part[1], "=") && v == limit || strings.HasPrefix(part[1], "<") && v < limit || strings.HasPrefix(part[1], ">") && v > limit
				}
				if v := cases[r.Alert][i]; is(v.quiet) || !is(v.fires) {
					t.Errorf("%s: %q fires at %v: %t, at %v: %t", r.Alert, part[0], v.quiet, is(v.quiet), v.fires, is(v.fires))
				}
			}
		}
	}
	if seen != len(cases) {
		t.Errorf("%d alerts are played, and %d are known", seen, len(cases))
	}
}

// anchors are the sections of a page as GitHub links to them.
func anchors(page string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(page) {
		title, is := strings.CutPrefix(strings.TrimSpace(line), "## ")
		if !is {
			continue
		}
		out[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)] = true
	}
	return out
}

// metricsInSources are the names that the sources register.
func metricsInSources(t *testing.T) map[string]bool {
	t.Helper()
	whole, admission := regexp.MustCompile(`"(poundlock_[a-z_]+)"`), regexp.MustCompile(`(?:counter|histogram|gauge)\("([a-z_]+)"`)
	out := map[string]bool{}
	for _, dir := range []string{"../reconcilers", "../certs", "../webhooks", "../cmd/poundlock"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range whole.FindAllStringSubmatch(string(text), -1) {
				out[m[1]] = true
			}
			for _, m := range admission.FindAllStringSubmatch(string(text), -1) {
				out["poundlock_admission_"+m[1]] = dir == "../webhooks"
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
