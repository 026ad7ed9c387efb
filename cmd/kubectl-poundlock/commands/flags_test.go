// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/commands"
)

// The page lists each flag, except kubectl's own.
func TestFlagsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	kubectls := []string{"all-namespaces", "allow-missing-template-keys", "template"}
	for _, name := range []string{"check", "status", "migrate", "cleanup"} {
		command, _, err := commands.New(cli.Options{}).Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		command.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			named := regexp.MustCompile(`--`+f.Name+`\b`).Match(page) || f.Shorthand != "" && regexp.MustCompile(`[ \x60]-`+f.Shorthand+`\b`).Match(page)
			if !named && !slices.Contains(kubectls, f.Name) {
				t.Errorf("docs/plugin.md does not name --%s of %s", f.Name, name)
			}
		})
	}
}
