// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/machineapi"
)

var objects = map[string]string{"Machine": fullMachine, "MachineSet": fullSet}

// desired is the part of an object that converts: its name, labels, annotations and spec.
func desired(o *unstructured.Unstructured) map[string]any {
	out := o.DeepCopy()
	out.Object["metadata"] = map[string]any{}
	out.SetName(o.GetName())
	out.SetNamespace(o.GetNamespace())
	out.SetLabels(o.GetLabels())
	out.SetAnnotations(o.GetAnnotations())
	delete(out.Object, "status")
	unstructured.RemoveNestedField(out.Object, "spec", "authoritativeAPI")
	unstructured.RemoveNestedField(out.Object, "spec", "template", "spec", "authoritativeAPI")
	return out.Object
}

func TestAnObjectOfEveryKindComesBack(t *testing.T) {
	for name, text := range map[string]string{
		"Machine": fullMachine, "Machine that says little": plainMachine,
		"MachineSet": fullSet, "MachineSet that says little": plainSet,
	} {
		kind, _, _ := strings.Cut(name, " ")
		t.Run(name, func(t *testing.T) {
			m := object(t, text)
			twin, errs := core.ToClusterAPI(kind, m, env())
			diff(t, nil, errs.ToAggregate())
			back, errs := core.ToMachineAPI(kind, twin, env())
			diff(t, nil, errs.ToAggregate())
			diff(t, desired(m), desired(back))
			again, _ := core.ToClusterAPI(kind, back, env())
			diff(t, jsonOf(twin.Core), jsonOf(again.Core))
			diff(t, jsonOf(twin.Infra), jsonOf(again.Infra))
		})
	}
}

func jsonOf(o *unstructured.Unstructured) string {
	raw, _ := o.MarshalJSON()
	return string(raw)
}

func TestTheTwinBearsTheNamesThatTheMirrorLooksFor(t *testing.T) {
	for kind, want := range map[string][]string{
		"Machine":    {"cluster.x-k8s.io/v1beta2 Machine openshift-cluster-api/worker-a-1", "infrastructure.cluster.x-k8s.io/v1beta2 AWSMachine openshift-cluster-api/worker-a-1"},
		"MachineSet": {"cluster.x-k8s.io/v1beta2 MachineSet openshift-cluster-api/worker-a", "infrastructure.cluster.x-k8s.io/v1beta2 AWSMachineTemplate openshift-cluster-api/worker-a-HASH"},
	} {
		twin, _ := core.ToClusterAPI(kind, object(t, objects[kind]), env())
		var got []string
		for _, o := range []*unstructured.Unstructured{twin.Core, twin.Infra} {
			got = append(got, o.GetAPIVersion()+" "+o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
			diff(t, "ocean-x7k2p", o.GetLabels()["cluster.x-k8s.io/cluster-name"])
		}
		if kind == "MachineSet" {
			hash := got[1][strings.LastIndex(got[1], "-")+1:]
			diff(t, 8, len(hash))
			got[1] = strings.TrimSuffix(got[1], hash) + "HASH"
			ref, _, _ := unstructured.NestedString(twin.Core.Object, "spec", "template", "spec", "infrastructureRef", "name")
			diff(t, twin.Infra.GetName(), ref)
			diff(t, "worker-a", twin.Infra.GetLabels()[machineapi.MachineSetLabel])
		}
		diff(t, want, got)
	}
}

// An infrastructure object that cannot be read exists: only its errors are reported.
func TestAnInfrastructureObjectThatCannotBeRead(t *testing.T) {
	for kind, path := range map[string][]string{"Machine": {"spec"}, "MachineSet": {"spec", "template", "spec"}} {
		twin, _ := core.ToClusterAPI(kind, object(t, objects[kind]), env())
		if err := unstructured.SetNestedField(twin.Infra.Object, true, append(path, "instanceType")...); err != nil {
			t.Fatal(err)
		}
		if _, errs := core.ToMachineAPI(kind, twin, env()); len(errs) != 1 || !strings.HasSuffix(errs[0].Field, ".spec.instanceType") {
			t.Errorf("%s: %v", kind, errs.ToAggregate())
		}
	}
}

// A MachineSet's name may have 253 characters, a label's value 63.
func TestALongNameIsShortened(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("a", 53) + "." +
		strings.Repeat("b", 190), strings.Repeat("a", 253), strings.Repeat("a", 252) + "b"} {
		set := object(t, objects["MachineSet"])
		set.SetName(name)
		twin, errs := core.ToClusterAPI("MachineSet", set, env())
		diff(t, nil, errs.ToAggregate())
		label, template := twin.Infra.GetLabels()[machineapi.MachineSetLabel], twin.Infra.GetName()
		for _, wrong := range append(validation.IsValidLabelValue(label), validation.IsDNS1123Subdomain(template)...) {
			t.Errorf("%s: label %s, template %s: %s", name, label, template, wrong)
		}
		if seen[label] || seen[template] {
			t.Errorf("%s: label %s or template %s is another set's too", name, label, template)
		}
		seen[label], seen[template] = true, true
		if !strings.HasPrefix(template, core.TemplatePrefix(name)) || len(name) <= 63 && label != name {
			t.Errorf("%s: label %s, template %s", name, label, template)
		}
	}
}

func TestATemplateIsNamedByItsContent(t *testing.T) {
	name := func(patch string) string {
		twin, errs := core.ToClusterAPI("MachineSet", patched(t, fullSet, patch), env())
		diff(t, nil, errs.ToAggregate())
		return twin.Infra.GetName()
	}
	same, larger := name(`{"spec": {"replicas": 7}}`), name(`{"spec": {"template": {"spec": {"providerSpec": {"value": {"instanceType": "m6i.2xlarge"}}}}}}`)
	if name(`{}`) != same {
		t.Error("the name changes with what is not in the template")
	}
	if name(`{}`) == larger {
		t.Error("the name does not change with the template")
	}
}

func TestWhatAMachineAPIObjectMayHave(t *testing.T) {
	long := strings.Repeat("long-", 12) + "name"
	cases := map[string]struct {
		kind, patch string
		env         func(*conversion.Env)
		want        []string
	}{
		"a providerSpec's field, in a Machine":      {"Machine", `{"spec": {"providerSpec": {"value": {"deviceIndex": 1}}}}`, nil, []string{"spec.providerSpec.value.deviceIndex: FieldValueNotSupported"}},
		"a providerSpec's field, in a MachineSet":   {"MachineSet", `{"spec": {"template": {"spec": {"providerSpec": {"value": {"deviceIndex": 1}}}}}}`, nil, []string{"spec.template.spec.providerSpec.value.deviceIndex: FieldValueNotSupported"}},
		"a field in two spellings":                  {"Machine", `{"spec": {"providerSpec": {"value": {"keyname": "x"}}}}`, nil, []string{"spec.providerSpec.value.keyname: FieldValueInvalid"}},
		"no providerSpec":                           {"Machine", `{"spec": {"providerSpec": null}}`, nil, []string{"spec.providerSpec.value: FieldValueRequired"}},
		"a providerSpec of another platform":        {"Machine", `{"spec": {"providerSpec": {"value": {"kind": "GCPMachineProviderSpec", "zone": "x"}}}}`, nil, []string{"spec.providerSpec.value.kind: FieldValueInvalid"}},
		"a providerSpec that is a word":             {"Machine", `{"spec": {"providerSpec": {"value": "x"}}}`, nil, []string{"spec.providerSpec.value: FieldValueInvalid"}},
		"a field of a later version":                {"Machine", `{"spec": {"later": 1}}`, nil, []string{"spec.later: FieldValueNotSupported"}},
		"status and metadata of a later version":    {"Machine", `{"metadata": {"later": 1}, "status": {"later": 1}}`, nil, nil},
		"authority, of the set and of its Machines": {"MachineSet", `{"spec": {"authoritativeAPI": "ClusterAPI", "template": {"spec": {"authoritativeAPI": "ClusterAPI"}}}}`, nil, nil},

		"an instance of a template": {"MachineSet", `{"spec": {"template": {"spec": {"providerID": "aws:///us-east-1a/i-0123456789abcdef0"}}}}`, nil,
			[]string{"spec.template.spec.providerID: FieldValueNotSupported"}},
		"no instance of a template": {"MachineSet", `{"spec": {"template": {"spec": {"providerID": ""}}}}`, nil, nil},

		"a hook given twice":                {"Machine", `{"spec": {"lifecycleHooks": {"preDrain": [{"name": "Alpha", "owner": "one"}, {"name": "Alpha", "owner": "two"}]}}}`, nil, []string{"spec.lifecycleHooks.preDrain[1].name: FieldValueInvalid"}},
		"the same hook in both lists":       {"Machine", `{"spec": {"lifecycleHooks": {"preDrain": [{"name": "Alpha", "owner": "one"}], "preTerminate": [{"name": "Alpha", "owner": "two"}]}}}`, nil, nil},
		"a hook of two letters":             {"Machine", `{"spec": {"lifecycleHooks": {"preDrain": [{"name": "Al", "owner": "one"}]}}}`, nil, []string{"spec.lifecycleHooks.preDrain[0].name: FieldValueInvalid"}},
		"a hook's owner of two letters":     {"Machine", `{"spec": {"lifecycleHooks": {"preDrain": [{"name": "Alpha", "owner": "me"}]}}}`, nil, []string{"spec.lifecycleHooks.preDrain[0].owner: FieldValueInvalid"}},
		"a hook with a domain":              {"Machine", `{"spec": {"lifecycleHooks": {"preDrain": [{"name": "a.io/Alpha", "owner": "one"}]}}}`, nil, []string{"spec.lifecycleHooks.preDrain[0].name: FieldValueNotSupported"}},
		"a hook of a template":              {"MachineSet", `{"spec": {"template": {"spec": {"lifecycleHooks": {"preTerminate": [{"name": "Al", "owner": "one"}]}}}}}`, nil, []string{"spec.template.spec.lifecycleHooks.preTerminate[0].name: FieldValueInvalid"}},
		"a taint given twice":               {"Machine", `{"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "value": "x", "effect": "NoSchedule"}]}}`, nil, []string{"spec.taints[1]: FieldValueInvalid"}},
		"a taint with two effects":          {"Machine", `{"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]}}`, nil, nil},
		"a taint without an effect":         {"Machine", `{"spec": {"taints": [{"key": "a"}]}}`, nil, []string{"spec.taints[0]: FieldValueInvalid"}},
		"a node's label of its own":         {"Machine", `{"spec": {"metadata": {"labels": {"team": "sea"}}}}`, nil, []string{"spec.metadata.labels[team]: FieldValueNotSupported"}},
		"a node's name":                     {"Machine", `{"spec": {"metadata": {"name": "x"}}}`, nil, []string{"spec.metadata.name: FieldValueNotSupported"}},
		"a Machine's label of its own":      {"Machine", `{"metadata": {"labels": {"team": "sea"}}}`, nil, nil},
		"another cluster's label":           {"Machine", `{"metadata": {"labels": {"machine.openshift.io/cluster-api-cluster": "pond"}}}`, nil, []string{"metadata.labels[machine.openshift.io/cluster-api-cluster]: FieldValueNotSupported"}},
		"no cluster's label":                {"Machine", `{"metadata": {"labels": {"machine.openshift.io/cluster-api-cluster": null}}}`, nil, nil},
		"Cluster API's label":               {"Machine", `{"metadata": {"labels": {"cluster.x-k8s.io/control-plane": ""}}}`, nil, []string{"metadata.labels[cluster.x-k8s.io/control-plane]: FieldValueNotSupported"}},
		"Cluster API's annotation":          {"Machine", `{"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": ""}}}`, nil, []string{"metadata.annotations[cluster.x-k8s.io/delete-machine]: FieldValueNotSupported"}},
		"what an operator writes":           {"MachineSet", `{"metadata": {"annotations": {"autoscaling.openshift.io/machineautoscaler": "n/a", "capacity.cluster-autoscaler.kubernetes.io/cpu": "4"}}}`, nil, nil},
		"the annotation of every apply":     {"Machine", `{"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}}`, nil, nil},
		"a selector of nothing":             {"MachineSet", `{"spec": {"selector": null}}`, nil, []string{"spec.selector: FieldValueRequired"}},
		"a selector by Cluster API's label": {"MachineSet", `{"spec": {"selector": {"matchLabels": {"cluster.x-k8s.io/cluster-name": "ocean-x7k2p"}}}}`, nil, []string{"spec.selector.matchLabels[cluster.x-k8s.io/cluster-name]: FieldValueNotSupported"}},
		"a label that nothing can have": {"MachineSet", `{"spec": {"selector": {"matchLabels": {"set": "` + long + `"}}, "template": {"metadata": {"labels": {"set": "` + long + `"}}}}}`, nil,
			[]string{"spec.selector.matchLabels[set]: FieldValueInvalid", "spec.template.metadata.labels[set]: FieldValueInvalid"}},
		"an expression of such a label": {"MachineSet", `{"spec": {"selector": {"matchExpressions": [{"key": "set", "operator": "In", "values": ["` + long + `"]}]}}}`, nil,
			[]string{"spec.selector.matchExpressions: FieldValueInvalid"}},
		"a label of such a name":                {"MachineSet", `{"spec": {"template": {"metadata": {"labels": {"a b": ""}}}}}`, nil, []string{"spec.template.metadata.labels[a b]: FieldValueInvalid"}},
		"an annotation of such a name":          {"MachineSet", `{"spec": {"template": {"metadata": {"annotations": {"a b": ""}}}}}`, nil, []string{"spec.template.metadata.annotations[a b]: FieldValueInvalid"}},
		"a node's annotation of such a name":    {"Machine", `{"spec": {"metadata": {"annotations": {"node.cluster.x-k8s.io/a,b": ""}}}}`, nil, []string{"spec.metadata.annotations[node.cluster.x-k8s.io/a,b]: FieldValueInvalid"}},
		"an annotation of a domain in capitals": {"Machine", `{"spec": {"metadata": {"annotations": {"Node.cluster.x-k8s.io/A": ""}}}}`, nil, []string{"spec.metadata.annotations[Node.cluster.x-k8s.io/A]: FieldValueNotSupported"}},
		"a node's label that none can have": {"Machine", `{"spec": {"metadata": {"labels": {"node-role.kubernetes.io/sea": "a b"}}}}`, nil,
			[]string{"spec.metadata.labels[node-role.kubernetes.io/sea]: FieldValueInvalid"}},
		"a policy that is none":         {"MachineSet", `{"spec": {"deletePolicy": "Largest"}}`, nil, []string{"spec.deletePolicy: FieldValueNotSupported"}},
		"no policy":                     {"MachineSet", `{"spec": {"deletePolicy": ""}}`, nil, nil},
		"a name for the set's Machines": {"MachineSet", `{"spec": {"template": {"metadata": {"name": "x"}}}}`, nil, []string{"spec.template.metadata.name: FieldValueNotSupported"}},
		"replicas beyond 32 bits":       {"MachineSet", `{"spec": {"replicas": 4294967296}}`, nil, []string{"spec.replicas: FieldValueInvalid"}},
		"a cluster that is not known":   {"Machine", `{}`, func(e *conversion.Env) { e.ClusterName = "" }, []string{"Infrastructure.status.infrastructureName: FieldValueRequired"}},
		"a kind that is not converted":  {"MachineDeployment", `{}`, nil, []string{"kind: FieldValueNotSupported"}},
	}
	former := &strings.Builder{}
	for i := range 100 {
		fmt.Fprintf(former, `"former%d": {}, `, i)
	}
	many := cases["a field of a later version"]
	many.patch, many.want = `{"metadata": {`+former.String()+`"x": 1}, "spec": {"later": 1}}`, []string{"spec: FieldValueNotSupported"}
	cases["a field of a later version, after many in the metadata"] = many
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			text, ok := objects[c.kind]
			if !ok {
				text = fullMachine
			}
			env, m := env(), patched(t, text, c.patch)
			if c.env != nil {
				c.env(&env)
			}
			_, errs := core.ToClusterAPI(c.kind, m, env)
			same(t, c.want, errs)
			raw, _ := json.Marshal(m.Object)
			same(t, c.want, core.Check(c.kind, raw, env))
		})
	}
}

func TestWhatAClusterAPIObjectMayHave(t *testing.T) {
	cases := map[string]struct {
		kind, patch, infra string
		want               []string
	}{
		"a version":                         {"Machine", `{"spec": {"version": "v1.30.0"}}`, `{}`, []string{"spec.version: FieldValueNotSupported"}},
		"readiness gates":                   {"Machine", `{"spec": {"readinessGates": [{"conditionType": "x"}]}}`, `{}`, []string{"spec.readinessGates: FieldValueNotSupported"}},
		"the default deletion timeout":      {"Machine", `{"spec": {"deletion": {"nodeDeletionTimeoutSeconds": 10, "nodeDrainTimeoutSeconds": 0}}}`, `{}`, nil},
		"timeouts":                          {"Machine", `{"spec": {"deletion": {"nodeDeletionTimeoutSeconds": 0, "nodeDrainTimeoutSeconds": 5, "nodeVolumeDetachTimeoutSeconds": 5}}}`, `{}`, []string{"spec.deletion.nodeDeletionTimeoutSeconds: FieldValueNotSupported", "spec.deletion.nodeDrainTimeoutSeconds: FieldValueNotSupported", "spec.deletion.nodeVolumeDetachTimeoutSeconds: FieldValueNotSupported"}},
		"another cluster":                   {"Machine", `{"spec": {"clusterName": "pond"}}`, `{}`, []string{"spec.clusterName: FieldValueNotSupported"}},
		"a bootstrap provider":              {"Machine", `{"spec": {"bootstrap": {"configRef": {"kind": "x", "name": "x", "apiGroup": "x"}}}}`, `{}`, []string{"spec.bootstrap.configRef: FieldValueNotSupported"}},
		"no bootstrap data":                 {"Machine", `{"spec": {"bootstrap": {"dataSecretName": null}}}`, `{}`, []string{"spec.bootstrap.dataSecretName: FieldValueRequired"}},
		"another platform":                  {"Machine", `{"spec": {"infrastructureRef": {"kind": "GCPMachine"}}}`, `{}`, []string{"spec.infrastructureRef: FieldValueNotSupported"}},
		"a taint for the start only":        {"Machine", `{"spec": {"taints": [{"key": "a", "effect": "NoSchedule", "propagation": "OnInitialization"}]}}`, `{}`, []string{"spec.taints[0].propagation: FieldValueNotSupported"}},
		"a hook without a name":             {"Machine", `{"metadata": {"annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io": "somebody"}}}`, `{}`, []string{"metadata.annotations[pre-drain.delete.hook.machine.cluster.x-k8s.io]: FieldValueNotSupported"}},
		"a hook of two letters":             {"Machine", `{"metadata": {"annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io/ab": "somebody"}}}`, `{}`, []string{"metadata.annotations[pre-drain.delete.hook.machine.cluster.x-k8s.io/ab]: FieldValueNotSupported"}},
		"a hook without an owner":           {"Machine", `{"metadata": {"annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io/abc": ""}}}`, `{}`, []string{"metadata.annotations[pre-drain.delete.hook.machine.cluster.x-k8s.io/abc]: FieldValueNotSupported"}},
		"Machine API's mark":                {"Machine", `{"metadata": {"annotations": {"machine.openshift.io/delete-machine": "x"}}}`, `{}`, []string{"metadata.annotations[machine.openshift.io/delete-machine]: FieldValueNotSupported"}},
		"its older mark":                    {"Machine", `{"metadata": {"annotations": {"machine.openshift.io/cluster-api-delete-machine": "x"}}}`, `{}`, []string{"metadata.annotations[machine.openshift.io/cluster-api-delete-machine]: FieldValueNotSupported"}},
		"paused":                            {"Machine", `{"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}`, `{}`, nil},
		"a control plane without the role":  {"Machine", `{"metadata": {"labels": {"cluster.x-k8s.io/control-plane": ""}}}`, `{}`, []string{"metadata.labels[cluster.x-k8s.io/control-plane]: FieldValueInvalid"}},
		"a Machine's minReadySeconds":       {"Machine", `{"spec": {"minReadySeconds": 5}}`, `{}`, []string{"spec.minReadySeconds: FieldValueNotSupported"}},
		"a set's Machine's minReadySeconds": {"Machine", `{"metadata": {"labels": {"cluster.x-k8s.io/set-name": "worker-a"}}, "spec": {"minReadySeconds": 5}}`, `{}`, nil},
		"a template's minReadySeconds":      {"MachineSet", `{"spec": {"template": {"spec": {"minReadySeconds": 9}}}}`, `{}`, nil},
		"a paused template":                 {"MachineSet", `{"spec": {"template": {"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}}}`, `{}`, []string{"spec.template.metadata.annotations[cluster.x-k8s.io/paused]: FieldValueNotSupported"}},
		"an instance of a template":         {"MachineSet", `{"spec": {"template": {"spec": {"providerID": "aws:///us-east-1a/i-0123456789abcdef0"}}}}`, `{}`, []string{"spec.template.spec.providerID: FieldValueNotSupported"}},
		"names for the set's Machines":      {"MachineSet", `{"spec": {"machineNaming": {"template": "x"}}}`, `{}`, []string{"spec.machineNaming: FieldValueNotSupported"}},
		"a selector by the cluster's name":  {"MachineSet", `{"spec": {"selector": {"matchLabels": {"cluster.x-k8s.io/cluster-name": "ocean-x7k2p"}}}}`, `{}`, nil},
		"a selector by a node's role":       {"MachineSet", `{"spec": {"selector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}}}}`, `{}`, []string{"spec.selector.matchLabels[node-role.kubernetes.io/worker]: FieldValueNotSupported"}},
		"the set of a MachineDeployment":    {"MachineSet", `{"metadata": {"ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "name": "d", "uid": "1", "controller": true}]}}`, `{}`, []string{"metadata.ownerReferences: FieldValueNotSupported"}},
		"the Machine of a MachinePool":      {"Machine", `{"metadata": {"ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "name": "p", "uid": "1", "controller": true}]}}`, `{}`, []string{"metadata.ownerReferences: FieldValueNotSupported"}},
		"of a control plane of Cluster API": {"Machine", `{"metadata": {"ownerReferences": [{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "name": "p", "uid": "1", "controller": true}]}}`, `{}`, []string{"metadata.ownerReferences: FieldValueNotSupported"}},
		"the Machine of a set":              {"Machine", `{"metadata": {"ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "s", "uid": "1", "controller": true}]}}`, `{}`, nil},
		"a Machine with a foreign owner":    {"Machine", `{"metadata": {"ownerReferences": [{"apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork", "name": "w", "uid": "1"}]}}`, `{}`, nil},
		"the cluster's own set":             {"MachineSet", `{"metadata": {"ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "1"}]}}`, `{}`, nil},
		"the AWSMachine's field":            {"Machine", `{}`, `{"spec": {"imageLookupOrg": "x"}}`, []string{"AWSMachine.spec.imageLookupOrg: FieldValueNotSupported"}},
		"labels of infrastructure machines": {"MachineSet", `{}`, `{"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}`, []string{"AWSMachineTemplate.spec.template.metadata: FieldValueNotSupported"}},
		"no labels of them":                 {"MachineSet", `{}`, `{"spec": {"template": {"metadata": {"creationTimestamp": null, "labels": {}}}}}`, nil},
		"the template's field":              {"MachineSet", `{}`, `{"spec": {"template": {"spec": {"imageLookupOrg": "x", "later": 1}}}}`, []string{"AWSMachineTemplate.spec.template.spec.imageLookupOrg: FieldValueNotSupported", "AWSMachineTemplate.spec.template.spec.later: FieldValueNotSupported"}},
		"an AWSMachine of another name":     {"Machine", `{"spec": {"infrastructureRef": {"name": "other"}}}`, `{"metadata": {"name": "other"}}`, []string{"spec.infrastructureRef.name: FieldValueNotSupported"}},
		"what the API servers fill in":      {"Machine", `{"spec": {"deletion": {"nodeDeletionTimeoutSeconds": 10}}}`, `{"spec": {"instanceMetadataOptions": {"httpEndpoint": "enabled", "httpProtocolIpv6": "disabled", "httpPutResponseHopLimit": 1, "instanceMetadataTags": "disabled"}}}`, nil},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			twin, errs := core.ToClusterAPI(c.kind, object(t, objects[c.kind]), env())
			diff(t, nil, errs.ToAggregate())
			twin = core.Twin{Core: merged(t, twin.Core, c.patch), Infra: merged(t, twin.Infra, c.infra)}
			_, errs = core.ToMachineAPI(c.kind, twin, env())
			same(t, c.want, errs)
		})
	}
	t.Run("a set is taken off its MachineDeployment, whose controller would delete the set with it", func(t *testing.T) {
		twin, _ := core.ToClusterAPI("MachineSet", object(t, objects["MachineSet"]), env())
		twin.Core = merged(t, twin.Core, `{"metadata": {"namespace": "c", "name": "s", "ownerReferences": [
			{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "k", "uid": "0"},
			{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "name": "d", "uid": "1"}]}}`)
		_, errs := core.ToMachineAPI("MachineSet", twin, env())
		if len(errs) != 1 || strings.Contains(errs[0].Detail, "kubectl -n c delete") {
			t.Fatalf("%v", errs)
		}
		for _, command := range []string{
			"kubectl -n c annotate machinedeployments.cluster.x-k8s.io d cluster.x-k8s.io/paused=;",
			"kubectl -n c label machinesets.cluster.x-k8s.io s cluster.x-k8s.io/deployment-name- LABEL-;",
			`kubectl -n c patch machinesets.cluster.x-k8s.io s --type json -p '[{"op":"test","path":"/metadata/ownerReferences/1/uid","value":"1"},` +
				`{"op":"remove","path":"/metadata/ownerReferences/1"}]'.`,
		} {
			if !strings.Contains(errs[0].Detail, command) {
				t.Errorf("without %s: %s", command, errs[0].Detail)
			}
		}
	})
	t.Run("no AWSMachine", func(t *testing.T) {
		twin, _ := core.ToClusterAPI("Machine", object(t, fullMachine), env())
		twin.Infra = nil
		_, errs := core.ToMachineAPI("Machine", twin, env())
		same(t, []string{"spec.infrastructureRef: FieldValueRequired"}, errs)
	})
}

// TestAMachineBornInClusterAPI: one role label is the role; the Machine API's name of the cluster's label.
func TestAMachineBornInClusterAPI(t *testing.T) {
	twin, _ := core.ToClusterAPI("Machine", object(t, fullMachine), env())
	twin.Core.SetAnnotations(map[string]string{"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1"})
	for sentence, c := range map[string]struct{ labels, want, node map[string]string }{
		"a worker": {
			labels: map[string]string{"cluster.x-k8s.io/cluster-name": "ocean-x7k2p", "node-role.kubernetes.io/worker": "", "team": "sea"},
			want: map[string]string{"machine.openshift.io/cluster-api-cluster": "ocean-x7k2p", "machine.openshift.io/cluster-api-machine-role": "worker",
				"machine.openshift.io/cluster-api-machine-type": "worker", "team": "sea"},
		},
		"two roles": {
			labels: map[string]string{"cluster.x-k8s.io/cluster-name": "ocean-x7k2p", "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/infra": ""},
			want:   map[string]string{"machine.openshift.io/cluster-api-cluster": "ocean-x7k2p"},
			node:   map[string]string{"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/infra": ""},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			twin.Core.SetLabels(c.labels)
			m, errs := core.ToMachineAPI("Machine", twin, env())
			diff(t, nil, errs.ToAggregate())
			diff(t, c.want, m.GetLabels())
			diff(t, map[string]string{"machine.openshift.io/cluster-api-autoscaler-node-group-min-size": "1"}, m.GetAnnotations())
			node, _, _ := unstructured.NestedStringMap(m.Object, "spec", "metadata", "labels")
			diff(t, c.node, node)
		})
	}
}

func TestAControlPlaneMachineIsRegisteredWithTheClustersLoadBalancers(t *testing.T) {
	m := patched(t, fullMachine, `{"metadata": {"labels": {"machine.openshift.io/cluster-api-machine-role": "master", "machine.openshift.io/cluster-api-machine-type": "master"}},
		"spec": {"providerSpec": {"value": {"loadBalancers": [{"name": "ocean-x7k2p-int", "type": "network"}, {"name": "ocean-x7k2p-ext", "type": "network"}]}}}}`)
	twin, errs := core.ToClusterAPI("Machine", m, env())
	diff(t, nil, errs.ToAggregate())
	if _, ok := twin.Core.GetLabels()["cluster.x-k8s.io/control-plane"]; !ok {
		t.Error("the twin is no control plane Machine")
	}
	back, errs := core.ToMachineAPI("Machine", twin, env())
	diff(t, nil, errs.ToAggregate())
	diff(t, desired(m), desired(back))
}

func patched(t *testing.T, text, patch string) *unstructured.Unstructured {
	t.Helper()
	return merged(t, object(t, text), patch)
}

func merged(t *testing.T, o *unstructured.Unstructured, patch string) *unstructured.Unstructured {
	t.Helper()
	raw, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = jsonpatch.MergePatch(raw, []byte(patch)); err != nil {
		t.Fatal(err)
	}
	return object(t, string(raw))
}

// same compares errors by their paths and types, and requires a reason.
func same(t *testing.T, want []string, errs field.ErrorList) {
	t.Helper()
	got := paths(errs)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s\n%v", d, errs.ToAggregate())
	}
}

// TestTheSelectorThatClusterAPICompletes: its controller adds the cluster's name to the selector of a set once it is authoritative, and Machine API's selector
// is immutable.
func TestTheSelectorThatClusterAPICompletes(t *testing.T) {
	for sentence, c := range map[string]struct{ there, back string }{
		"added to what the set selects by":     {`{matchLabels: {set: blue, cluster.x-k8s.io/cluster-name: ocean-x7k2p}}`, `{matchLabels: {set: blue}}`},
		"added to an expression":               {`{matchExpressions: [{key: set, operator: Exists}], matchLabels: {cluster.x-k8s.io/cluster-name: ocean-x7k2p}}`, `{matchExpressions: [{key: set, operator: Exists}]}`},
		"all that the set selects by":          {`{matchLabels: {cluster.x-k8s.io/cluster-name: ocean-x7k2p}}`, `{matchLabels: {machine.openshift.io/cluster-api-cluster: ocean-x7k2p}}`},
		"added beside the name in Machine API": {`{matchLabels: {machine.openshift.io/cluster-api-cluster: ocean-x7k2p, cluster.x-k8s.io/cluster-name: ocean-x7k2p}}`, `{matchLabels: {machine.openshift.io/cluster-api-cluster: ocean-x7k2p}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			twin, errs := core.ToClusterAPI("MachineSet", object(t, fullSet), env())
			same(t, nil, errs)
			spec := twin.Core.Object["spec"].(map[string]any)
			spec["selector"] = fields(t, c.there)
			m, errs := core.ToMachineAPI("MachineSet", twin, env())
			same(t, nil, errs)
			diff(t, fields(t, c.back), m.Object["spec"].(map[string]any)["selector"])
			again := core.StatusToMachineAPI("MachineSet", twin, env())["labelSelector"]
			var want metav1.LabelSelector
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields(t, c.back), &want); err != nil {
				t.Fatal(err)
			}
			diff(t, metav1.FormatLabelSelector(&want), again)
		})
	}
}

// TestTheMarkOfAMachine: the Machine API has two names for it, and Cluster API one. The older name leaves nothing in Cluster API.
func TestTheMarkOfAMachine(t *testing.T) {
	const newer, older, there, derived = "machine.openshift.io/delete-machine", "machine.openshift.io/cluster-api-delete-machine",
		"cluster.x-k8s.io/delete-machine", core.DerivedAnnotation
	for sentence, c := range map[string]struct{ machineAPI, clusterAPI, back map[string]string }{
		"the newer name":               {map[string]string{newer: "a"}, map[string]string{there: "a"}, map[string]string{newer: "a"}},
		"the older name":               {map[string]string{older: "a"}, map[string]string{there: "a", derived: there}, map[string]string{older: "a"}},
		"an empty one is none":         {map[string]string{newer: ""}, map[string]string{}, nil},
		"so is an empty older one":     {map[string]string{newer: "a", older: ""}, map[string]string{there: "a"}, map[string]string{newer: "a"}},
		"both, with the newer's value": {map[string]string{newer: "a", older: "b"}, map[string]string{there: "a", derived: older}, map[string]string{newer: "a", older: "a"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			m := object(t, fullMachine)
			m.SetAnnotations(c.machineAPI)
			twin, errs := core.ToClusterAPI("Machine", m, env())
			diff(t, nil, errs.ToAggregate())
			got := twin.Core.GetAnnotations()
			maps.DeleteFunc(got, func(k, _ string) bool { return c.clusterAPI[k] == "" && k != newer && k != older })
			if d := got[derived]; d != "" {
				got[derived] = strings.Join(slices.DeleteFunc(strings.Split(d, ","), func(n string) bool { return n != older && n != there }), ",")
			}
			diff(t, c.clusterAPI, got)
			machine, errs := core.ToMachineAPI("Machine", twin, env())
			diff(t, nil, errs.ToAggregate())
			back := machine.GetAnnotations()
			maps.DeleteFunc(back, func(k, _ string) bool { return k != newer && k != older })
			diff(t, c.back, back)
			// Cluster API's own removal leaves neither.
			annotations := twin.Core.GetAnnotations()
			delete(annotations, there)
			twin.Core.SetAnnotations(annotations)
			machine, errs = core.ToMachineAPI("Machine", twin, env())
			diff(t, nil, errs.ToAggregate())
			if all := machine.GetAnnotations(); all[newer]+all[older] != "" {
				t.Errorf("unmarked in Cluster API, the Machine has %v", all)
			}
		})
	}
}

// TestAMarkThatIsEmpty: in Cluster API the mark's existence is enough; in Machine API an empty one is none.
func TestAMarkThatIsEmpty(t *testing.T) {
	twin, errs := core.ToClusterAPI("Machine", object(t, fullMachine), env())
	diff(t, nil, errs.ToAggregate())
	annotations := twin.Core.GetAnnotations()
	annotations["cluster.x-k8s.io/delete-machine"] = ""
	twin.Core.SetAnnotations(annotations)
	machine, errs := core.ToMachineAPI("Machine", twin, env())
	diff(t, nil, errs.ToAggregate())
	if v := machine.GetAnnotations()["machine.openshift.io/delete-machine"]; v == "" {
		t.Error("the Machine that Cluster API would delete first is not marked in Machine API")
	}
}

// TestAnEmptyRole: a Machine whose role is empty has its Node's label all the same.
func TestAnEmptyRole(t *testing.T) {
	twin, errs := core.ToClusterAPI("Machine", object(t, fullMachine), env())
	diff(t, nil, errs.ToAggregate())
	twin.Core.SetAnnotations(nil)
	twin.Core.SetLabels(map[string]string{"machine.openshift.io/cluster-api-machine-role": "", "machine.openshift.io/cluster-api-machine-type": "",
		"node-role.kubernetes.io/infra": ""})
	machine, errs := core.ToMachineAPI("Machine", twin, env())
	diff(t, nil, errs.ToAggregate())
	onNode, _, _ := unstructured.NestedStringMap(machine.Object, "spec", "metadata", "labels")
	if _, there := onNode["node-role.kubernetes.io/infra"]; !there {
		t.Errorf("the Node's labels are %v", onNode)
	}
	again, errs := core.ToClusterAPI("Machine", machine, env())
	diff(t, nil, errs.ToAggregate())
	if _, there := again.Core.GetLabels()["node-role.kubernetes.io/infra"]; !there {
		t.Errorf("on the way back the labels are %v", again.Core.GetLabels())
	}
}

// TestPoundlocksOwnHookStays: Machine API's Machine does not get this hook, while another one is carried over. The same holds for what spares a Machine until
// its infrastructure is ready.
func TestPoundlocksOwnHookStays(t *testing.T) {
	twin, errs := core.ToClusterAPI("Machine", object(t, plainMachine), env())
	diff(t, nil, errs.ToAggregate())
	twin.Core = merged(t, twin.Core, `{"metadata": {"annotations": {"`+core.InstanceHookAnnotation+
		`": "poundlock", "cluster.x-k8s.io/skip-remediation": "`+core.SparedUntilReady+`", "pre-terminate.delete.hook.machine.cluster.x-k8s.io/another": "owner"}}}`)
	m, errs := core.ToMachineAPI("Machine", twin, env())
	diff(t, nil, errs.ToAggregate())
	hooks, _, _ := unstructured.NestedSlice(m.Object, "spec", "lifecycleHooks", "preTerminate")
	diff(t, []any{map[string]any{"name": "another", "owner": "owner"}}, hooks)
	diff(t, map[string]string(nil), m.GetAnnotations())
}
