// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies"
	. "github.com/poundlock/poundlock/policies/authority"
)

func parsed(t *testing.T, text string) *policies.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o, err := policies.ParseObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestForeign(t *testing.T) {
	const (
		paused  = `cluster.x-k8s.io/paused: ''`
		owner   = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, name: one, uid: u}`
		acting  = `status: {conditions: [{type: Paused, status: 'False'}]}`
		stopped = `status: {conditions: [{type: Paused, status: 'True'}]}`
	)
	by := func(manager string) string {
		return `managedFields: [{manager: ` + manager + `, operation: Update, apiVersion: cluster.x-k8s.io/v1beta2, fieldsType: FieldsV1, ` +
			`fieldsV1: {'f:metadata': {'f:annotations': {'f:cluster.x-k8s.io/paused': {}}}}}]`
	}
	for sentence, c := range map[string]struct {
		object string
		want   Foreign
	}{
		"the mirror":                                        {`{metadata: {annotations: {poundlock.openshift.io/mirror-of: Machine/one}}}`, NotForeign},
		"the mirror of another":                             {`{metadata: {annotations: {poundlock.openshift.io/mirror-of: Machine/two}}}`, ForeignActs},
		"what somebody made":                                {`{metadata: {}}`, ForeignActs},
		"what somebody made paused, as asked":               {`{metadata: {annotations: {` + paused + `}}}`, NotForeign},
		"what has paused":                                   {`{metadata: {annotations: {` + paused + `}}, ` + stopped + `}`, NotForeign},
		"what is to pause and has not yet":                  {`{metadata: {annotations: {` + paused + `}}, ` + acting + `}`, ForeignStopping},
		"what its controllers hold, and have yet to answer": {`{metadata: {finalizers: [machine.cluster.x-k8s.io], annotations: {` + paused + `}}}`, ForeignStopping},
		"what its controllers hold, and has paused":         {`{metadata: {finalizers: [machine.cluster.x-k8s.io], annotations: {` + paused + `}}, ` + stopped + `}`, NotForeign},
		"what a Machine owns, and has no ID":                {`{metadata: {annotations: {` + paused + `}, ownerReferences: [` + owner + `]}}`, ForeignBegun},
		"what a Machine owns, and has this one's instance": {
			`{metadata: {annotations: {` + paused + `}, ownerReferences: [` + owner + `]}, spec: {providerID: aws:///a/i-1}}`, NotForeign},
		"what a Machine owns, and Poundlock's mirror has paused": {`{metadata: {annotations: {` + paused + `}, ownerReferences: [` + owner + `], ` + by("poundlock-mirror") + `}}`, NotForeign},
		"what a Machine owns, and the handoff has paused":        {`{metadata: {annotations: {` + paused + `}, ownerReferences: [` + owner + `], ` + by("poundlock-handoff") + `}}`, NotForeign},
		"what a Machine owns, and a person has paused":           {`{metadata: {annotations: {` + paused + `}, ownerReferences: [` + owner + `], ` + by("kubectl-annotate") + `}}`, ForeignBegun},
		"what Poundlock had paused, and acts":                    {`{metadata: {ownerReferences: [` + owner + `], ` + by("poundlock-mirror") + `}}`, ForeignActs},
		"what Poundlock has paused, with another instance":       {`{metadata: {annotations: {` + paused + `}, ` + by("poundlock-mirror") + `}, spec: {providerID: aws:///a/i-2}}`, ForeignInstance},
		"what is paused and goes":                                {`{metadata: {deletionTimestamp: '2026-01-01T00:00:00Z', annotations: {` + paused + `}}}`, ForeignGoing},
		"what runs another instance":                             {`{metadata: {}, spec: {providerID: aws:///a/i-2}}`, ForeignInstance},
		"what runs another instance, paused":                     {`{metadata: {annotations: {` + paused + `}}, spec: {providerID: aws:///a/i-2}, ` + stopped + `}`, ForeignInstance},
		"what runs the instance, by another spelling of its ID":  {`{metadata: {}, spec: {providerID: 'AWS:///b//i-1/'}}`, NotForeign},
		"what runs the instance, and has lost its mark":          {`{metadata: {}, spec: {providerID: aws:///a/i-1}}`, NotForeign},
	} {
		t.Run(sentence, func(t *testing.T) {
			machine, _ := KindNamed("Machine")
			mapi := parsed(t, `{metadata: {name: one}, spec: {providerID: aws:///a/i-1}, status: {authoritativeAPI: MachineAPI}}`)
			o := parsed(t, c.object)
			if got := ForeignTo(machine, mapi, o); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			foreign := c.want != NotForeign
			if s := (Objects{Kind: machine, Enabled: true, MachineAPI: mapi, ClusterAPI: o}).State(); s.ClusterAPI.Exists == foreign {
				t.Errorf("the handoff sees a party: %t", s.ClusterAPI.Exists)
			}
			mapi = parsed(t, `{metadata: {name: one}, status: {authoritativeAPI: ClusterAPI}}`)
			if s := (Objects{Kind: machine, Enabled: true, MachineAPI: mapi, ClusterAPI: o}).State(); !s.ClusterAPI.Exists {
				t.Error("the authoritative object is nobody's")
			}
		})
	}
	machine, _ := KindNamed("Machine")
	if got := ForeignTo(machine, nil, nil); got != NotForeign {
		t.Errorf("nothing is %q", got)
	}
}
