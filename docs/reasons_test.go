// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// A person who reads a reason in a condition at three in the morning finds it in the runbooks. The sources say which there are.
func TestEveryReasonHasARunbook(t *testing.T) {
	page, err := os.ReadFile("runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for pattern, says := range map[string]*regexp.Regexp{
		"../policies/authority/next.go":         regexp.MustCompile(`\n\tReason\w+ += "(\w+)"`),
		"../reconcilers/handoff/handoff.go":     regexp.MustCompile(`const reason\w+ = "(\w+)"`),
		"../policies/controlplane/[pr]*.go":     regexp.MustCompile(`\n\t\w+ +Reason += "(\w+)"`),
		"../reconcilers/mirror/*.go":            regexp.MustCompile(`(?:\.fails\(s, |\breason\w+ += )"(\w+)"`),
		"../policies/controlplane/generate*.go": regexp.MustCompile(` Reason += "(\w+)"`),
		"../reconcilers/generate/*.go":          regexp.MustCompile(`\breason\w+ += "(\w+)"`),
		"../policies/authority/gate.go":         regexp.MustCompile(`\n\tReason\w+ += "(\w+)"`),
		"../machine/deletion.go":                regexp.MustCompile(`\n\tReason\w+ += "(\w+)"`),
		"../reconcilers/provision/*.go":         regexp.MustCompile(`const reason\w+ = "(\w+)"`),
		"../reconcilers/handoff/report.go":      regexp.MustCompile(`condition\(authority\.Condition\w+, [^"]+"Info", "(\w+)"`),
		"../reconcilers/mirror/status.go":       regexp.MustCompile(`synchronizedCondition\([^,"]+, "(\w+)"`),
		"../policies/controlplane/authority.go": regexp.MustCompile(`const Reason\w+ = "(\w+)"`),
		"../reconcilers/reflection/*.go":        regexp.MustCompile(`(?:problem\{|reason: )"(\w+)"`),
	} {
		found := 0
		for _, file := range sources(t, pattern) {
			for _, m := range says.FindAllStringSubmatch(file, -1) {
				found++
				if !strings.Contains(string(page), "`"+m[1]+"`") {
					t.Errorf("runbooks.md does not say what to do about the reason %s of %s", m[1], pattern)
				}
			}
		}
		if found == 0 {
			t.Errorf("no reason was found in %s: has the code moved?", pattern)
		}
	}
}

// The Machine API publishes some reasons itself.
func TestPublishedReasonsHaveARunbook(t *testing.T) {
	for _, reason := range []string{
		machinev1beta1.InstanceMissingReason, machinev1beta1.InstanceNotCreatedReason, machinev1beta1.MachineCreationFailedConditionReason,
		machinev1beta1.MachineCreationSucceededConditionReason, machinev1beta1.MachineDrainError, machinev1beta1.MachineHookPresent,
		machinev1beta1.TooManyUnhealthyReason, machinev1beta1.ExternalRemediationTemplateNotFound, machinev1beta1.ExternalRemediationRequestCreationFailed,
	} {
		if !strings.Contains(runbooks, "`"+reason+"`") {
			t.Errorf("runbooks.md does not say what to do about %s", reason)
		}
	}
}

func sources(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}
