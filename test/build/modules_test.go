// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestModulesAgree compares the modules that `make run` compiles. A package that two of them need is compiled once if both, and so all that it imports, are at one version: a
// machine that has never compiled Kubernetes otherwise does it three times.
func TestModulesAgree(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	type pin struct{ file, version string }
	pins := map[string]pin{}
	for _, file := range []string{"go.mod", "test/plane/go.mod", "test/clusterapi/go.mod"} {
		out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", filepath.Join(root, file)).Output()
		if err != nil {
			t.Fatal(err)
		}
		var module struct {
			Require []struct{ Path, Version string }
		}
		if err := json.Unmarshal(out, &module); err != nil {
			t.Fatal(err)
		}
		for _, r := range module.Require {
			if other, there := pins[r.Path]; there && other.version != r.Version {
				t.Errorf("%s: %s in %s, and %s in %s: require the newer one in both (go mod edit -require=%[1]s@VERSION, then go mod tidy)", r.Path, other.version, other.file, r.Version, file)
			}
			pins[r.Path] = pin{file, r.Version}
		}
	}
}
