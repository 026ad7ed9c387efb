// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/poundlock/poundlock/test/build"
)

// line is one command of a transcript, and what it printed.
type line struct{ command, printed string }

// The name of this file makes its test run before all stories, on the fleet as `make run` shows it. The stories leave sets behind.

// TestTheTranscriptOfTheREADMEIsTrue types the README's kubectl commands, in order, on the fleet of `make run`. It does not compare what differs between runs:
// the ends of generated names, ages, times and spaces that align columns. A command that only reads is repeated for a while until it prints what the README
// has, because a person looks again, too.
func TestTheTranscriptOfTheREADMEIsTrue(t *testing.T) {
	story(t)
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := transcript(string(text))
	if len(lines) == 0 {
		t.Fatal("README.md has no command that begins with `$ kubectl` in a block fenced as ```console")
	}
	for _, l := range lines {
		want := normal(l.printed)
		var got, printed string
		_ = wait.PollUntilContextTimeout(t.Context(), 500*time.Millisecond, patienceFor(l), true, func(context.Context) (bool, error) {
			printed = shell(t, l.command)
			got = normal(printed)
			return got == want, nil
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("$ %s\n(-README +printed)\n%s\nIt printed:\n%s", l.command, diff, printed)
		}
	}
}

// patienceFor returns how long a command is repeated. A command that changes something is not repeated, because a second one would change something else.
func patienceFor(l line) time.Duration {
	if regexp.MustCompile(`^kubectl( -n \S+)? (get|describe|explain|wait) `).MatchString(l.command) {
		return 30 * time.Second
	}
	return time.Nanosecond
}

var block = regexp.MustCompile("(?s)```console\n(.*?)```")

// transcript returns the kubectl commands of a document's console blocks, with the output below each.
func transcript(text string) []line {
	var lines []line
	for _, found := range block.FindAllStringSubmatch(text, -1) {
		for _, part := range strings.Split("\n"+found[1], "\n$ ")[1:] {
			part = strings.ReplaceAll(part, "\\\n", " ") // a command that continues in the next line
			command, printed, _ := strings.Cut(part, "\n")
			if strings.HasPrefix(command, "kubectl ") {
				lines = append(lines, line{strings.Join(strings.Fields(command), " "), printed})
			}
		}
	}
	return lines
}

// normals replace what differs from run to run.
var normals = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b(worker-[ab])-[a-z0-9]{5}\b`), "$1-xxxxx"},
	{regexp.MustCompile(`\b(worker-[ab])-[0-9a-f]{8}\b`), "$1-hhhhhhhh"},
	{regexp.MustCompile(`\bi-[0-9a-f]{17}\b`), "i-id"},
	{regexp.MustCompile(`\bip-10-0-\d+-\d+\b`), "ip-10-0-x-y"},
	{regexp.MustCompile(`\b10\.0\.\d+\.\d+\b`), "10.0.x.y"},
	{regexp.MustCompile(`\b(\d+[dhms])+(\s|$)`), "age$2"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\b`), "time"},
	{regexp.MustCompile(` deleted from \S+ namespace`), " deleted"}, // older versions do not print the namespace
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

func normal(text string) string {
	for _, n := range normals {
		text = n.what.ReplaceAllString(text, n.with)
	}
	return strings.TrimSpace(text)
}

// shell runs a command as a person would, and returns all that it prints.
func shell(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Env = kubectlEnv(t)
	out, _ := cmd.CombinedOutput() // its output shows a failure
	return string(out)
}

func TestTranscript(t *testing.T) {
	text := "# Title\n```console\n$ make run\nup\n$ kubectl get \\\n    machines\nNAME          AGE\nworker-a-x7k2p   12s\n$ kubectl version\n```\n```sh\n$ kubectl no\n```\n"
	want := []line{{"kubectl get machines", "NAME          AGE\nworker-a-x7k2p   12s"}, {"kubectl version", ""}}
	if diff := cmp.Diff(want, transcript(text), cmp.AllowUnexported(line{})); diff != "" {
		t.Error(diff)
	}
	if got := normal(want[0].printed); got != "NAME AGE\nworker-a-xxxxx age" {
		t.Errorf("normal: %q", got)
	}
}
