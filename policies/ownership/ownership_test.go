// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/internal/managedfields"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	o.SetKind("Machine")
	return o
}

// manager is an entry of metadata.managedFields.
func manager(name, operation, fields string) string {
	return fmt.Sprintf(`{manager: %s, operation: %s, apiVersion: cluster.x-k8s.io/v1beta2, fieldsType: FieldsV1, fieldsV1: %s}`, name, operation, fields)
}

// older is an entry of a version that the API server serves too.
func older(name, operation, fields string) string {
	return strings.Replace(manager(name, operation, fields), "v1beta2", "v1beta1", 1)
}

func TestWhatAnApplyWouldChange(t *testing.T) {
	for _, c := range []struct {
		sentence     string
		wanted, live string
		want         []string
	}{
		{"equal", `{spec: {a: 1, l: [x]}}`, `{spec: {a: 1, l: [x]}}`, nil},
		{"the API server added defaults beside and within", `{spec: {a: 1, l: [{b: 1}]}}`, `{spec: {a: 1, d: dflt, l: [{b: 1, c: dflt}], e: {}}}`, nil},
		{"a value differs", `{spec: {a: 1}}`, `{spec: {a: 2}}`, []string{"spec.a"}},
		{"a value is absent", `{spec: {a: {b: 1}}}`, `{spec: {}}`, []string{"spec.a"}},
		{"a list has another length", `{spec: {l: [1]}}`, `{spec: {l: [1, 2]}}`, []string{"spec.l"}},
		{"an empty map is wanted and none is there", `{spec: {a: {}}}`, `{spec: {}}`, nil},
		{"a user's label beside ours", `{metadata: {labels: {ours: x}}}`, `{metadata: {labels: {ours: x, mine: z}}}`, nil},
		{"our label was changed", `{metadata: {labels: {ours: x}}}`, `{metadata: {labels: {ours: z}}}`, []string{"metadata.labels.ours"}},
		{"a finalizer lacks", `{metadata: {finalizers: [f]}}`, `{metadata: {finalizers: [g]}}`, []string{"metadata.finalizers"}},
		{"status is not applied", `{status: {a: 1}}`, `{status: {a: 2}}`, nil},
		{"we applied what we want no more", `{spec: {a: 1}}`,
			`{spec: {a: 1, b: 2}, metadata: {managedFields: [` + manager(Manager, "Apply", `{"f:spec": {"f:a": {}, "f:b": {}}}`) + `]}}`, []string{"spec.b"}},
		{"we applied a label that the authority dropped", `{spec: {}}`,
			`{spec: {}, metadata: {labels: {team: blue}, managedFields: [` + manager(Manager, "Apply", `{"f:metadata": {"f:labels": {"f:team": {}}}}`) +
				`]}}`, []string{"metadata"}},
		{"we applied items that we want no more", `{metadata: {finalizers: [f]}, spec: {g: [{k: 1}]}}`,
			`{spec: {g: [{k: 1}, {k: 2}]}, metadata: {managedFields: [` + manager(Manager, "Apply",
				`{"f:metadata": {"f:finalizers": {"v:\"g\"": {}}}, "f:spec": {"f:g": {"k:{\"k\":2}": {"f:v": {}}, "k:{\"k\":1}": {"f:v": {}}}}}`) + `]}}`,
			[]string{"spec.g", "metadata.finalizers", `metadata.finalizers["g"]`, "spec.g[k=1].v", "spec.g[k=2]"}},
		{"an item of a set and of a map-list that we still want", `{metadata: {finalizers: [f]}, spec: {g: [{k: 1, v: 2}]}}`,
			`{metadata: {finalizers: [f], managedFields: [` + manager(Manager, "Apply",
				`{"f:metadata": {"f:finalizers": {"v:\"f\"": {}}}, "f:spec": {"f:g": {"k:{\"k\":1}": {".": {}, "f:v": {}}}}}`) + `]}, spec: {g: [{k: 1, v: 2}]}}`, nil},
		{"we applied in another version: paths of that one mean nothing here", `{spec: {a: 1}}`,
			`{spec: {a: 1}, metadata: {managedFields: [` + older(Manager, "Apply", `{"f:spec": {"f:a": {}}}`) + `]}}`, []string{"metadata.managedFields"}},
		{"a field that somebody else owns is not ours to remove by an apply", `{spec: {a: 1}}`,
			`{spec: {a: 1, b: 2}, metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:spec": {"f:b": {}}}`) + `]}}`, nil},
	} {
		got := Changes(parse(t, c.wanted), parse(t, c.live))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
	}
}

// TestAnEmptyObjectOfAProvider: spotMarketOptions: {} is a spot instance, and an instance without spotMarketOptions is not.
func TestAnEmptyObjectOfAProvider(t *testing.T) {
	for _, c := range []struct {
		apiVersion, kind, wanted, live string
		want                           []string
	}{
		{"infrastructure.cluster.x-k8s.io/v1beta2", "AWSMachine", `{spec: {spotMarketOptions: {}}}`, `{spec: {}}`, []string{"spec.spotMarketOptions"}},
		{"infrastructure.cluster.x-k8s.io/v1beta2", "AWSMachine", `{spec: {spotMarketOptions: {}}}`, `{spec: {spotMarketOptions: {}}}`, nil},
		{"infrastructure.cluster.x-k8s.io/v1beta2", "AWSMachine", `{spec: {}}`, `{spec: {cpuOptions: {}}}`, nil},
		{"machine.openshift.io/v1beta1", "Machine", `{spec: {taints: [], providerSpec: {value: {spotMarketOptions: {}}}}}`, `{spec: {providerSpec: {value: {a: 1}}}}`,
			[]string{"spec.providerSpec.value.spotMarketOptions"}},
		{"machine.openshift.io/v1beta1", "MachineSet", `{spec: {template: {spec: {metadata: {}, providerSpec: {value: {spotVMOptions: {}}}}}}}`,
			`{spec: {template: {spec: {providerSpec: {value: {}}}}}}`, []string{"spec.template.spec.providerSpec.value.spotVMOptions"}},
		{"cluster.x-k8s.io/v1beta2", "Machine", `{spec: {deletion: {}}}`, `{spec: {}}`, nil},
	} {
		wanted, live := parse(t, c.wanted), parse(t, c.live)
		for _, o := range []*unstructured.Unstructured{wanted, live} {
			o.SetAPIVersion(c.apiVersion)
			o.SetKind(c.kind)
		}
		if diff := cmp.Diff(c.want, Changes(wanted, live)); diff != "" {
			t.Errorf("%s %s beside %s: %s", c.kind, c.wanted, c.live, diff)
		}
	}
}

func TestTakeover(t *testing.T) {
	for _, c := range []struct {
		sentence     string
		wanted, live string
		made         bool
		want         []string // manager: fields
	}{
		{"what others set in spec and the authority does not say becomes ours", `{spec: {a: 1}}`,
			`{spec: {a: 1, b: 2}, metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:spec": {"f:a": {}, "f:b": {}}}`) + `]}}`,
			false, []string{`kubectl: {"f:spec":{"f:a":{}}}`, Manager + `: {"f:spec":{"f:b":{}}}`}},
		{"and is added to what is ours already", `{spec: {a: 1}}`,
			`{metadata: {managedFields: [` + manager("kubectl", "Apply", `{"f:spec": {"f:b": {}}}`) + `,` + manager(Manager, "Apply", `{"f:spec": {"f:a": {}}}`) + `]}}`,
			false, []string{Manager + `: {"f:spec":{"f:a":{},"f:b":{}}}`}},
		{"what others set and the authority says too stays where it is", `{spec: {a: 1}}`,
			`{metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:spec": {"f:a": {}}}`) + `]}}`, false, nil},
		{"authoritativeAPI is the user's", `{spec: {a: 1}}`,
			`{metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:spec": {"f:authoritativeAPI": {}}}`) + `]}}`, false, nil},
		{"a user's own label stays the user's, one that the authority says too does not outlive it", `{metadata: {labels: {team: blue}}}`,
			`{metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:metadata": {"f:labels": {"f:team": {}, "f:mine": {}}}}`) + `]}}`,
			false, []string{`kubectl: {"f:metadata":{"f:labels":{"f:mine":{}}}}`, Manager + `: {"f:metadata":{"f:labels":{"f:team":{}}}}`}},
		{"the handoff's pause stays the handoff's, with the time from which on it holds", `{metadata: {annotations: {cluster.x-k8s.io/paused: "true", note: x}}}`,
			`{metadata: {managedFields: [` + manager("poundlock-handoff", "Update", `{"f:metadata": {"f:annotations": {"f:cluster.x-k8s.io/paused": {}, "f:note": {}}}}`) + `]}}`,
			false, []string{`poundlock-handoff: {"f:metadata":{"f:annotations":{"f:cluster.x-k8s.io/paused":{}}}}`, Manager + `: {"f:metadata":{"f:annotations":{"f:note":{}}}}`}},
		{"and alone it is nothing to take", `{metadata: {annotations: {cluster.x-k8s.io/paused: "true"}}}`,
			`{metadata: {managedFields: [` + manager("poundlock-handoff", "Update", `{"f:metadata": {"f:annotations": {"f:cluster.x-k8s.io/paused": {}}}}`) + `]}}`, false, nil},
		{"who applies labels would apply them again: no fight", `{metadata: {labels: {team: blue}}}`,
			`{metadata: {managedFields: [` + manager("capi-machineset", "Apply", `{"f:metadata": {"f:labels": {"f:team": {}}}}`) + `]}}`, false, nil},
		{"what a client of another version set is known by its name", `{metadata: {labels: {team: blue}}, spec: {a: 1}}`,
			`{spec: {a: 1, b: 2, m: {o: 3}}, metadata: {labels: {team: blue, mine: x}, managedFields: [` +
				older("argocd", "Update", `{"f:metadata": {"f:labels": {"f:team": {}, "f:mine": {}}}, "f:spec": {"f:a": {}, "f:b": {}, "f:m": {"f:o": {}}}}`) + `]}}`,
			false, []string{`argocd: {"f:metadata":{"f:labels":{"f:mine":{}}},"f:spec":{"f:a":{}}}`, Manager + `: {"f:metadata":{"f:labels":{"f:team":{}}},"f:spec":{"f:b":{},"f:m":{"f:o":{}}}}`}},
		{"what has another name in this version is left", `{spec: {}}`,
			`{spec: {b: 2, renamed: 3}, metadata: {managedFields: [` + older("old", "Update", `{"f:spec": {"f:b": {}, "f:gone": {"f:c": {}}}}`) + `]}}`,
			false, []string{`old: {"f:spec":{"f:gone":{"f:c":{}}}}`, Manager + `: {"f:spec":{"f:b":{}}}`}},
		{"and alone it is nothing to take", `{spec: {}}`, `{spec: {renamed: 3}, metadata: {managedFields: [` + older("old", "Update", `{"f:spec": {"f:gone": {}}}`) + `]}}`, false, nil},
		{"what ours has in another version comes first: an apply writes it in this one", `{spec: {}}`,
			`{spec: {b: 2}, metadata: {managedFields: [` + older(Manager, "Apply", `{"f:spec": {"f:a": {}}}`) + `,` + manager("kubectl", "Update", `{"f:spec": {"f:b": {}}}`) + `]}}`, false, nil},
		{"status is each controller's own", `{spec: {}}`,
			`{metadata: {managedFields: [{manager: capi, operation: Update, subresource: status, apiVersion: cluster.x-k8s.io/v1beta2, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:b": {}}}}]}}`,
			false, nil},
		{"what the mirror has just created it owns as if it had applied it, and the server's defaults are nobody's", `{metadata: {annotations: {mark: m}, finalizers: [f]}, spec: {a: 1, l: [{k: 1}]}}`,
			`{spec: {a: 1, d: dflt, l: [{k: 1, e: dflt}]}, metadata: {annotations: {mark: m}, finalizers: [f], managedFields: [` +
				manager(Manager, "Update",
					`{"f:metadata": {"f:annotations": {".": {}, "f:mark": {}}, "f:finalizers": {".": {}, "v:\"f\"": {}}}, "f:spec": {".": {}, "f:a": {}, "f:d": {}, "f:l": {".": {}, "k:{\"k\":1}": {".": {}, "f:k": {}, "f:e": {}}}}}`) + `]}}`, true,
			[]string{Manager + `: {"f:metadata":{"f:annotations":{".":{},"f:mark":{}},"f:finalizers":{".":{},"v:\"f\"":{}}},"f:spec":{".":{},"f:a":{},"f:l":{".":{},"k:{\"k\":1}":{".":{},"f:k":{}}}}}`}},
		{"of what it created earlier, a default may as well be what the authority has dropped since: an apply will show", `{metadata: {annotations: {mark: m}, finalizers: [f]}, spec: {a: 1, l: [{k: 1}]}}`,
			`{spec: {a: 1, d: dflt, l: [{k: 1, e: dflt}]}, metadata: {annotations: {mark: m}, finalizers: [f], managedFields: [` +
				manager(Manager, "Update",
					`{"f:metadata": {"f:annotations": {".": {}, "f:mark": {}}, "f:finalizers": {".": {}, "v:\"f\"": {}}}, "f:spec": {".": {}, "f:a": {}, "f:d": {}, "f:l": {".": {}, "k:{\"k\":1}": {".": {}, "f:k": {}, "f:e": {}}}}}`) + `]}}`, false,
			[]string{Manager + `: {"f:metadata":{"f:annotations":{".":{},"f:mark":{}},"f:finalizers":{".":{},"v:\"f\"":{}}},"f:spec":{".":{},"f:a":{},"f:d":{},"f:l":{".":{},"k:{\"k\":1}":{".":{},"f:e":{},"f:k":{}}}}}`}},
		{"an owner or a label that its creation set and the authority has dropped since, too", `{metadata: {}, spec: {a: 1}}`,
			`{metadata: {managedFields: [` + manager(Manager, "Update",
				`{"f:metadata": {"f:labels": {"f:old": {}}, "f:ownerReferences": {"k:{\"uid\":\"c\"}": {}}}, "f:spec": {"f:a": {}, "f:authoritativeAPI": {}}}`) + `]}}`,
			false, []string{Manager + `: {"f:spec":{"f:authoritativeAPI":{}}}`,
				Manager + `: {"f:metadata":{"f:labels":{"f:old":{}},"f:ownerReferences":{"k:{\"uid\":\"c\"}":{}}},"f:spec":{"f:a":{}}}`}},
		{"a mark that was carried over to what is the mirror by now, and that the authority has no more", `{metadata: {}}`,
			`{metadata: {managedFields: [` + manager(CarriedManager, "Update", `{"f:metadata": {"f:annotations": {"f:cluster.x-k8s.io/delete-machine": {}}}}`) + `]}}`,
			false, []string{Manager + `: {"f:metadata":{"f:annotations":{"f:cluster.x-k8s.io/delete-machine":{}}}}`}},
		{"a mark that somebody set on what is the mirror by now, and that the authority has no more; not their note", `{metadata: {}}`,
			`{metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:metadata": {"f:annotations": {"f:carried": {}, "f:note": {}}}}`) + `]}}`,
			false, []string{`kubectl: {"f:metadata":{"f:annotations":{"f:note":{}}}}`, Manager + `: {"f:metadata":{"f:annotations":{"f:carried":{}}}}`}},
		{"who applies the mark would apply it again", `{metadata: {}}`,
			`{metadata: {managedFields: [` + manager("argocd", "Apply", `{"f:metadata": {"f:annotations": {"f:carried": {}}}}`) + `]}}`, false, nil},
		{"its other updates stay what they are", `{metadata: {finalizers: [f]}, spec: {a: 1}}`,
			`{metadata: {managedFields: [` + manager(Manager, "Update", `{"f:metadata": {"f:finalizers": {"v:\"f\"": {}}}, "f:spec": {"f:authoritativeAPI": {}}}`) +
				`]}}`, false, nil},
	} {
		var got []string
		for _, e := range Takeover(parse(t, c.wanted), parse(t, c.live), c.made, []string{"carried"}, "spec.authoritativeAPI") {
			got = append(got, e.Manager+": "+e.FieldsV1.GetRawString())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
	}
}

// spelled are managed fields as the API server spells them: it leaves out the "." of what has no parts.
func spelled(t *testing.T, tree string) string {
	t.Helper()
	set, err := managedfields.Read(metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(tree)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := managedfields.Write(set)
	if err != nil {
		t.Fatal(err)
	}
	return out.GetRawString()
}

func TestYield(t *testing.T) {
	mine := manager(Manager, "Apply", `{"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:a": {}, "f:l": {"k:{\"k\":1}": {".": {}, "f:v": {}}}}}`)
	for _, c := range []struct {
		sentence, others string
		want             []string // manager: fields
	}{
		{"nobody else owns anything", ``, nil},
		{"others own something else", manager("kubectl", "Apply", `{"f:spec": {"f:b": {}}}`), nil},
		{"what an applier has too is the applier's alone", manager("kubectl", "Apply", `{"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:a": {}}}`), []string{
			Manager + `: {"f:spec":{"f:l":{"k:{\"k\":1}":{".":{},"f:v":{}}}}}`, `kubectl: {"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:a": {}}}`}},
		{"a field of a list's item is left, the item is not", manager("kubectl", "Update", `{"f:spec": {"f:l": {"k:{\"k\":1}": {"f:v": {}}}}}`), []string{
			Manager + `: {"f:metadata":{"f:labels":{"f:team":{}}},"f:spec":{"f:a":{},"f:l":{"k:{\"k\":1}":{".":{}}}}}`,
			`kubectl: {"f:spec": {"f:l": {"k:{\"k\":1}": {"f:v": {}}}}}`}},
		{"with nothing left the mirror's entry goes", manager("kubectl", "Apply", `{"f:metadata": {"f:labels": {".": {}, "f:team": {}}}, "f:spec": {"f:a": {}, "f:l": {"k:{\"k\":1}": {".": {}, "f:v": {}}}}}`), []string{
			`kubectl: {"f:metadata": {"f:labels": {".": {}, "f:team": {}}}, "f:spec": {"f:a": {}, "f:l": {"k:{\"k\":1}": {".": {}, "f:v": {}}}}}`}},
		{"who has the whole does not have each of its parts", manager("kubectl", "Apply", `{"f:spec": {"f:l": {}}}`), nil},
		{"the mirror's own updates are no one else's", manager(Manager, "Update", `{"f:spec": {"f:a": {}}}`), nil},
		{"what an applier of another version has too is the applier's alone", older("argocd", "Apply", `{"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:a": {}, "f:gone": {}}}`), []string{
			Manager + `: {"f:spec":{"f:l":{"k:{\"k\":1}":{".":{},"f:v":{}}}}}`, `argocd: {"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:a": {}, "f:gone": {}}}`}},
		{"status is no part of it", `{manager: capi, operation: Update, subresource: status, apiVersion: cluster.x-k8s.io/v1beta2, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:a": {}}}}`, nil},
	} {
		live := parse(t, `{metadata: {managedFields: [`+mine+`,`+c.others+`]}}`)
		var got []string
		for _, e := range Yield(live) {
			got = append(got, e.Manager+": "+spelled(t, e.FieldsV1.GetRawString()))
		}
		for i, want := range c.want {
			name, tree, _ := strings.Cut(want, ": ")
			c.want[i] = name + ": " + spelled(t, tree)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
		live.SetManagedFields(Yield(live))
		if again := Yield(live); again != nil {
			t.Errorf("%s: the second time it yields again: %v", c.sentence, again)
		}
	}
}
