// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

// ofAPIServer are modules that the control plane has in Kubernetes' own version, whatever the others have: they decide how an API server behaves. With newer
// ones it refuses rules of OpenShift's CRDs that every cluster takes (cel-go estimates their cost), and leaves an empty object where an apply gives up the
// last field in it (structured-merge-diff).
var ofAPIServer = sets.New("github.com/google/cel-go", "sigs.k8s.io/structured-merge-diff/v6", "k8s.io/kube-openapi")

// TestModulesAgree compares the modules that `make run` compiles. A package that two of them need is compiled once if it, and all that it imports, is at one
// version; a machine that has never compiled Kubernetes does it three times otherwise.
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
			if ofAPIServer.Has(r.Path) {
				continue
			}
			if other, there := pins[r.Path]; there && other.version != r.Version {
				t.Errorf("%s: %s in %s, and %s in %s: require the newer one in both (go mod edit -require=%[1]s@VERSION, then go mod tidy)", r.Path, other.version, other.file, r.Version, file)
			}
			pins[r.Path] = pin{file, r.Version}
		}
	}
}
