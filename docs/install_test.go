// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/policies/authority"
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

// TestThePageSaysWhatANewInstallationNeeds: the tools for what is built, and a cluster without the label of a former installation, with which no webhook fails
// open.
func TestThePageSaysWhatANewInstallationNeeds(t *testing.T) {
	page, err := os.ReadFile("install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, before, _ := strings.Cut(string(page), "\n## Before\n")
	before, _, _ = strings.Cut(before, "\n### ")
	if !strings.Contains(before, "need Go") || !strings.Contains(before, "make") {
		t.Error("docs/install.md › Before does not name Go and make")
	}
	_, install, _ := strings.Cut(string(page), "\n## Install\n")
	install, _, _ = strings.Cut(install, "\n## ")
	if remove := authority.AdmissionLabel + "-`"; !strings.Contains(install, remove) {
		t.Errorf("docs/install.md › Install does not say how the label of a former installation is removed: %s", remove)
	}
}

// TestThePageSaysWhatAnInstallerLeaves: nobody else deletes it.
func TestThePageSaysWhatAnInstallerLeaves(t *testing.T) {
	page, err := os.ReadFile("providers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"delete leases.coordination.k8s.io/" + installation.Manager, "delete clusteroperators.config.openshift.io " + installation.OperatorName,
		"scale deployment/" + installation.Manager,
	} {
		if !strings.Contains(string(page), command) {
			t.Errorf("docs/providers.md has no command: %s", command)
		}
	}
}
