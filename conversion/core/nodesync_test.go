// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/machineapi"
)

// syncing is a cluster whose Cluster API manager propagates these names to Nodes besides its own.
func syncing(t *testing.T, labels, annotations string) conversion.Env {
	t.Helper()
	out := env()
	for text, into := range map[string]*conversion.Patterns{labels: &out.NodeSync.Labels, annotations: &out.NodeSync.Annotations} {
		patterns, err := conversion.ParsePatterns(strings.Fields(text))
		if err != nil {
			t.Fatal(err)
		}
		*into = patterns
	}
	return out
}

// A label that Machine API propagates to Nodes converts if Cluster API propagates it too, and returns to its former place.
func TestNamesOfOtherDomainsForNodes(t *testing.T) {
	all := syncing(t, `.*`, `.* `)
	for sentence, c := range map[string]struct {
		env   conversion.Env
		patch string
		want  []string
	}{
		"an edge zone of the installer": {all, `{"spec": {"metadata": {"labels": {"machine.openshift.io/zone-type": "local-zone", "machine.openshift.io/zone-group": "us-east-1-nyc-1", "node-role.kubernetes.io/edge": ""}}}}`, nil},
		"storage's label":               {all, `{"spec": {"metadata": {"labels": {"cluster.ocs.openshift.io/openshift-storage": ""}}}}`, nil},
		"without the flag":              {env(), `{"spec": {"metadata": {"labels": {"cluster.ocs.openshift.io/openshift-storage": ""}}}}`, []string{"spec.metadata.labels[cluster.ocs.openshift.io/openshift-storage]: FieldValueNotSupported"}},
		"a flag for other names":        {syncing(t, `^example\.com/`, ``), `{"spec": {"metadata": {"labels": {"example.com/a": "b", "other/a": "b"}}}}`, []string{"spec.metadata.labels[other/a]: FieldValueNotSupported"}},
		"the Machine's too":             {all, `{"metadata": {"labels": {"example.com/a": "b"}}, "spec": {"metadata": {"labels": {"example.com/a": "b"}}}}`, nil},
		"the Machine's, otherwise":      {all, `{"metadata": {"labels": {"example.com/a": "b"}}, "spec": {"metadata": {"labels": {"example.com/a": "c"}}}}`, []string{"spec.metadata.labels[example.com/a]: FieldValueNotSupported"}},
		"a name of the cluster":         {all, `{"spec": {"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "x"}}}}`, []string{"spec.metadata.labels[cluster.x-k8s.io/cluster-name]: FieldValueNotSupported"}},

		"an annotation":                           {all, `{"spec": {"metadata": {"annotations": {"example.com/a": "b"}}}}`, nil},
		"an annotation, without the flag":         {env(), `{"spec": {"metadata": {"annotations": {"example.com/a": "b"}}}}`, []string{"spec.metadata.annotations[example.com/a]: FieldValueNotSupported"}},
		"an annotation, the Machine's too":        {all, `{"metadata": {"annotations": {"example.com/a": "b"}}, "spec": {"metadata": {"annotations": {"example.com/a": "b"}}}}`, nil},
		"an annotation, the Machine's, otherwise": {all, `{"metadata": {"annotations": {"example.com/a": "b"}}, "spec": {"metadata": {"annotations": {"example.com/a": "c"}}}}`, []string{"spec.metadata.annotations[example.com/a]: FieldValueNotSupported"}},
		"an annotation that pauses":               {all, `{"spec": {"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}}`, []string{"spec.metadata.annotations[cluster.x-k8s.io/paused]: FieldValueNotSupported"}},
		"an annotation with another name there":   {all, `{"spec": {"metadata": {"annotations": {"machine.openshift.io/delete-machine": ""}}}}`, []string{"spec.metadata.annotations[machine.openshift.io/delete-machine]: FieldValueNotSupported"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			machine := patched(t, plainMachine, c.patch)
			twin, errs := core.ToClusterAPI("Machine", machine, c.env)
			var got []string
			for _, err := range errs {
				got = append(got, err.Field+": "+string(err.Type))
			}
			if !slices.EqualFunc(got, c.want, func(got, want string) bool { return strings.HasPrefix(got, want) }) && len(got)+len(c.want) > 0 {
				t.Fatalf("errors %q, want %q", got, c.want)
			}
			if len(c.want) > 0 {
				return
			}
			back, errs := core.ToMachineAPI("Machine", twin, c.env)
			diff(t, nil, errs.ToAggregate())
			diff(t, desired(machine), desired(back))
		})
	}
}

// The Machine API's controllers write a label onto spot Machines in each pass; their sets do not have it.
func TestTheLabelOfASpotMachine(t *testing.T) {
	const spot = `{"spec": {"providerSpec": {"value": {"spotMarketOptions": {}, "capacityReservationId": null}}}}`
	const labels = `{"metadata": {"labels": {"machine.openshift.io/interruptible-instance": ""}}, "spec": {"metadata": {"labels": {"machine.openshift.io/interruptible-instance": ""}}}}`
	labelled := patched(t, jsonOf(patched(t, plainMachine, spot)), labels)
	twin, errs := core.ToClusterAPI("Machine", labelled, env())
	diff(t, nil, errs.ToAggregate())
	if _, there := twin.Core.GetLabels()[machineapi.InterruptibleLabel]; there {
		t.Error("Cluster API is given the label that follows from the spot option")
	}
	back, errs := core.ToMachineAPI("Machine", twin, env())
	diff(t, nil, errs.ToAggregate())
	diff(t, desired(labelled), desired(back))

	bare := patched(t, plainMachine, spot)
	twin, errs = core.ToClusterAPI("Machine", bare, env())
	diff(t, nil, errs.ToAggregate())
	back, _ = core.ToMachineAPI("Machine", twin, env())
	if onNode, _, _ := unstructured.NestedStringMap(back.Object, "spec", "metadata", "labels"); back.GetLabels()[machineapi.InterruptibleLabel] != "" ||
		len(onNode) != 1 {
		t.Errorf("a spot Machine of Cluster API has the labels %v, its Node %v", back.GetLabels(), onNode)
	}

	_, errs = core.ToClusterAPI("Machine", patched(t, plainMachine, labels), env())
	if len(errs) != 1 || errs[0].Field != "spec.metadata.labels["+machineapi.InterruptibleLabel+"]" {
		t.Errorf("the label on a Machine on demand: %v", errs)
	}
}

// A providerSpec with the meaning that the mirror would write keeps its manifest's spelling.
func TestKeepSpelling(t *testing.T) {
	for sentence, c := range map[string]struct {
		has, wants string
		kept       bool
	}{
		"an empty member, and none":       {`{"capacityReservationId": ""}`, `{}`, true},
		"none, and an empty member":       {`{}`, `{"deviceIndex": 0, "capacityReservationId": ""}`, true},
		"an empty object":                 {`{"metadata": {}}`, `{}`, true},
		"what Cluster API takes for none": {`{"blockDevices": [{"ebs": {"volumeSize": 120, "iops": 0}}]}`, `{"blockDevices": [{"ebs": {"volumeSize": 120}}]}`, true},
		"another value":                   {`{"instanceType": "a"}`, `{"instanceType": "b"}`, false},
		"false where absent is another":   {`{}`, `{"publicIp": false}`, false},
		"an empty object that means one":  {`{}`, `{"spotMarketOptions": {}}`, false},
		"a member of a later release":     {`{"later": 1}`, `{}`, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			for kind, text := range map[string]string{"Machine": plainMachine, "MachineSet": plainSet} {
				path := `{"spec": {"providerSpec": {"value": %s}}}`
				if kind == "MachineSet" {
					path = `{"spec": {"template": {"spec": {"providerSpec": {"value": %s}}}}}`
				}
				base := jsonOf(patched(t, text, fmt.Sprintf(path, `{"capacityReservationId": null, "instanceType": "a", "deviceIndex": null}`)))
				has, want := patched(t, base, fmt.Sprintf(path, c.has)), patched(t, base, fmt.Sprintf(path, c.wants))
				before := jsonOf(want)
				core.KeepSpelling(kind, has, want, env())
				if c.kept {
					diff(t, jsonOf(has), jsonOf(want))
				} else {
					diff(t, before, jsonOf(want))
				}
			}
		})
	}
	has := object(t, `{"spec": {"lifecycleHooks": {}, "metadata": {"labels": {}}, "taints": null, "providerID": "", "replicas": 0, "providerSpec": {"value": {}}}}`)
	want := object(t, `{"spec": {"metadata": {"annotations": {"a": "b"}}}}`)
	core.KeepSpelling("Machine", has, want, env())
	diff(t, jsonOf(object(t, `{"spec": {"lifecycleHooks": {}, "metadata": {"annotations": {"a": "b"}, "labels": {}}, "providerID": "", "taints": null}}`)),
		jsonOf(want))
	has = object(t, `{"spec": {"minReadySeconds": 0, "selector": {"matchLabels": {"a": "", "b": ""}}, "template": {"metadata": {"labels": {"a": ""}, "annotations": {}}, "spec": {"metadata": {"labels": {"node-role.kubernetes.io/infra": "", "x": "y"}}}}}}`)
	want = object(t, `{"spec": {"selector": {"matchLabels": {"b": ""}}, "template": {"spec": {"metadata": {"labels": {"x": "y"}}}}}}`)
	core.KeepSpelling("MachineSet", has, want, env())
	diff(t, jsonOf(object(t, `{"spec": {"minReadySeconds": 0, "selector": {"matchLabels": {"b": ""}}, "template": {"spec": {"metadata": {"labels": {"x": "y"}}}}}}`)), jsonOf(want))
	has = object(t, `{"spec": {"taints": [{"key": "a", "value": "", "timeAdded": null}, {"key": "b", "value": ""}, {"key": "c"}], "lifecycleHooks": {
		"preDrain": [{"name": "zeta", "owner": ""}, {"name": "gone"}, {"name": "alpha"}],
		"preTerminate": [{"name": "zeta"}, {"name": "alpha"}]}}}`)
	want = object(t, `{"spec": {"taints": [{"key": "a"}, {"key": "other"}, {"key": "c", "value": "x"}], "lifecycleHooks": {
		"preDrain": [{"name": "alpha"}, {"name": "new"}, {"name": "zeta"}],
		"preTerminate": [{"name": "alpha"}, {"name": "zeta"}]}}}`)
	core.KeepSpelling("Machine", has, want, env())
	diff(t, jsonOf(object(t, `{"spec": {"taints": [{"key": "a", "value": "", "timeAdded": null}, {"key": "other"}, {"key": "c", "value": "x"}], "lifecycleHooks": {
		"preDrain": [{"name": "zeta", "owner": ""}, {"name": "alpha"}, {"name": "new"}],
		"preTerminate": [{"name": "zeta"}, {"name": "alpha"}]}}}`)), jsonOf(want))
	core.KeepSpelling("MachineHealthCheck", &unstructured.Unstructured{Object: map[string]any{}}, &unstructured.Unstructured{Object: map[string]any{}}, env())
}
