// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"fmt"
	"testing"

	"github.com/poundlock/poundlock/policies"
	. "github.com/poundlock/poundlock/policies/authority"
)

// TestInstance tests what the objects of a pair show about an instance.
func TestInstance(t *testing.T) {
	const id, other = `"providerID":"aws:///i-1"`, `"providerID":"aws:///i-2"`
	const running = `"phase":"Running"`
	for name, c := range map[string]struct {
		of                API
		machine, status   string // the Machine API Machine's spec and status
		core, infra       string // the specs of the other side's objects; "-" is no object
		coreStatus        string // the status of Cluster API's Machine
		unready           bool   // the provider's object is not ready
		metadata          string
		want              Instance
		goesWithoutObject bool
	}{
		"both sides have the ID":                                      {of: MachineAPI, machine: id, status: running, core: id, infra: id, want: InstanceKnown},
		"both sides have it, and Cluster API is authoritative":        {of: ClusterAPI, machine: id, core: id, infra: id, want: InstanceKnown},
		"the provider's mirror lacks the ID":                          {of: MachineAPI, machine: id, status: running, core: id},
		"the provider's object alone has it, next to the Machine's":   {of: ClusterAPI, machine: id, infra: id, want: InstanceKnown},
		"the mirror has another ID":                                   {of: MachineAPI, machine: id, status: running, core: id, infra: other},
		"the Machines have different IDs":                             {of: ClusterAPI, machine: id, core: other, infra: id},
		"Cluster API has not found it yet":                            {of: ClusterAPI, machine: id, core: id, infra: id, unready: true, coreStatus: `"phase":"Provisioning"`, want: InstanceStarting},
		"Cluster API has found it, and it is stopped":                 {of: ClusterAPI, machine: id, core: id, infra: id, unready: true, coreStatus: `"initialization":{"infrastructureProvisioned":true}`, want: InstanceKnown},
		"the same, in Cluster API's older version":                    {of: ClusterAPI, machine: id, core: id, infra: id, unready: true, coreStatus: `"infrastructureReady":true`, want: InstanceKnown},
		"Cluster API has failed for good":                             {of: ClusterAPI, machine: id, core: id, infra: id, unready: true, coreStatus: `"phase":"Failed"`, want: InstanceKnown},
		"the ID has not reached the mirror":                           {of: ClusterAPI, infra: id},
		"nobody has it":                                               {of: ClusterAPI},
		"it has the ID, and is provisioning":                          {of: MachineAPI, machine: id, status: `"phase":"Provisioning"`, core: id, infra: id, want: InstanceStarting},
		"adopted before its controllers held it":                      {of: MachineAPI, metadata: `"uid":"u","annotations":{"poundlock.openshift.io/untouched":"u"}`, want: InstanceNotRequested},
		"the same, and Cluster API is authoritative":                  {of: ClusterAPI, metadata: `"uid":"u","annotations":{"poundlock.openshift.io/untouched":"u"}`},
		"a copy of one that was adopted so":                           {of: MachineAPI, metadata: `"uid":"v","annotations":{"poundlock.openshift.io/untouched":"u"}`},
		"adopted so, and held now":                                    {of: MachineAPI, metadata: `"uid":"u","finalizers":["machine.machine.openshift.io"],"annotations":{"poundlock.openshift.io/untouched":"u"}`},
		"adopted so, and its controllers have acted":                  {of: MachineAPI, status: `"phase":"Provisioning"`, metadata: `"uid":"u","annotations":{"poundlock.openshift.io/untouched":"u"}`},
		"not adopted so, and not held":                                {of: MachineAPI, metadata: `"uid":"u"`},
		"failed by its configuration, which somebody may have edited": {of: MachineAPI, status: `"phase":"Failed","errorReason":"InvalidConfiguration"`},
		"failed by its configuration, with an ID":                     {of: MachineAPI, machine: id, status: `"phase":"Failed","errorReason":"InvalidConfiguration"`},
		"failed by its creation":                                      {of: MachineAPI, status: `"phase":"Failed","errorReason":"CreateError"`},
		"the provider's object is deleted, and the instance known":    {of: ClusterAPI, machine: id, core: id, infra: "-", want: InstanceKnown, goesWithoutObject: true},
		"the provider's object is deleted, and the instance unknown":  {of: ClusterAPI, machine: id, infra: "-"},
		"the provider's mirror is deleted":                            {of: MachineAPI, machine: id, status: running, core: id, infra: "-"},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(spec, status, metadata string) *policies.Object {
				if spec == "-" {
					return nil
				}
				o, err := policies.ParseObject(fmt.Appendf(nil, `{"metadata":{"name":"one"%s},"spec":{%s},"status":{%s}}`, metadata, spec, status))
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			with := func(more, to string) string {
				if more == "" {
					return to
				}
				return more + "," + to
			}
			metadata := ""
			if c.metadata != "" {
				metadata = "," + c.metadata
			}
			mark := `,"annotations":{"poundlock.openshift.io/mirror-of":"Machine/one"}`
			kind, _ := KindNamed("Machine")
			s := Objects{Kind: kind, Enabled: true,
				MachineAPI: object(with(c.machine, fmt.Sprintf(`"authoritativeAPI":%q`, c.of.Other())), with(c.status, fmt.Sprintf(`"authoritativeAPI":%q`, c.of)), metadata),
				ClusterAPI: object(c.core, c.coreStatus, mark), Infra: object(c.infra, fmt.Sprintf(`"ready":%t`, !c.unready), mark)}.State()
			if s.Instance != c.want {
				t.Errorf("got %d, want %d", s.Instance, c.want)
			}
			if s.InfraActs == c.goesWithoutObject {
				t.Errorf("the provider's object is a party: %t", s.InfraActs)
			}
		})
	}
}
