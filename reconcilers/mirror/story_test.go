// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

func clusterAPI(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	gvk.Group, gvk.Version = "cluster.x-k8s.io", "v1beta2"
	return gvk
}

func (w *world) followsEdits(t *testing.T) {
	before := w.template(t, "worker-a")
	w.patch(t, w.get(t, machineAPISet, mapi, "worker-a"), "",
		`{"metadata":{"labels":{"team":"blue"}},"spec":{"template":{"metadata":{"labels":{"machine.openshift.io/os-id":"Windows"}},"spec":{"providerSpec":{"value":{"instanceType":"m6i.2xlarge"}}}}}}`)
	w.eventually(t, "the edit mirrored", func() string { return w.unsynced(t, machineAPISet, "worker-a") })
	after := w.template(t, "worker-a")
	if after.GetName() == before.GetName() || text(after, "spec", "template", "spec", "instanceType") != "m6i.2xlarge" {
		t.Errorf("template %s, before %s", after.GetName(), before.GetName())
	}
	w.eventually(t, "the old template gone", func() string {
		if w.get(t, awsTemplate, capi, before.GetName()) != nil {
			return "still there"
		}
		return ""
	})
	core := w.get(t, clusterAPISet, capi, "worker-a")
	if core.GetLabels()["team"] != "blue" || text(core, "spec", "template", "metadata", "labels", "machine.openshift.io/os-id") != "Windows" {
		t.Errorf("labels %v, the template's %v", core.GetLabels(), core.Object["spec"])
	}
	w.patch(t, core, "", `{"metadata":{"labels":{"mine":"too"}},"spec":{"deletion":{"order":"Newest"},"machineNaming":{"template":"x-{{ .random }}"}}}`)
	w.eventually(t, "a stranger's edit of the mirror undone", func() string {
		core = w.get(t, clusterAPISet, capi, "worker-a")
		order := text(core, "spec", "deletion", "order")
		if naming, there, _ := unstructured.NestedMap(core.Object, "spec", "machineNaming"); order == "Newest" || there {
			return fmt.Sprint(order, naming)
		}
		return ""
	})
	if core.GetLabels()["mine"] != "too" {
		t.Error("a user's own label on the mirror is gone")
	}
	w.patch(t, w.get(t, machineAPISet, mapi, "worker-a"), "",
		`{"metadata":{"labels":{"team":null}},"spec":{"template":{"metadata":{"labels":{"machine.openshift.io/os-id":null}},"spec":{"providerSpec":{"value":{"instanceType":"m6i.large"}}}}}}`)
	w.eventually(t, "the old name of the template again", func() string {
		if got := w.template(t, "worker-a"); got == nil || got.GetName() != before.GetName() {
			return fmt.Sprint(got)
		}
		return w.unsynced(t, machineAPISet, "worker-a")
	})
	if labels := w.get(t, clusterAPISet, capi, "worker-a").GetLabels(); labels["team"] != "" || labels["mine"] != "too" {
		t.Errorf("labels %v", labels)
	}
}

// followsAnEmptyObject: spotMarketOptions: {} is a spot instance, an edit that only adds it is mirrored, and one that removes it.
func (w *world) followsAnEmptyObject(t *testing.T) {
	for _, edit := range []string{"{}", "null"} {
		w.patch(t, w.get(t, machineAPISet, mapi, "worker-a"), "", `{"spec":{"template":{"spec":{"providerSpec":{"value":{"spotMarketOptions":`+edit+`}}}}}}`)
		w.eventually(t, "spotMarketOptions "+edit+" mirrored", func() string {
			_, there, _ := unstructured.NestedMap(w.template(t, "worker-a").Object, "spec", "template", "spec", "spotMarketOptions")
			if there != (edit == "{}") {
				return fmt.Sprint("in the template: ", there)
			}
			return w.unsynced(t, machineAPISet, "worker-a")
		})
	}
}

// leavesCopies: a person copies the template of a mirror, with all that `kubectl get -o yaml` shows of it, to make another one of it.
func (w *world) leavesCopies(t *testing.T) {
	theirs := w.template(t, "worker-a").DeepCopy()
	theirs.Object["metadata"] = map[string]any{"name": "worker-a-larger", "namespace": capi, "labels": theirs.Object["metadata"].(map[string]any)["labels"],
		"annotations": theirs.Object["metadata"].(map[string]any)["annotations"]}
	if err := w.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.quietFor(t, 10)
	if w.get(t, awsTemplate, capi, "worker-a-larger") == nil {
		t.Error("it was deleted")
	}
	if err := w.Delete(t.Context(), theirs); err != nil {
		t.Error(err)
	}
}

// refusedByServer: a value that only Cluster API's schema refuses is reported until it is fixed.
func (w *world) refusedByServer(t *testing.T) {
	stories.Long(t)
	value := text(w.get(t, machineAPISet, mapi, "worker-a"), "spec", "template", "spec", "providerSpec", "value", "instanceType")
	edit := `{"spec":{"template":{"spec":{"providerSpec":{"value":{"instanceType":%q}}}}}}`
	w.patch(t, w.get(t, machineAPISet, mapi, "worker-a"), "", fmt.Sprintf(edit, "x"))
	w.eventually(t, "told why", func() string {
		c := condition(w.get(t, machineAPISet, mapi, "worker-a"), "Synchronized")
		if message, _ := c["message"].(string); c["status"] != "False" || !strings.Contains(message, "instanceType") {
			return fmt.Sprint(c)
		}
		return ""
	})
	// It tries again ever later, and reports it once. One of the tries may be of an event: the set's own controller writes its status, too.
	began, tried := time.Now(), w.writes.number()
	w.eventually(t, "four more tries", func() string {
		return strings.Repeat("not yet", max(0, 4-len(w.writes.since(tried))))
	})
	all := w.writes.since(tried)
	if took := time.Since(began); took < 5*time.Second {
		t.Errorf("four tries within %s: %v", took, all)
	}
	if slices.ContainsFunc(all, func(write string) bool { return strings.HasSuffix(write, "/machinesets/worker-a/status") }) {
		t.Errorf("it reports again what it has reported: %v", all)
	}
	w.patch(t, w.get(t, machineAPISet, mapi, "worker-a"), "", fmt.Sprintf(edit, value))
	w.eventually(t, "in sync again", func() string { return w.unsynced(t, machineAPISet, "worker-a") })
}

// replaces: a provider lets nobody change most of its machine. The mirror is created again, and stays where it would not be created either.
// dropsFromAList drops a field of an item of a list: no managed field has it, and the provider's machine may not be changed.
func (w *world) dropsFromAList(t *testing.T, name string) {
	t.Helper()
	spec := w.get(t, machineAPIMachine, mapi, name)
	disks, _, _ := unstructured.NestedSlice(spec.Object, "spec", "providerSpec", "value", "blockDevices")
	for _, iops := range []string{`,"iops":4000`, ``} {
		more, err := json.Marshal(disks)
		if err != nil {
			t.Fatal(err)
		}
		list := strings.TrimSuffix(string(more), "]") + `,{"deviceName":"/dev/xvdb","ebs":{"volumeSize":10,"volumeType":"gp3"` + iops + `}}]`
		w.patch(t, w.get(t, machineAPIMachine, mapi, name), "", `{"spec":{"providerSpec":{"value":{"blockDevices":`+list+`}}}}`)
		w.eventually(t, "an AWSMachine with the disk "+iops, func() string {
			o := w.get(t, awsMachine, capi, name)
			if o == nil {
				return "none"
			}
			volumes, _, _ := unstructured.NestedSlice(o.Object, "spec", "nonRootVolumes")
			if len(volumes) != 1 {
				return fmt.Sprint(volumes)
			}
			if _, has := volumes[0].(map[string]any)["iops"]; has != (iops != "") {
				return fmt.Sprint(volumes)
			}
			return w.unsynced(t, machineAPIMachine, name)
		})
	}
}

func (w *world) replaces(t *testing.T) {
	policy, binding := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	for o, kind := range map[*unstructured.Unstructured]string{policy: "ValidatingAdmissionPolicy", binding: "ValidatingAdmissionPolicyBinding"} {
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind})
		o.SetName("immutable")
	}
	policy.Object["spec"] = map[string]any{
		"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
			"apiGroups": []any{"infrastructure.cluster.x-k8s.io"}, "apiVersions": []any{"*"}, "resources": []any{"awsmachines"}, "operations": []any{"CREATE", "UPDATE"},
		}}},
		"validations": []any{map[string]any{
			"expression": `request.operation == "UPDATE" ? object.spec == oldObject.spec : object.spec.instanceType != "m6i.8xlarge"`,
			"message":    "the type stays as it is",
		}},
	}
	binding.Object["spec"] = map[string]any{"policyName": "immutable", "validationActions": []any{"Deny"}}
	for _, o := range []*unstructured.Unstructured{policy, binding} {
		if err := w.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.Delete(t.Context(), o); err != nil {
				t.Error(err)
			}
		}()
	}
	name := w.machines(t, machineAPIMachine, mapi, "worker-a")[0]
	before := w.get(t, awsMachine, capi, name)
	w.eventually(t, "the policy refuses", func() string {
		probe := before.DeepCopy()
		_ = unstructured.SetNestedField(probe.Object, "m6i.metal", "spec", "instanceType")
		if err := w.Update(t.Context(), probe, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "stays as it is") {
			return fmt.Sprint(err)
		}
		return ""
	})
	edit := func(value string) {
		t.Helper()
		w.patch(t, w.get(t, machineAPIMachine, mapi, name), "", fmt.Sprintf(`{"spec":{"providerSpec":{"value":{"instanceType":%q}}}}`, value))
	}
	edit("m6i.2xlarge")
	w.eventually(t, "another AWSMachine, with the other type", func() string {
		o := w.get(t, awsMachine, capi, name)
		if o == nil || o.GetUID() == before.GetUID() || text(o, "spec", "instanceType") != "m6i.2xlarge" || o.GetAnnotations()[authority.PausedAnnotation] == "" {
			return show(o)
		}
		return w.unsynced(t, machineAPIMachine, name)
	})
	second := w.get(t, awsMachine, capi, name)
	edit("m6i.8xlarge")
	w.eventually(t, "told why", func() string {
		c := condition(w.get(t, machineAPIMachine, mapi, name), "Synchronized")
		if message, _ := c["message"].(string); c["reason"] != "MirrorRefused" || !strings.Contains(message, "stays as it is") {
			return fmt.Sprint(c)
		}
		return ""
	})
	if o := w.get(t, awsMachine, capi, name); o.GetUID() != second.GetUID() {
		t.Error("it was deleted, though it would not be created again")
	}
	edit(text(before, "spec", "instanceType"))
	w.dropsFromAList(t, name)
	w.eventually(t, "as it was", func() string { return w.unsynced(t, machineAPIMachine, name) })
}

func (w *world) mirrorsLongName(t *testing.T) {
	name := strings.Repeat("long-", 50) + "253"
	w.createSet(t, name, func(o *unstructured.Unstructured) {
		for _, path := range [][]string{{"metadata", "labels"}, {"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
			_ = unstructured.SetNestedStringMap(o.Object, map[string]string{"set": "long"}, path...)
		}
	})
	w.eventually(t, "mirrored", func() string { return w.unsynced(t, machineAPISet, name) })
	template := w.template(t, name)
	if err := w.Delete(t.Context(), w.get(t, machineAPISet, mapi, name)); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "gone, and its template", func() string {
		for _, o := range []*unstructured.Unstructured{w.get(t, clusterAPISet, capi, name), w.get(t, awsTemplate, capi, template.GetName())} {
			if o != nil {
				return show(o)
			}
		}
		return ""
	})
}

func (w *world) template(t *testing.T, set string) *unstructured.Unstructured {
	t.Helper()
	core := w.get(t, clusterAPISet, capi, set)
	return w.get(t, awsTemplate, capi, text(core, "spec", "template", "spec", "infrastructureRef", "name"))
}

// move does by hand what the handoff does, for the tests of what the mirror makes of it.
func (w *world) move(t *testing.T, gvk schema.GroupVersionKind, name string, to authority.API) {
	t.Helper()
	from := to.Other()
	get := func() *unstructured.Unstructured { return w.get(t, gvk, mapi, name) }
	w.patch(t, get(), "", fmt.Sprintf(`{"spec":{"authoritativeAPI":%q}}`, to))
	w.patch(t, get(), "status", fmt.Sprintf(`{"status":{"authoritativeAPI":"Migrating","synchronizedAPI":%q}}`, from))
	if from == authority.ClusterAPI {
		w.pause(t, gvk, name, `"true"`)
	}
	paused := get
	if from == authority.ClusterAPI {
		paused = func() *unstructured.Unstructured { return w.get(t, clusterAPI(gvk), capi, name) }
	}
	w.eventually(t, name+" paused and caught up", func() string {
		if c := condition(paused(), "Paused"); c["status"] != "True" {
			return fmt.Sprint(c)
		}
		return w.unsynced(t, gvk, name)
	})
	if gvk == machineAPISet {
		w.eventually(t, name+" counts the same Machines in both APIs", func() string { return w.uncounted(t, name) })
	}
	w.finalizers(t, gvk, name, to)
	w.switchTo(t, gvk, name, to)
	if to == authority.ClusterAPI {
		w.pause(t, gvk, name, "null")
	}
	w.eventually(t, name+" mirrored from "+to.Text(), func() string { return w.unsynced(t, gvk, name) })
}

func (w *world) pause(t *testing.T, gvk schema.GroupVersionKind, name, value string) {
	t.Helper()
	body := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, authority.PausedAnnotation, value)
	w.patch(t, w.get(t, clusterAPI(gvk), capi, name), "", body)
	if infra := w.get(t, awsMachine, capi, name); gvk == machineAPIMachine && infra != nil {
		w.patch(t, infra, "", body)
	}
}

func (w *world) finalizers(t *testing.T, gvk schema.GroupVersionKind, name string, to authority.API) {
	t.Helper()
	if gvk != machineAPIMachine {
		return
	}
	w.eventually(t, "finalizers of "+name+" handed over", func() string {
		o := w.get(t, gvk, mapi, name)
		kept := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == authority.MachineAPIMachineFinalizer })
		if to == authority.MachineAPI {
			kept = append(kept, authority.MachineAPIMachineFinalizer)
		}
		o.SetFinalizers(kept)
		if err := w.Update(t.Context(), o); err != nil {
			return err.Error()
		}
		return ""
	})
}

func (w *world) switchTo(t *testing.T, gvk schema.GroupVersionKind, name string, to authority.API) {
	t.Helper()
	w.eventually(t, name+" switched", func() string {
		o := w.get(t, gvk, mapi, name)
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if m := c.(map[string]any); m["type"] == "Synchronized" {
				m["status"], m["lastTransitionTime"] = "Unknown", time.Now().UTC().Format(time.RFC3339)
			}
		}
		body, _ := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": o.GetResourceVersion()},
			"status":   map[string]any{"authoritativeAPI": to, "synchronizedAPI": to, "synchronizedGeneration": 0, "conditions": conditions},
		})
		if err := w.Status().Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", body)); err != nil {
			return err.Error()
		}
		return ""
	})
}

func (w *world) machines(t *testing.T, gvk schema.GroupVersionKind, namespace, set string) []string {
	t.Helper()
	var out []string
	for _, o := range w.list(t, gvk, namespace) {
		if strings.HasPrefix(o.GetName(), set+"-") {
			out = append(out, o.GetName())
		}
	}
	return out
}

// uncounted names a Machine of a MachineSet that its counterpart does not own yet. The handoff waits for that, too: a released set would create another.
func (w *world) uncounted(t *testing.T, set string) string {
	t.Helper()
	for _, name := range w.machines(t, machineAPIMachine, mapi, set) {
		core := w.get(t, clusterAPIMachine, capi, name)
		if core == nil {
			return name + " has no mirror"
		}
		if ref := metav1.GetControllerOf(core); ref == nil || ref.Name != set {
			return fmt.Sprintf("the mirror of %s is owned by %v", name, core.GetOwnerReferences())
		}
	}
	return ""
}

func (w *world) movesOver(t *testing.T) {
	provider := func() any {
		o, _, _ := unstructured.NestedMap(w.get(t, machineAPISet, mapi, "worker-a").Object, "spec", "template", "spec", "providerSpec", "value")
		return []any{o["ami"], o["instanceType"], o["placement"], o["subnet"], o["securityGroups"], o["userDataSecret"]}
	}
	before := provider()
	for _, m := range w.machines(t, machineAPIMachine, mapi, "worker-a") {
		w.move(t, machineAPIMachine, m, authority.ClusterAPI)
	}
	w.move(t, machineAPISet, "worker-a", authority.ClusterAPI)
	w.patch(t, w.get(t, clusterAPISet, capi, "worker-a"), "", `{"metadata":{"labels":{"from":"capi"}},"spec":{"deletion":{"order":"Newest"}}}`)
	w.eventually(t, "an edit of Cluster API's mirrored", func() string {
		o := w.get(t, machineAPISet, mapi, "worker-a")
		if text(o, "spec", "deletePolicy") != "Newest" || o.GetLabels()["from"] != "capi" {
			return show(o)
		}
		return w.unsynced(t, machineAPISet, "worker-a")
	})
	if after := provider(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the providerSpec says %v after the move, before it said %v", after, before)
	}
	for _, m := range w.machines(t, machineAPIMachine, mapi, "worker-a") {
		infra, o := w.get(t, awsMachine, capi, m), w.get(t, machineAPIMachine, mapi, m)
		if got := o.GetAnnotations()[authority.InfraGenerationAnnotation]; got != fmt.Sprint(infra.GetGeneration()) {
			t.Errorf("%s: infrastructure generation %q, want %d", m, got, infra.GetGeneration())
		}
		if text(o, "spec", "authoritativeAPI") != "ClusterAPI" || text(o, "status", "phase") != "Running" {
			t.Errorf("%s: %s", m, show(o))
		}
	}
}

func (w *world) reflects(t *testing.T) {
	w.patch(t, w.get(t, clusterAPISet, capi, "worker-a"), "", `{"spec":{"replicas":3}}`)
	var names []string
	w.eventually(t, "a third Machine in the Machine API", func() string {
		names = w.machines(t, machineAPIMachine, mapi, "worker-a")
		for _, n := range names {
			if why := w.unsynced(t, machineAPIMachine, n); why != "" {
				return why
			}
		}
		if len(names) != 3 {
			return fmt.Sprint(names)
		}
		return ""
	})
	set := w.get(t, machineAPISet, mapi, "worker-a")
	for _, n := range names {
		o := w.get(t, machineAPIMachine, mapi, n)
		if text(o, "spec", "authoritativeAPI") != "ClusterAPI" || text(o, "status", "authoritativeAPI") != "ClusterAPI" {
			t.Errorf("%s", show(o))
		}
		for label, want := range map[string]string{
			"machine.openshift.io/instance-type": text(o, "spec", "providerSpec", "value", "instanceType"),
			"machine.openshift.io/region":        "us-east-1",
			"machine.openshift.io/zone":          text(o, "spec", "providerSpec", "value", "placement", "availabilityZone"),
		} {
			if got := o.GetLabels()[label]; got != want {
				t.Errorf("%s: label %s is %q, want %q", n, label, got, want)
			}
		}
		if ref := metav1.GetControllerOf(o); ref == nil || ref.UID != set.GetUID() {
			t.Errorf("%s: owned by %v", n, ref)
		}
	}
	// One that came without its owner would be anybody's for a moment: a MachineSet of the Machine API's adopts what its selector matches.
	for _, body := range w.writes.bodies() {
		if !strings.Contains(body, `"kind":"MachineSet"`) || !strings.Contains(body, `"controller":true`) {
			t.Errorf("created without its owner: %s", body)
		}
	}
	if len(w.writes.bodies()) == 0 {
		t.Error("no Machine of the Machine API's was created by a POST")
	}
	w.eventually(t, "the third Machine runs", func() string {
		for _, n := range names {
			if phase := text(w.get(t, machineAPIMachine, mapi, n), "status", "phase"); phase != "Running" {
				return n + " " + phase
			}
		}
		return ""
	})
}

func (w *world) keepsIndependent(t *testing.T) {
	// What Cluster API has without the Machine API is nobody's mirror.
	blue := w.get(t, clusterAPISet, capi, "worker-a").DeepCopy()
	blue.Object["metadata"] = map[string]any{"name": "blue", "namespace": capi}
	for path, value := range map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"set": "blue"}}, "replicas": int64(1)} {
		_ = unstructured.SetNestedField(blue.Object, value, "spec", path)
	}
	_ = unstructured.SetNestedStringMap(blue.Object, map[string]string{"set": "blue"}, "spec", "template", "metadata", "labels")
	if err := w.Create(t.Context(), blue); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "blue's Machine", func() string {
		if m := w.machines(t, clusterAPIMachine, capi, "blue"); len(m) != 1 || text(w.get(t, clusterAPIMachine, capi, m[0]), "status", "phase") != "Running" {
			return fmt.Sprint(m)
		}
		return ""
	})
	w.waitQuiet(t)
	if m := w.machines(t, machineAPIMachine, mapi, "blue"); len(m) != 0 {
		t.Errorf("an independent set's Machines are mirrored: %v", m)
	}
	// … until its user creates the Machine API equivalent (converting › Resource created as Cluster API Resource).
	twin := w.get(t, machineAPISet, mapi, "worker-a").DeepCopy()
	twin.Object["metadata"] = map[string]any{"name": "blue", "namespace": mapi}
	delete(twin.Object, "status")
	labels := map[string]string{"set": "blue"}
	_ = unstructured.SetNestedStringMap(twin.Object, labels, "spec", "selector", "matchLabels")
	_ = unstructured.SetNestedStringMap(twin.Object, labels, "spec", "template", "metadata", "labels")
	_ = unstructured.SetNestedField(twin.Object, "ClusterAPI", "spec", "authoritativeAPI")
	_ = unstructured.SetNestedField(twin.Object, int64(9), "spec", "replicas")
	if err := w.Create(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "blue adopted", func() string {
		o := w.get(t, machineAPISet, mapi, "blue")
		if replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); replicas != 1 {
			return show(o)
		}
		return w.unsynced(t, machineAPISet, "blue")
	})
	w.eventually(t, "blue's Machine adopted", func() string {
		m := w.machines(t, machineAPIMachine, mapi, "blue")
		if len(m) != 1 {
			return fmt.Sprint(m)
		}
		return w.unsynced(t, machineAPIMachine, m[0])
	})
}

// keepsTheFleet is the deletion that terminated whole fleets elsewhere: no instance may end.
func (w *world) keepsTheFleet(t *testing.T) {
	before := w.machines(t, clusterAPIMachine, capi, "worker-a")
	if len(before) != 3 {
		t.Fatalf("%v", before)
	}
	if err := w.Delete(t.Context(), w.get(t, machineAPISet, mapi, "worker-a")); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the Machine API's set and Machines gone, by the real collector", func() string {
		if w.get(t, machineAPISet, mapi, "worker-a") != nil {
			return "set"
		}
		return strings.Join(w.machines(t, machineAPIMachine, mapi, "worker-a"), ",")
	})
	w.waitQuiet(t)
	set := w.get(t, clusterAPISet, capi, "worker-a")
	if set == nil || set.GetDeletionTimestamp() != nil || slices.Contains(set.GetFinalizers(), authority.SyncFinalizer) ||
		set.GetAnnotations()[authority.MirrorAnnotation] != "" {
		t.Errorf("%s", show(set))
	}
	if message := show(set); !strings.Contains(message, "MirroredInMachineAPI") ||
		!strings.Contains(message, "kubectl -n openshift-cluster-api delete machinesets.cluster.x-k8s.io worker-a") {
		t.Errorf("the set does not say that it has outlived the Machine API's: %s", message)
	}
	w.eventually(t, "an event on the set that goes on", func() string {
		for _, e := range w.list(t, schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, capi) {
			if text(e, "reason") == "MachineSetDeleted" && text(e, "type") == "Warning" && text(e, "regarding", "uid") == string(set.GetUID()) {
				return ""
			}
		}
		return "none"
	})
	for _, n := range before {
		m := w.get(t, clusterAPIMachine, capi, n)
		if m == nil || m.GetDeletionTimestamp() != nil || slices.Contains(m.GetFinalizers(), authority.SyncFinalizer) {
			t.Errorf("%s: %s", n, show(m))
		}
	}
	if after := w.machines(t, clusterAPIMachine, capi, "worker-a"); !slices.Equal(before, after) {
		t.Errorf("Machines %v, before %v", after, before)
	}
}

// remakes: an unowned Cluster API mirror is deleted; it is recreated, and nothing happens to the instance.
func (w *world) remakes(t *testing.T) {
	before, infra := w.get(t, clusterAPIMachine, capi, "master-0"), w.get(t, awsMachine, capi, "master-0")
	if err := w.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "master-0 again", func() string {
		o := w.get(t, clusterAPIMachine, capi, "master-0")
		if o == nil || o.GetUID() == before.GetUID() {
			return "not yet"
		}
		if i := w.get(t, awsMachine, capi, "master-0"); i == nil || len(i.GetOwnerReferences()) != 1 || i.GetOwnerReferences()[0].UID != o.GetUID() {
			return show(i)
		}
		return w.unsynced(t, machineAPIMachine, "master-0")
	})
	if now := w.get(t, awsMachine, capi, "master-0"); now.GetUID() != infra.GetUID() {
		t.Error("the infrastructure machine was recreated too")
	}
	if m := w.get(t, machineAPIMachine, mapi, "master-0"); m.GetDeletionTimestamp() != nil {
		t.Error("master-0 is being deleted")
	}
}

// letsGo: an unowned Machine API mirror is deleted; the Cluster API Machine and its instance stay.
func (w *world) letsGo(t *testing.T) {
	w.move(t, machineAPIMachine, "master-0", authority.ClusterAPI)
	if err := w.Delete(t.Context(), w.get(t, machineAPIMachine, mapi, "master-0")); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "the Machine API's master-0 gone", func() string {
		if o := w.get(t, machineAPIMachine, mapi, "master-0"); o != nil {
			return show(o)
		}
		if core := w.get(t, clusterAPIMachine, capi, "master-0"); slices.Contains(core.GetFinalizers(), authority.SyncFinalizer) {
			return show(core)
		}
		return ""
	})
	w.waitQuiet(t)
	if core := w.get(t, clusterAPIMachine, capi, "master-0"); core == nil || core.GetDeletionTimestamp() != nil || text(core, "status", "phase") != "Running" {
		t.Errorf("%s", show(core))
	}
}

// propagates: a set's owned Machine is deleted on the side that is not authoritative, in both directions.
func (w *world) propagates(t *testing.T) {
	blue := w.machines(t, machineAPIMachine, mapi, "blue")[0]
	if err := w.Delete(t.Context(), w.get(t, machineAPIMachine, mapi, blue)); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, blue+" gone on both sides, and replaced", func() string {
		for gvk, ns := range map[schema.GroupVersionKind]string{machineAPIMachine: mapi, clusterAPIMachine: capi, awsMachine: capi} {
			if o := w.get(t, gvk, ns, blue); o != nil {
				return show(o)
			}
		}
		if m := w.machines(t, machineAPIMachine, mapi, "blue"); len(m) != 1 {
			return fmt.Sprint(m)
		}
		return ""
	})
	blue = w.machines(t, machineAPIMachine, mapi, "blue")[0]
	w.eventually(t, blue+" runs", func() string {
		if phase := text(w.get(t, machineAPIMachine, mapi, blue), "status", "phase"); phase != "Running" {
			return phase
		}
		return w.unsynced(t, machineAPIMachine, blue)
	})
	w.move(t, machineAPIMachine, blue, authority.MachineAPI)
	if err := w.Delete(t.Context(), w.get(t, clusterAPIMachine, capi, blue)); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, blue+" gone on both sides", func() string {
		for gvk, ns := range map[schema.GroupVersionKind]string{machineAPIMachine: mapi, clusterAPIMachine: capi, awsMachine: capi} {
			if o := w.get(t, gvk, ns, blue); o != nil {
				return show(o)
			}
		}
		return ""
	})
}

// comesBack: what people wrote while Cluster API was authoritative does not outlive its removal from the authority.
func (w *world) comesBack(t *testing.T) {
	w.patch(t, w.get(t, clusterAPISet, capi, "blue"), "", `{"metadata":{"labels":{"season":"winter"}},"spec":{"deletion":{"order":"Oldest"}}}`)
	w.eventually(t, "blue mirrored", func() string {
		if text(w.get(t, machineAPISet, mapi, "blue"), "spec", "deletePolicy") != "Oldest" {
			return "not yet"
		}
		return w.unsynced(t, machineAPISet, "blue")
	})
	w.eventually(t, "every Machine of blue with both objects, as the handoff would wait for", func() string {
		mapiMachines, capiMachines := w.machines(t, machineAPIMachine, mapi, "blue"), w.machines(t, clusterAPIMachine, capi, "blue")
		if !slices.Equal(mapiMachines, capiMachines) {
			return fmt.Sprint(mapiMachines, " and ", capiMachines)
		}
		return ""
	})
	w.move(t, machineAPISet, "blue", authority.MachineAPI)
	w.patch(t, w.get(t, machineAPISet, mapi, "blue"), "", `{"metadata":{"labels":{"season":null}},"spec":{"deletePolicy":null}}`)
	w.eventually(t, "removed from Machine API, removed from Cluster API", func() string {
		o := w.get(t, clusterAPISet, capi, "blue")
		if text(o, "spec", "deletion", "order") == "Oldest" || o.GetLabels()["season"] != "" {
			return show(o)
		}
		return w.unsynced(t, machineAPISet, "blue")
	})
}

// ends: the authority is deleted; instance, mirror and finalizers go. The set's Machines go with it.
func (w *world) ends(t *testing.T) {
	if err := w.Delete(t.Context(), w.get(t, machineAPISet, mapi, "blue")); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "nothing left of blue", func() string {
		for gvk, ns := range map[schema.GroupVersionKind]string{machineAPIMachine: mapi, machineAPISet: mapi, clusterAPIMachine: capi,
			clusterAPISet: capi, awsMachine: capi} {
			for _, o := range w.list(t, gvk, ns) {
				if o.GetName() == "blue" || strings.HasPrefix(o.GetName(), "blue-") {
					return show(o)
				}
			}
		}
		for _, o := range w.list(t, awsTemplate, capi) {
			if strings.HasPrefix(o.GetName(), "blue-") {
				return show(o)
			}
		}
		return ""
	})
}

// born: the template says ClusterAPI, so Machine API's set makes Machines that Cluster API runs from the start.
func (w *world) born(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"authoritativeAPI": "ClusterAPI"}}}
	o.SetGroupVersionKind(machineAPIMachine)
	o.SetNamespace(mapi)
	o.SetName("lonely")
	o.SetLabels(w.list(t, machineAPISet, mapi)[0].GetLabels())
	provider, _, _ := unstructured.NestedMap(w.get(t, machineAPISet, mapi, "worker-b").Object, "spec", "template", "spec", "providerSpec")
	value := provider["value"].(map[string]any)
	delete(value, "deviceIndex")
	value["deviceIndex"] = int64(0)
	delete(value["blockDevices"].([]any)[0].(map[string]any)["ebs"].(map[string]any), "kmsKey")
	_ = unstructured.SetNestedMap(o.Object, provider, "spec", "providerSpec")
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, "lonely made in Cluster API, paused", func() string {
		core := w.get(t, clusterAPIMachine, capi, "lonely")
		if core == nil || w.get(t, awsMachine, capi, "lonely") == nil {
			return "absent: " + show(w.get(t, machineAPIMachine, mapi, "lonely"))
		}
		if core.GetAnnotations()[authority.PausedAnnotation] == "" {
			return show(core)
		}
		if infra := w.get(t, awsMachine, capi, "lonely"); metav1.GetControllerOf(infra) == nil {
			return "nobody's: " + show(infra) // while it is paused, Cluster API does not claim it
		}
		return w.unsynced(t, machineAPIMachine, "lonely")
	})
	w.pause(t, machineAPIMachine, "lonely", "null")
	w.eventually(t, "lonely runs by Cluster API", func() string {
		m := w.get(t, machineAPIMachine, mapi, "lonely")
		if text(m, "status", "phase") != "Running" || text(m, "spec", "providerID") == "" {
			return show(m)
		}
		return w.unsynced(t, machineAPIMachine, "lonely")
	})
	if core := w.get(t, clusterAPIMachine, capi, "lonely"); core.GetAnnotations()[authority.PausedAnnotation] != "" {
		t.Error("paused again")
	}
}
