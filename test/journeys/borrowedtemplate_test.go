// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/test/stories"
)

// A person who copies a set in Cluster API makes the copy refer to the same template. That may be the mirror of a template that the Machine API runs. The copy
// moves to the Machine API all the same, and gets a template of its own there.
func TestACopyOfASetMoves(t *testing.T) {
	stories.Long(t)
	story(t)
	const name = "borrower"
	labels := map[string]any{"borrows": "yes"}
	newSet(t, "lender", 1)
	ofTemplate := func(o *unstructured.Unstructured) {
		set(t, o, int64(0), "spec", "replicas")
		set(t, o, labels, "spec", "selector", "matchLabels")
		set(t, o, labels, "spec", "template", "metadata", "labels")
	}
	copyOf(t, capiSet("lender"), name, ofTemplate)
	copyOf(t, mapiSet("lender"), name, func(o *unstructured.Unstructured) {
		ofTemplate(o)
		set(t, o, "ClusterAPI", "spec", "authoritativeAPI")
	})
	authorityIs(t, mapiSet(name), "ClusterAPI")
	settled(t, mapiSet(name))
	template := field(t, capiSet(name), ".spec.template.spec.infrastructureRef.name")
	if template != field(t, capiSet("lender"), ".spec.template.spec.infrastructureRef.name") {
		t.Fatalf("it has a template of its own: %s", template)
	}
	version := func() string {
		return field(t, object{capi, "awsmachinetemplates.infrastructure.cluster.x-k8s.io", template}, ".metadata.resourceVersion")
	}
	before := version()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); { // two pairs that write against each other write every few seconds
		if after := version(); after != before {
			t.Fatalf("the template is written at rest: version %s, then %s", before, after)
		}
	}
	move(t, mapiSet(name), "MachineAPI")
	move(t, mapiSet(name), "ClusterAPI")
	for _, o := range []object{capiSet(name), mapiSet("lender")} {
		must(t, append(o.args("delete"), "--wait=false")...)
	}
	for _, o := range []object{capiSet(name), mapiSet(name), capiSet("lender"), mapiSet("lender")} {
		eventually(t, o.resource+" "+o.name+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
}
