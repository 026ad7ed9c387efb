// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/policiestest"
)

// TestWhatARuleAnswersReachesAWebhook: a rule is of no use if the API server does not ask about the request. Each case in which a rule refuses, or warns of, a
// person's creation or update reaches a webhook. Deletions are left out, because the cases' objects have no finalizers, and a deletion without finalizers
// reaches no webhook.
func TestWhatARuleAnswersReachesAWebhook(t *testing.T) {
	cases, err := policiestest.Load("../policies/authority/testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	doors, routes, tried := everyDoor(t), Routes(All(platforms.List()...)), 0
	for _, c := range cases {
		resource := resourceOf(routes, c.Change.Subject)
		if c.Silent() || c.Change.Actor != policies.Anyone || c.Change.Operation == admissionv1.Delete || c.Change.Subresource == "scale" || resource == "" {
			continue
		}
		a := asked{resource: resource, subresource: c.Change.Subresource, after: string(c.Change.New.Raw())}
		if c.Change.Old != nil {
			a.before = string(c.Change.Old.Raw())
		}
		reached := false
		for _, d := range doors.asked(t, a, labels.Set{authority.AdmissionLabel: authority.Enforced}) {
			reached = reached || !d.mutating
		}
		if tried++; !reached {
			t.Errorf("%s: %s: no webhook is asked", c.Rule, c.Name)
		}
	}
	t.Logf("%d requests", tried)
}

// resourceOf returns a resource of a kind of the rules, "" for none.
func resourceOf(routes []Route, s policies.Subject) string {
	for _, r := range routes {
		for _, o := range r.Subjects {
			if r.Side == s.Side && o.Kind == s.Kind {
				return o.Resource + "." + o.GroupVersion.Version + "." + o.GroupVersion.Group
			}
		}
	}
	return ""
}
