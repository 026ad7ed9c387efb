// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/poundlock/poundlock/test/stories"
)

// entry is one command of the transcript and what it printed.
type entry struct{ command, printed string }

// block finds the console blocks of a part of the document: the words after the fence name the part. "" is the initial fleet.
func block(part string) *regexp.Regexp {
	return regexp.MustCompile("(?s)```" + regexp.QuoteMeta(fence(part)) + "\n(.*?)```")
}

func fence(part string) string { return strings.TrimSpace("console " + part) }

// transcript reads the commands out of blocks, in order, with the output below each.
func transcript(block *regexp.Regexp, text string) []entry {
	var out []entry
	for _, found := range block.FindAllStringSubmatch(text, -1) {
		for _, part := range strings.Split("\n"+found[1], "\n$ ")[1:] {
			command, printed, _ := strings.Cut(part, "\n")
			out = append(out, entry{command, printed})
		}
	}
	return out
}

// normals replace what differs between runs.
var normals = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b(worker-[ab])-[a-z0-9]{5}\b`), "$1-xxxxx"},
	{regexp.MustCompile(`\b(worker-[ab])-[0-9a-f]{8}\b`), "$1-hhhhhhhh"},
	// The lines between the request and the end of a move depend on timing.
	{regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d .*(authority is moving|takes over|move requested \().*\n`), ""},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "time"},
	{regexp.MustCompile(`\b(\d+[dhms])+(\W|$)`), "age$2"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

func normal(text string) string {
	for _, n := range normals {
		text = n.what.ReplaceAllString(text, n.with)
	}
	return strings.TrimSpace(text)
}

// TestTheTranscriptIsTrue types the commands of docs/plugin.md at a terminal, in order, on the fleet of `make run`. It repeats a command that only reads until
// its output is the document's, with a deadline.
func TestTheTranscriptIsTrue(t *testing.T) { holds(t, "", 8) }

// TestTheControlPlanesTranscriptIsTrue does the same with `make run CONTROL_PLANE=3`.
func TestTheControlPlanesTranscriptIsTrue(t *testing.T) {
	stories.Long(t)
	if out, code := sh(t, "kubectl poundlock controlplane status"); code != 1 ||
		!strings.Contains(out, "there is no ControlPlaneMachineSet cluster in openshift-machine-api") {
		t.Errorf("without a set: exit code %d:\n%s", code, out)
	}
	if err := stage.RaiseControlPlane(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is a set", func() (string, bool) {
		out, code := sh(t, "kubectl poundlock controlplane status -o json")
		return out, code == 0 && strings.Contains(out, `"type": "AuthoritySettled"`) && strings.Contains(out, `"type": "Synchronized"`)
	})
	holds(t, "control-plane", 4)
	theRestHolds(t)
}

// holds types a part's commands, at least so many, and compares the output.
func holds(t *testing.T, part string, least int) {
	t.Helper()
	path := filepath.Join(root, "docs", "plugin.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries := transcript(block(part), string(text))
	if len(entries) < least {
		t.Fatalf("docs/plugin.md has %d commands in its blocks %q", len(entries), fence(part))
	}
	var printed []string
	for _, e := range entries {
		got := typed(t, e)
		printed = append(printed, got)
		if diff := cmp.Diff(normal(e.printed), normal(got)); diff != "" && !*update {
			t.Errorf("$ %s\n(-docs/plugin.md +printed)\n%s\nIt printed:\n%s", e.command, diff, got)
		}
	}
	if *update {
		write(t, path, part, string(text), printed)
	}
}

func typed(t *testing.T, e entry) string {
	t.Helper()
	var got string
	patience := 20 * time.Second
	if *update || strings.Contains(e.command, " migrate ") || strings.HasSuffix(e.command, " activate") {
		patience = time.Nanosecond // a repetition has another output
	}
	_ = wait.PollUntilContextTimeout(t.Context(), 500*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		s := at(t, e.command, "NO_COLOR=1")
		s.answers = []string{"y"}
		got, _ = s.run()
		return normal(got) == normal(e.printed), nil
	})
	return got
}

// write replaces the output below each command.
func write(t *testing.T, path, part, text string, printed []string) {
	t.Helper()
	i := 0
	text = block(part).ReplaceAllStringFunc(text, func(found string) string {
		var b strings.Builder
		b.WriteString("```" + fence(part) + "\n")
		for _, part := range strings.Split("\n"+strings.TrimSuffix(strings.TrimPrefix(found, "```"+fence(part)+"\n"), "```"), "\n$ ")[1:] {
			command, _, _ := strings.Cut(part, "\n")
			b.WriteString("$ " + command + "\n" + strings.TrimRight(printed[i], "\n") + "\n")
			i++
		}
		return b.String() + "```"
	})
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNormal(t *testing.T) {
	text := "09:10:11  machine/worker-a-x7k2p  authority is moving (WaitingForPause)  after 2s\n09:10:12  machine/worker-a-x7k2p  Cluster API is authoritative  after 3s\n"
	if got, want := normal(text), "time machine/worker-a-xxxxx Cluster API is authoritative after age"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
