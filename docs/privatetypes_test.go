// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/cmd/poundlock/proxying"
	"github.com/poundlock/poundlock/translation"
)

func TestPrivateTypesPage(t *testing.T) {
	want := PrivateTypes()
	if *update {
		if err := os.WriteFile("private-types.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("private-types.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("`go generate ./docs` writes it (-want +got):\n%s", diff)
	}
	for _, r := range translation.Rows {
		if privateTypesDocuments[r.In] == "" || privateTypesForms[r.Is] == "" {
			t.Errorf("%s has no name for its document or form", r.At)
		}
	}
	shim := proxying.Shim()
	for _, flag := range regexp.MustCompile("`--(budget|concurrency|in-flight-mib|upstream)[^`]*` \\(([^)]*)\\)").FindAllStringSubmatch(want, -1) {
		if shim.Flag(flag[1]) == nil {
			t.Errorf("the shim has no flag --%s", flag[1])
		}
	}
}
