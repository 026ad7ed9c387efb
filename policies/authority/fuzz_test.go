// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// garbage has objects that no schema would accept.
var garbage = []string{
	`{}`, `{"metadata":null,"spec":null,"status":null}`, `{"spec":[],"status":"x"}`, `{"spec":7,"status":{"conditions":{}}}`,
	`{"spec":{"authoritativeAPI":1,"replicas":"x","template":[]},"status":{"authoritativeAPI":{},"conditions":[null,1,{"type":7}]}}`,
	`{"spec":{"template":{"spec":null}},"status":{"v1beta2":[],"initialization":3,"replicas":-1}}`,
	`{"spec":{"authoritativeAPI":"Sideways"},"status":{"authoritativeAPI":"Sideways","synchronizedAPI":"Sideways"}}`,
	`{"metadata":{"ownerReferences":[{}],"finalizers":[""],"labels":{"":""},"annotations":{"/":"/"}}}`,
}

// changes returns every request about two objects that a webhook can pass on, with each object as each fact.
func changes(before, after, fact *policies.Object) []policies.Change {
	var out []policies.Change
	for _, side := range []policies.Side{policies.SideMachineAPI, policies.SideClusterAPI, policies.SideInfrastructure} {
		for _, kind := range []string{"Machine", "MachineSet", "MachineHealthCheck", authority.InfraMachine, authority.InfraMachineTemplate,
			authority.InfraInstance} {
			for _, sub := range []string{"", "status", "scale"} {
				for _, actor := range []policies.Actor{policies.Anyone, policies.ClusterAPIController, policies.Autoscaler} {
					c := policies.Change{
						Subject: policies.Subject{Side: side, Kind: kind, Subresource: sub, Resource: schema.GroupResource{Resource: "machines"}, Namespace: "a",
							Name: "b", TwinNamespace: "c"},
						Actor: actor, Facts: policies.Facts{Twin: fact, Stored: fact, Infra: fact},
					}
					update, create, remove := c, c, c
					update.Operation, update.Old, update.New = admissionv1.Update, before, after
					create.Operation, create.New = admissionv1.Create, after
					remove.Operation, remove.Old = admissionv1.Delete, before
					out = append(out, update, create, remove)
				}
			}
		}
	}
	return out
}

// ask sends a change to all rules and defaulters. The defaulters may refuse what is no object, but must never panic.
func ask(c policies.Change) {
	defaulters := policies.Defaulters(authority.Defaulters())
	rules.Needs(c)
	rules.Judge(c)
	if c.New != nil {
		defaulters.Needs(c)
		_ = defaulters.FixedPoint(c)
	}
	authority.CacheSuffices(c, c.Facts.Twin)
	authority.ScaleCacheSuffices(c, c.Facts.Stored)
}

// TestGarbage sends all pairs of objects that no schema would accept to all rules, with and without facts.
func TestGarbage(t *testing.T) {
	var objects []*policies.Object
	for _, raw := range garbage {
		o, err := policies.ParseObject([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	asked := 0
	for _, before := range objects {
		for _, after := range objects {
			for _, fact := range append(slices.Clone(objects[:2]), nil) {
				for _, c := range changes(before, after, fact) {
					ask(c)
					asked++
				}
			}
		}
	}
	t.Logf("%d changes", asked)
}

// FuzzRules sends whatever parses as an object to all rules. The process must not panic.
func FuzzRules(f *testing.F) {
	for i, raw := range garbage {
		f.Add([]byte(raw), []byte(garbage[len(garbage)-1-i]), []byte(garbage[(i+3)%len(garbage)]))
	}
	f.Fuzz(func(_ *testing.T, before, after, fact []byte) {
		var objects [3]*policies.Object
		for i, raw := range [][]byte{before, after, fact} {
			o, err := policies.ParseObject(raw)
			if err != nil || o == nil && i < 2 {
				return
			}
			objects[i] = o
		}
		for _, c := range changes(objects[0], objects[1], objects[2]) {
			ask(c)
		}
	})
}
