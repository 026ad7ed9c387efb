// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/test/testcluster"
)

func template(name string) object {
	return object{capi, "awsmachinetemplates.infrastructure.cluster.x-k8s.io", name}
}

// converting › Resource created as Cluster API Resource, wish to migrate to Machine API Resource: the set has a template that belongs to its user.
func TestASetThatWasMadeInClusterAPIIsAdopted(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	pattern := newSet(t, "pattern", 0)
	ref := ".spec.template.spec.infrastructureRef.name"
	copyOf(t, template(field(t, capiSet(pattern.name), ref)), "my-template", nil)
	copyOf(t, template("my-template"), "my-second", func(o *unstructured.Unstructured) {
		set(t, o, "m6i.2xlarge", "spec", "template", "spec", "instanceType")
	})
	copyOf(t, capiSet(pattern.name), "adopted", func(o *unstructured.Unstructured) {
		labels := map[string]any{"set": "adopted"}
		set(t, o, labels, "spec", "selector", "matchLabels")
		set(t, o, labels, "spec", "template", "metadata", "labels")
		set(t, o, "my-template", "spec", "template", "spec", "infrastructureRef", "name")
		set(t, o, int64(1), "spec", "replicas")
	})
	core, twin := capiSet("adopted"), mapiSet("adopted")
	eventually(t, "it runs on its own", func() string { return field(t, core, ".status.availableReplicas") }, "1")

	// The selector is that of Cluster API's set, because Machine API's own webhook refuses any change of a selector.
	manifest := strings.ReplaceAll(testcluster.MachineSet("adopted", 5), "machine.openshift.io/cluster-api-machineset: adopted", "set: adopted")
	manifest = regexp.MustCompile(`\n +machine.openshift.io/cluster-api-cluster: .*`).ReplaceAllString(manifest, "")
	refused(t, kubectl(t, manifest, "create", "-f", "-"), "authority/create-machineapi")
	if a := kubectl(t, strings.Replace(manifest, "authoritativeAPI: MachineAPI", "authoritativeAPI: ClusterAPI", 1), "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	settled(t, twin)
	eventually(t, "its replicas are Cluster API's", func() string { return field(t, twin, ".spec.replicas") }, "1")
	must(t, append(twin.args("label"), "example.com/mine=yes")...)
	must(t, append(twin.args("annotate"), "example.com/note=keep")...)

	must(t, append(core.args("patch"), "--type=merge", "-p", `{"spec":{"template":{"spec":{"infrastructureRef":{"name":"my-second"}}}}}`)...)
	eventually(t, "the user's other template is followed", func() string {
		return field(t, twin, ".spec.template.spec.providerSpec.value.instanceType")
	}, "m6i.2xlarge")

	move(t, twin, "MachineAPI")
	eventually(t, "the mirror has a template of its own", func() string { return fmt.Sprint(strings.HasPrefix(field(t, core, ref), "adopted-")) }, "true")
	first := field(t, core, ref)
	size := func(size string) {
		must(t, append(twin.args("patch"), "--type=merge", "-p", `{"spec":{"template":{"spec":{"providerSpec":{"value":{"instanceType":"`+size+`"}}}}}}`)...)
	}
	size("m6i.4xlarge")
	eventually(t, "another content, another template", func() string {
		return fmt.Sprint(field(t, core, ref) != first && field(t, template(first), ".metadata.name") == "")
	}, "true")
	size("m6i.2xlarge")
	eventually(t, "the content is back, and its template", func() string { return field(t, core, ref) }, first)

	move(t, twin, "ClusterAPI")
	must(t, append(core.args("patch"), "--type=merge", "-p", `{"spec":{"deletion":{"order":"Newest"}}}`)...)
	eventually(t, "the mirror follows", func() string { return field(t, twin, ".spec.deletePolicy") }, "Newest")
	for path, want := range map[string]string{`.metadata.labels.example\.com/mine`: "yes", `.metadata.annotations.example\.com/note`: "keep"} {
		if got := field(t, twin, path); got != want {
			t.Errorf("%s of the mirror is %q", path, got)
		}
	}
	// The two sets are deleted one after the other. Then nothing refers to the mirror's template any more, and nobody ever says that the user's may be deleted.
	must(t, twin.args("delete", "--wait=false")...)
	eventually(t, "the Machine API's set is gone", func() string { return field(t, twin, ".metadata.name") }, "")
	must(t, core.args("delete", "--wait=false")...)
	eventually(t, "Cluster API's set is gone", func() string { return field(t, core, ".metadata.name") }, "")
	eventually(t, "the mirror's template is gone", func() string { return field(t, template(first), ".metadata.name") }, "")
	for _, name := range []string{"my-template", "my-second"} {
		remains(t, template(name), true)
	}
}

// This tests an adopted Machine that belongs to no set. It keeps its instance through the adoption, a move, and its end.
func TestAMachineThatWasMadeInClusterAPIIsAdopted(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	lone(t, "like-it")
	const name = "adopted-machine"
	copyOf(t, awsMachine("like-it"), name, func(o *unstructured.Unstructured) {
		unstructured.RemoveNestedField(o.Object, "spec", "providerID")
		unstructured.RemoveNestedField(o.Object, "spec", "instanceID")
	})
	copyOf(t, capiMachine("like-it"), name, func(o *unstructured.Unstructured) {
		unstructured.RemoveNestedField(o.Object, "spec", "providerID")
		set(t, o, name, "spec", "infrastructureRef", "name")
	})
	core, twin := capiMachine(name), mapiMachine(name)
	eventually(t, "it runs on its own", func() string { return field(t, core, ".status.phase") }, "Running")
	before := instances(name)

	manifest := strings.Replace(loneManifest(t, name), "instanceType: m6i.large", "instanceType: m6i.8xlarge", 1)
	refused(t, kubectl(t, manifest, "create", "-f", "-"), "authority/create-machineapi")
	if a := kubectl(t, strings.Replace(manifest, "authoritativeAPI: MachineAPI", "authoritativeAPI: ClusterAPI", 1), "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	settled(t, twin)
	for path, want := range map[string]string{".spec.providerID": field(t, core, ".spec.providerID"), ".status.phase": "Running",
		".spec.providerSpec.value.instanceType": "m6i.large"} {
		eventually(t, path+" is Cluster API's", func() string { return field(t, twin, path) }, want)
	}
	move(t, twin, "MachineAPI")
	finalizers(t, twin, "machine.machine.openshift.io", true)
	if after := instances(name); len(before) != 1 || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("instances %v, before %v", after, before)
	}
	must(t, append(twin.args("delete", "--wait=false"), mapiMachine("like-it").name)...)
	for _, o := range []object{twin, core, awsMachine(name)} {
		eventually(t, o.resource+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
	eventually(t, "its instance is gone", func() string { return fmt.Sprint(instances(name)) }, "[]")
}

// copyOf creates an object like another one, with another name and without anything of Poundlock's.
func copyOf(t *testing.T, from object, name string, change func(*unstructured.Unstructured)) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(must(t, append(from.args("get"), "-o", "json")...).out), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.Object["metadata"] = map[string]any{"name": name, "namespace": from.namespace}
	delete(o.Object, "status")
	if change != nil {
		change(o)
	}
	text, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if a := kubectl(t, string(text), "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
}

func set(t *testing.T, o *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}
