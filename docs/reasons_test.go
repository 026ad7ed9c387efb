// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/docs/meanings"
)

// The tables of these pages are generated. The prose around them is written by hand.
func TestPagesOfMeanings(t *testing.T) {
	for file, tables := range map[string][]meanings.Table{"runbooks.md": meanings.Runbooks(), "signals.md": meanings.Signals()} {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := meanings.Fill(string(got), tables)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("the tables of %s are not those of docs/meanings; `go generate ./docs` writes them (-want +got):\n%s", file, diff)
		}
	}
}

// A person whom an alert wakes has a first command to type, here or in the runbook.
func TestEveryAlertBeginsWithACommand(t *testing.T) {
	for _, e := range meanings.Entries(meanings.Signals()) {
		if e.Section == "Alerts" && !strings.Contains(e.Do, "`kubectl ") && !strings.Contains(e.Do, "see the runbook") {
			t.Errorf("%s has no command: %s", e.Name, e.Do)
		}
	}
}

func TestSectionsOfRunbooksThatBeginWithACommand(t *testing.T) {
	page, err := os.ReadFile("runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, heading := range []string{
		"Requests are refused with \"Poundlock could not look up …\", or the webhook does not answer", "The certificate", "A deletion does not end",
	} {
		_, section, found := strings.Cut(string(page), "\n## "+heading+"\n\n")
		if first, _, _ := strings.Cut(section, "\n```\n"); !found || !strings.Contains(first, "```sh\nkubectl ") || strings.Contains(first, "\n## ") ||
			strings.Count(first, "\n\n") > 1 {
			t.Errorf("%s does not begin with a command", heading)
		}
	}
}

// A backup has the metadata of the object that is gone: with its UID or resourceVersion in the request, the API server answers Conflict.
func TestTheRestoreOfTheInfrastructureSendsItsStatusAlone(t *testing.T) {
	rows := meanings.Entries(meanings.Runbooks())
	row := rows[slices.IndexFunc(rows, func(e meanings.Entry) bool {
		return e.Name == "UnknownPlatform" && e.Section == "The control plane's set is Degraded"
	})]
	_, command, _ := strings.Cut(row.Do, "-p \"$(")
	command, _, found := strings.Cut(command, ")\"")
	if !found {
		t.Fatalf("no patch is made of the backup: %s", row.Do)
	}
	const backup = "apiVersion: config.openshift.io/v1\nkind: Infrastructure\nmetadata:\n  name: cluster\n  resourceVersion: \"7\"\n  uid: old\n" +
		"spec:\n  platformSpec:\n    type: AWS\nstatus:\n  infrastructureName: c\n  platformStatus:\n    aws:\n      region: r\n    type: AWS\n"
	sh := exec.Command("sh", "-c", command)
	sh.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(sh.Dir, "infrastructure.yaml"), []byte(backup), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := sh.Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, want, _ := strings.Cut(backup, "type: AWS\n"); string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A person who reads a reason in a condition at three in the morning finds it in the runbooks. The sources say which there are.
func TestEveryReasonHasARunbook(t *testing.T) {
	known := map[string]bool{}
	for _, r := range meanings.Entries(slices.Concat(meanings.Runbooks(), meanings.Signals())) {
		known[r.Name] = true
	}
	for pattern, value := range map[string]*regexp.Regexp{
		"../policies/authority/next.go":           regexp.MustCompile(`\n\tReason\w+ += "(\w+)"`),
		"../reconcilers/handoff/handoff.go":       regexp.MustCompile(`const reason\w+ = "(\w+)"`),
		"../policies/controlplane/[pr]*.go":       regexp.MustCompile(`\n\t\w+ +Reason += "(\w+)"`),
		"../mirroring/*/*.go":                     regexp.MustCompile(`(?:\.Fails\(s, |\b[Rr]eason\w+ += )"(\w+)"`),
		"../policies/controlplane/generator/*.go": regexp.MustCompile(`[ .]Reason += "(\w+)"`),
		"../reconcilers/generate/*.go":            regexp.MustCompile(`\breason\w+ += "(\w+)"`),
		"../policies/authority/gate.go":           regexp.MustCompile(`\n\tReason\w+ += "(\w+)"`),
		"../machine/deletion.go":                  regexp.MustCompile(`\n\tReason\w+ += "(\w+)"`),
		"../machine/controller/*.go":              regexp.MustCompile(`const reason\w+ = "(\w+)"`),
		"../policies/authority/authority.go":      regexp.MustCompile(`\n\tReason\w+ += "(\w+)"`),
		"../mirroring/status/status.go":           regexp.MustCompile(`synchronizedCondition\([^,"]+, "(\w+)"`),
		"../policies/controlplane/handover/*.go":  regexp.MustCompile(`const Reason\w+ = "(\w+)"`),
		"../reconcilers/controlplanemirror/*.go":  regexp.MustCompile(`(?:problem\{|reason: )"(\w+)"`),
	} {
		found := 0
		for _, file := range sources(t, pattern) {
			for _, m := range value.FindAllStringSubmatch(file, -1) {
				found++
				if !known[m[1]] { // prose alone would leave it out of the output of explain
					t.Errorf("no table of runbooks.md or signals.md has the reason %s of %s", m[1], pattern)
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
	page, err := os.ReadFile("runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{
		machinev1beta1.InstanceMissingReason, machinev1beta1.InstanceNotCreatedReason, machinev1beta1.MachineCreationFailedConditionReason,
		machinev1beta1.MachineCreationSucceededConditionReason, machinev1beta1.MachineDrainError, machinev1beta1.MachineHookPresent,
		machinev1beta1.TooManyUnhealthyReason, machinev1beta1.ExternalRemediationTemplateNotFound, machinev1beta1.ExternalRemediationRequestCreationFailed,
	} {
		if !strings.Contains(string(page), "`"+reason+"`") {
			t.Errorf("runbooks.md does not say what to do about %s", reason)
		}
	}
}

// Whatever a person reads in a cluster, signals.md or the runbooks explain. The sources say what there is.
func TestEverySignalIsExplained(t *testing.T) {
	known := map[string]bool{}
	for _, r := range meanings.Entries(slices.Concat(meanings.Runbooks(), meanings.Signals())) {
		if r.Means == "" {
			t.Errorf("%s is not explained", r.Name)
		}
		known[r.Name] = true
	}
	for _, of := range []struct {
		what  string
		least int
		files []string
		name  *regexp.Regexp
	}{
		{"metrics", 30, []string{"../*/*.go", "../*/*/*.go"}, regexp.MustCompile(`"((?:poundlock|mapi|hypershift)_[a-z]+_[a-z_]+)"`)},
		{"metrics of admission", 9, []string{"../webhooks/metrics.go"}, regexp.MustCompile(`(?:counter|histogram|gauge)\("([a-z_]+)"`)},
		{"alerts", 15, []string{"../manifests/components/*/prometheusrule.yaml", "../manifests/privatetypes/prometheusrule.yaml"}, regexp.MustCompile(`alert: (\w+)`)},
		{"events of the mirror and the mirror of the control plane", 15, []string{"../mirroring/*.go", "../mirroring/*/*.go", "../reconcilers/controlplanemirror/*.go"}, regexp.MustCompile(`\b[Rr]eason: +"(\w+)"`)},
		{"events", 12, []string{"../reconcilers/*/*.go", "../certs/*.go"}, regexp.MustCompile(`(?:EventType\w+|r\.tell\(ctx, s, m), "([A-Z][a-z]\w+)"(?:, |\+past)`)},
		{"causes of a remediation", 4, []string{"../machine/health/verdict.go"}, regexp.MustCompile(` Cause = "(\w+)"`)},
		{"conditions", 8, []string{"../policies/authority/*.go", "../policies/controlplane/*.go"}, regexp.MustCompile(`\n(?:const |\t)(?:Condition\w+|Available|Progressing|Degraded|Upgradeable) += "(\w+)"`)},
	} {
		found := 0
		for _, pattern := range of.files {
			for _, file := range sources(t, pattern) {
				for _, m := range of.name.FindAllStringSubmatch(file, -1) {
					found++
					name := m[1]
					if of.what == "metrics of admission" {
						name = "poundlock_admission_" + name
					}
					if whole := slices.Contains([]string{"Failed", "Successful", "Machine"}, name); !whole && !known[name] {
						t.Errorf("%s: signals.md does not explain %s", of.what, name)
					}
				}
			}
		}
		if found < of.least {
			t.Errorf("%s: %d were found, want %d at least: has the code moved?", of.what, found, of.least)
		}
	}
	for _, c := range []machinev1beta1.ConditionType{
		machinev1beta1.InstanceExistsCondition, machinev1beta1.MachineCreated, machinev1beta1.MachineDrainable, machinev1beta1.MachineDrained,
		machinev1beta1.MachineTerminable,
		machinev1beta1.RemediationAllowedCondition, machinev1beta1.ExternalRemediationTemplateAvailable, machinev1beta1.ExternalRemediationRequestAvailable,
	} {
		if !known[string(c)] {
			t.Errorf("signals.md does not explain the condition %s", c)
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
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

// A row that stands apart from its table is shown as text.
func TestNoTableIsBroken(t *testing.T) {
	for _, pattern := range []string{"*.md", "../*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(err, pattern)
		}
		for _, path := range files {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := append(strings.Split(string(raw), "\n"), "")
			for i, line := range lines[:len(lines)-1] {
				if strings.HasPrefix(line, "|") && (i == 0 || !strings.HasPrefix(lines[i-1], "|")) && !strings.HasPrefix(lines[i+1], "|--") {
					t.Errorf("%s:%d: this row has no table: %.60s", path, i+1, line)
				}
			}
		}
	}
}
