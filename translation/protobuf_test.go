// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(s), eventsv1.AddToScheme(s), authorizationv1.AddToScheme(s), apiextensionsv1.AddToScheme(s),
		metav1.AddMetaToScheme(s)); err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"", Standard, Private} {
		metav1.AddToGroupVersion(s, schema.GroupVersion{Group: group, Version: map[bool]string{true: "v1", false: "v1beta2"}[group == ""]})
	}
	return s
}

// metadata has every place of an object's, with both names where they may be, and what stays beside them.
func metadata(group string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "n", Labels: map[string]string{"cluster.x-k8s.io/cluster-name": "c", "apiVersion": group + "/v1"}, Annotations: map[string]string{"a": group + "/v1"},
		Finalizers:      []string{"machine." + group},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment"}, {APIVersion: group + "/v1beta2", Kind: "Cluster", Name: "c", UID: "u"}},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", APIVersion: "infrastructure." + group + "/v1",
			FieldsV1: metav1.NewFieldsV1(`{"f:` + group + `/v1":{}}`)}},
	}
}

// What protobuf becomes is what JSON becomes, for every kind that Fields knows and for some that it does not.
func TestProtobuf(t *testing.T) {
	s := scheme(t)
	codec := protobuf.NewSerializer(s, s)
	objects := func(group string) map[string]runtime.Object {
		attributes := &authorizationv1.ResourceAttributes{Group: "bootstrap." + group, Resource: "r", Name: "machines." + group}
		meta := func(apiVersion, kind string) metav1.TypeMeta {
			return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
		}
		event := corev1.ObjectReference{APIVersion: group + "/v1", Kind: "Machine"}
		return map[string]runtime.Object{
			"a Secret":                  &corev1.Secret{TypeMeta: meta("v1", "Secret"), ObjectMeta: metadata(group), Type: "cluster.x-k8s.io/secret", Data: map[string][]byte{"apiVersion": []byte(group + "/v1")}},
			"Secrets":                   &corev1.SecretList{TypeMeta: meta("v1", "SecretList"), ListMeta: metav1.ListMeta{Continue: group}, Items: []corev1.Secret{{ObjectMeta: metadata(group)}, {}, {ObjectMeta: metadata(group)}}},
			"a Pod":                     &corev1.Pod{TypeMeta: meta("v1", "Pod"), ObjectMeta: metadata(group), Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "A", Value: group + "/v1"}}}}}},
			"an Event":                  &corev1.Event{TypeMeta: meta("v1", "Event"), ObjectMeta: metadata(group), InvolvedObject: event, Related: &event, Message: "about " + group, Count: 300, Type: "Normal"},
			"an Event of events.k8s.io": &eventsv1.Event{TypeMeta: meta("events.k8s.io/v1", "Event"), ObjectMeta: metadata(group), Regarding: event, Related: &event, Note: group, DeprecatedCount: 7},
			"a question about oneself":  &authorizationv1.SelfSubjectAccessReview{TypeMeta: meta("authorization.k8s.io/v1", "SelfSubjectAccessReview"), Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}},
			"a question":                &authorizationv1.SubjectAccessReview{TypeMeta: meta("authorization.k8s.io/v1", "SubjectAccessReview"), Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes, User: group}},
			"a question in a namespace": &authorizationv1.LocalSubjectAccessReview{TypeMeta: meta("authorization.k8s.io/v1", "LocalSubjectAccessReview"), Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes}},
			"rules": &authorizationv1.SelfSubjectRulesReview{TypeMeta: meta("authorization.k8s.io/v1", "SelfSubjectRulesReview"), Status: authorizationv1.SubjectRulesReviewStatus{
				ResourceRules: []authorizationv1.ResourceRule{{Verbs: []string{"get"}, APIGroups: []string{group, "apps", "infrastructure." + group}}}}},
			"a definition": &apiextensionsv1.CustomResourceDefinition{TypeMeta: meta("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ObjectMeta: metav1.ObjectMeta{Name: "machines." + group},
				Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: group, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "machines"}}},
			"options": &metav1.DeleteOptions{TypeMeta: meta(group+"/v1beta2", "DeleteOptions"), Preconditions: &metav1.Preconditions{}, DryRun: []string{"All"}},
			"a Status": &metav1.Status{TypeMeta: meta("v1", "Status"), Message: "machines." + group + ` "m" not found`, Details: &metav1.StatusDetails{Name: "machines." + group, Group: group, Kind: "machines",
				Causes: []metav1.StatusCause{{Message: group + "/v1", Field: group}}}},
		}
	}
	documentOf := map[string]Document{"an Event": Events, "an Event of events.k8s.io": Events, "a question about oneself": AccessReviews,
		"a question":                AccessReviews,
		"a question in a namespace": AccessReviews, "rules": AccessReviews, "a definition": Definitions}
	for name, object := range objects(Private) {
		t.Run(name, func(t *testing.T) {
			doc := documentOf[name]
			body := encoded(t, codec, object)
			got, err := ToStandard.Protobuf(doc, body)
			if err != nil {
				t.Fatal(err)
			}
			asJSON, _ := json.Marshal(object)
			want := must(t, NewListScanner(ToStandard, doc), string(asJSON))
			decoded, _, err := codec.Decode(got, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if gotJSON, _ := json.Marshal(decoded); string(gotJSON) != want {
				t.Errorf("%s\nwant\n%s", gotJSON, want)
			}
			if bytes.Equal(got, body) {
				t.Error("nothing was translated")
			}
			if back, err := ToPrivate.Protobuf(doc, got); err != nil || doc != Events && !strings.Contains(name, "Status") && !bytes.Equal(back, body) {
				t.Errorf("there and back is not the same: %v", err)
			}
		})
	}
}

func encoded(t *testing.T, codec runtime.Encoder, object runtime.Object) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := codec.Encode(object, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Each field is a row: the two tables name the same places.
func TestFieldsAreRows(t *testing.T) {
	for _, f := range Fields {
		found := false
		for _, r := range Rows {
			found = found || r.In == f.In && r.At == f.Row && r.Is == f.Is
		}
		if !found {
			t.Errorf("%v is no row", f)
		}
	}
}

func TestMalformedProtobuf(t *testing.T) {
	s := scheme(t)
	body := encoded(t, protobuf.NewSerializer(s, s), &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metadata(Standard)})
	for n := range len(body) - 1 {
		if _, err := ToPrivate.Protobuf(Objects, body[:n]); err == nil && n != len(magic) && n < len(body)-4 && !complete(body[len(magic):n]) {
			t.Errorf("the first %d bytes of %d are translated", n, len(body))
		}
	}
	for why, bad := range map[string][]byte{
		"no magic":             body[1:],
		"JSON":                 []byte(`{}`),
		"field 0":              []byte(magic + "\x00\x00"),
		"a group":              []byte(magic + "\x0b"),
		"another encoding":     []byte(magic + "\x1a\x04gzip"),
		"another content type": []byte(magic + "\x22\x10application/json"),
		"too long":             []byte(magic + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
	} {
		if out, err := ToPrivate.Protobuf(Objects, bad); !errors.Is(err, ErrProtobuf) {
			t.Errorf("%s: %q %v", why, out, err)
		}
	}
}

// complete says whether a prefix of a body ends between two fields of the envelope, which cannot be seen.
func complete(unknown []byte) bool {
	return each(unknown, func(int, []byte, []byte) error { return nil }) == nil
}

func FuzzProtobuf(f *testing.F) {
	s := scheme(f)
	codec := protobuf.NewSerializer(s, s)
	for _, o := range []runtime.Object{
		&corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metadata(Standard)},
		&corev1.Event{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, InvolvedObject: corev1.ObjectReference{APIVersion: Standard + "/v1"}, Count: 7},
	} {
		var out bytes.Buffer
		if err := codec.Encode(o, &out); err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(Objects), out.Bytes())
		f.Add(uint8(Events), out.Bytes())
	}
	f.Fuzz(func(t *testing.T, doc uint8, body []byte) {
		there, err := ToPrivate.Protobuf(Document(doc%uint8(documents)), body)
		if err != nil {
			return
		}
		if _, err := ToStandard.Protobuf(Document(doc%uint8(documents)), there); err != nil {
			t.Errorf("%q became %q: %v", body, there, err)
		}
		if !bytes.Contains(body, []byte("cluster.")) && !bytes.Equal(there, body) {
			t.Errorf("%q became %q", body, there)
		}
	})
}

func BenchmarkProtobuf(b *testing.B) {
	s := scheme(b)
	list := &corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	for i := range 1000 {
		list.Items = append(list.Items, corev1.Secret{ObjectMeta: metadata(Standard), Data: map[string][]byte{"value": bytes.Repeat([]byte{byte(i)}, 2000)}})
	}
	var body bytes.Buffer
	if err := protobuf.NewSerializer(s, s).Encode(list, &body); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(body.Len()))
	for b.Loop() {
		if _, err := ToPrivate.Protobuf(Objects, body.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
