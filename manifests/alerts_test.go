// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
