// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conditionmetric_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/internal/conditionmetric"
)

func TestGauge(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, err := conditionmetric.New(registry, "since", "Since when.", "Settled")
	if err != nil {
		t.Fatal(err)
	}
	g, err := conditionmetric.New(registry, "since", "Since when.", "Settled") // of a second manager
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Unix()
	waits := func(reason, at string) string {
		return fmt.Sprintf(`{status: {conditions: [{type: Other, status: "False"}, {type: Settled, status: "False", reason: %s, lastTransitionTime: %q}]}}`,
			reason, at)
	}
	for _, step := range []struct {
		sentence, name, object string
		want                   []string
	}{
		{"an object without the condition", "a", `{status: {}}`, nil},
		{"one that waits", "a", waits("Pausing", "2026-01-01T12:00:00Z"), []string{fmt.Sprint("Machine ns a Pausing ", noon)}},
		{"another", "b", waits("Pausing", "2026-01-01T12:00:01Z"), []string{fmt.Sprint("Machine ns a Pausing ", noon), fmt.Sprint("Machine ns b Pausing ", noon+1)}},
		{"the first waits for something else", "a", waits("CatchingUp", "2026-01-01T12:00:02Z"), []string{fmt.Sprint("Machine ns a CatchingUp ", noon+2), fmt.Sprint("Machine ns b Pausing ", noon+1)}},
		{"it no longer waits", "a", `{status: {conditions: [{type: Settled, status: "True", reason: Settled, lastTransitionTime: "2026-01-01T12:00:03Z"}]}}`, []string{fmt.Sprint("Machine ns b Pausing ", noon+1)}},
		{"the other is gone", "b", "", nil},
		{"a time that nobody can read", "a", waits("Pausing", "noon"), nil},
	} {
		var o *unstructured.Unstructured
		if step.object != "" {
			o = &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(step.object), &o.Object); err != nil {
				t.Fatal(err)
			}
		}
		g.Show("Machine", types.NamespacedName{Namespace: "ns", Name: step.name}, o)
		if diff := cmp.Diff(step.want, series(t, registry)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.sentence, diff)
		}
	}
	first.Show("Machine", types.NamespacedName{Namespace: "ns", Name: "a"}, nil)
}

func series(t *testing.T, from prometheus.Gatherer) (out []string) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			out = append(out, fmt.Sprintf("%s %s %s %s %.0f", labels["kind"], labels["namespace"], labels["name"], labels["reason"], m.GetGauge().GetValue()))
		}
	}
	slices.Sort(out)
	return out
}
