// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// translated translates a body at once, and byte by byte: that may make no difference.
func translated(t *testing.T, s *Scanner, body string) (string, error) {
	t.Helper()
	whole, err := s.Append(nil, []byte(body))
	if err == nil {
		whole, err = s.Finish(whole)
	}
	s.Reset()
	var pieces []byte
	var failed error
	for i := 0; i < len(body) && failed == nil; i++ {
		pieces, failed = s.Append(pieces, []byte{body[i]})
	}
	if failed == nil {
		pieces, failed = s.Finish(pieces)
	}
	s.Reset()
	if (err == nil) != (failed == nil) || err == nil && !bytes.Equal(whole, pieces) {
		t.Fatalf("at once and byte by byte differ:\n%s %v\n%s %v", whole, err, pieces, failed)
	}
	return string(whole), err
}

func must(t *testing.T, s *Scanner, body string) string {
	t.Helper()
	out, err := translated(t, s, body)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return out
}

// document has a value at the place of a row, with neighbours of the same names in places that are none.
func document(at, value string) string {
	leaf, _ := json.Marshal(value)
	out := string(leaf)
	s := segments(at)
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i].form {
		case element:
			out = "[" + out + ",{}, " + out + "]"
		case anyName:
			out = `{"any":` + out + `}`
		case names:
			out = fmt.Sprintf(`{ %s : {"number":1}}`, leaf)
		case depth:
			out = `{"deep":[{"er":` + out + `}]}`
		default:
			out = fmt.Sprintf(`{"other":{"name":"n"},%q:%s,"number":-1.5e+3}`, s[i].name, out)
		}
	}
	return out
}

var examples = map[Value][2]string{ // by a client, in the store
	APIVersion:      {"infrastructure.cluster.x-k8s.io/v1beta2", "infrastructure.cluster.hypershift.openshift.io/v1beta2"},
	Reference:       {"cluster.x-k8s.io/v1beta2", "cluster.hypershift.openshift.io/v1beta2"},
	Group:           {"bootstrap.cluster.x-k8s.io", "bootstrap.cluster.hypershift.openshift.io"},
	DefinitionName:  {"machines.cluster.x-k8s.io", "machines.cluster.hypershift.openshift.io"},
	Path:            {"/apis/cluster.x-k8s.io/v1beta2/machines", "/apis/cluster.hypershift.openshift.io/v1beta2/machines"},
	SchemaName:      {"io.x-k8s.cluster.v1beta2.Machine", "io.openshift.hypershift.cluster.v1beta2.Machine"},
	SchemaReference: {"#/components/schemas/io.x-k8s.cluster.v1.M", "#/components/schemas/io.openshift.hypershift.cluster.v1.M"},
	Prose:           {"machines.cluster.x-k8s.io \"m\" not found", "machines.cluster.hypershift.openshift.io \"m\" not found"},
}

// Each row, in each form of a document that has it, in both directions.
func TestRows(t *testing.T) {
	for doc := range documents {
		for _, p := range doc.parts() {
			for _, r := range Rows {
				if r.In != p.rows {
					continue
				}
				t.Run(fmt.Sprintf("%d %s %s %s", doc, p.prefix, r.Kind, r.At), func(t *testing.T) {
					testRow(t, doc, p, r)
				})
			}
		}
	}
}

func testRow(t *testing.T, doc Document, p part, r Row) {
	ofKind := func(kind, body string) string {
		if kind == "" {
			return body
		}
		return fmt.Sprintf(`{"kind":%q,`, kind) + strings.TrimPrefix(body, "{")
	}
	inside := func(value string) string {
		body := ofKind(r.Kind, document(r.At, value))
		s := segments(p.prefix)
		for i := len(s) - 1; i >= 0; i-- {
			if s[i].form == element {
				body = "[" + body + "]"
			} else {
				body = fmt.Sprintf(`{%q:%s}`, s[i].name, body)
			}
		}
		return ofKind(p.kind, body)
	}
	client, store := examples[r.Is][0], examples[r.Is][1]
	for _, around := range []struct {
		frames        bool
		before, after string
	}{{false, " ", "\n"}, {true, `{"type":"ADDED","object":`, "}\n"}} {
		a := func(value string) string { return around.before + inside(value) + around.after }
		scanner := NewScanner
		switch {
		case p.list && around.frames: // a watch has no lists
			continue
		case p.list:
			scanner = NewListScanner
		case around.frames:
			scanner = NewFrameScanner
		}
		written := a(store)
		if p.kind+r.Kind != "" { // an API server's own kind, which no client sends
			written = a(client)
		}
		if got := must(t, scanner(ToPrivate, doc), a(client)); got != written {
			t.Errorf("to private:\n%s\nwant\n%s", got, written)
		}
		if got := must(t, scanner(ToStandard, doc), a(store)); got != a(client) {
			t.Errorf("to standard:\n%s\nwant\n%s", got, a(client))
		}
		escaped := strings.ReplaceAll(a(store), "c", `\u0063`)
		if !json.Valid([]byte(strings.SplitAfter(escaped, "\n")[0])) {
			t.Fatal(escaped)
		}
		if got := must(t, scanner(ToStandard, doc), escaped); !equal(t, got, a(client)) {
			t.Errorf("with escapes:\n%s\nwant\n%s", got, a(client))
		}
	}
}

func equal(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err, a, b)
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// What Never lists stays in each document that has it, whichever name stands there and whatever it is called.
func TestNever(t *testing.T) {
	for doc := range documents {
		for _, p := range doc.parts() {
			for _, n := range Never {
				if n.In != p.rows {
					continue
				}
				for _, e := range examples {
					for _, value := range e {
						leaf, _ := json.Marshal(value)
						body := document(n.At, value)
						body = strings.ReplaceAll(body, string(leaf), fmt.Sprintf(`{"apiVersion":%s,"apiGroup":%[1]s,"group":%[1]s,%[1]s:[%[1]s]}`, leaf))
						if p.prefix != "" {
							continue
						}
						for _, d := range []Direction{ToPrivate, ToStandard} {
							if got := must(t, NewScanner(d, doc), body); got != body {
								t.Errorf("%s:\n%s became\n%s", n.At, body, got)
							}
						}
					}
				}
			}
		}
	}
}

func TestReader(t *testing.T) {
	body := `{"kind":"Machine","apiVersion":"cluster.hypershift.openshift.io/v1beta2"}`
	for name, source := range map[string]io.Reader{
		"at once":      strings.NewReader(body),
		"byte by byte": iotest.OneByteReader(strings.NewReader(body)),
		"with the EOF": iotest.DataErrReader(strings.NewReader(body)),
	} {
		r := NewReader(source, NewScanner(ToStandard, Objects))
		if err := iotest.TestReader(r, []byte(`{"kind":"Machine","apiVersion":"cluster.x-k8s.io/v1beta2"}`)); err != nil {
			t.Error(name, err)
		}
	}
	if _, err := io.ReadAll(NewReader(strings.NewReader(body[:40]), NewScanner(ToStandard, Objects))); !errors.Is(err, ErrMalformed) {
		t.Error("truncated:", err)
	}
	broken := errors.New("broken")
	if _, err := io.ReadAll(NewReader(io.MultiReader(strings.NewReader(body[:40]), iotest.ErrReader(broken)), NewScanner(ToStandard, Objects))); !errors.Is(err,
		broken) {
		t.Error("broken:", err)
	}
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, NewScanner(ToPrivate, Objects))
	if _, err := io.WriteString(w, `{"apiVersion":"cluster.x-k8s.io/v1"`); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, ErrMalformed) {
		t.Error("truncated:", err)
	}
	w = NewWriter(&out, NewScanner(ToPrivate, Objects))
	out.Reset()
	if _, err := io.WriteString(w, `{"apiVersion":"cluster.x-k8s.io/v1"}`); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil || out.String() != `{"apiVersion":"cluster.hypershift.openshift.io/v1"}` {
		t.Error(out.String(), err)
	}
}

// The rows of one kind alone hold from where the kind stands. The API server writes it first: a Table and a Status are of its own types, whose
// kind is their first field.
func TestTheKindStandsFirst(t *testing.T) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	owned := `{"apiVersion":"` + Private + `/v1beta2","kind":"PartialObjectMetadata","metadata":{"name":"m","ownerReferences":[{"apiVersion":"` +
		Private + `/v1beta2"}]}}`
	for _, o := range []runtime.Object{
		&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Message: "machines." + Private + " is not there", Details: &metav1.StatusDetails{
			Group: Private, Causes: []metav1.StatusCause{{Message: "of " + Private}},
		}},
		&metav1.Table{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"},
			Rows: []metav1.TableRow{{Object: runtime.RawExtension{Raw: []byte(owned)}}}},
	} {
		for _, pretty := range []bool{false, true} {
			var text strings.Builder
			if err := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme,
				serializer.SerializerOptions{Pretty: pretty}).Encode(o, &text); err != nil {
				t.Fatal(err)
			}
			if got := must(t, NewScanner(ToPrivate, Objects), text.String()); got != text.String() {
				t.Errorf("a client sent %s, which became %s", text.String(), got)
			}
			if got := must(t, NewScanner(ToStandard, ClusterAPI), text.String()); strings.Count(got, Standard) != strings.Count(text.String(), Private) ||
				strings.Contains(got, Private) {
				t.Errorf("%s\nbecomes\n%s", text.String(), got)
			}
		}
	}
}

// A definition may have a kind of the same name. Its objects are written by their apiVersion first.
func TestKindsOfTheSameNames(t *testing.T) {
	for _, body := range []string{
		`{"apiVersion":"example.com/v1","kind":"Status","message":"cluster.hypershift.openshift.io","details":{"group":"cluster.hypershift.openshift.io"}}`,
		`{"apiVersion":"example.com/v1","kind":"Table","rows":[{"object":{"apiVersion":"cluster.hypershift.openshift.io/v1"}}]}`,
		`{"items":[{"apiVersion":"example.com/v1","kind":"Status","message":"cluster.hypershift.openshift.io"}],"kind":"Status","message":"cluster.hypershift.openshift.io"}`,
	} {
		if got := must(t, NewScanner(ToStandard, Objects), body); got != body {
			t.Errorf("%s became %s", body, got)
		}
		if got := must(t, NewFrameScanner(ToStandard, Objects), `{"type":"ADDED","object":`+body+"}\n"); !strings.Contains(got, body) {
			t.Errorf("%s became %s", body, got)
		}
	}
	written := `{"kind":"Table","apiVersion":"example.com/v1","rows":[{"object":{"apiVersion":"cluster.x-k8s.io/v1"}}]}`
	if got := must(t, NewScanner(ToPrivate, Objects), written); got != written {
		t.Errorf("%s became %s", written, got)
	}
}

// Only what is asked for as a list is one: an object may have a member of its own by the name of `items`, as all else that is its user's.
func TestAnObjectWithItems(t *testing.T) {
	for _, group := range []string{Private, Standard} {
		inner := fmt.Sprintf(
			`{"apiVersion":"%[1]s/v1","metadata":{"name":"machines.%[1]s","ownerReferences":[{"apiVersion":"%[1]s/v1"}]},"spec":{"group":%[1]q,"ref":{"apiGroup":%[1]q}}}`, group)
		body := `{"apiVersion":"example.com/v1","items":[` + inner + `],"kind":"Bundle"}`
		for _, doc := range []Document{Objects, ClusterAPI, Definitions, Events, AccessReviews} {
			for _, d := range []Direction{ToPrivate, ToStandard} {
				if got := must(t, NewScanner(d, doc), body); got != body {
					t.Errorf("%s\nbecame\n%s", body, got)
				}
			}
			if got := must(t, NewFrameScanner(ToStandard, doc), `{"type":"ADDED","object":`+body+"}\n"); !strings.Contains(got, inner) {
				t.Errorf("%s\nbecame\n%s", body, got)
			}
			if got := must(t, NewListScanner(ToStandard, doc), `{"items":[`+body+`]}`); !strings.Contains(got, inner) {
				t.Errorf("%s\nbecame\n%s", body, got)
			}
			patch := `[{"op":"add","path":"/items/0","value":` + inner + `},{"op":"replace","path":"/items/0/apiVersion","value":"cluster.x-k8s.io/v1"}]`
			if got, err := ToPrivate.Patch(doc, []byte(patch)); err != nil || string(got) != patch {
				t.Errorf("%s\nbecame\n%s %v", patch, got, err)
			}
		}
	}
}
