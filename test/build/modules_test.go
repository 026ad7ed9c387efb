// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestModulesAgree compares the modules that `make run` compiles. A package that two of them need is compiled once if it, and all that it imports, is at one
// version; a machine that has never compiled Kubernetes does it three times otherwise. Where others require a newer one than Kubernetes' release has, that
// release's is taken, since an API server with newer ones behaves in another way: it refuses rules of OpenShift's CRDs that every cluster takes (cel-go
// estimates their cost), and leaves an empty object where an apply gives up the last field in it (structured-merge-diff).
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
			Replace []struct {
				Old, New struct{ Path, Version string }
			}
		}
		if err := json.Unmarshal(out, &module); err != nil {
			t.Fatal(err)
		}
		replaced := map[string]string{}
		for _, r := range module.Replace {
			replaced[r.Old.Path] = r.New.Version
		}
		for _, r := range module.Require {
			r.Version = cmp.Or(replaced[r.Path], r.Version)
			if other, there := pins[r.Path]; there && other.version != r.Version {
				t.Errorf("%s: %s in %s, and %s in %s: require the newer one in both (go mod edit -require=%[1]s@VERSION, then go mod tidy), or replace it by "+
					"the one that Kubernetes has", r.Path, other.version, other.file, r.Version, file)
			}
			pins[r.Path] = pin{file, r.Version}
		}
	}
}
