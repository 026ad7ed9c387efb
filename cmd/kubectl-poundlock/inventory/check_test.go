// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// A check whose CRD has lost the fields of authority does not act as long as Poundlock's pause is on it.
func TestWhichCheckActs(t *testing.T) {
	for sentence, c := range map[string]struct {
		paused, fields string
		want           authority.API
	}{
		"without the fields":                         {"", `"spec":{},"status":{}`, authority.MachineAPI},
		"without them, and a person paused it":       {"true", `"spec":{},"status":{}`, authority.MachineAPI},
		"without them, and Poundlock paused it":      {"poundlock.openshift.io", `"spec":{},"status":{}`, authority.ClusterAPI},
		"Poundlock has yet to remove its pause":      {"poundlock.openshift.io", `"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"MachineAPI"}`, authority.MachineAPI},
		"Cluster API is authoritative for the check": {"poundlock.openshift.io", `"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"ClusterAPI"}`, authority.ClusterAPI},
	} {
		object := `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineHealthCheck","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","annotations":{"cluster.x-k8s.io/paused":"` +
			c.paused + `"}},` + c.fields + `}`
		if c.paused == "" {
			object = strings.Replace(object, `"cluster.x-k8s.io/paused":""`, "", 1)
		}
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(object), authority.Pairs{inventory.DefaultPair})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Pairs[0].Authoritative(); got != c.want {
			t.Errorf("%s: %s, want %s", sentence, got, c.want)
		}
	}
}
