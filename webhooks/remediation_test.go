// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies"
)

// The template is looked up in the namespace in which Cluster API's check would look, and only if the request is for Cluster API.
func TestRemediation(t *testing.T) {
	const template = `"remediationTemplate":{"apiVersion":"self-node-remediation.medik8s.io/v1alpha1","kind":"SelfNodeRemediationTemplate","name":"t"}`
	const asks = `{"spec":{"authoritativeAPI":"ClusterAPI",` + template + `}}`
	for name, c := range map[string]struct {
		asks  string
		found *policies.Object
		err   error
		want  policies.Existence
		reads bool
	}{
		"it is there":                 {asks, &policies.Object{}, nil, policies.Exists, true},
		"it is not":                   {asks, nil, nil, policies.Absent, true},
		"it may not be read":          {asks, nil, errors.New("forbidden"), "", true},
		"a request for Machine API":   {`{"spec":{"authoritativeAPI":"MachineAPI",` + template + `}}`, nil, nil, "", false},
		"a check that deletes itself": {`{"spec":{"authoritativeAPI":"ClusterAPI"}}`, nil, nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			read := ""
			l := Lookups{Live: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
				read = ref.String()
				return c.found, c.err
			})}
			asked, err := policies.ParseObject([]byte(c.asks))
			if err != nil {
				t.Fatal(err)
			}
			change := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "MachineHealthCheck", Namespace: "m", TwinNamespace: "c"},
				Operation: admissionv1.Update, New: asked}
			if doubts := l.advisory(t.Context(), &change, policies.NeedRemediation); len(doubts) > 0 || change.Facts.Remediation != c.want {
				t.Errorf("found %q, want %q; in doubt about %v", change.Facts.Remediation, c.want, doubts)
			}
			if want := "self-node-remediation.medik8s.io SelfNodeRemediationTemplate c/t"; (read == want) != c.reads || !c.reads && read != "" {
				t.Errorf("reads %q", read)
			}
		})
	}
}

// The sets that could adopt a Machine are those of the API in which it is created, and of the API to which it moves.
func TestTheSetsThatCouldAdopt(t *testing.T) {
	for operation, want := range map[admissionv1.Operation]string{admissionv1.Create: "machine.openshift.io m", admissionv1.Update: "cluster.x-k8s.io c"} {
		read := ""
		l := Lookups{Sets: ListingFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error) {
			read = gvk.Group + " " + namespace
			return nil, nil
		})}
		change := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "m", TwinNamespace: "c"},
			Operation: operation, New: &policies.Object{}}
		if operation == admissionv1.Update {
			change.Old = &policies.Object{}
		}
		if doubts := l.advisory(t.Context(), &change, policies.NeedSets); len(doubts) > 0 || read != want {
			t.Errorf("%s: lists %q, want %q; in doubt about %v", operation, read, want, doubts)
		}
	}
}
