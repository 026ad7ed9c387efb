// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestMergedBundle(t *testing.T) {
	ca, previous, gone := newCA(t, ourName, epoch), newCA(t, ourName, epoch), newCA(t, ourName, epoch)
	theirs, stale := newCA(t, "somebody else", epoch), newCA(t, "somebody else", epoch.Add(-400*day))
	pem := func(cas ...*authority) string { return string(encodeCertificates(certsOf(cas...)...)) }
	alone := material{ca: ca}
	overlap := material{ca: ca, previous: certsOf(previous), retire: epoch.Add(30 * day)}
	tests := map[string]struct {
		m             material
		present, want string
		at            time.Duration
	}{
		"empty":                        {m: alone, present: "", want: pem(ca)},
		"a placeholder":                {m: alone, present: "\n", want: pem(ca)},
		"words":                        {m: alone, present: "not PEM", want: pem(ca)},
		"right":                        {m: alone, present: pem(ca), want: pem(ca)},
		"right, with a comment":        {m: alone, present: "# CA\n" + pem(ca), want: "# CA\n" + pem(ca)},
		"right, in another order":      {m: overlap, present: pem(previous, ca), want: pem(previous, ca)},
		"twice the same":               {m: alone, present: pem(ca, ca), want: pem(ca)},
		"the previous is missing":      {m: overlap, present: pem(ca), want: pem(ca, previous)},
		"the new one is missing":       {m: overlap, present: pem(previous), want: pem(ca, previous)},
		"somebody else's is kept":      {m: alone, present: pem(theirs), want: pem(ca, theirs)},
		"somebody else's expired goes": {m: alone, present: pem(stale, ca), want: pem(ca)},
		"ours that the Secret does not name goes":               {m: alone, present: pem(gone, ca), want: pem(ca)},
		"retired, and a slow clock may put it back: left alone": {m: overlap, present: pem(ca, previous), want: pem(ca, previous), at: 31 * day},
		"retired, and not there: not put back":                  {m: overlap, present: pem(ca), want: pem(ca), at: 31 * day},
		"retired for long: removed":                             {m: overlap, present: pem(ca, previous), want: pem(ca), at: 33 * day},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := writing{test.m, ourName, yearly, epoch.Add(test.at)}
			got := string(w.merged([]byte(test.present)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if again := string(w.merged([]byte(got))); again != got {
				t.Error("merging again changes the bundle again")
			}
		})
	}
}

func TestInject(t *testing.T) {
	ca := newCA(t, ourName, epoch)
	m := material{ca: ca, serving: signed(t, ca, ourNames, epoch)}
	bundle := base64.StdEncoding.EncodeToString(encodeCertificates(ca.cert))
	tests := map[string]struct {
		kind           Kind
		object, bundle string // of our entry, BUNDLE stands for the caBundle
		want           string
		changed        bool
	}{
		"a webhook that calls our Service": {
			kind: ValidatingWebhooks, changed: true,
			object: `{webhooks: [{name: a, clientConfig: {service: {namespace: lock, name: poundlock, path: /a}}}]}`,
			want:   `{webhooks: [{name: a, clientConfig: {caBundle: BUNDLE, service: {namespace: lock, name: poundlock, path: /a}}}]}`,
		},
		"a webhook that calls our address": {
			kind: MutatingWebhooks, changed: true,
			object: `{webhooks: [{name: a, clientConfig: {caBundle: Cg==, url: "https://127.0.0.1:9443/a"}}]}`,
			want:   `{webhooks: [{name: a, clientConfig: {caBundle: BUNDLE, url: "https://127.0.0.1:9443/a"}}]}`,
		},
		"a webhook of somebody else beside ours": {
			kind: ValidatingWebhooks, changed: true,
			object: `{webhooks: [{name: b, clientConfig: {caBundle: Cg==, service: {namespace: lock, name: other}}}, {name: a, clientConfig: {service: {namespace: lock, name: poundlock}}}]}`,
			want:   `{webhooks: [{name: b, clientConfig: {caBundle: Cg==, service: {namespace: lock, name: other}}}, {name: a, clientConfig: {caBundle: BUNDLE, service: {namespace: lock, name: poundlock}}}]}`,
		},
		"a webhook that is as it should be": {
			kind:   ValidatingWebhooks,
			object: `{webhooks: [{name: a, clientConfig: {caBundle: BUNDLE, service: {namespace: lock, name: poundlock}}}]}`,
			want:   `{webhooks: [{name: a, clientConfig: {caBundle: BUNDLE, service: {namespace: lock, name: poundlock}}}]}`,
		},
		"a field that this build has never heard of stays": {
			kind: ValidatingWebhooks, changed: true,
			object: `{webhooks: [{name: a, future: 1, clientConfig: {service: {namespace: lock, name: poundlock}, future: 2}}]}`,
			want:   `{webhooks: [{name: a, future: 1, clientConfig: {caBundle: BUNDLE, service: {namespace: lock, name: poundlock}, future: 2}}]}`,
		},
		"a conversion webhook": {
			kind: CustomResourceDefinitions, changed: true,
			object: `{spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: lock, name: poundlock}}}}}}`,
			want:   `{spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: BUNDLE, service: {namespace: lock, name: poundlock}}}}}}`,
		},
		"a CRD without conversion": {
			kind:   CustomResourceDefinitions,
			object: `{spec: {conversion: {strategy: None}}}`,
			want:   `{spec: {conversion: {strategy: None}}}`,
		},
		"nonsense": {
			kind:   ValidatingWebhooks,
			object: `{webhooks: [7, {clientConfig: x}, {clientConfig: {service: 3, url: "::"}}]}`,
			want:   `{webhooks: [7, {clientConfig: x}, {clientConfig: {service: 3, url: "::"}}]}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object, want := parse(t, test.object, bundle), parse(t, test.want, bundle)
			row, err := rowOf(test.kind)
			if err != nil {
				t.Fatal(err)
			}
			w := writing{m, ourName, yearly, epoch}
			if changed := row.inject(object, w); changed != test.changed {
				t.Errorf("changed: %v", changed)
			}
			if diff := cmp.Diff(want.Object, object.Object); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if row.inject(object, w) {
				t.Error("a second time changes it again")
			}
		})
	}
}

func parse(t *testing.T, text, bundle string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "BUNDLE", bundle)), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestObstacle(t *testing.T) {
	leaf := signed(t, newCA(t, ourName, epoch), ourNames, epoch).Leaf
	ours := `webhooks: [{clientConfig: {service: {namespace: lock, name: poundlock}}}]`
	tests := map[string]struct{ object, names string }{
		"ours":                               {"{%s}", ""},
		"no webhook at all":                  {"{}", ""},
		"calls another Service":              {`{webhooks: [{clientConfig: {service: {namespace: lock, name: locksmith}}}]}`, "locksmith.lock.svc"},
		"injected by cert-manager":           {`{metadata: {annotations: {cert-manager.io/inject-ca-from: a/b}}, %s}`, "cert-manager.io/inject-ca-from"},
		"injected by the service CA":         {`{metadata: {annotations: {service.beta.openshift.io/inject-cabundle: "true"}}, %s}`, "service.beta.openshift.io/inject-cabundle"},
		"injection that is switched off":     {`{metadata: {annotations: {service.beta.openshift.io/inject-cabundle: "false"}}, %s}`, ""},
		"an annotation that only looks like": {`{metadata: {annotations: {cert-manager.io/inject: a}}, %s}`, ""},
	}
	row, err := rowOf(ValidatingWebhooks)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := test.object
			if strings.Contains(text, "%s") {
				text = fmt.Sprintf(text, ours)
			}
			got := row.obstacle(parse(t, text, ""), leaf)
			if (got == "") != (test.names == "") || !strings.Contains(got, test.names) {
				t.Errorf("got %q", got)
			}
		})
	}
}
