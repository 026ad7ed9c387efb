// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"testing"

	"github.com/poundlock/poundlock/policies"
)

// TestUnowned: when a Machine waits until the set of the other API owns its mirror.
func TestUnowned(t *testing.T) {
	const (
		going  = `"deletionTimestamp":"2026-11-21T12:00:00Z",`
		mirror = `"annotations":{"poundlock.openshift.io/mirror-of":"MachineSet/s"},`
		synced = `,"conditions":[{"type":"Synchronized","status":"True"}]`
	)
	kind, _ := KindNamed("Machine")
	set := func(uid, metadata, status string) string {
		return fmt.Sprintf(`{"metadata":{"name":"s",%s"uid":%q},"status":{%s}}`, metadata, uid, status)
	}
	owned := func(group, uid, status string) string {
		owner := ""
		if uid != "" {
			owner = fmt.Sprintf(`"ownerReferences":[{"apiVersion":"%s/v1","kind":"MachineSet","name":"s","uid":%q,"controller":true}],`, group, uid)
		}
		return fmt.Sprintf(`{"metadata":{%s"name":"m","annotations":{"poundlock.openshift.io/mirror-of":"Machine/m","cluster.x-k8s.io/paused":""}},"status":{%s}}`, owner, status)
	}
	const (
		ofM = `"authoritativeAPI":"MachineAPI"`
		ofC = `"authoritativeAPI":"ClusterAPI"`
	)
	for sentence, c := range map[string]struct {
		source                 API
		machineAPI, clusterAPI string // the UIDs of the owners
		setM, setC             string
		want                   bool
	}{
		"both sets own it":                               {MachineAPI, "sm", "sc", set("sm", "", ofM+synced), set("sc", mirror, ""), false},
		"the mirror of the set was recreated":            {MachineAPI, "sm", "", set("sm", "", ofM+synced), set("sc", mirror, ""), true},
		"its mirror names the former set":                {MachineAPI, "sm", "before", set("sm", "", ofM+synced), set("sc", mirror, ""), true},
		"another set has adopted its mirror":             {MachineAPI, "sm", "other", set("sm", "", ofM+synced), set("sc", mirror, ""), true},
		"the mirror of the set is being deleted":         {MachineAPI, "sm", "sc", set("sm", "", ofM+synced), set("sc", going+mirror, ""), true},
		"the mirror of the set is gone":                  {MachineAPI, "sm", "", set("sm", "", ofM+synced), "", true},
		"the set does not convert, and has no mirror":    {MachineAPI, "sm", "", set("sm", "", ofM), "", false},
		"another set has the name of the mirror":         {MachineAPI, "sm", "", set("sm", "", ofM), set("sc", "", ""), false},
		"Cluster API's set, which goes on, lost it":      {MachineAPI, "sm", "", set("sm", "", ofC+synced), set("sc", "", ""), true},
		"its set is being deleted":                       {MachineAPI, "sm", "", set("sm", going, ofM+synced), set("sc", mirror, ""), false},
		"it names a set that is gone":                    {MachineAPI, "before", "", set("sm", "", ofM+synced), set("sc", mirror, ""), false},
		"no set owns it":                                 {MachineAPI, "", "", "", "", false},
		"from Cluster API, both own it":                  {ClusterAPI, "sm", "sc", set("sm", "", ofC+synced), set("sc", "", ""), false},
		"from Cluster API, the mirror was recreated":     {ClusterAPI, "", "sc", set("sm", "", ofC+synced), set("sc", "", ""), true},
		"from Cluster API, the mirror is being deleted":  {ClusterAPI, "sm", "sc", set("sm", going, ofC+synced), set("sc", "", ""), true},
		"from Cluster API, the set exists there alone":   {ClusterAPI, "", "sc", "", set("sc", "", ""), false},
		"from Cluster API, and its set is being deleted": {ClusterAPI, "", "sc", set("sm", "", ofC+synced), set("sc", going, ""), false},
	} {
		o := Objects{Kind: kind}
		parse := func(raw string) *policies.Object {
			if raw == "" {
				return nil
			}
			parsed, err := policies.ParseObject([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			return parsed
		}
		o.MachineAPI = parse(owned("machine.openshift.io", c.machineAPI, `"authoritativeAPI":"`+string(c.source)+`"`))
		o.ClusterAPI = parse(owned("cluster.x-k8s.io", c.clusterAPI, ""))
		o.Sets = map[API]*policies.Object{MachineAPI: parse(c.setM), ClusterAPI: parse(c.setC)}
		if got := o.State().Unowned; got != c.want {
			t.Errorf("%s: %t", sentence, got)
		}
		owner, want := o.OwningSetOf(c.source), "s"
		if c.source == MachineAPI && c.machineAPI == "" {
			want = ""
		}
		if owner != want {
			t.Errorf("%s: its set is %q", sentence, owner)
		}
	}
}
