// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

var updateGolden = flag.Bool("update", false, "write the golden files")

// The text of answers has one golden file; every other test compares rule, field and status.
func TestAnswersInProse(t *testing.T) {
	spec := field.NewPath("spec")
	change := policies.Change{Subject: policies.Subject{
		Side: policies.SideClusterAPI, Kind: "Machine", Resource: schema.GroupResource{Group: "cluster.x-k8s.io", Resource: "machines"},
		Namespace: "c", Name: "a",
	}, Operation: update}
	locked := "Machine API is authoritative for this Machine: change machines.machine.openshift.io m/a instead"
	type answer struct {
		Case     string
		Response any
	}
	var got []answer
	for _, tt := range []struct {
		name   string
		j      policies.Judgement
		doubts []string
	}{
		{name: "nothing against it", j: policies.Judgement{{Rule: "a/b"}}},
		{name: "one field", j: policies.Judgement{{Rule: "authority/spec-locked", Verdict: policies.Deny(field.Forbidden(spec.Child("clusterName"), locked))}}},
		{name: "several fields by one rule, and another rule", j: policies.Judgement{
			{Rule: "authority/spec-locked", Verdict: policies.Deny(
				field.Forbidden(spec.Child("clusterName"), locked), field.Forbidden(spec.Child("version"), locked))},
			{Rule: "authority/paused-owned", Verdict: policies.Deny(field.Invalid(field.NewPath("metadata", "annotations").Key("cluster.x-k8s.io/paused"), "", "it is Poundlock's alone"))},
		}},
		{name: "a denial keeps the warnings and the doubts", j: policies.Judgement{
			{Rule: "a/b", Verdict: policies.Verdict{Denials: field.ErrorList{field.Required(spec, "it is missing")}, Warnings: []string{"and odd"}}},
		}, doubts: []string{"whether it converts could not be checked"}},
	} {
		got = append(got, answer{tt.name, judged(change, tt.j, tt.doubts)})
	}
	compareGolden(t, "answers.json", got)
}

func compareGolden(t *testing.T, name string, value any) {
	t.Helper()
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	raw = append(raw, '\n')
	path := filepath.Join("testdata", name)
	if *updateGolden {
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(raw)); diff != "" {
		t.Errorf("%s differs (go test ./webhooks -update writes it) (-want +got):\n%s", path, diff)
	}
}
