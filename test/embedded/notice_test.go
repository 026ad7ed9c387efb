// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/build"
)

// TestNOTICENamesEveryModule: those that CRDs are read from, and those whose programs are run for development.
func TestNOTICENamesEveryModule(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	notice := read("NOTICE")
	var modules []string
	for _, p := range providers() {
		modules = append(modules, p.module)
	}
	tools := regexp.MustCompile(`(?s)tool \((.*?)\)`).FindStringSubmatch(read("tools", "go.mod"))[1]
	for tool := range strings.FieldsSeq(tools) {
		module, _, _ := strings.Cut(tool, "/cmd/")
		modules = append(modules, module)
	}
	for line := range strings.Lines(read("test", "providers", "go.mod")) {
		if name := strings.TrimSpace(line); strings.Contains(name, "/cluster-api-provider-") && !strings.HasSuffix(name, "// indirect") &&
			!strings.HasPrefix(name, "module") {
			modules = append(modules, strings.Fields(name)[0])
		}
	}
	if len(modules) < 12 {
		t.Fatalf("only %v", modules)
	}
	for _, module := range modules {
		if !strings.Contains(notice, " "+module+" ") {
			t.Errorf("NOTICE does not name %s", module)
		}
	}
}
