// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package feedback

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
)

// A person restores the role label of a master that is being deleted, on the object that is authoritative. Etcd's operator looks at the other one.
func TestTheRoleOfAMachineThatIsBeingDeleted(t *testing.T) {
	const role, kind = "machine.openshift.io/cluster-api-machine-role", "machine.openshift.io/cluster-api-machine-type"
	const deleting = `deletionTimestamp: "2026-01-01T12:00:00Z", finalizers: [a/b], `
	both := `labels: {` + role + `: master, ` + kind + `: master}`
	for name, c := range map[string]struct {
		here, there, authority string
		want                   map[string]any
	}{
		"both are missing":                 {deleting, deleting + both, "ClusterAPI", map[string]any{role: "master", kind: "master"}},
		"one is missing":                   {deleting + `labels: {` + kind + `: m}`, both, "ClusterAPI", map[string]any{role: "master"}},
		"none is missing":                  {deleting + both, deleting + both, "ClusterAPI", nil},
		"Cluster API's has none either":    {deleting, deleting, "ClusterAPI", nil},
		"it stays, and is mirrored":        {"", both, "ClusterAPI", nil},
		"the Machine API is authoritative": {deleting, both, "MachineAPI", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := Role(&pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m",
				MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: mapi, `+c.here+`},
  spec: {authoritativeAPI: `+c.authority+`}, status: {authoritativeAPI: `+c.authority+`}}`),
				Core: mirroringtest.Machine(t, `{metadata: {name: m, namespace: capi, `+c.there+`}}`)})
			var got map[string]any
			if w != nil {
				got, _ = pairs.Under(w.Patch, "metadata")["labels"].(map[string]any)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
