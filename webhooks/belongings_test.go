// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"testing"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// The index finds Machines whose IDs have the end in common. Those of another provider have another instance.
func TestMachinesOfAnotherInstanceAreNotHolders(t *testing.T) {
	for _, c := range []struct {
		id, key string
		has     bool
	}{
		{"aws:///us-east-1a/i-0a", authority.InstanceKey("aws:///us-east-1b/i-0a"), true},
		{"aws:///us-east-1a/i-0a", authority.InstanceTail("i-0a"), true},
		{"aws:///us-east-1a/i-0a", authority.InstanceKey("gce://project/zone/i-0a"), false},
		{"gce://project/a/name", authority.InstanceKey("gce://project/a/name"), true},
		{"gce://project/a/name", authority.InstanceKey("gce://project/b/name"), false},
		{"gce://project/a/name", authority.InstanceTail("name"), true},
	} {
		m, err := policies.ParseObject(fmt.Appendf(nil, `{"spec":{"providerID":%q}}`, c.id))
		if err != nil {
			t.Fatal(err)
		}
		if has := hasInstance(m, c.key); has != c.has {
			t.Errorf("%s by %s: %v", c.id, c.key, has)
		}
	}
}
