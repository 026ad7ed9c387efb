// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	read(t, text, &o.Object)
	o.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	o.SetKind("Machine")
	return o
}

func read(t *testing.T, text string, into *map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// manager is an entry of metadata.managedFields.
func manager(name, operation, fields string) string {
	return fmt.Sprintf(`{manager: %s, operation: %s, apiVersion: cluster.x-k8s.io/v1beta2, fieldsType: FieldsV1, fieldsV1: %s}`, name, operation, fields)
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
			`{spec: {a: 1, b: 2}, metadata: {managedFields: [` + manager(fieldManager, "Apply", `{"f:spec": {"f:a": {}, "f:b": {}}}`) + `]}}`, []string{"spec.b"}},
		{"we applied a label that the authority dropped", `{spec: {}}`,
			`{spec: {}, metadata: {labels: {team: blue}, managedFields: [` + manager(fieldManager, "Apply", `{"f:metadata": {"f:labels": {"f:team": {}}}}`) + `]}}`, []string{"metadata"}},
		{"we applied items that we want no more", `{metadata: {finalizers: [f]}, spec: {g: [{k: 1}]}}`,
			`{spec: {g: [{k: 1}, {k: 2}]}, metadata: {managedFields: [` + manager(fieldManager, "Apply", `{"f:metadata": {"f:finalizers": {"v:\"g\"": {}}}, "f:spec": {"f:g": {"k:{\"k\":2}": {"f:v": {}}, "k:{\"k\":1}": {"f:v": {}}}}}`) + `]}}`,
			[]string{"spec.g", "metadata.finalizers", `metadata.finalizers["g"]`, "spec.g[k=1].v", "spec.g[k=2]"}},
		{"an item of a set and of a map-list that we still want", `{metadata: {finalizers: [f]}, spec: {g: [{k: 1, v: 2}]}}`,
			`{metadata: {finalizers: [f], managedFields: [` + manager(fieldManager, "Apply", `{"f:metadata": {"f:finalizers": {"v:\"f\"": {}}}, "f:spec": {"f:g": {"k:{\"k\":1}": {".": {}, "f:v": {}}}}}`) + `]}, spec: {g: [{k: 1, v: 2}]}}`, nil},
		{"a field that somebody else owns is not ours to remove by an apply", `{spec: {a: 1}}`,
			`{spec: {a: 1, b: 2}, metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:spec": {"f:b": {}}}`) + `]}}`, nil},
	} {
		got := applied(parse(t, c.wanted), parse(t, c.live))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
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
			false, []string{`kubectl: {"f:spec":{"f:a":{}}}`, fieldManager + `: {"f:spec":{"f:b":{}}}`}},
		{"and is added to what is ours already", `{spec: {a: 1}}`,
			`{metadata: {managedFields: [` + manager("kubectl", "Apply", `{"f:spec": {"f:b": {}}}`) + `,` + manager(fieldManager, "Apply", `{"f:spec": {"f:a": {}}}`) + `]}}`,
			false, []string{fieldManager + `: {"f:spec":{"f:a":{},"f:b":{}}}`}},
		{"what others set and the authority says too stays where it is", `{spec: {a: 1}}`,
			`{metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:spec": {"f:a": {}}}`) + `]}}`, false, nil},
		{"authoritativeAPI is the user's", `{spec: {a: 1}}`,
			`{metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:spec": {"f:authoritativeAPI": {}}}`) + `]}}`, false, nil},
		{"a user's own label stays the user's, one that the authority says too does not outlive it", `{metadata: {labels: {team: blue}}}`,
			`{metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:metadata": {"f:labels": {"f:team": {}, "f:mine": {}}}}`) + `]}}`,
			false, []string{`kubectl: {"f:metadata":{"f:labels":{"f:mine":{}}}}`, fieldManager + `: {"f:metadata":{"f:labels":{"f:team":{}}}}`}},
		{"who applies labels would apply them again: no fight", `{metadata: {labels: {team: blue}}}`,
			`{metadata: {managedFields: [` + manager("capi-machineset", "Apply", `{"f:metadata": {"f:labels": {"f:team": {}}}}`) + `]}}`, false, nil},
		{"an entry of another version cannot be read with this one's eyes", `{spec: {}}`,
			`{metadata: {managedFields: [{manager: old, operation: Update, apiVersion: cluster.x-k8s.io/v1beta1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:b": {}}}}]}}`, false, nil},
		{"status is each controller's own", `{spec: {}}`,
			`{metadata: {managedFields: [{manager: capi, operation: Update, subresource: status, apiVersion: cluster.x-k8s.io/v1beta2, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:b": {}}}}]}}`, false, nil},
		{"what the mirror has just created it owns as if it had applied it, and the server's defaults are nobody's", `{metadata: {annotations: {mark: m}, finalizers: [f]}, spec: {a: 1, l: [{k: 1}]}}`,
			`{spec: {a: 1, d: dflt, l: [{k: 1, e: dflt}]}, metadata: {annotations: {mark: m}, finalizers: [f], managedFields: [` + manager(fieldManager, "Update", `{"f:metadata": {"f:annotations": {".": {}, "f:mark": {}}, "f:finalizers": {".": {}, "v:\"f\"": {}}}, "f:spec": {".": {}, "f:a": {}, "f:d": {}, "f:l": {".": {}, "k:{\"k\":1}": {".": {}, "f:k": {}, "f:e": {}}}}}`) + `]}}`, true,
			[]string{fieldManager + `: {"f:metadata":{"f:annotations":{".":{},"f:mark":{}},"f:finalizers":{".":{},"v:\"f\"":{}}},"f:spec":{".":{},"f:a":{},"f:l":{".":{},"k:{\"k\":1}":{".":{},"f:k":{}}}}}`}},
		{"of what it created earlier, a default may as well be what the authority has dropped since: an apply will show", `{metadata: {annotations: {mark: m}, finalizers: [f]}, spec: {a: 1, l: [{k: 1}]}}`,
			`{spec: {a: 1, d: dflt, l: [{k: 1, e: dflt}]}, metadata: {annotations: {mark: m}, finalizers: [f], managedFields: [` + manager(fieldManager, "Update", `{"f:metadata": {"f:annotations": {".": {}, "f:mark": {}}, "f:finalizers": {".": {}, "v:\"f\"": {}}}, "f:spec": {".": {}, "f:a": {}, "f:d": {}, "f:l": {".": {}, "k:{\"k\":1}": {".": {}, "f:k": {}, "f:e": {}}}}}`) + `]}}`, false,
			[]string{fieldManager + `: {"f:metadata":{"f:annotations":{".":{},"f:mark":{}},"f:finalizers":{".":{},"v:\"f\"":{}}},"f:spec":{".":{},"f:a":{},"f:d":{},"f:l":{".":{},"k:{\"k\":1}":{".":{},"f:e":{},"f:k":{}}}}}`}},
		{"an owner or a label that its creation set and the authority has dropped since, too", `{metadata: {}, spec: {a: 1}}`,
			`{metadata: {managedFields: [` + manager(fieldManager, "Update", `{"f:metadata": {"f:labels": {"f:old": {}}, "f:ownerReferences": {"k:{\"uid\":\"c\"}": {}}}, "f:spec": {"f:a": {}, "f:authoritativeAPI": {}}}`) + `]}}`,
			false, []string{fieldManager + `: {"f:spec":{"f:authoritativeAPI":{}}}`, fieldManager + `: {"f:metadata":{"f:labels":{"f:old":{}},"f:ownerReferences":{"k:{\"uid\":\"c\"}":{}}},"f:spec":{"f:a":{}}}`}},
		{"its other updates stay what they are", `{metadata: {finalizers: [f]}, spec: {a: 1}}`,
			`{metadata: {managedFields: [` + manager(fieldManager, "Update", `{"f:metadata": {"f:finalizers": {"v:\"f\"": {}}}, "f:spec": {"f:authoritativeAPI": {}}}`) + `]}}`, false, nil},
	} {
		var got []string
		for _, e := range takeover(parse(t, c.wanted), parse(t, c.live), c.made, "spec.authoritativeAPI") {
			got = append(got, e.Manager+": "+string(e.FieldsV1.Raw))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
	}
}

func TestYield(t *testing.T) {
	mine := manager(fieldManager, "Apply", `{"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:a": {}, "f:l": {"k:{\"k\":1}": {".": {}, "f:v": {}}}}}`)
	for _, c := range []struct {
		sentence, others string
		want             []string // manager: fields
	}{
		{"nobody else owns anything", ``, nil},
		{"others own something else", manager("kubectl", "Apply", `{"f:spec": {"f:b": {}}}`), nil},
		{"what an applier has too is the applier's alone", manager("kubectl", "Apply", `{"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:a": {}}}`), []string{
			fieldManager + `: {"f:spec":{"f:l":{"k:{\"k\":1}":{".":{},"f:v":{}}}}}`, `kubectl: {"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:a": {}}}`}},
		{"a field of a list's item is left, the item is not", manager("kubectl", "Update", `{"f:spec": {"f:l": {"k:{\"k\":1}": {"f:v": {}}}}}`), []string{
			fieldManager + `: {"f:metadata":{"f:labels":{"f:team":{}}},"f:spec":{"f:a":{},"f:l":{"k:{\"k\":1}":{".":{}}}}}`, `kubectl: {"f:spec": {"f:l": {"k:{\"k\":1}": {"f:v": {}}}}}`}},
		{"with nothing left the mirror's entry goes", manager("kubectl", "Apply", `{"f:metadata": {"f:labels": {".": {}, "f:team": {}}}, "f:spec": {"f:a": {}, "f:l": {"k:{\"k\":1}": {".": {}, "f:v": {}}}}}`), []string{
			`kubectl: {"f:metadata": {"f:labels": {".": {}, "f:team": {}}}, "f:spec": {"f:a": {}, "f:l": {"k:{\"k\":1}": {".": {}, "f:v": {}}}}}`}},
		{"who has the whole does not have each of its parts", manager("kubectl", "Apply", `{"f:spec": {"f:l": {}}}`), nil},
		{"the mirror's own updates are no one else's", manager(fieldManager, "Update", `{"f:spec": {"f:a": {}}}`), nil},
		{"status is no part of it", `{manager: capi, operation: Update, subresource: status, apiVersion: cluster.x-k8s.io/v1beta2, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:a": {}}}}`, nil},
	} {
		live := parse(t, `{metadata: {managedFields: [`+mine+`,`+c.others+`]}}`)
		var got []string
		for _, e := range yield(live) {
			raw, err := yaml.YAMLToJSON(e.FieldsV1.Raw)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Manager+": "+string(raw))
		}
		for i, want := range c.want {
			name, tree, _ := strings.Cut(want, ": ")
			raw, err := yaml.YAMLToJSON([]byte(tree))
			if err != nil {
				t.Fatal(err)
			}
			c.want[i] = name + ": " + string(raw)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
		live.SetManagedFields(yield(live))
		if again := yield(live); again != nil {
			t.Errorf("%s: the second time it yields again: %v", c.sentence, again)
		}
	}
}

func TestStatusPatch(t *testing.T) {
	c := converting{now: func() time.Time { return time.Date(2026, 11, 21, 17, 0, 0, 0, time.UTC) }}
	for _, x := range []struct {
		sentence     string
		wanted, live string
		want         string
	}{
		{"equal", `{phase: Running, conditions: [{type: A, status: "True"}]}`, `{phase: Running, other: 1, conditions: [{type: B, status: "True"}, {type: A, status: "True", lastTransitionTime: x}]}`, `{}`},
		{"a field differs", `{phase: Running}`, `{phase: Failed}`, `{phase: Running}`},
		{"what says which API is authoritative is not mirrored", `{authoritativeAPI: ClusterAPI, synchronizedGeneration: 3, conditions: [{type: Paused, status: "True"}]}`, `{}`, `{}`},
		{"what has ended ends", `{phase: Running}`, `{phase: Running, nodeRef: {name: n}, errorMessage: e, other: stays}`, `{nodeRef: null, errorMessage: null}`},
		{"what has ended ends in Cluster API's old place too", `{phase: Running}`, `{phase: Running, deprecated: {v1beta1: {failureMessage: e, conditions: []}}}`, `{deprecated: {v1beta1: {failureMessage: null}}}`},
		{"a source that says nothing ends nothing", `{}`, `{nodeRef: {name: n}}`, `{}`},
		{"a condition flips, the others keep their place", `{conditions: [{type: A, status: "False", reason: R}]}`, `{conditions: [{type: A, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}, {type: B, status: "True"}]}`,
			`{conditions: [{type: A, status: "False", reason: R, lastTransitionTime: "2026-11-21T17:00:00Z"}, {type: B, status: "True"}]}`},
		{"a message changes without a flip: the time stays", `{conditions: [{type: A, status: "True", message: n}]}`, `{conditions: [{type: A, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]}`,
			`{conditions: [{type: A, status: "True", message: n, lastTransitionTime: "2026-01-01T00:00:00Z"}]}`},
	} {
		var wanted, live, want map[string]any
		read(t, x.wanted, &wanted)
		read(t, x.live, &live)
		read(t, x.want, &want)
		if diff := cmp.Diff(want, c.statusPatch(wanted, live)); diff != "" {
			t.Errorf("%s: %s", x.sentence, diff)
		}
	}
}

// counted is an object whose generation is an integer, as an API server's is.
func counted(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := parse(t, text)
	generation, _ := jsonnumbers.Integer(below(o.Object, "metadata")["generation"])
	o.SetGeneration(generation)
	return o
}

// TestTheObservedGenerationOfAMirror: `kubectl wait --for=condition=…` waits for it.
func TestTheObservedGenerationOfAMirror(t *testing.T) {
	c := converting{now: time.Now}
	for _, x := range []struct {
		sentence         string
		machineAPI, core string
		wanted           map[string]any
		want             any
	}{
		{"Cluster API has seen its set, so the mirror has been seen", `{metadata: {generation: 5}, status: {observedGeneration: 4}}`, `{metadata: {generation: 2}, status: {observedGeneration: 2}}`, map[string]any{}, int64(5)},
		{"Cluster API has yet to see its set", `{metadata: {generation: 5}, status: {observedGeneration: 4}}`, `{metadata: {generation: 2}, status: {observedGeneration: 1}}`, map[string]any{}, nil},
		{"it is said already", `{metadata: {generation: 5}, status: {observedGeneration: 5}}`, `{metadata: {generation: 2}, status: {observedGeneration: 2}}`, map[string]any{}, nil},
		{"a Machine of the Machine API does not count generations", `{metadata: {generation: 5}, status: {phase: Running}}`, `{metadata: {generation: 2}, status: {observedGeneration: 2}}`, map[string]any{}, nil},
		{"the Machine API authoritative says it itself", `{metadata: {generation: 5}, status: {observedGeneration: 4}}`, `{metadata: {generation: 2}, status: {observedGeneration: 2}}`, nil, nil},
	} {
		s := &state{machineAPI: counted(t, x.machineAPI), core: counted(t, x.core)}
		w := c.synchronized(s, 2, x.wanted)
		status, _ := w.patch["status"].(map[string]any)
		if diff := cmp.Diff(x.want, status["observedGeneration"]); diff != "" {
			t.Errorf("%s: %s", x.sentence, diff)
		}
	}
}
