// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package licences_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/internal/licences"
)

// TestEveryModuleIsNamed asks the go tool which modules are compiled in.
func TestEveryModuleIsNamed(t *testing.T) {
	const root, program = "../..", "./cmd/poundlock"
	files, err := licences.Of(t.Context(), root, "linux", "arm64", program)
	if err != nil {
		t.Fatal(err)
	}
	text := string(licences.Text(files))
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}:{{end}}{{end}}", program)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(strings.ReplaceAll(string(out), " ", "@"))
	if len(modules) < 20 {
		t.Fatalf("%d modules", len(modules))
	}
	for _, m := range modules {
		if !strings.Contains(text, "\n"+strings.ReplaceAll(m, "@", " ")) {
			t.Errorf("%s is not named", m)
		}
	}
	for what, phrase := range map[string]string{
		"Go's own": "\nGo: LICENSE\n", "a package that was taken from elsewhere": "sigs.k8s.io/yaml", "a licence's words": "Apache License",
	} {
		if !strings.Contains(text, phrase) {
			t.Errorf("%s: no %q", what, phrase)
		}
	}
	if n := strings.Count(text, "Version 2.0, January 2004"); n > len(modules)/2 {
		t.Errorf("%d copies of one licence", n)
	}
}

func TestEqualFilesStandOnce(t *testing.T) {
	got := string(licences.Text([]licences.File{{"a v1", "LICENSE", []byte("words\n")}, {"b v1", "LICENSE", []byte("words")}, {"b v1", "NOTICE", []byte("more")}}))
	if strings.Count(got, "words") != 1 || !strings.Contains(got, "a v1: LICENSE\nb v1: LICENSE\n") || !strings.Contains(got, "b v1: NOTICE") {
		t.Errorf("got\n%s", got)
	}
}
