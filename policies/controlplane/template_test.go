// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

// inClusterAPI writes a set with the member for Cluster API, which names the template larger.
func inClusterAPI(t *testing.T, v *controlplane.View) *policies.Object {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal(object(t, v.Set).Raw(), &content); err != nil {
		t.Fatal(err)
	}
	templates := content["spec"].(map[string]any)["template"].(map[string]any)
	member := maps.Clone(templates[string(controlplane.MachineAPIMember)].(map[string]any))
	member["spec"] = map[string]any{"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachineTemplate", "name": "larger"}}
	content["spec"].(map[string]any)["template"] = map[string]any{"machineType": controlplane.ClusterAPIMember, string(controlplane.ClusterAPIMember): member}
	content["metadata"].(map[string]any)["name"] = "cluster"
	raw, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	o, err := policies.ParseObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func infraTemplate(t *testing.T, text string) *policies.Object {
	t.Helper()
	o, err := policies.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestATemplateThatIsEdited: an edit of what the set's template names is an edit of the set, however it is written.
func TestATemplateThatIsEdited(t *testing.T) {
	const stored, larger, labelled = `{"spec":{"a":1}}`, `{"spec":{"a":2}}`, `{"metadata":{"labels":{"a":"b"}},"spec":{"a":1}}`
	const says = "ControlPlaneMachineSet cluster creates its Machines from this template: "
	unresolved := field.ErrorList{field.Invalid(controlplane.ClusterAPITemplatePath().Child("spec", "infrastructureRef"), "larger", "AWSMachineTemplate larger does not exist")}
	for name, c := range map[string]struct {
		operation  admissionv1.Operation
		old, new   string
		actor      policies.Actor
		edit       func(*controlplane.View)
		unresolved field.ErrorList
		want       []string
		asks       bool
	}{
		"in place": {operation: admissionv1.Update, old: stored, new: larger, edit: want("instanceType", "m6i.2xlarge"), asks: true,
			want: []string{says + "this will replace 3 of 3 control plane Machines, one at a time: c-master-0 (instanceType m6i.xlarge → m6i.2xlarge), " +
				"c-master-1 (instanceType m6i.xlarge → m6i.2xlarge), c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"}},
		"in place, for the better": {operation: admissionv1.Update, old: stored, new: larger, asks: true,
			want: []string{says + "this will do nothing: all 3 control plane Machines match the template"}},
		"under its name, it is created again": {operation: admissionv1.Create, new: larger, edit: want("instanceType", "m6i.2xlarge"), asks: true,
			want: []string{says + "this will replace 3 of 3 control plane Machines, one at a time: c-master-0 (instanceType m6i.xlarge → m6i.2xlarge), " +
				"c-master-1 (instanceType m6i.xlarge → m6i.2xlarge), c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"}},
		"it is deleted": {operation: admissionv1.Delete, old: stored, unresolved: unresolved, asks: true,
			want: []string{says + `this will do nothing until this problem is fixed: Fields of the set are invalid: spec.template.machines_v1beta2_cluster_x_k8s_io.spec.infrastructureRef: Invalid value: "larger": AWSMachineTemplate larger does not exist`}},
		"in place, to what the set's rules refuse": {operation: admissionv1.Update, old: stored, new: larger, edit: want("instanceType", 3), asks: true, want: []string{
			says + "this will replace 3 of 3 control plane Machines, one at a time: c-master-0 (instanceType m6i.xlarge → 3), c-master-1 (instanceType m6i.xlarge → 3), c-master-2 (instanceType m6i.xlarge → 3)",
			"spec.template.machines_v1beta2_cluster_x_k8s_io.spec.infrastructureRef: instanceType: in AWSMachineProviderConfig this field must be a string. In " +
				"the set itself, Poundlock refuses such content (controlplane/provider-spec)"}},
		"in place, to what the set's rules warn of": {operation: admissionv1.Update, old: stored, new: larger, edit: want("spotMarketOptions", map[string]any{}), asks: true, want: []string{
			says + "this will replace 3 of 3 control plane Machines, one at a time: c-master-0 (spotMarketOptions none → {}), c-master-1 (spotMarketOptions none → {}), c-master-2 (spotMarketOptions none → {})",
			"spec.template.machines_v1beta2_cluster_x_k8s_io.spec.infrastructureRef: its spotMarketOptions: with this field the cloud may terminate the instance " +
				"at any moment, and its etcd member with it. Leave the field out"}},
		"in its labels alone":            {operation: admissionv1.Update, old: stored, new: labelled},
		"by the mirror":                  {operation: admissionv1.Update, old: stored, new: larger, actor: policies.Poundlock},
		"by a controller of Cluster API": {operation: admissionv1.Create, new: larger, actor: policies.ClusterAPIController},
	} {
		t.Run(name, func(t *testing.T) {
			v := reviewed()
			if c.edit != nil {
				c.edit(v)
			}
			change := policies.Change{Subject: policies.Subject{Side: policies.SideInfrastructure, Kind: authority.InfraMachineTemplate, Name: "larger"},
				Operation: c.operation, Old: infraTemplate(t, c.old), New: infraTemplate(t, c.new), Actor: c.actor}
			asks := admission.Rules().Needs(change).Has(policies.NeedControlPlaneSet)
			if asks != c.asks {
				t.Errorf("it asks for the control plane: %v, want %v", asks, c.asks)
			}
			set := inClusterAPI(t, v)
			member, err := controlplane.Template(set.Raw())
			if err != nil {
				t.Fatal(err)
			}
			known := controlplane.Known(member, controlplane.Resolved{Set: v.Set, Unresolved: c.unresolved})
			if c.unresolved != nil {
				known.ProviderSpec = nil
			}
			before := controlplane.Known(member, controlplane.Resolved{Set: reviewed().Set})
			change.Facts.ControlPlane = &policies.ControlPlane{MayRecreate: v.MayRecreate, Machines: v.Machines, Nodes: v.Nodes,
				Infrastructure: v.Infrastructure, Now: v.Now, Set: set,
				Templates: []policies.Template{known}, Stored: []policies.Template{before}}
			var got []string
			for _, f := range admission.Rules().Judge(change) {
				got = append(got, f.Warnings...)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
