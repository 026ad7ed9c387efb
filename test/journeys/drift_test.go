// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/test/testcluster"
)

// A person who keeps a manifest in git finds that the object equals the manifest after a move and a move back. This manifest is written as people, older tools
// and templates write it: with empty, zero and null members, and keys in other case.
func TestAManifestIsAfterThereAndBackWhatItWas(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	manifest := strings.NewReplacer(
		"kind: AWSMachineProviderConfig\n", `kind: AWSMachineProviderConfig
          metadata: {creationTimestamp: null}
          capacityReservationId: ""
          keyName: null
          loadBalancers: []
          placementGroupName: ""
`, "instanceType:", "InstanceType:",
		"            - ebs:\n", "            - ebs:\n                iops: 0\n                kmsKey: {}\n",
		"      authoritativeAPI: MachineAPI\n      providerSpec",
		"      authoritativeAPI: MachineAPI\n      lifecycleHooks: {}\n      metadata: {}\n      providerSpec",
	).Replace(testcluster.MachineSet("in-git", 1))
	git := func(verb ...string) answer {
		return kubectl(t, manifest, append(verb, "--server-side", "--field-manager=gitops", "-f", "-")...)
	}
	if a := git("apply"); !a.ok {
		t.Fatal(a.err)
	}
	set := mapiSet("in-git")
	eventually(t, "its Machine runs", func() string { return field(t, set, ".status.availableReplicas") }, "1")
	m := mapiMachine(machinesOf(t, set.name)[0])
	both := []object{set, m}
	var was []string
	for _, o := range both {
		eventually(t, o.name+" is mirrored", func() string { return condition(t, o, "Synchronized") }, "True")
		was = append(was, content(t, o))
	}
	for _, api := range []string{"ClusterAPI", "MachineAPI"} {
		for _, o := range both {
			move(t, o, api)
		}
	}
	for i, o := range both {
		if diff := cmp.Diff(was[i], content(t, o)); diff != "" {
			t.Errorf("%s %s comes back otherwise (-was +is):\n%s", o.resource, o.name, diff)
		}
		eventually(t, o.name+" has no record of having been a mirror", func() string {
			return fmt.Sprint(strings.Contains(field(t, o, ".metadata.annotations"), "poundlock.openshift.io/synchronized-"))
		}, "false")
	}
	if a := git("diff"); !a.ok {
		t.Errorf("git differs: %s%s", a.out, a.err)
	}
	for _, text := range []string{`"InstanceType":`, `"capacityReservationId":""`, `"iops":0`} {
		if !strings.Contains(content(t, set), text) {
			t.Errorf("the API server has not stored %s, so that nothing is shown", text)
		}
	}
}

// content returns what a manifest says of an object.
func content(t *testing.T, o object) string {
	t.Helper()
	return field(t, o, ".metadata.labels") + "\n" + field(t, o, ".spec")
}
