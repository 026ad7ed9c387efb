// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/policies/controlplane"
)

// TestThePageSaysWhatStays: after "Leave", nobody writes what Poundlock created itself. The ClusterOperator may go on preventing upgrades of the cluster.
func TestThePageSaysWhatStays(t *testing.T) {
	page, err := os.ReadFile("install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, leave, _ := strings.Cut(string(page), "\n## Leave\n")
	for _, object := range []string{
		"secrets/poundlock-serving", "leases.coordination.k8s.io/poundlock", "kubectl delete clusteroperators.config.openshift.io " + controlplane.OperatorName,
	} {
		if !strings.Contains(leave, object) {
			t.Errorf("docs/install.md › Leave does not name %s", object)
		}
	}
}
